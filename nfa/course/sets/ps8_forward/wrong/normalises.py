"""Gave every record the length C, short ones too."""

import numpy as np


# %% sound
def sound(g, xi, C, sigma_0):
    norm = np.maximum(np.linalg.norm(g, axis=1, keepdims=True), 1e-12)
    return (g * C / norm).sum(axis=0) + sigma_0 * C * xi
