"""Clipped the weights' part and left the biases as they were."""

import numpy as np


# %% clipped_mean
def clipped_mean(dz, h, C, m):
    L = len(dz) - 1
    share = clip_weights(joint_norms(dz, h), C)[:, None] / m
    dW = [None] + [(share * dz[l]).T @ h[l - 1] for l in range(1, L + 1)]
    db = [None] + [dz[l].sum(axis=0) / m for l in range(1, L + 1)]
    return dW, db
