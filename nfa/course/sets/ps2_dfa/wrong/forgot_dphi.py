"""Forgot tanh' in the hidden layers."""

import numpy as np


# %% dfa
def dfa(W, b, B, x, y, m):
    L = len(W) - 1
    z, h = forward(W, b, x)
    e = h[L] - y
    dW, db = [None] * (L + 1), [None] * (L + 1)
    for l in range(1, L + 1):
        dz = e if l == L else (e @ B[l].T)
        dW[l] = dz.T @ h[l - 1] / m
        db[l] = dz.sum(axis=0) / m
    return dW, db
