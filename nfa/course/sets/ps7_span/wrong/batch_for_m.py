"""Divided by the number of records that came in place of m."""

import numpy as np


# %% update
def update(u, dphi, h, m, g, G):
    read = np.hstack([h, np.ones((len(h), 1))])
    return ((u + g) * dphi).T @ read / max(len(h), 1) + G
