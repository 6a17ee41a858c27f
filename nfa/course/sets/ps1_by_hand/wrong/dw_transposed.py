"""Returned dW[l] with rows and columns exchanged."""

import numpy as np


# %% gradient
def gradient(W, b, x, y):
    z, h = forward(W, b, x)
    dz = deltas(W, z, h, y)
    dW, db = [None], [None]
    for l in range(1, len(W)):
        dW.append(h[l - 1].T @ dz[l] / len(x))
        db.append(dz[l].mean(axis=0))
    return dW, db
