"""A bound for sure: a thousand times the claimed number."""


# %% bound_total
def bound_total(L, m, gamma, beta, tau_e, tau_h):
    return 1000 * claimed_total(L, m, gamma, beta, tau_e, tau_h)
