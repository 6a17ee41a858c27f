"""Divided by the number of records at the top of deltas, and took the mean once more in gradient."""

import numpy as np


# %% deltas
def deltas(W, z, h, y):
    L = len(W) - 1
    dz = [None] * (L + 1)
    dz[L] = (h[L] - y) / len(y)
    for l in range(L - 1, 0, -1):
        dz[l] = (dz[l + 1] @ W[l + 1]) * h[l] * (1 - h[l])
    return dz
