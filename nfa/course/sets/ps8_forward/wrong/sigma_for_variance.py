"""Took sigma for the variance, and added noise of standard deviation sqrt(sigma)."""

import numpy as np


# %% estimate
def estimate(loss, z, u, sigma):
    zeta = np.sqrt(sigma) * u
    return (zeta * loss(z + zeta)[:, :, None]).mean(axis=0) / sigma
