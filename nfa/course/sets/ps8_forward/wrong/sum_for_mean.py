"""Summed over the K draws in place of taking the mean."""

import numpy as np


# %% estimate
def estimate(loss, z, u, sigma):
    felt = loss(z + sigma * u)
    return (u * felt[:, :, None]).sum(axis=0) / sigma
