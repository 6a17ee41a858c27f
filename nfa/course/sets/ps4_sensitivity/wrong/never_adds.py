"""Took records away and added none."""


# %% neighbours
def neighbours(D, domain, relation):
    found = []
    for i in range(len(D)):
        rest = D[:i] + D[i + 1 :]
        found += [rest] if relation == "add-remove" else [[*rest, record] for record in domain]
    return found
