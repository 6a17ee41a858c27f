"""Counted the advantage of alarms and that of no alarms."""

import numpy as np


# %% advantage
def advantage(members, others):
    best = 0.0
    for t in members:
        true, false = np.mean(np.asarray(members) <= t), np.mean(np.asarray(others) <= t)
        best = max(best, (true - false) + ((1 - false) - (1 - true)))
    return best
