"""Expected that noise makes every matrix regular."""

import numpy as np


# %% noisy_rank
def noisy_rank(m, n_h, n_out):
    return min(n_h, n_out)
