"""Gave every layer the share of the output layer: true and wasteful."""

import math

import numpy as np


# %% bound_total
def bound_total(L, m, gamma, beta, tau_e, tau_h):
    return 2 / m * tau_e * math.sqrt((1 + tau_h**2) * L)
