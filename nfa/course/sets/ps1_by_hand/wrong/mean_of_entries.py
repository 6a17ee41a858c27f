"""Took the mean over classes and records, with np.mean of everything."""

import numpy as np


# %% loss
def loss(y_hat, y):
    return -np.mean(y * np.log(y_hat))
