"""Added the noise once for every record."""

import numpy as np


# %% private_step
def private_step(dz, h, C, m, z, noise):
    N_W, N_b = noise
    dW, db = clipped_mean(dz, h, C, m)
    for i in range(len(dz[1])):
        dW = [None] + [d + z * C / m * n for d, n in zip(dW[1:], N_W[1:])]
        db = [None] + [d + z * C / m * n for d, n in zip(db[1:], N_b[1:])]
    return dW, db
