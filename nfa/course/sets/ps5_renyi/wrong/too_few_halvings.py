"""Halved the interval ten times, which leaves 0.2."""

import numpy as np


# %% noise_for
def noise_for(target, q, steps, delta):
    low, high = 0.2, 200.0
    for _ in range(10):
        middle = (low + high) / 2
        costs = np.array([step_cost(alpha, q, middle) for alpha in ORDERS])
        if run_epsilon(costs, ORDERS, steps, delta)[0] > target:
            low = middle
        else:
            high = middle
    return high
