"""Put z where z^2 belongs in the binomial sum."""

import numpy as np


# %% step_cost
def step_cost(alpha, q, z):
    logs = []
    for k in range(alpha + 1):
        chosen = math.log(math.comb(alpha, k)) + (alpha - k) * math.log(1 - q) + k * math.log(q)
        logs.append(chosen + k * (k - 1) / (2 * z))
    return np.logaddexp.reduce(logs) / (alpha - 1)
