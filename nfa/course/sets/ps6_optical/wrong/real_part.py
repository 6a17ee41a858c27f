"""Took the real part of R for B, whatever the anchor's phase."""

import numpy as np


# %% matrix
def matrix(R, n_anchor):
    return R[:, :-n_anchor].real
