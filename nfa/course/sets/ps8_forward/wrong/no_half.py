"""Forgot the half of a pair's difference."""

import numpy as np


# %% antithetic
def antithetic(loss, z, u, sigma):
    return estimate(lambda v: loss(v) - loss(2 * z - v), z, u, sigma)
