"""Weighed the matrix with the losses and not their squares."""

import numpy as np


# %% controller
def controller(h, loss, K, C, sigma_0):
    least = np.linalg.eigvalsh((h * loss[:, None]).T @ h)[0]
    return np.sqrt(least / K) / (C * sigma_0)
