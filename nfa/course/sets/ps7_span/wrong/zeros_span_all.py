"""Kept singular values that equal the tolerance, and so every direction of an update of zeros."""

import numpy as np


# %% span
def span(dW, rank=None, tol=1e-5):
    _, s, Vt = np.linalg.svd(dW, full_matrices=False)
    return Vt[s >= tol * s[0]][:rank]
