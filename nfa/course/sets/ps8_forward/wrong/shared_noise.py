"""Gave every record the noise of the first one."""

import numpy as np


# %% estimate
def estimate(loss, z, u, sigma):
    first = u[:, :1, :]
    felt = loss(z + sigma * first)
    return (first * felt[:, :, None]).mean(axis=0) / sigma
