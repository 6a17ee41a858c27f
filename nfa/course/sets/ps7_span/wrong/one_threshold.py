"""Took one threshold, the middle of all residuals, in place of the best."""

import numpy as np


# %% advantage
def advantage(members, others):
    t = np.median(np.concatenate([members, others]))
    return max(0.0, np.mean(np.asarray(members) <= t) - np.mean(np.asarray(others) <= t))
