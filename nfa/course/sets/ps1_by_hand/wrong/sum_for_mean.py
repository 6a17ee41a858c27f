"""Summed over the records."""

import numpy as np


# %% gradient
def gradient(W, b, x, y):
    z, h = forward(W, b, x)
    dz = deltas(W, z, h, y)
    dW, db = [None], [None]
    for l in range(1, len(W)):
        dW.append(dz[l].T @ h[l - 1])
        db.append(dz[l].sum(axis=0))
    return dW, db
