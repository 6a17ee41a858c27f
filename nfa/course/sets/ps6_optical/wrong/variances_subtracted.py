"""Subtracted the variance of what is subtracted."""

import numpy as np


# %% shot_variance
def shot_variance(I_xa, I_x, I_a, photons):
    return (I_xa - I_x) / (4 * photons * I_a)
