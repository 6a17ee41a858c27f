"""Added up the layers' bounds, which is a bound and not the smallest."""

import numpy as np


# %% sensitivity
def sensitivity(C, m, adjacency):
    return (2 if adjacency == "replace-one" else 1) * sum(C[1:]) / m
