"""Subtracted the picture of x twice."""

import numpy as np


# %% linear
def linear(see, x, I_a):
    return (see(x, anchor=True) - 2 * see(x, anchor=False) - I_a) / (2 * np.sqrt(I_a))
