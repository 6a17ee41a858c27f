"""Works in float32 throughout."""

import numpy as np


# %% gradients
def gradients(dz, below):
    return np.einsum("ri,rj->rij", np.float32(dz), np.float32(below)), np.float32(dz)


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


# %% clip_weights
def clip_weights(norms, C):
    norms = np.float32(norms)
    return np.where(norms > C, np.float32(C) / np.where(norms > 0, norms, np.float32(1)), np.float32(1))


# %% clipped_mean
def clipped_mean(dz, h, C, m):
    w = clip_weights(joint_norms(dz, h), C).astype(np.float32)
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


# %% predicted
def predicted(n, X, C):
    return np.float32(C) / np.float32(n)


# %% stationary_point
def stationary_point(x, C):
    x = np.float32(x)
    low, high = x.min(), x.max()
    while high - low > 1e-4 * C:
        middle = (low + high) / np.float32(2)
        if np.clip(middle - x, -C, C).sum() > 0:
            high = middle
        else:
            low = middle
    return low


# %% dfa_bound
def dfa_bound(gamma, beta, tau_e, tau_h):
    slope = np.append(np.float32(gamma[1:]) * np.float32(beta[1:]), np.float32(1))
    return np.float32(tau_e) * np.linalg.norm(slope * np.sqrt(1 + np.float32(tau_h[1:]) ** 2))
