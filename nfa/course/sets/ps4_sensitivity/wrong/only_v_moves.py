"""Turned an error around and kept the input, in a batch smaller than n."""


# %% pair_noise
def pair_noise():
    return "fails", [(0.8, [1, 1, 1]), (0.8, [1, 1, -1])], [(0.8, [1, 1, 1]), (-0.8, [1, 1, -1])]
