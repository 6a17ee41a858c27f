"""Took the root of the mean for the standard deviation, as if intensities were counts."""

import numpy as np


# %% speckle
def speckle(n):
    return n, np.sqrt(n)
