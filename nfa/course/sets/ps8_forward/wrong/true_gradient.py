"""Took the derivative of the loss for that of the smoothed loss."""

import numpy as np


# %% mean_of_quartic
def mean_of_quartic():
    return 4.0
