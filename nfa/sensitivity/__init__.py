"""What one record can move: sensitivities of the private rules, as corrected.

Here each record's term is clipped as a whole, as in DP-SGD. `nfa.sensitivity.dfa` and `nfa.sensitivity.pdfa` have the
rules that clip a term's parts.
"""

from nfa import require

# How many times the bound on one record's term neighbours can be apart, k in the formulas: one term leaves and one
# comes, or one comes (or leaves) alone. A new label can turn a term into its opposite: it counts as a record replaced.
# A record that is zeroed out has the term 0, so one term leaves alone.
# Source: [ours:zero-out]
BOUNDS_APART = {"replace-one": 2, "add-remove": 1, "zero-out": 1, "replace-label": 2}


def clipped_sensitivity(*, C: float, m: float, adjacency: str) -> float:
    """What one record can move in an average over m of gradients clipped to l2 norm C: C / m, twice that if replaced.

    Source: [lee2020:def4]

    Raises ValueError if C or m is not positive, or the adjacency unknown.

    Examples
    --------
    >>> clipped_sensitivity(C=1.5, m=512, adjacency="replace-one") == 3 / 512
    True
    """
    require.one_of(BOUNDS_APART, adjacency=adjacency)
    require.positive(C=C, m=m)
    return BOUNDS_APART[adjacency] * C / m
