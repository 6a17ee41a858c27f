"""Scaled dark records as printed: 0/0."""

import numpy as np


# %% scale
def scale(p, s):
    norms = np.sqrt((p**2).sum(axis=1, keepdims=True))
    return np.minimum(s, norms) * p / norms
