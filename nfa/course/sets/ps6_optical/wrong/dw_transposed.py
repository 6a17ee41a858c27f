"""Returned dW with rows and columns exchanged."""

import numpy as np


# %% step
def step(see, e, I_a, dphi, h, t, s, m):
    p = scale(project(see, ternarise(e, t), I_a), s)
    return h.T @ (p * dphi) / m
