"""Took two rows, each divided by its bias, for the two records."""

import numpy as np


# %% recover_two
def recover_two(dW):
    return dW[:2, :-1] / dW[:2, -1:]
