"""Took the space of the columns: left singular vectors."""

import numpy as np


# %% span
def span(dW, rank=None, tol=1e-5):
    U, s, _ = np.linalg.svd(dW, full_matrices=False)
    return U.T[s > tol * s[0]][:rank]
