"""The quantiles of the beta law also where there is none."""

import numpy as np


# %% clopper_pearson
def clopper_pearson(k, n, error):
    return stats.beta.ppf(error, k, n - k + 1), stats.beta.ppf(1 - error, k + 1, n - k)
