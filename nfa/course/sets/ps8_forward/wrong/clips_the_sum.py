"""Clipped the sum of the batch in place of each record."""

import numpy as np


# %% printed
def printed(loss, xi, K, C, sigma_0):
    sigma = controller(np.ones((len(loss), 1)), loss, K, C, sigma_0)
    return np.clip((loss * xi).sum(axis=1) / (sigma * np.sqrt(K)), -C, C)
