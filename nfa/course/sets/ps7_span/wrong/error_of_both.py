"""Gave each bound half of the error."""

import numpy as np


# %% clopper_pearson
def clopper_pearson(k, n, error):
    interval = stats.binomtest(k, n).proportion_ci(1 - error, method="exact")
    return interval.low, interval.high
