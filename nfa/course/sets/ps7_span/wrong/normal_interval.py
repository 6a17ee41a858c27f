"""The usual interval of the normal law."""

import numpy as np


# %% clopper_pearson
def clopper_pearson(k, n, error):
    p = k / n
    half = stats.norm.ppf(1 - error) * np.sqrt(p * (1 - p) / n)
    return max(0.0, p - half), min(1.0, p + half)
