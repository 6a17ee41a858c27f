"""Took the intensity's law for Gaussian, with the right mean and standard deviation."""

import numpy as np


# %% overexposed
def overexposed(n, top):
    from math import erfc, sqrt

    return 0.5 * erfc((top - n) / n / sqrt(2))
