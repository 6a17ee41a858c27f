"""A loop that never ends."""

import numpy as np


# %% transported
def transported(W):
    B = [None] * len(W)
    l = len(W) - 2
    while l > 0:
        B[l] = W[l + 1].T if B[l + 1] is None else W[l + 1].T @ B[l + 1]
    return B
