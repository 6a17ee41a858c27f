"""Thought that each clipped record may have variance C^2 in every direction."""

import numpy as np


# %% records_needed
def records_needed(d, sigma_0):
    return sigma_0**2
