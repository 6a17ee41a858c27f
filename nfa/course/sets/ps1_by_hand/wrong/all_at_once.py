"""Moved all entries at once: one slope for all of them."""

import numpy as np


# %% numerical_gradient
def numerical_gradient(f, v, step):
    return np.full(v.shape, (f(v + step) - f(v - step)) / (2 * step))
