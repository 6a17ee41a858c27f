"""Added the noise to each record before its clip."""

import numpy as np


# %% sound
def sound(g, xi, C, sigma_0):
    noisy = g + sigma_0 * C * xi
    norm = np.linalg.norm(noisy, axis=1, keepdims=True)
    return (noisy / np.maximum(1, norm / C)).sum(axis=0)
