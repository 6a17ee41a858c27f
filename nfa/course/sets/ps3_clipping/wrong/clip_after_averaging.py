"""Averaged first and clipped the mean."""

import numpy as np


# %% clipped_mean
def clipped_mean(dz, h, C, m):
    L = len(dz) - 1
    dW = [None] + [dz[l].T @ h[l - 1] / m for l in range(1, L + 1)]
    db = [None] + [dz[l].sum(axis=0) / m for l in range(1, L + 1)]
    norm = np.sqrt(sum((dW[l] ** 2).sum() + (db[l] ** 2).sum() for l in range(1, L + 1)))
    weight = min(1, C / norm) if norm > 0 else 1
    return [None] + [weight * d for d in dW[1:]], [None] + [weight * d for d in db[1:]]
