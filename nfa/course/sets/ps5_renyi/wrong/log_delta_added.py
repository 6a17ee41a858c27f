"""Added log delta, which is negative: less privacy budget for a smaller delta."""

import numpy as np


# %% mironov
def mironov(cost, alpha, delta):
    return cost + np.log(delta) / (alpha - 1)
