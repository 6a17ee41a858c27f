"""Forgot the square of sigma_0."""

import numpy as np


# %% records_needed
def records_needed(d, sigma_0):
    return sigma_0 * d
