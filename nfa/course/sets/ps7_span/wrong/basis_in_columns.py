"""Returned the basis vectors as columns."""

import numpy as np


# %% span
def span(dW, rank=None, tol=1e-5):
    _, s, Vt = np.linalg.svd(dW, full_matrices=False)
    return Vt[s > tol * s[0]][:rank].T
