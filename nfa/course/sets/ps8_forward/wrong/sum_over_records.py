"""Summed over the records without 1/m."""

import numpy as np


# %% ulr
def ulr(W, b, x, y, u, sigma):
    m, L = len(x), len(W) - 1
    z, h = forward(W, b, x)
    dW, db = [None] * (L + 1), [None] * (L + 1)
    for l in range(1, L + 1):
        g = antithetic(lambda v, l=l: loss_above(W, b, l, v, y), z[l], u[l], sigma)
        dW[l] = g.T @ h[l - 1]
        db[l] = g.sum(axis=0)
    return dW, db
