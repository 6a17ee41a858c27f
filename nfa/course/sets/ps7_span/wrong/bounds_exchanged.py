"""Took the bounds that flatter the attack."""

import numpy as np


# %% epsilon_bound
def epsilon_bound(k0, k1, n, delta, confidence):
    error = (1 - confidence) / 2
    low0, high1 = clopper_pearson(k0, n, error)[0], clopper_pearson(k1, n, error)[1]
    return max(0.0, math.log((high1 - delta) / low0)) if low0 > 0 else math.inf
