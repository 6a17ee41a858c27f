"""Forgot that the squared error keeps the derivative of the softmax."""

import numpy as np


# %% sure_and_wrong
def sure_and_wrong():
    return np.sqrt(2), np.sqrt(2)
