"""Let n fields add up in phase: n squared."""

import numpy as np


# %% speckle
def speckle(n):
    return n**2, n**2
