"""Searched the orders 2, 3, 4, ... 64 only."""

import numpy as np


# %% noise_needed
def noise_needed(epsilon, delta, Delta):
    found = []
    for alpha in range(2, 65):
        left = epsilon - math.log(1 / delta) / (alpha - 1)
        if left > 0:
            found.append(Delta * math.sqrt(alpha / (2 * left)))
    return min(found) if found else 0.0
