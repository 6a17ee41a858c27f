"""Took the medium's real part only: a real Gaussian matrix in place of a complex one."""

import numpy as np


# %% intensity
def intensity(R, mirrors):
    return (mirrors @ R.real.T) ** 2
