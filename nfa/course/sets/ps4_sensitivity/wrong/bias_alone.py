"""Bounded the bias and forgot the matrix beside it."""


# %% bound_bias
def bound_bias(m, n, tau_B, tau_h):
    return 2 / m * tau_B
