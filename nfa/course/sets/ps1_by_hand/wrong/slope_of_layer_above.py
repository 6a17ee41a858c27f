"""Multiplied by the slope of layer l + 1 before going down through W[l+1]: off by one layer."""

import numpy as np


# %% deltas
def deltas(W, z, h, y):
    L = len(W) - 1
    dz = [None] * (L + 1)
    dz[L] = h[L] - y
    for l in range(L - 1, 0, -1):
        slope = h[l + 1] * (1 - h[l + 1])
        dz[l] = (dz[l + 1] * slope) @ W[l + 1]
    return dz
