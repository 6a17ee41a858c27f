"""Added the terms of the binomial sum up as they are."""

import numpy as np


# %% step_cost
def step_cost(alpha, q, z):
    total = 0.0
    for k in range(alpha + 1):
        total += math.comb(alpha, k) * (1 - q) ** (alpha - k) * q**k * math.exp(k * (k - 1) / (2 * z**2))
    return math.log(total) / (alpha - 1)
