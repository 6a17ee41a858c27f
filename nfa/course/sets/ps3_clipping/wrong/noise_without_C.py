"""Sized the noise without C."""

import numpy as np


# %% private_step
def private_step(dz, h, C, m, z, noise):
    N_W, N_b = noise
    dW, db = clipped_mean(dz, h, C, m)
    dW = [None] + [d + z / m * n for d, n in zip(dW[1:], N_W[1:])]
    return dW, [None] + [d + z / m * n for d, n in zip(db[1:], N_b[1:])]
