"""Added the units up, whose errors may cancel."""

import numpy as np


# %% recover_one
def recover_one(dW):
    total = dW.sum(axis=0)
    return total[:-1] / total[-1]
