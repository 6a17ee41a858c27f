"""Returned the share of pixels that are not cut off."""

import numpy as np


# %% overexposed
def overexposed(n, top):
    return 1 - np.exp(-top / n)
