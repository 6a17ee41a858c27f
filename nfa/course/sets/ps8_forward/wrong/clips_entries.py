"""Clipped every entry by itself in place of the length."""

import numpy as np


# %% sound
def sound(g, xi, C, sigma_0):
    return np.clip(g, -C, C).sum(axis=0) + sigma_0 * C * xi
