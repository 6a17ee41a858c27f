"""Moved a clipped gradient by its norm in place of twice that."""

import math

import numpy as np


# %% clip_norm
def clip_norm(S, L):
    return S / math.sqrt(2 * L)
