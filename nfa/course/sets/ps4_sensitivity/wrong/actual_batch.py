"""Divided by the size of the smaller batch, without asking which way the last record points."""


# %% bound_size
def bound_size(C, k):
    return C / (k - 1)
