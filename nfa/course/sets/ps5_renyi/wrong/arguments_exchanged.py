"""Took the two laws the other way round."""

import numpy as np


# %% renyi
def renyi(p, q, alpha):
    q, p = np.asarray(p, float), np.asarray(q, float)
    if ((p > 0) & (q == 0)).any():
        return np.inf
    p, q = p[p > 0], q[p > 0]
    if alpha == 1:
        return (p * np.log(p / q)).sum()
    return np.log((p**alpha * q ** (1 - alpha)).sum()) / (alpha - 1)
