"""Took W for its transpose, which cannot be multiplied where layers differ in size."""

import numpy as np


# %% deltas
def deltas(W, z, h, y):
    L = len(W) - 1
    dz = [None] * (L + 1)
    dz[L] = h[L] - y
    for l in range(L - 1, 0, -1):
        dz[l] = (dz[l + 1] @ W[l + 1].T) * h[l] * (1 - h[l])
    return dz
