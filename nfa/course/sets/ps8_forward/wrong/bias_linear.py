"""Thought the bias in proportion to sigma."""

import numpy as np


# %% exponents
def exponents():
    return {"K": -1, "sigma": -2, "loss": 2, "baseline_sigma": 0, "bias_sigma": 1}
