"""Works in float32 throughout."""

import numpy as np


# %% forward
def forward(W, b, x):
    z, h = [None], [np.asarray(x, np.float32)]
    for l in range(1, len(W)):
        z += [h[-1] @ np.float32(W[l]).T + np.float32(b[l])]
        if l < len(W) - 1:
            h += [np.tanh(z[-1])]
    top = z[-1] - z[-1].max(axis=-1)[:, None]
    return z, h + [np.exp(top - np.log(np.exp(top).sum(axis=-1))[:, None])]


# %% dfa
def dfa(W, b, B, x, y, m):
    z, h = forward(W, b, x)
    e = h[-1] - np.float32(y)
    top = len(W) - 1
    dz = {top: e} | {l: e @ np.float32(B[l]).T * (1 - h[l] ** 2) for l in range(1, top)}
    dW = [None, *(np.einsum("ri,rj->ij", dz[l], h[l - 1]) / np.float32(m) for l in range(1, top + 1))]
    return dW, [None, *(dz[l].sum(0) / np.float32(m) for l in range(1, top + 1))]


# %% transported
def transported(W):
    B = [None, *(np.float32(w) for w in W[2:])]
    for l in range(len(B) - 2, 0, -1):
        B[l] = B[l + 1] @ B[l]
    return [None, *(b.T for b in B[1:]), None]


# %% cosine
def cosine(a, b):
    a, b = np.float32(a).ravel(), np.float32(b).ravel()
    return (a / np.linalg.norm(a)) @ (b / np.linalg.norm(b))


# %% train
def train(W, b, B, x, y, steps, eta):
    W = [None] + [np.array(w, np.float32) for w in W[1:]]
    b = [None] + [np.array(v, np.float32) for v in b[1:]]
    cosines = np.empty((steps, len(W) - 1), np.float32)
    for t in range(steps):
        (dW, db), g = dfa(W, b, B, x, y, len(x)), gradient(W, b, x, y)
        for l in range(1, len(W)):
            cosines[t, l - 1] = cosine(dW[l], g[l])
            W[l] = W[l] - np.float32(eta) * dW[l]
            b[l] = b[l] - np.float32(eta) * db[l]
    return W, b, cosines
