"""Right solutions in several styles, which get full marks."""

# %% loops score=20
# one record and one number at a time, lists in place of arrays
"""One record and one number at a time, lists in place of arrays."""

import numpy as np


# %% norms
import math


def norms(dz, h):
    rows = []
    for i in range(len(dz[1])):
        row = []
        for l in range(1, len(dz)):
            up = sum(float(s) ** 2 for s in dz[l][i])
            down = sum(float(t) ** 2 for t in h[l - 1][i])
            row.append(math.sqrt(up * down + up))
        rows.append(row)
    return rows


# %% joint_norms
def joint_norms(dz, h):
    return [math.hypot(*row) for row in norms(dz, h)]


# %% clip_factors
def clip_factors(norms, C):
    weights = []
    for norm in norms:
        if norm <= C:
            weights.append(1)
        else:
            weights.append(C / norm)
    return weights


# %% clipped_mean
def clipped_mean(dz, h, C, m):
    L = len(dz) - 1
    dW = [None] + [[[0.0] * h[l - 1].shape[1] for _ in range(dz[l].shape[1])] for l in range(1, L + 1)]
    db = [None] + [[0.0] * dz[l].shape[1] for l in range(1, L + 1)]
    for i, w in enumerate(clip_factors(joint_norms(dz, h), C)):
        for l in range(1, L + 1):
            gW, gb = gradients(dz[l][i : i + 1], h[l - 1][i : i + 1])
            for j in range(len(gb[0])):
                db[l][j] += w * gb[0][j] / m
                for a in range(len(gW[0][j])):
                    dW[l][j][a] += w * gW[0][j][a] / m
    return dW, db


# %% neighbours
def neighbours(C, m):
    first = [[-10 * C] for _ in range(m)]
    return first, first + [[20 * C * m]]


# %% sensitivity
def sensitivity(C, m, adjacency):
    total = 0.0
    for c in C[1:]:
        total += c * c
    if adjacency == "replace-one":
        return 2 * total**0.5 / m
    return total**0.5 / m


# %% private_step
def private_step(dz, h, C, m, z, noise):
    dW, db = clipped_mean(dz, h, C, m)
    std = z * C / m
    for l in range(1, len(dW)):
        for j in range(len(db[l])):
            db[l][j] += std * noise[1][l][j]
            for a in range(len(dW[l][j])):
                dW[l][j][a] += std * noise[0][l][j][a]
    return dW, db


# %% dfa_bound
def dfa_bound(gamma, beta, tau_e, tau_h):
    squares = []
    for l in range(1, len(tau_h)):
        dz = tau_e if l == len(tau_h) - 1 else gamma[l] * beta[l] * tau_e
        squares += [(dz * tau_h[l]) ** 2, dz**2]
    return math.sqrt(math.fsum(squares))


# %% guess
def guess():
    return 0.5, np.float32(100)


# %% divisor
def divisor():
    return ("B", "With k = 0 one record alone moves the mean by C, which is much larger than C / m.")


# %% outlier
def outlier():
    return ["a", "The norm is clipped to C and the sign stays, so nothing changes if it moves further away."]


# %% top_layer
def top_layer():
    return " C", "My bound has the factor 1 at the top and the formula has gamma times beta."


# %% float32 score=20
# float32 throughout, einsum, a column of ones for the biases
"""Works in float32 throughout."""

import numpy as np


# %% norms
def norms(dz, h):
    columns = []
    for l in range(1, len(dz)):
        d, a = np.float32(dz[l]), np.float32(h[l - 1])
        ones = np.ones((len(a), 1), np.float32)
        columns.append(np.linalg.norm(d, axis=1) * np.linalg.norm(np.hstack([a, ones]), axis=1))
    return np.array(columns, np.float32).T


# %% joint_norms
def joint_norms(dz, h):
    return np.linalg.norm(norms(dz, h), axis=1)


# %% clip_factors
def clip_factors(norms, C):
    norms = np.float32(norms)
    return np.where(norms > C, np.float32(C) / np.where(norms > 0, norms, np.float32(1)), np.float32(1))


# %% clipped_mean
def clipped_mean(dz, h, C, m):
    w = clip_factors(joint_norms(dz, h), C).astype(np.float32)
    dW, db = [None], [None]
    for l in range(1, len(dz)):
        d, a = np.float32(dz[l]), np.float32(h[l - 1])
        dW.append(np.einsum("r,ri,rj->ij", w, d, a) / np.float32(m))
        db.append(w @ d / np.float32(m))
    return dW, db


# %% neighbours
def neighbours(C, m):
    second = np.zeros((3, 4), np.float32)
    second[:, 1] = [m * C, m * C, -5 * m * C]
    return second[:2], second


# %% sensitivity
def sensitivity(C, m, adjacency):
    one = np.linalg.norm(np.array(C[1:], np.float32)) / np.float32(m)
    return one + one if adjacency == "replace-one" else one


# %% private_step
def private_step(dz, h, C, m, z, noise):
    std = np.float32(z) * np.float32(C) / np.float32(m)
    released = []
    for signal, draw in zip(clipped_mean(dz, h, C, m), noise):
        released.append([None] + [signal[l] + std * np.float32(draw[l]) for l in range(1, len(dz))])
    return tuple(released)


# %% dfa_bound
def dfa_bound(gamma, beta, tau_e, tau_h):
    gain = np.append(np.float32(gamma[1:]) * np.float32(beta[1:]), np.float32(1))
    return np.float32(tau_e) * np.linalg.norm(gain * np.sqrt(1 + np.float32(tau_h[1:]) ** 2))


# %% vectors score=20
# the gradient of every record as one long vector; no exercise uses an earlier one
"""The gradient of every record as one long vector if allowed. No exercise uses an earlier one."""

import numpy as np


# %% norms
def norms(dz, h):
    # the diagonals of Gram matrices
    return np.transpose(
        [np.sqrt(np.diag(dz[l] @ dz[l].T) * np.diag(h[l - 1] @ h[l - 1].T + 1)) for l in range(1, len(dz))]
    )


# %% joint_norms
def joint_norms(dz, h):
    found = []
    for i in range(len(dz[1])):
        found.append(np.linalg.norm(long_vector(dz, h, i)))
    return np.array(found)


def long_vector(dz, h, i):
    return np.concatenate([np.outer(dz[l][i], np.append(h[l - 1][i], 1.0)).ravel() for l in range(1, len(dz))])


# %% clip_factors
def clip_factors(norms, C):
    return 1 / np.maximum(1, norms / C)


# %% clipped_mean
def clipped_mean(dz, h, C, m):
    shapes = [(dz[l].shape[1], h[l - 1].shape[1] + 1) for l in range(1, len(dz))]
    total = np.zeros(sum(n * a for n, a in shapes))
    for i in range(len(dz[1])):
        g = np.concatenate([np.outer(dz[l][i], np.append(h[l - 1][i], 1.0)).ravel() for l in range(1, len(dz))])
        norm = np.sqrt(g @ g)
        total += g if norm <= C else C * g / norm
    dW, db, at = [None], [None], 0
    for n, a in shapes:
        both = total[at : at + n * a].reshape(n, a) / m
        at += n * a
        dW.append(both[:, :-1])
        db.append(both[:, -1])
    return dW, db


# %% neighbours
def neighbours(C, m):
    v = np.random.default_rng(0).normal(size=5)
    v *= 1e6 * C * m / np.linalg.norm(v)
    return np.array([v, -2 * v]), np.array([v])


# %% sensitivity
def sensitivity(C, m, adjacency):
    return {"add-remove": 1, "replace-one": 2}[adjacency] * np.hypot.reduce(C[1:]) / m


# %% private_step
def private_step(dz, h, C, m, z, noise):
    # adds noise to the sum, and divides both
    sums = clipped_mean(dz, h, C, 1)
    return [[None] + [(sums[part][l] + z * C * noise[part][l]) / m for l in range(1, len(dz))] for part in (0, 1)]


# %% dfa_bound
def dfa_bound(gamma, beta, tau_e, tau_h):
    top = len(gamma)
    return (
        tau_e
        * sum((1 if l == top else (gamma[l] * beta[l]) ** 2) * (1 + tau_h[l] ** 2) for l in range(1, top + 1)) ** 0.5
    )


# %% least_of_one_and score=20
# the smaller of 1 and C / norm, with a division by a norm of 0, and maps in place of loops
import numpy as np


# %% clip_factors
def clip_factors(norms, C):
    with np.errstate(divide="ignore"):
        return np.fmin(1.0, np.divide(C, norms))


# %% norms
def norms(dz, h):
    squares = map(lambda d, v: np.sum(d * d, 1) * np.sum(np.c_[v, np.ones(len(v))] ** 2, 1), dz[1:], h)
    return np.array(list(squares)).T ** 0.5


# %% gram_and_hypot score=20
# Gram matrices of the batch, hypot, tuples in place of lists


# %% norms
def norms(dz, h):
    def long(a):
        return np.sqrt(np.einsum("ki,ki->k", a, a))

    return np.transpose([long(d) * np.hypot(1, long(t)) for d, t in zip(dz[1:], h)])


# %% joint_norms
import math


def joint_norms(dz, h):
    return [math.hypot(*row) for row in norms(dz, h)]


# %% clip_factors
def clip_factors(norms, C):
    return [1.0 if norm <= C else C / norm for norm in norms]


# %% clipped_mean
def clipped_mean(dz, h, C, m):
    weights = np.diag(np.asarray(clip_factors(joint_norms(dz, h), C), dtype=float))
    dW = tuple([None] + [d.T @ weights @ t / m for d, t in zip(dz[1:], h)])
    return dW, tuple([None] + [d.T @ weights @ np.ones(len(d)) / m for d in dz[1:]])


# %% neighbours
def neighbours(C, m):
    many = [[-3.0 * m * C, 0, 0], [7.0 * m * C, 0, 0]]
    return np.array(many[:1]), np.array(many)


# %% private_step
def private_step(dz, h, C, m, z, noise):
    quiet = clipped_mean(dz, h, C, m)
    return [[None] + [a + z / m * C * n for a, n in zip(q[1:], draws[1:])] for q, draws in zip(quiet, noise)]


# %% dfa_bound
def dfa_bound(gamma, beta, tau_e, tau_h):
    steep = np.array([*(g * b for g, b in zip(gamma[1:], beta[1:])), 1.0])
    return np.float32(np.linalg.norm(tau_e * steep * np.hypot(1, np.array(tau_h[1:], dtype=float))))
