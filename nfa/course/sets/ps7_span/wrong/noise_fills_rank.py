"""Thought that any noise makes the rank full."""

import numpy as np


# %% predicted_rank
def predicted_rank(k, units, N, noise):
    return min(units, N)
