"""Took (sigma_0 C)^2, the variance, for the standard deviation."""

import numpy as np


# %% sound
def sound(g, xi, C, sigma_0):
    norm = np.linalg.norm(g, axis=1, keepdims=True)
    return (g / np.maximum(1, norm / C)).sum(axis=0) + (sigma_0 * C) ** 2 * xi
