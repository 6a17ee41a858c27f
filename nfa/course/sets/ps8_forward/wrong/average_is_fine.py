"""Believed that the average of the same draws is a baseline like any other."""

import numpy as np


# %% own_average
def own_average(K):
    return 1.0
