"""Scaled after the multiplication by phi'."""

import numpy as np


# %% step
def step(see, e, I_a, dphi, h, t, s, m):
    p = project(see, ternarise(e, t), I_a)
    return scale(p * dphi, s).T @ h / m
