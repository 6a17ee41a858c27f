"""Divided by the number of records that came in place of m."""

import numpy as np


# %% clipped_mean
def clipped_mean(dz, h, C, m):
    L = len(dz) - 1
    share = clip_weights(joint_norms(dz, h), C)[:, None]
    dW = [None] + [(share * dz[l]).T @ h[l - 1] / len(dz[l]) for l in range(1, L + 1)]
    db = [None] + [(share * dz[l]).mean(axis=0) for l in range(1, L + 1)]
    return dW, db
