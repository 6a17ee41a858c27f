"""Compared the bound for a record added with the printed one for a record replaced."""

import numpy as np


# %% too_small_by
def too_small_by(L):
    printed = 2 * 0.25 * 0.9 * np.sqrt(2 * L)
    return dfa_bound([None] + [0.25] * (L - 1), [None] + [0.9] * (L - 1), 1, [None] + [1] * L) / printed
