"""Took the advantage for the share of right guesses."""

import numpy as np


# %% advantage_epsilon
def advantage_epsilon(a):
    return max(0.0, np.log(a / (1 - a))) if a > 0 else 0.0
