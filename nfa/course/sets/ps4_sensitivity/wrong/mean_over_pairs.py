"""Took the mean over all pairs of neighbours in place of the worst pair."""

import math

import numpy as np


# %% sensitivity
def sensitivity(f, domain, sizes, relation):
    moved = []
    for n in sizes:
        for D in itertools.product(domain, repeat=n):
            for other in neighbours(list(D), domain, relation):
                if len(other) in sizes:
                    moved.append(np.linalg.norm(f(list(D)) - f(other)))
    return np.mean(moved)
