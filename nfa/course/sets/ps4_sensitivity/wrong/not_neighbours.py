"""Turned two records around at once: no neighbours."""


# %% pair_size
def pair_size():
    return "fails", [[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [-1.0, 0.0], [-1.0, 0.0]]
