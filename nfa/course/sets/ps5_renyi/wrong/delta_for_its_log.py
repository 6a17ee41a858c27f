"""Put delta where log(1 / delta) belongs."""

import numpy as np


# %% mironov
def mironov(cost, alpha, delta):
    return cost + delta / (alpha - 1)
