"""Took the slope of the sigmoid at h[l] in place of z[l]."""

import numpy as np


# %% deltas
def deltas(W, z, h, y):
    L = len(W) - 1
    dz = [None] * (L + 1)
    dz[L] = h[L] - y
    for l in range(L - 1, 0, -1):
        dz[l] = (dz[l + 1] @ W[l + 1]) * sigmoid(h[l]) * (1 - sigmoid(h[l]))
    return dz
