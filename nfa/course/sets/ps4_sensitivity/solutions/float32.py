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
