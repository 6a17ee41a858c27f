"""Rounded the epsilons in place of cutting them, and so took another for the misprint."""

import numpy as np


# %% misprint
def misprint():
    costs = fixed_batches(ORDERS, 128 / 60_000, 0.64)
    for epochs, printed in reversed(PRINTED.items()):
        found = run_epsilon(costs, ORDERS, 468 * epochs, DELTA)[0]
        if round(found, 2) != printed:
            return printed
