"""Everything one record and one number at a time, lists in place of arrays."""

import numpy as np


# %% by_hand
def by_hand():
    return dict(
        z1=[1.099, 0.0],
        h1=[0.75, 0.5],
        z2=[1.099, 3.296],
        y_hat=[0.1, 0.9],
        e=[-0.9, 0.9],
        dW2=[[-0.675, -0.45], [0.675, 0.45]],
        dz1=[-0.742, 1.483],
        dW1=[[-1.483, -0.742], [2.966, 1.483]],
    )


# %% forward
import math


def forward(W, b, x):
    L = len(W) - 1
    z, h = [None] + [[] for _ in range(L)], [[list(record) for record in x]] + [[] for _ in range(L)]
    for record in h[0]:
        below = record
        for l in range(1, L + 1):
            a = [sum(w * v for w, v in zip(row, below)) + c for row, c in zip(W[l], b[l])]
            if l < L:
                below = [1 / (1 + math.exp(-t)) for t in a]
            else:
                powers = [math.exp(t) for t in a]
                below = [p / sum(powers) for p in powers]
            z[l].append(a)
            h[l].append(below)
    return z, h


# %% loss
def loss(y_hat, y):
    total = 0.0
    for outputs, target in zip(y_hat, y):
        for p, t in zip(outputs, target):
            if t == 1:
                total -= math.log(p)
    return total / len(y)


# %% numerical_gradient
def numerical_gradient(f, v, step):
    flat = v.reshape(-1)
    found = []
    for i in range(flat.size):
        kept = flat[i]
        flat[i] = kept + step
        above = f(v)
        flat[i] = kept - step
        below = f(v)
        flat[i] = kept
        found.append((above - below) / step / 2)
    return np.reshape(found, v.shape)


# %% best_steps
def best_steps():
    return {"central": 6, "one-sided": 7, "central in float32": 3}


# %% sure_and_wrong
def sure_and_wrong():
    return [1.4142, 0]


# %% deltas
def deltas(W, z, h, y):
    L = len(W) - 1
    dz = [None] + [[] for _ in range(L)]
    for i in range(len(y)):
        d = [p - t for p, t in zip(h[L][i], y[i])]
        dz[L].append(d)
        for l in range(L - 1, 0, -1):
            back = []
            for j in range(len(z[l][i])):
                s = 0.0
                for a in range(len(d)):
                    s += W[l + 1][a][j] * d[a]
                back.append(s * math.exp(-z[l][i][j]) / (1 + math.exp(-z[l][i][j])) ** 2)
            d = back
            dz[l].append(d)
    return dz


# %% gradient
def gradient(W, b, x, y):
    L, k = len(W) - 1, len(x)
    dW, db = [0] + [np.zeros(w.shape) for w in W[1:]], [0] + [np.zeros(v.shape) for v in b[1:]]
    z, h = forward(W, b, x)
    dz = deltas(W, z, h, y)
    for r in range(k):
        for l in range(1, L + 1):
            for i in range(len(b[l])):
                db[l][i] += dz[l][r][i] / k
                for j in range(W[l].shape[1]):
                    dW[l][i, j] += dz[l][r][i] * h[l - 1][r][j] / k
    return dW, db


# %% lengths
def lengths(dz, h):
    by_W, both = [], []
    for d, t in zip(dz, h):
        a, c = math.sqrt(sum(v * v for v in d)), math.sqrt(sum(v * v for v in t))
        by_W.append(a * c)
        both.append(math.hypot(a * c, a))
    return by_W, both


# %% from_zero
def from_zero():
    return {"different rows": 1.0, "sigmoid": (1, 2, 3), "tanh": (0, 0, 0), "even classes": np.zeros(3)}


# %% largest_share
def largest_share(L):
    share = 1.0
    for _ in range(1, L):
        share /= 4
    return share
