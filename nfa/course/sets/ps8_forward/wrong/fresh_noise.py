"""Drew fresh noise for the second half of each pair."""

import numpy as np


# %% antithetic
def antithetic(loss, z, u, sigma):
    other = np.random.default_rng(0).standard_normal(u.shape)
    return (estimate(loss, z, u, sigma) + estimate(loss, z, other, sigma)) / 2
