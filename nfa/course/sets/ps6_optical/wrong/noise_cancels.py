"""Forgot that a difference of two noisy projections has the noise of both."""

import numpy as np


# %% noise_length
def noise_length(sigma, n, projections):
    return sigma * np.sqrt(n)
