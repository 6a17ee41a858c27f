"""A loop that never ends: the interval is halved until it is empty."""

import numpy as np


# %% stationary_point
def stationary_point(x, C):
    low, high = min(x) - C, max(x) + C
    while high > low:
        middle = (low + high) / 2
        if sum(np.clip(middle - np.asarray(x), -C, C)) < 0:
            low = middle
        else:
            high = middle
    return low
