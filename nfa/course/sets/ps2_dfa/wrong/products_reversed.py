"""Multiplied the transposes in the wrong order, which fits no network whose layers differ in size."""

import numpy as np


# %% transported
def transported(W):
    L = len(W) - 1
    B = [None] * (L + 1)
    for l in range(L - 1, 0, -1):
        B[l] = W[L].T if l == L - 1 else B[l + 1] @ W[l + 1].T
    return B
