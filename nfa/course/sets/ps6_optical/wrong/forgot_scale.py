"""Did not scale at all."""

import numpy as np


# %% step
def step(see, e, I_a, dphi, h, t, s, m):
    p = project(see, ternarise(e, t), I_a)
    return (p * dphi).T @ h / m
