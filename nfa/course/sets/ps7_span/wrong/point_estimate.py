"""Took the shares that were counted for the probabilities."""

import numpy as np


# %% epsilon_bound
def epsilon_bound(k0, k1, n, delta, confidence):
    p0, p1 = k0 / n, k1 / n
    return max(0.0, np.log((p1 - delta) / p0)) if p0 > 0 and p1 > delta else 0.0
