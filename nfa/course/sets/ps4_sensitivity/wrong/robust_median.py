"""Thought that the median moves as little as the mean."""


# %% median_moves
def median_moves(a, b, n, relation):
    return (b - a) / n
