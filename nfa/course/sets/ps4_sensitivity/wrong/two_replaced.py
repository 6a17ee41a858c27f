"""Compared all data sets of one size, whatever the number of records that differ."""


# %% neighbours
def neighbours(D, domain, relation):
    if relation == "replace-one":
        return [list(other) for other in itertools.product(domain, repeat=len(D))]
    return [D[:i] + D[i + 1 :] for i in range(len(D))] + [[*D, record] for record in domain]
