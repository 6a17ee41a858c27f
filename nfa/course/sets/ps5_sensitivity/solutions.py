"""Right solutions in several styles, which get full marks."""


# %% loops score=20
# plain lists and loops, no NumPy; the pairs have several records


# %% sensitivity
def sensitivity(f, domain, sizes, relation):
    def data_sets(n):
        if n == 0:
            return [[]]
        return [[r] + rest for r in domain for rest in data_sets(n - 1)]

    best = 0
    for n in sizes:
        for D in data_sets(n):
            for other in neighbours(D, domain, relation):
                if len(other) in list(sizes):
                    a, b = f(D), f(other)
                    try:
                        square = sum((s - t) ** 2 for s, t in zip(a, b))
                    except TypeError:
                        square = (a - b) ** 2
                    best = max(best, square**0.5)
    return best


# %% guess
def guess():
    return 0.25, 0.5


# %% mean_moves
def mean_moves(a, b, n, relation):
    # n - 1 records are a and one is b; without the b, the mean is a
    with_b = ((n - 1) * a + b) / n
    return with_b - a


# %% median_moves
def median_moves(a, b, n, relation):
    below = [a] * (n // 2) + [b] * (n - n // 2)
    if relation == "replace-one":
        other = [a] * (n - n // 2) + [b] * (n // 2)
    else:
        other = [a] * (n // 2) + [b] * (n // 2)

    def middle(D):
        D = sorted(D)
        k = len(D) // 2
        return D[k] if len(D) % 2 else (D[k - 1] + D[k]) / 2

    return abs(middle(below) - middle(other))


# %% own_noise
def own_noise():
    return ["B", "An output of exactly 0 comes from the first data set, since noise is never exactly 0."]


# %% joint
def joint(deltas):
    square = 0
    for d in deltas:
        square += d * d
    return square**0.5


# %% pair_size
def pair_size():
    D = [[0.0, 9.0]] * 19
    return "fails", D + [[0.0, -9.0]], D


# %% divisor
def divisor():
    return " c ", "Only a divisor that everybody knows in advance leaves the noise equal for all neighbours."


# %% pair_expected
def pair_expected():
    longest, most = None, 0
    steps = [i / 4 for i in range(-4, 5)]
    for p in steps:
        for q in steps:
            for r in steps:
                if p or q or r:
                    norm = (p * p + q * q + r * r) ** 0.5
                    e = [p / norm, q / norm, r / norm]
                    Be = sum(sum(B[i][j] * e[j] for j in range(3)) ** 2 for i in range(5)) ** 0.5
                    if Be > most:
                        longest, most = e, Be
    rest = [[0, 0, 1]] * 3
    return "fails", rest + [longest], [[-s for s in longest]] + rest


# %% bound_expected
def bound_expected(B, m, tau_e):
    n, K = len(B), len(B[0])
    e = [1.0 + 0.1 * j * j for j in range(K)]
    for _ in range(500):
        Be = [sum(B[i][j] * e[j] for j in range(K)) for i in range(n)]
        e = [sum(B[i][j] * Be[i] for i in range(n)) for j in range(K)]
        norm = sum(t * t for t in e) ** 0.5
        e = [t / norm for t in e]
    return 2 * tau_e * norm**0.5 / m * 1.0001


# %% pair_column
def pair_column():
    rest = [([0.1, 0.2, 0.3], [1, 2, 3, 4])]
    return "holds", rest + [([0, 0, 2], [5, -5, 5, 5])], rest + [([0, 0, -2], [5, -5, 5, 5])]


# %% constant_input
def constant_input():
    return "A", "Its gradient is v itself, and replacing v by -v moves it by twice its norm."


# %% pair_total
def pair_total():
    rest = [([-3, 0.5], 1), ([2, 2], 0)]
    return "fails", [([0.3, -0.2], 0), *rest], [*rest, ([0.3, -0.2], 1)]


# %% bound_total
def bound_total(L, m, gamma, beta, tau_e, tau_h):
    parts = []
    for l in range(1, L + 1):
        dz = tau_e if l == L else gamma * beta * tau_e
        parts.append(2 / m * dz * tau_h)
        parts.append(2 / m * dz)
    return joint(parts)


# %% pair_label
def pair_label():
    rest = [([0.2, 0.3, 0.5], 2)] * 4
    return "holds", rest + [([0.4, 0.4, 0.2], 1)], rest + [([0.4, 0.4, 0.2], 0)]


# %% float32 score=20
# float32 throughout, array operations, histograms
"""Works in float32 throughout, with array operations and histograms."""

import numpy as np


# %% sensitivity
from collections import Counter


def sensitivity(f, domain, sizes, relation):
    every = [D for n in sizes for D in itertools.combinations_with_replacement(domain, n)]
    found = [np.atleast_1d(np.asarray(f(list(D)), dtype=np.float32)) for D in every]
    largest = np.float32(0)
    for D, v in zip(every, found):
        for other, w in zip(every, found):
            gone, new = sum((Counter(D) - Counter(other)).values()), sum((Counter(other) - Counter(D)).values())
            if (gone, new) == (1, 1) if relation == "replace-one" else gone + new == 1:
                largest = np.maximum(largest, np.sqrt(np.sum(np.square(v - w))))
    return largest


# %% guess
def guess():
    return np.float32([0.0, 1.0])


# %% mean_moves
def mean_moves(a, b, n, relation):
    return np.float32(b - a) / np.float32(n)


# %% median_moves
def median_moves(a, b, n, relation):
    return np.float32(b - a) * np.float32(1 if relation == "replace-one" else 0.5)


# %% joint
def joint(deltas):
    return np.linalg.norm(np.array(deltas, dtype=np.float32))


# %% pair_size
def pair_size():
    D = np.float32([[0.6, 0.8], [0.6, 0.8], [-0.6, -0.8]])
    return "fails", D, D[:2]


# %% pair_expected
def pair_expected():
    e = np.random.default_rng(0).normal(size=(2000, 3)).astype(np.float32)
    e = e[np.argmax(np.linalg.norm(e @ B.T.astype(np.float32), axis=1) / np.linalg.norm(e, axis=1))]
    return "fails", e[None], -e[None]


# %% bound_expected
def bound_expected(B, m, tau_e):
    values = np.linalg.eigvalsh(np.float32(B).T @ np.float32(B))
    return np.float32(2 * tau_e / m) * np.sqrt(values[-1])


# %% pair_column
def pair_column():
    v, h = np.float32([3]), np.full(4, -7, dtype=np.float32)
    return "holds", [(v, h)], [(-v, h)]


# %% pair_total
def pair_total():
    x = np.float32([0.5, -1.5])
    return "fails", [(x, np.float32(1))], [(x, np.float32(0))]


# %% bound_total
def bound_total(L, m, gamma, beta, tau_e, tau_h):
    gains = np.append(np.full(L - 1, gamma * beta, dtype=np.float32), np.float32(1))
    return np.float32(2 * tau_e / m) * np.linalg.norm(gains) * np.hypot(np.float32(1), np.float32(tau_h))


# %% pair_label
def pair_label():
    return "holds", [(np.float32([1 / 3, 1 / 3, 1 / 3]), 0)], [(np.float32([1 / 3, 1 / 3, 1 / 3]), 2)]


# %% enumeration score=20
# formulas by enumeration, pairs by random search
"""Computes the formulas by enumeration and finds the pairs by random search."""

import numpy as np


# %% sensitivity
def sensitivity(f, domain, sizes, relation):
    sizes = set(sizes)
    values = {}

    def at(D):
        key = tuple(sorted(D))
        if key not in values:
            values[key] = np.ravel(f(list(key)))
        return values[key]

    pairs = (
        (D, other)
        for n in sizes
        for D in itertools.combinations_with_replacement(domain, n)
        for other in neighbours(list(D), domain, relation)
        if len(other) in sizes
    )
    return max((np.linalg.norm(at(D) - at(other)) for D, other in pairs), default=0.0)


# %% mean_moves
def mean_moves(a, b, n, relation):
    return (
        sensitivity(np.mean, [a, b], [n - 1, n], relation)
        if relation == "add-remove"
        else sensitivity(np.mean, [a, b], [n], relation)
    )


# %% median_moves
def median_moves(a, b, n, relation):
    return sensitivity(np.median, [a, b], [n - 1, n] if relation == "add-remove" else [n], relation)


# %% joint
def joint(deltas):
    return math.dist(deltas, [0] * len(deltas))


# %% pair_size
def search(draw, farther):
    rng = np.random.default_rng(1)
    for _ in range(3000):
        D, other = draw(rng)
        if farther(D, other):
            return "fails", D, other
    return "holds", D, other


def pair_size():
    def draw(rng):
        D = list(rng.normal(size=(4, 2)))
        return D, D[:3]

    return search(draw, lambda D, other: distance(release_size, D, other) > 1.01 * claimed_size(C, 4))


# %% pair_expected
def pair_expected():
    def draw(rng):
        e = rng.normal(size=(3, 3))
        return [e[0], e[1]], [e[0], e[2]]

    return search(draw, lambda D, other: distance(release_expected, D, other) > 1.01 * claimed_expected(2, TAU_E))


# %% bound_expected
def bound_expected(B, m, tau_e):
    return 2 * tau_e / m * np.linalg.svd(B, compute_uv=False).max()


# %% pair_column
def pair_column():
    D = [(np.array([1.0, 1.0]), np.array([1.0, 1.0, -1.0, 1.0]))]
    other = [(-D[0][0], D[0][1])]
    assert np.isclose(distance(release_column, D, other), claimed_column(1, TAU_B, TAU_H))
    return ["holds", D, other]


# %% pair_total
def pair_total():
    def draw(rng):
        x = rng.normal(size=(3, 2))
        D = [(x[0], 0), (x[1], 1)]
        return D, [D[0], (x[2], 0)]

    return search(
        draw, lambda D, other: distance(release_total, D, other) > 1.01 * claimed_total(2, 2, GAMMA, BETA, TAU_E, TAU_H)
    )


# %% bound_total
def bound_total(L, m, gamma, beta, tau_e, tau_h):
    hidden = claimed_total(L - 1, m, gamma, beta, tau_e, tau_h)
    top = claimed_total(1, m, 1, 1, tau_e, tau_h)
    return joint([hidden, top])


# %% pair_label
def pair_label():
    y_hat = np.array([0.25, 0.25, 0.25, 0.25])
    return "holds", [(y_hat, 3), (y_hat, 0)], [(y_hat, 3), (y_hat, 1)]


# %% counters_and_sets score=20
# multisets as sorted tuples, hypot, dist and eigenvalues


# %% sensitivity
def sensitivity(f, domain, sizes, relation):
    moved = [0.0]
    for n in set(sizes):
        for D in itertools.combinations_with_replacement(domain, n):
            here = np.atleast_1d(np.asarray(f(list(D)), dtype=float))
            for other in neighbours(list(D), domain, relation):
                if len(other) in sizes:
                    moved.append(math.dist(here, np.atleast_1d(f(other))))
    return max(moved)


# %% joint
def joint(deltas):
    return math.hypot(*deltas)


# %% median_moves
def median_moves(a, b, n, relation):
    return (b - a) * {"replace-one": 1.0, "add-remove": 0.5}[relation]


# %% bound_expected
def bound_expected(B, m, tau_e):
    B = np.asarray(B, dtype=float)
    return 2 * tau_e / m * np.sqrt(np.linalg.eigvalsh(B @ B.T).max())


# %% bound_total
def bound_total(L, m, gamma, beta, tau_e, tau_h):
    gains = [gamma * beta] * (L - 1) + [1.0]
    return 2 * tau_e / m * math.hypot(*(s * math.hypot(1, tau_h) for s in gains))
