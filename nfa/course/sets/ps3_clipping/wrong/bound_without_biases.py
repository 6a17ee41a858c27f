"""Left the biases out of the bound."""

import numpy as np


# %% dfa_bound
def dfa_bound(gamma, beta, tau_e, tau_h):
    L = len(gamma)
    slopes = [None] + [gamma[l] * beta[l] for l in range(1, L)] + [1]
    return tau_e * np.sqrt(sum((slopes[l] * tau_h[l]) ** 2 for l in range(1, L + 1)))
