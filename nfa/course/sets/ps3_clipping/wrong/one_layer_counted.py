"""Counted the largest layer's bound once, not every layer's."""

import numpy as np


# %% sensitivity
def sensitivity(C, m, adjacency):
    return (2 if adjacency == "replace-one" else 1) * max(C[1:]) / m
