"""Rounded to whole numbers before scaling to levels."""

import numpy as np


# %% read
def read(I, top, bits):
    step = top / (2**bits - 1)
    return np.minimum(np.rint(I), top) / step * step
