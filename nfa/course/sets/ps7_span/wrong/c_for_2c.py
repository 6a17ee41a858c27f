"""Thought of a record that leaves, and not of the one that comes in."""

import numpy as np


# %% sensitivity
def sensitivity(tau, c, m):
    return tau * c / m
