"""Replaced the first record only."""


# %% neighbours
def neighbours(D, domain, relation):
    if relation == "replace-one":
        return [[record, *D[1:]] for record in domain if D]
    return [D[:i] + D[i + 1 :] for i in range(len(D))] + [[*D, record] for record in domain]
