"""Thought of alarms only, not of the event that there is none."""

import numpy as np


# %% advantage_epsilon
def advantage_epsilon(a):
    return -np.log(1 - a)
