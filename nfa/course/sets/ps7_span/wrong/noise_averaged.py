"""Divided G by m as well."""

import numpy as np


# %% update
def update(u, dphi, h, m, g, G):
    read = np.hstack([h, np.ones((len(h), 1))])
    return (((u + g) * dphi).T @ read + G) / m
