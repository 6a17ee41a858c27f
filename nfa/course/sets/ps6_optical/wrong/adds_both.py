"""Added the two projections."""

import numpy as np


# %% project
def project(see, e, I_a):
    return linear(see, e > 0, I_a) + linear(see, e < 0, I_a)
