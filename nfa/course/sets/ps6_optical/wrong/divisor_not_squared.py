"""Divided the variance by the divisor of linear, not by its square."""

import numpy as np


# %% shot_variance
def shot_variance(I_xa, I_x, I_a, photons):
    return (I_xa + I_x) / photons / (2 * np.sqrt(I_a))
