"""Brought every gradient to the norm C, the short ones too."""

import numpy as np


# %% clip_weights
def clip_weights(norms, C):
    return np.where(norms > 0, C / np.where(norms > 0, norms, 1), 1)
