"""Divided the draws u by sigma squared, as the paper does its noise zeta."""

import numpy as np


# %% estimate
def estimate(loss, z, u, sigma):
    felt = loss(z + sigma * u)
    return (u * felt[:, :, None]).mean(axis=0) / sigma**2
