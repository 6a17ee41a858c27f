"""Took the gradient by the biases for a multiple of the input's sum."""

import numpy as np


# %% gradients
def gradients(dz, below):
    return dz[:, :, None] * below[:, None, :], dz * below.sum(axis=1, keepdims=True)
