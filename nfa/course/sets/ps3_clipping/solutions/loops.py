"""One record and one number at a time, lists in place of arrays."""

import numpy as np

# %% gradients
import math


def gradients(dz, below):
    gW, gb = [], []
    for d, a in zip(dz.tolist(), below.tolist()):
        gW.append([[s * t for t in a] for s in d])
        gb.append(d)
    return gW, gb


# %% norms
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


# %% clip_weights
def clip_weights(norms, C):
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
    for i, w in enumerate(clip_weights(joint_norms(dz, h), C)):
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


# %% predicted
def predicted(n, X, C):
    # by steps
    theta = 0.0
    for _ in range(2000):
        theta -= (n * max(-C, min(C, theta)) + max(-C, min(C, theta - X))) / (n + 1)
    return theta


# %% stationary_point
def stationary_point(x, C):
    theta = sorted(x)[len(x) // 2]
    for _ in range(1500):
        theta -= sum(max(-C, min(C, theta - a)) for a in x) / len(x)
    return theta


# %% dfa_bound
def dfa_bound(gamma, beta, tau_e, tau_h):
    squares = []
    for l in range(1, len(tau_h)):
        dz = tau_e if l == len(tau_h) - 1 else gamma[l] * beta[l] * tau_e
        squares += [(dz * tau_h[l]) ** 2, dz**2]
    return math.sqrt(math.fsum(squares))


# %% too_small_by
def too_small_by(L):
    s = 0.9 / 4
    return math.sqrt((1 + (L - 1) * s * s) / (L * s * s))
