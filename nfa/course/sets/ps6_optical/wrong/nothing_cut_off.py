"""Wanted no pixel to be cut off, whatever the distance of the levels."""

import numpy as np


# %% best_top
def best_top():
    return max(TOPS)
