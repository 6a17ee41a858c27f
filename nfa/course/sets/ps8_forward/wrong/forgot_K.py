"""Left K out of Equation 8."""

import numpy as np


# %% controller
def controller(h, loss, K, C, sigma_0):
    least = np.linalg.eigvalsh((h * loss[:, None] ** 2).T @ h)[0]
    return np.sqrt(least) / (C * sigma_0)
