"""Raised an alarm where the residual is above the threshold."""

import numpy as np


# %% hits
def hits(h, target, u, dphi, sigma, s, trials, t, rng):
    k, units, alarms = len(h), u.shape[1], 0
    for _ in range(trials):
        g = rng.normal(0, sigma, size=(k, units))
        G = rng.normal(0, s, size=(units, h.shape[1] + 1))
        alarms += residuals(target[None], span(update(u, dphi, h, k, g, G), rank=k))[0] > t
    return alarms
