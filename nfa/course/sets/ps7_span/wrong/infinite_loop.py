"""A search that never ends, as it halves towards a number that no float is."""

import numpy as np


# %% noise_needed
def noise_needed(epsilon, delta, Delta):
    lam, low, high = math.log(1 / delta), 0.0, 1e6
    while low < high:
        s = (low + high) / 2
        rho = Delta**2 / (2 * s**2)
        if rho + 2 * math.sqrt(rho * lam) > epsilon:
            low = s
        else:
            high = s
    return high
