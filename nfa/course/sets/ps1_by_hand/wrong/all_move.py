"""Thought that the counts do not depend on the records, and that units part in time."""

import numpy as np


# %% from_zero
def from_zero():
    return {"sigmoid": [1, 2, 3], "tanh": [0, 0, 0], "even classes": [1, 2, 3], "different rows": 4}
