"""Added the lengths by W[l] and b[l] in place of their squares."""

import numpy as np


# %% lengths
def lengths(dz, h):
    errors, inputs = np.linalg.norm(dz, axis=1), np.linalg.norm(h, axis=1)
    return errors * inputs, errors * inputs + errors
