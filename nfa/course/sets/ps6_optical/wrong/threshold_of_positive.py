"""Put the threshold on the positive entries only."""

import numpy as np


# %% ternarise
def ternarise(e, t):
    return (e > t) * 1.0 - (e < 0) * 1.0
