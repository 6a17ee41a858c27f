"""Believed the misprint of Equation 22: the loss, and not its square."""

import numpy as np


# %% exponents
def exponents():
    return {"K": -1, "sigma": -2, "loss": 1, "baseline_sigma": 0, "bias_sigma": 2}
