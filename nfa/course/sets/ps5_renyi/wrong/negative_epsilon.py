"""Returned a negative epsilon."""

import numpy as np


# %% better
def better(cost, alpha, delta):
    return cost + np.log((alpha - 1) / alpha) - (np.log(delta) + np.log(alpha)) / (alpha - 1)
