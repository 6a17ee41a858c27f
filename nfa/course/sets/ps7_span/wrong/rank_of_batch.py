"""Forgot that there may be more records than units."""

import numpy as np


# %% predicted_rank
def predicted_rank(k, units, N, noise):
    return k if noise == "error" else min(units, N)
