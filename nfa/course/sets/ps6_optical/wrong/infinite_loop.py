"""Added noise until the rank was full, which it never is."""

import numpy as np


# %% noisy_rank
def noisy_rank(m, n_h, n_out):
    rng, rank, sigma = np.random.default_rng(0), 0, 1.0
    h = rng.normal(size=(m, n_h))
    while rank < min(n_h, n_out):
        sigma = min(2 * sigma, 1e6)
        rank = np.linalg.matrix_rank((sigma * rng.normal(size=(m, n_out))).T @ h)
    return rank
