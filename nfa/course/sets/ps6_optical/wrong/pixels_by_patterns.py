"""Returned a row a pixel."""

import numpy as np


# %% intensity
def intensity(R, mirrors):
    return np.abs(R @ mirrors.T) ** 2
