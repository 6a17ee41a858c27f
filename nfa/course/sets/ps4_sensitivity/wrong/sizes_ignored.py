"""Went on to neighbours whose size is not in the list."""

import math

import numpy as np


# %% sensitivity
def sensitivity(f, domain, sizes, relation):
    largest = 0.0
    for n in sizes:
        for D in itertools.product(domain, repeat=n):
            for other in neighbours(list(D), domain, relation):
                largest = max(largest, np.linalg.norm(f(list(D)) - f(other)))
    return largest
