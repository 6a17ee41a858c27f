"""Returned the paper's delta W, with its minus sign."""

import numpy as np


# %% step
def step(see, e, I_a, dphi, h, t, s, m):
    p = scale(project(see, ternarise(e, t), I_a), s)
    return -(p * dphi).T @ h / m
