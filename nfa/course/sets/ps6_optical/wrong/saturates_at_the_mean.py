"""Put the highest level at the mean intensity, as if the law were Gaussian and narrow."""

import numpy as np


# %% best_top
def best_top():
    return 17
