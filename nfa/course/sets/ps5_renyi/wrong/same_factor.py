"""Took the factor without sampling for that with Poisson batches."""

import numpy as np


# %% doubled
def doubled():
    return np.sqrt(2), "equal"
