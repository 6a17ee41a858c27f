"""Says that every claim fails, and hands in the farthest neighbours there are."""

import math

import numpy as np


# %% pair_column
def pair_column():
    return "fails", [([1.0, 0.0], np.ones(4))], [([-1.0, 0.0], np.ones(4))]


# %% pair_label
def pair_label():
    return "fails", [([0.5, 0.5], 0)], [([0.5, 0.5], 1)]
