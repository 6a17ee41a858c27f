"""Averaged over q in place of p at the order 1."""

import numpy as np


# %% renyi
def renyi(p, q, alpha):
    p, q = np.asarray(p, float), np.asarray(q, float)
    if ((p > 0) & (q == 0)).any():
        return np.inf
    p, q = p[p > 0], q[p > 0]
    if alpha == 1:
        return (q * np.log(q / p)).sum()
    return np.log((p**alpha * q ** (1 - alpha)).sum()) / (alpha - 1)
