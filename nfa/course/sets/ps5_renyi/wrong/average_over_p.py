"""Averaged the ratio's power over p in place of q."""

import numpy as np


# %% renyi
def renyi(p, q, alpha):
    p, q = np.asarray(p, float), np.asarray(q, float)
    if ((p > 0) & (q == 0)).any():
        return np.inf
    p, q = p[p > 0], q[p > 0]
    if alpha == 1:
        return (p * np.log(p / q)).sum()
    return np.log((p * (p / q) ** alpha).sum()) / (alpha - 1)
