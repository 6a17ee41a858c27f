"""Let each of the two bounds be wrong with the whole probability."""

import numpy as np


# %% epsilon_bound
def epsilon_bound(k0, k1, n, delta, confidence):
    high0 = clopper_pearson(k0, n, 1 - confidence)[1]
    low1 = clopper_pearson(k1, n, 1 - confidence)[0]
    return max(0.0, math.log((low1 - delta) / high0)) if low1 > delta else 0.0
