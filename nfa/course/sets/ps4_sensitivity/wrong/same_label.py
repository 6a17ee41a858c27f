"""Replaced the input and kept the label."""


# %% pair_total
def pair_total():
    return "fails", [([1.0, 1.0], 0)], [([1.0, 0.9], 0)]
