"""Took the field's size for the intensity."""

import numpy as np


# %% intensity
def intensity(R, mirrors):
    return np.abs(mirrors @ R.T)
