"""Divided the bias by the row."""

import numpy as np


# %% recover_one
def recover_one(dW):
    row = dW[np.argmax(np.abs(dW[:, -1]))]
    return row[-1] / row[:-1]
