"""Took the difference of two intensities, without the anchor."""

import numpy as np


# %% project
def project(see, e, I_a):
    return see(e > 0, False) - see(e < 0, False)
