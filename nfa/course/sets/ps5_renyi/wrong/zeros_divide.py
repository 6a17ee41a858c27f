"""Took no care of probabilities that are 0."""

import numpy as np


# %% renyi
def renyi(p, q, alpha):
    p, q = np.asarray(p, float), np.asarray(q, float)
    if alpha == 1:
        return (p * np.log(p / q)).sum()
    return np.log((q * (p / q) ** alpha).sum()) / (alpha - 1)
