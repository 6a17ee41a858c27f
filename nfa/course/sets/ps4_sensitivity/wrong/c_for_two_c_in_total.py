"""The add-remove bound for replace-one."""

import math

import numpy as np


# %% bound_total
def bound_total(L, m, gamma, beta, tau_e, tau_h):
    return tau_e / m * math.sqrt((1 + tau_h**2) * (1 + (L - 1) * (gamma * beta) ** 2))
