"""Drew the noise once for all trials."""

import numpy as np


# %% hits
def hits(h, target, u, dphi, sigma, s, trials, t, rng):
    k, units = len(h), u.shape[1]
    g = rng.normal(0, sigma, size=(k, units))
    G = rng.normal(0, s, size=(units, h.shape[1] + 1))
    basis = span(update(u, dphi, h, k, g, G), rank=k)
    return sum(residuals(target[None], basis)[0] <= t for _ in range(trials))
