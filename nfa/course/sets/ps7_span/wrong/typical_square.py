"""Returned the mean of the square, not its root."""

import numpy as np


# %% typical_residual
def typical_residual(r, N):
    return 1 - r / N
