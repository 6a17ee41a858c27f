"""Multiplied the laws of the two answers, which are not independent when batches are shuffled."""

import numpy as np


# %% two_answers
def two_answers(scheme):
    mixed, no = np.array([0.5, 0.5]), np.array([0.75, 0.25])
    return np.kron(mixed, mixed), np.kron(no, no)
