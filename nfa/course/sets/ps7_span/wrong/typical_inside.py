"""Took the part that is in the span."""

import numpy as np


# %% typical_residual
def typical_residual(r, N):
    return np.sqrt(r / N) if r else 1.0
