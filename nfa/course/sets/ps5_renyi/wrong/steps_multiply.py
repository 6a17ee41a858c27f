"""Took the power of a cost where T costs add up."""

import numpy as np


# %% run_epsilon
def run_epsilon(costs, orders, steps, delta):
    epsilons = [mironov(cost**steps, alpha, delta) for cost, alpha in zip(costs, orders)]
    best = int(np.argmin(epsilons))
    return epsilons[best], orders[best], best in (0, len(epsilons) - 1)
