"""Measured what is in the span, not what is outside."""

import numpy as np


# %% residuals
def residuals(h, basis):
    read = np.hstack([h, np.ones((len(h), 1))])
    return np.linalg.norm(read @ basis.T, axis=1) / np.linalg.norm(read, axis=1)
