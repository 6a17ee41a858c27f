"""Added up the entries' differences: the l1 norm."""

import math

import numpy as np


# %% sensitivity
def sensitivity(f, domain, sizes, relation):
    largest = 0.0
    for n in sizes:
        for D in itertools.product(domain, repeat=n):
            for other in neighbours(list(D), domain, relation):
                if len(other) in sizes:
                    largest = max(largest, np.sum(np.abs(f(list(D)) - f(other))))
    return largest
