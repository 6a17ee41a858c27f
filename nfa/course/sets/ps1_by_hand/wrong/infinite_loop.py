"""A loop that never ends."""

import numpy as np


# %% lengths
def lengths(dz, h):
    by_W, both = np.zeros(len(dz)), np.zeros(len(dz))
    i = 0
    while i < len(dz):
        by_W[i] = np.linalg.norm(dz[i]) * np.linalg.norm(h[i])
        both[i] = np.hypot(by_W[i], np.linalg.norm(dz[i]))
    return by_W, both
