"""Made every row as long as s."""

import numpy as np


# %% scale
def scale(p, s):
    norms = np.sqrt((p**2).sum(axis=1, keepdims=True))
    return s * p / np.where(norms > 0, norms, 1)
