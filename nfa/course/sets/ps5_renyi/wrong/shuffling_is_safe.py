"""Trusted the Poisson account of shuffled batches."""

import numpy as np


# %% verdict
def verdict():
    return "never more"
