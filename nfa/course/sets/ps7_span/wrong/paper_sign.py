"""Kept the paper's minus, which the text leaves out."""

import numpy as np


# %% update
def update(u, dphi, h, m, g, G):
    read = np.hstack([h, np.ones((len(h), 1))])
    return -((u + g) * dphi).T @ read / m + G
