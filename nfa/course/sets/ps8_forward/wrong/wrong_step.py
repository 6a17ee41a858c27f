"""Ran the layers above from the activation: steps were taken twice in the hidden layers."""

import numpy as np


# %% ulr
def ulr(W, b, x, y, u, sigma):
    m, L = len(x), len(W) - 1
    z, h = forward(W, b, x)
    dW, db = [None] * (L + 1), [None] * (L + 1)
    for l in range(1, L + 1):
        start = h[l] if l < L else z[l]
        g = antithetic(lambda v, l=l: loss_above(W, b, l, v, y), start, u[l], sigma)
        dW[l] = g.T @ h[l - 1] / m
        db[l] = g.sum(axis=0) / m
    return dW, db
