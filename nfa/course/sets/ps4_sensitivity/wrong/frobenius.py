"""Took the Frobenius norm, by which no single error is made longer."""

import math

import numpy as np


# %% bound_expected
def bound_expected(B, m, tau_e):
    return 2 * tau_e / m * np.linalg.norm(B)
