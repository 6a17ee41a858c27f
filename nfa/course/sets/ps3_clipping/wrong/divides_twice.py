"""Took the mean over the records and divided by m as well."""

import numpy as np


# %% clipped_mean
def clipped_mean(dz, h, C, m):
    L = len(dz) - 1
    share = clip_weights(joint_norms(dz, h), C)[:, None] / m
    k = max(1, len(share))
    dW = [None] + [(share * dz[l]).T @ h[l - 1] / k for l in range(1, L + 1)]
    db = [None] + [(share * dz[l]).sum(axis=0) / k for l in range(1, L + 1)]
    return dW, db
