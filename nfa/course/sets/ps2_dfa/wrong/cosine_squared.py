"""Divided by the squared norms."""

import numpy as np


# %% cosine
def cosine(a, b):
    return np.vdot(a, b) / (np.vdot(a, a) * np.vdot(b, b))
