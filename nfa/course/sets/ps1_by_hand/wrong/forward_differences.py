"""Took the one-sided difference."""

import numpy as np


# %% numerical_gradient
def numerical_gradient(f, v, step):
    found = np.zeros(v.shape)
    for i in np.ndindex(v.shape):
        up = v.copy()
        up[i] += step
        found[i] = (f(up) - f(v)) / step
    return found
