"""float32 wherever it is allowed, einsum, negative indices."""

import numpy as np


# %% forward
def forward(W, b, x):
    z, h = [None], [np.asarray(x, np.float32)]
    for l in range(1, len(W)):
        z += [np.einsum("ij,rj->ri", np.float32(W[l]), h[-1]) + np.float32(b[l])]
        if l < len(W) - 1:
            h += [np.float32(1) / (1 + np.exp(-z[-1]))]
    top = z[-1] - z[-1].max(axis=-1)[:, None]
    return z, h + [np.exp(top - np.log(np.exp(top).sum(axis=-1))[:, None])]


# %% loss
def loss(y_hat, y):
    picked = np.float32(y_hat)[np.arange(len(y)), np.argmax(y, axis=1)]
    return np.mean(-np.log(picked))


# %% numerical_gradient
def numerical_gradient(f, v, step):
    units = np.eye(v.size).reshape(-1, *v.shape)
    return np.array([f(v + step * u) - f(v - step * u) for u in units]).reshape(v.shape) / (2 * step)


# %% deltas
def deltas(W, z, h, y):
    dz = [np.float32(h[-1]) - np.float32(y)]
    for w, t in zip(W[:1:-1], z[-2:0:-1]):
        dz.insert(0, np.einsum("ri,ij->rj", dz[0], np.float32(w)) * np.float32(sigmoid(t) * sigmoid(-t)))
    return [None, *dz]


# %% gradient
def gradient(W, b, x, y):
    z, h = forward(W, b, x)
    dz = deltas(W, z, h, y)
    each = [np.einsum("ri,rj->rij", d, below) for d, below in zip(dz[1:], h)]
    return [None, *(g.mean(axis=0) for g in each)], [None, *(np.mean(d, 0) for d in dz[1:])]


# %% lengths
def lengths(dz, h):
    dz, h = np.float32(dz), np.float32(h)
    with_one = np.concatenate([h, np.ones((len(h), 1), np.float32)], axis=1)
    size = np.linalg.norm(dz, axis=1)
    return size * np.linalg.norm(h, axis=1), size * np.linalg.norm(with_one, axis=1)


# %% sure_and_wrong
def sure_and_wrong():
    t = np.array([30.0, 0.0])
    p = np.exp(t) / np.exp(t).sum()
    y = np.array([0.0, 1.0])
    jacobian = np.diag(p) - np.outer(p, p)
    return np.linalg.norm(p - y), np.linalg.norm(jacobian @ (p - y))


# %% largest_share
def largest_share(L):
    return np.float32(np.exp(-(L - 1) * np.log(4)))
