"""Gave every column what the bias needs: true and wasteful."""

import math

import numpy as np


# %% bound_bias
def bound_bias(m, n, tau_B, tau_h):
    return math.sqrt(n + 1) * 2 / m * tau_B * max(1, tau_h / math.sqrt(n))
