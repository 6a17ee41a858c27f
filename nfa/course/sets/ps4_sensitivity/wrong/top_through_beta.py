"""Let the output layer's error pass through a feedback matrix."""

import math

import numpy as np


# %% bound_total
def bound_total(L, m, gamma, beta, tau_e, tau_h):
    return 2 / m * beta * tau_e * math.sqrt((1 + tau_h**2) * (1 + (L - 1) * gamma**2))
