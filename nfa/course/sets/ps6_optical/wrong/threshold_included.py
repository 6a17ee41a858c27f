"""Took >= t for > t."""

import numpy as np


# %% ternarise
def ternarise(e, t):
    return (e >= t) * 1.0 - (e <= -t) * 1.0
