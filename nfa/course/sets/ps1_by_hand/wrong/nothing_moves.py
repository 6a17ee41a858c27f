"""Thought that all zeros stay all zeros whatever the units are."""

import numpy as np


# %% from_zero
def from_zero():
    return {"sigmoid": [0, 0, 0], "tanh": [0, 0, 0], "even classes": [0, 0, 0], "different rows": 1}
