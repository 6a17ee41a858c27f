"""Right solutions in several styles, which get full marks."""


# %% loops score=20
# plain lists and loops, no NumPy; the pairs have several records


# %% neighbours
def neighbours(D, domain, relation):
    out = []
    if relation == "replace-one":
        for i in range(len(D)):
            for r in domain:
                if r != D[i]:
                    copy = list(D)
                    copy[i] = r
                    out.append(copy)
    else:
        for i in range(len(D)):
            copy = list(D)
            copy.pop(i)
            out.append(copy)
        for r in domain:
            out.append(list(D) + [r])
    return out


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


# %% sum_moves
def sum_moves(a, b, relation):
    if relation == "add-remove":
        return max(-a, b)
    return b - a


# %% mean_moves
def mean_moves(a, b, n, relation):
    # n - 1 records at a and one at b; one record less takes the b away
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


# %% joint
def joint(deltas):
    square = 0
    for d in deltas:
        square += d * d
    return square**0.5


# %% clip_norm
def clip_norm(S, L):
    low, high = 0.0, S
    for _ in range(60):
        tau = (low + high) / 2
        if joint([2 * tau] * (2 * L)) < S:
            low = tau
        else:
            high = tau
    return low


# %% pair_size
def pair_size():
    D = [[0.0, 9.0]] * 19
    return "fails", D + [[0.0, -9.0]], D


# %% bound_size
def bound_size(C, k):
    # k - 1 at C; the k-th at -C
    return C - ((k - 1) * C - C) / k


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


# %% pair_bias
def pair_bias():
    rest = [([0.1, 0.2, 0.3], [1, 2, 3, 4])]
    return "fails", rest + [([0, 0, 2], [5, -5, 5, 5])], [([0, 0, -2], [5, -5, 5, 5])] + rest


# %% bound_bias
def bound_bias(m, n, tau_B, tau_h):
    squares = 0
    for column in range(n + 1):
        entry = 1 if column == n else tau_h / n**0.5
        squares += (2 / m * tau_B * entry) ** 2
    return squares**0.5


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


# %% pair_noise
def pair_noise():
    return "fails", [(0.8, [1, 1, 1])] * 3 + [(0.8, [1, 1, -1])], [(0.8, [1, 1, 1])] * 3 + [(-0.8, [1, 1, -1])]


# %% float32 score=20
# float32 throughout, array operations, histograms
"""float32 throughout, array operations, histograms in place of lists inside."""

import numpy as np


# %% neighbours
def neighbours(D, domain, relation):
    D = np.asarray(D, dtype=np.float32)
    if relation == "add-remove":
        return [np.delete(D, i) for i in range(D.size)] + [np.append(D, np.float32(r)) for r in domain]
    kept = [np.delete(D, i) for i in range(D.size)]
    return [np.append(rest, np.float32(r)) for rest in kept for r in domain]


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


# %% sum_moves
def sum_moves(a, b, relation):
    a, b = np.float32(a), np.float32(b)
    return {"replace-one": b - a, "add-remove": np.abs([a, b]).max()}[relation]


# %% mean_moves
def mean_moves(a, b, n, relation):
    return np.float32(b - a) / np.float32(n)


# %% median_moves
def median_moves(a, b, n, relation):
    return np.float32(b - a) * np.float32(1 if relation == "replace-one" else 0.5)


# %% joint
def joint(deltas):
    return np.linalg.norm(np.array(deltas, dtype=np.float32))


# %% clip_norm
def clip_norm(S, L):
    return np.float32(S) / np.sqrt(np.float32(8 * L))


# %% pair_size
def pair_size():
    D = np.float32([[0.6, 0.8], [0.6, 0.8], [-0.6, -0.8]])
    return "fails", D, D[:2]


# %% bound_size
def bound_size(C, k):
    return np.float32(2) * np.float32(C) / np.float32(k)


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


# %% pair_bias
def pair_bias():
    v, h = np.float32([3]), np.full(4, -7, dtype=np.float32)
    return "fails", [(v, h), (-v, h)], [(-v, h), (-v, h)]


# %% bound_bias
def bound_bias(m, n, tau_B, tau_h):
    return np.float32(2 * tau_B / m) * np.hypot(np.float32(tau_h), np.float32(1))


# %% pair_total
def pair_total():
    x = np.float32([0.5, -1.5])
    return "fails", [(x, np.float32(1))], [(x, np.float32(0))]


# %% bound_total
def bound_total(L, m, gamma, beta, tau_e, tau_h):
    slopes = np.append(np.full(L - 1, gamma * beta, dtype=np.float32), np.float32(1))
    return np.float32(2 * tau_e / m) * np.linalg.norm(slopes) * np.hypot(np.float32(1), np.float32(tau_h))


# %% pair_label
def pair_label():
    return "holds", [(np.float32([1 / 3, 1 / 3, 1 / 3]), 0)], [(np.float32([1 / 3, 1 / 3, 1 / 3]), 2)]


# %% pair_noise
def pair_noise():
    h = np.float32([[1, 1, 1], [-1, 1, 1]])
    return "fails", [(np.float32(0.1), h[0])], [(np.float32(0.1), h[1])]


# %% enumeration score=20
# tries everything: predictions by enumeration, pairs by random search
"""Tries everything: predictions by enumeration, pairs by random search, bounds from the definition of a supremum."""

import numpy as np


# %% neighbours
def neighbours(D, domain, relation):
    """As a set of sorted tuples, D itself among them."""
    D = sorted(D)
    less = [D[:i] + D[i + 1 :] for i in range(len(D))]

    def more(rest):
        return [sorted([*rest, r]) for r in domain]

    every = less + more(D) if relation == "add-remove" else sum((more(rest) for rest in less), [])
    return {tuple(other) for other in [D, *every]}


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


# %% sum_moves
def sum_moves(a, b, relation):
    return sensitivity(sum, [a, b], range(4), relation)


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


# %% clip_norm
def clip_norm(S, L):
    moved_at_one = joint([2.0] * L + [2.0] * L)
    return S / moved_at_one


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


# %% bound_size
def bound_size(C, k):
    one_less = mean_moves(-C, C, k, "replace-one")
    return one_less


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


# %% pair_bias
def pair_bias():
    _, D, other = pair_column()
    return ["Fails", D, other]


# %% bound_bias
def bound_bias(m, n, tau_B, tau_h):
    return 2 * tau_B * np.linalg.norm([*np.full(n, tau_h / np.sqrt(n)), 1.0]) / m


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


# %% pair_noise
def pair_noise():
    def draw(rng):
        D = [(0.8, h) for h in rng.choice([-1, 1], size=(3, 3))]
        return D, [*D[:2], (-0.8, rng.choice([-1, 1], size=3))]

    return search(draw, lambda D, other: noise_units(D, other) > 1.01 * claimed_noise(3, 3, TAU_B, SIGMA))


# %% differing_only score=20
# leaves out what would be D itself, and yields neighbours one by one
import numpy as np


# %% neighbours
def neighbours(D, domain, relation):
    def found():
        if relation == "add-remove":
            yield from (D[:i] + D[i + 1 :] for i in range(len(D)))
            yield from ([new] + D for new in domain)
        else:
            for i, old in enumerate(D):
                yield from (D[:i] + [new] + D[i + 1 :] for new in domain if not np.array_equal(new, old))

    return list(found())


# %% counters_and_sets score=20
# multisets as sorted tuples, a generator, hypot, the supremum over pairs of arrays


# %% neighbours
from collections import Counter


def neighbours(D, domain, relation):
    bag = Counter(D)
    for gone in bag:
        rest = list((bag - Counter([gone])).elements())
        if relation == "add-remove":
            yield rest
        else:
            yield from (sorted([*rest, new]) for new in set(domain) - {gone})
    if relation == "add-remove":
        yield from ([new, *D] for new in domain)


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
    slopes = [gamma * beta] * (L - 1) + [1.0]
    return 2 * tau_e / m * math.hypot(*(s * math.hypot(1, tau_h) for s in slopes))
