"""Left out the binomial coefficients."""

import numpy as np


# %% step_cost
def step_cost(alpha, q, z):
    logs = []
    for k in range(alpha + 1):
        chosen = (alpha - k) * math.log(1 - q) + k * math.log(q)
        logs.append(chosen + k * (k - 1) / (2 * z**2))
    return np.logaddexp.reduce(logs) / (alpha - 1)
