"""Put k^2 where k (k - 1) belongs."""

import numpy as np


# %% step_cost
def step_cost(alpha, q, z):
    logs = []
    for k in range(alpha + 1):
        chosen = math.log(math.comb(alpha, k)) + (alpha - k) * math.log(1 - q) + k * math.log(q)
        logs.append(chosen + k * k / (2 * z**2))
    return np.logaddexp.reduce(logs) / (alpha - 1)
