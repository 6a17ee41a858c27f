"""Gave the exponents of the standard deviation."""

import numpy as np


# %% exponents
def exponents():
    return {"K": -0.5, "sigma": -1, "loss": 1, "baseline_sigma": 0, "bias_sigma": 2}
