"""Read z[l-1] where the gradient by W[l] needs h[l-1]."""

import numpy as np


# %% gradient
def gradient(W, b, x, y):
    z, h = forward(W, b, x)
    dz = deltas(W, z, h, y)
    dW, db = [None], [None]
    for l in range(1, len(W)):
        below = x if l == 1 else z[l - 1]
        dW.append(dz[l].T @ below / len(x))
        db.append(dz[l].mean(axis=0))
    return dW, db
