"""Compared an empty batch with one long gradient: twice as far is possible."""

import numpy as np


# %% neighbours
def neighbours(C, m):
    return np.zeros((0, 2)), np.array([[0.0, 100 * m * C]])
