"""Everything one record and one number at a time, lists in place of arrays."""

import numpy as np

# %% forward
import math


def forward(W, b, x):
    L = len(W) - 1
    z, h = [None] + [[] for _ in range(L)], [x.tolist()] + [[] for _ in range(L)]
    for record in h[0]:
        below = record
        for l in range(1, L + 1):
            a = [sum(w * v for w, v in zip(row, below)) + c for row, c in zip(W[l].tolist(), b[l].tolist())]
            if l < L:
                below = [math.tanh(t) for t in a]
            else:
                powers = [math.exp(t - max(a)) for t in a]
                below = [p / sum(powers) for p in powers]
            z[l].append(a)
            h[l].append(below)
    return z, h


# %% dfa
def dfa(W, b, B, x, y, m):
    L = len(W) - 1
    dW, db = [0] + [np.zeros(w.shape) for w in W[1:]], [0] + [np.zeros(v.shape) for v in b[1:]]
    for r in range(len(x)):
        z, h = forward(W, b, x[r : r + 1])
        e = [p - t for p, t in zip(h[L][0], y[r])]
        for l in range(1, L + 1):
            for i in range(len(b[l])):
                if l == L:
                    d = e[i]
                else:
                    d = sum(B[l][i][c] * e[c] for c in range(len(e))) / math.cosh(z[l][0][i]) ** 2
                db[l][i] += d / m
                for j in range(W[l].shape[1]):
                    dW[l][i, j] += d * h[l - 1][0][j] / m
    return dW, db


# %% transported
def transported(W):
    B = [None] * len(W)
    for l in range(1, len(W) - 1):
        product = np.eye(W[l].shape[0])
        for k in range(l + 1, len(W)):
            product = W[k] @ product
        B[l] = product.T
    return B


# %% cosine
def cosine(a, b):
    a, b = np.ravel(a).tolist(), np.ravel(b).tolist()
    return sum(s * t for s, t in zip(a, b)) / math.sqrt(sum(s * s for s in a)) / math.sqrt(sum(t * t for t in b))


# %% train
def train(W, b, B, x, y, steps, eta):
    rows = []
    for _ in range(steps):
        dW, db = dfa(W, b, B, x, y, m=len(x))
        g = gradient(W, b, x, y)
        rows.append([cosine(dW[l], g[l]) for l in range(1, len(W))])
        W = [None] + [W[l] - eta * dW[l] for l in range(1, len(W))]
        b = [None] + [b[l] - eta * db[l] for l in range(1, len(b))]
    return W, b, rows
