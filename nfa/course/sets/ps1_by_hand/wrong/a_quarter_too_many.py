"""Counted the slope of the top layer, too: one quarter for each of L layers."""

import numpy as np


# %% largest_share
def largest_share(L):
    return 0.25**L if L > 1 else 1.0
