"""Gave the field of every exposure a noise of its own size, in place of counting photons."""

import numpy as np


# %% shot_variance
def shot_variance(I_xa, I_x, I_a, photons):
    return np.full(len(I_a), 2 / photons / 4)
