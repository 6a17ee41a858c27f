"""Took the classical formula, which needs more noise, and holds for epsilon below 1 only."""

import numpy as np


# %% noise_needed
def noise_needed(epsilon, delta, Delta):
    return math.sqrt(2 * math.log(1.25 / delta)) * Delta / epsilon
