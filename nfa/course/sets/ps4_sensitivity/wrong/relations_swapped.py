"""Took add-remove for replace-one and the other way round."""


# %% neighbours
def neighbours(D, domain, relation):
    found = []
    for i in range(len(D)):
        rest = D[:i] + D[i + 1 :]
        found += [rest] if relation == "replace-one" else [[*rest, record] for record in domain]
    if relation == "replace-one":
        found += [[*D, record] for record in domain]
    return found
