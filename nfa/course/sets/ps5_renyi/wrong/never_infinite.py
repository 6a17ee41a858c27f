"""Evaluated the formula where the integral diverges."""

import numpy as np


# %% renyi_gauss
def renyi_gauss(mean_p, std_p, mean_q, std_q, alpha):
    spread = alpha * std_q**2 + (1 - alpha) * std_p**2
    shape = np.log(abs(spread) / (std_p ** (2 - 2 * alpha) * std_q ** (2 * alpha))) / 2
    return alpha * (mean_p - mean_q) ** 2 / (2 * spread) - shape / (alpha - 1)
