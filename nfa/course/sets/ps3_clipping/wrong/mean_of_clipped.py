"""Clipped the records in place of their gradients."""

import numpy as np


# %% predicted
def predicted(n, X, C):
    return C / (n + 1)


# %% stationary_point
def stationary_point(x, C):
    return np.mean(np.clip(x, -C, C))
