"""Gave the chance that the outlier is not clipped."""

import numpy as np


# %% outlier
def outlier():
    return 0.197
