"""Took the maximum for the minimum: short gradients grow, long ones stay."""

import numpy as np


# %% clip_weights
def clip_weights(norms, C):
    return np.maximum(1, C / norms)
