"""Kept the directions that rounding makes."""

import numpy as np


# %% span
def span(dW, rank=None, tol=1e-5):
    _, s, Vt = np.linalg.svd(dW, full_matrices=False)
    return Vt[s > 0][:rank]
