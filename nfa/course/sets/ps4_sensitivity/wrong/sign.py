"""Took a - b."""


# %% mean_moves
def mean_moves(a, b, n, relation):
    return (a - b) / n
