"""Used Lemma 1 for two standard deviations too."""

import numpy as np


# %% renyi_gauss
def renyi_gauss(mean_p, std_p, mean_q, std_q, alpha):
    return alpha * (mean_p - mean_q) ** 2 / (2 * std_p**2)
