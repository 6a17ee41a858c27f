"""Counted the shot noise of the anchor's picture, which is exact."""

import numpy as np


# %% shot_variance
def shot_variance(I_xa, I_x, I_a, photons):
    return (I_xa + I_x + I_a) / (4 * photons * I_a)
