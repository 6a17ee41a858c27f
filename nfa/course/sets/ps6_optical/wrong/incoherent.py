"""Added the intensities of the mirrors in place of their fields."""

import numpy as np


# %% intensity
def intensity(R, mirrors):
    return mirrors @ (np.abs(R) ** 2).T
