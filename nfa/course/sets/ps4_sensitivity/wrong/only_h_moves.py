"""Replaced what the layer reads and kept the error, which the claim allows."""

import math

import numpy as np


# %% pair_bias
def pair_bias():
    return "fails", [([1.0, 0.0], np.ones(4))], [([1.0, 0.0], -np.ones(4))]
