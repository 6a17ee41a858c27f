"""Took two names for one array, so that both points are the same."""

import numpy as np


# %% numerical_gradient
def numerical_gradient(f, v, step):
    found = np.zeros(v.shape)
    for i in np.ndindex(v.shape):
        up = down = v.copy()
        up[i] += step
        down[i] -= step
        found[i] = (f(up) - f(down)) / (2 * step)
    return found
