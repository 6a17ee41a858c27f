"""Replaced the whole record where only its label may change."""


# %% pair_label
def pair_label():
    return "fails", [([0.99, 0.01], 1)], [([0.01, 0.99], 0)]
