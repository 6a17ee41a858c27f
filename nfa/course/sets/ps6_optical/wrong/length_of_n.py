"""Added up standard deviations: sigma n in place of sigma sqrt(n)."""

import numpy as np


# %% noise_length
def noise_length(sigma, n, projections):
    return sigma * n * projections
