"""A loop that never ends: it steps past the number that it waits for."""


# %% clip_norm
def clip_norm(S, L):
    tau = 0.0
    while joint([2 * tau] * (2 * L)) != S:
        tau += 0.001 * S
    return tau
