"""Scaled the whole batch by its one length."""

import numpy as np


# %% scale
def scale(p, s):
    norm = np.linalg.norm(p)
    return p * min(1, s / norm) if norm > 0 else p
