"""Left log alpha out of the newer conversion."""

import numpy as np


# %% better
def better(cost, alpha, delta):
    return max(0.0, cost + np.log((alpha - 1) / alpha) - np.log(delta) / (alpha - 1))
