"""Left out the top layer, which has neither gamma nor beta."""

import numpy as np


# %% dfa_bound
def dfa_bound(gamma, beta, tau_e, tau_h):
    return tau_e * np.sqrt(sum((gamma[l] * beta[l]) ** 2 * (tau_h[l] ** 2 + 1) for l in range(1, len(gamma))))
