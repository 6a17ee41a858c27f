"""Doubled the noise for twice as many steps."""

import numpy as np


# %% doubled
def doubled():
    return 2.0, "less"
