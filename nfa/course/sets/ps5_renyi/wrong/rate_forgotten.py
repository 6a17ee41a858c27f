"""Forgot the sampling rate: every step counts in full."""

import numpy as np


# %% step_cost
def step_cost(alpha, q, z):
    return alpha / (2 * z**2)
