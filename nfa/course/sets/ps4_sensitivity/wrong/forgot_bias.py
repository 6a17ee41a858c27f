"""Counted L gradients where W and b are clipped apart."""

import math

import numpy as np


# %% clip_norm
def clip_norm(S, L):
    return S / (2 * math.sqrt(L))
