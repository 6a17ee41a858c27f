"""Thought that the sum is N(0, 16) with the outlier too."""

import numpy as np


# %% outlier
def outlier():
    return 4 * 0.001 * np.exp(-1 / 32) / np.sqrt(2 * np.pi * 16)
