"""Added the layers' sensitivities up: a bound, but not the smallest."""


# %% joint
def joint(deltas):
    return sum(deltas)
