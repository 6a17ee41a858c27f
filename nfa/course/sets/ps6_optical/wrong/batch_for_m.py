"""Divided by the number of records in place of m."""

import numpy as np


# %% step
def step(see, e, I_a, dphi, h, t, s, m):
    p = scale(project(see, ternarise(e, t), I_a), s)
    return (p * dphi).T @ h / len(h)
