"""2C for replace-one, though records in [a, b] are not as far apart as -C and C."""


# %% sum_moves
def sum_moves(a, b, relation):
    C = max(abs(a), abs(b))
    return 2 * C if relation == "replace-one" else C
