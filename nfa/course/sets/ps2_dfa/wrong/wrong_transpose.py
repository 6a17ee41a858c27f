"""Put W where B belongs: backpropagation's transposes, one layer after the other."""

import numpy as np


# %% dfa
def dfa(W, b, B, x, y, m):
    L = len(W) - 1
    z, h = forward(W, b, x)
    dz = h[L] - y
    dW, db = [None] * (L + 1), [None] * (L + 1)
    for l in range(L, 0, -1):
        if l < L:
            dz = (dz @ W[l + 1]) * (1 - np.tanh(z[l]) ** 2)
        dW[l] = dz.T @ h[l - 1] / m
        db[l] = dz.sum(axis=0) / m
    return dW, db
