"""Took away one term of the mean and forgot that its divisor changes."""


# %% mean_moves
def mean_moves(a, b, n, relation):
    return (b - a) / n if relation == "replace-one" else max(abs(a), abs(b)) / n
