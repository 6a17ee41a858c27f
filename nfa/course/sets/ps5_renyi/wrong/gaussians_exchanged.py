"""Took the two Gaussians the other way round."""

import numpy as np


# %% renyi_gauss
def renyi_gauss(mean_q, std_q, mean_p, std_p, alpha):
    spread = alpha * std_q**2 + (1 - alpha) * std_p**2
    if spread <= 0:
        return np.inf
    shape = np.log(spread / (std_p ** (2 - 2 * alpha) * std_q ** (2 * alpha))) / 2
    return alpha * (mean_p - mean_q) ** 2 / (2 * spread) - shape / (alpha - 1)
