"""Asked the device to show -1."""

import numpy as np


# %% project
def project(see, e, I_a):
    return linear(see, e, I_a)
