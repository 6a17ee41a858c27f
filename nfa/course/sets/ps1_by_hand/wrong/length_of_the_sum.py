"""Measured the gradient of the batch, and gave that number to every record."""

import numpy as np


# %% lengths
def lengths(dz, h):
    dW, db = dz.T @ h, dz.sum(axis=0)
    of_W, of_b = np.sum(dW**2), np.sum(db**2)
    return np.full(len(dz), np.sqrt(of_W)), np.full(len(dz), np.sqrt(of_W + of_b))
