"""Had 2C under add-remove too."""

import numpy as np


# %% sensitivity
def sensitivity(C, m, adjacency):
    return 2 * np.sqrt(sum(c**2 for c in C[1:])) / m


# %% private_step
def private_step(dz, h, C, m, z, noise):
    std = z * 2 * C / m
    N_W, N_b = noise
    dW, db = clipped_mean(dz, h, C, m)
    dW = [None] + [d + std * n for d, n in zip(dW[1:], N_W[1:])]
    return dW, [None] + [d + std * n for d, n in zip(db[1:], N_b[1:])]
