"""Raised an alarm where the residual is large."""

import numpy as np


# %% advantage
def advantage(members, others):
    members, others = np.asarray(members), np.asarray(others)
    return max(0.0, *((members >= t).mean() - (others >= t).mean() for t in [*members, *others]))
