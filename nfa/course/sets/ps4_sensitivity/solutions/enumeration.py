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
