"""Says rightly that it holds, with a prediction so sure of itself that one error is clipped."""


# %% pair_label
def pair_label():
    return "holds", [([0.99, 0.01], 0)], [([0.99, 0.01], 1)]
