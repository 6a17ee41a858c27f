"""How far one record can move a direction: sensitivities of the private rules, as corrected.

Here each record's term is clipped as a whole, as in DP-SGD. `nfa.sensitivity.dfa` and `nfa.sensitivity.pdfa` cover
rules that clip the parts of a term.
"""

from nfa import require

# The distance between neighbours is k times the bound on one record's term. If a record is replaced, one term leaves
# and one comes, so k = 2. If a record is added or removed, one term comes or leaves, so k = 1. A new label can turn a
# term into its opposite, so it counts as a replaced record. A record that is zeroed out has the term 0, so k = 1.
# Source: [ours:zero-out]
BOUNDS_APART = {"replace-one": 2, "add-remove": 1, "zero-out": 1, "replace-label": 2}


def clipped_sensitivity(*, C: float, m: float, adjacency: str) -> float:
    """The sensitivity of an average over m of gradients clipped to l2 norm C: C / m, or 2 C / m if one is replaced.

    Source: [lee2020:def4]

    Raises ValueError if C or m is not positive, or if the adjacency is unknown.

    Examples
    --------
    >>> clipped_sensitivity(C=1.5, m=512, adjacency="replace-one") == 3 / 512
    True
    """
    require.one_of(BOUNDS_APART, adjacency=adjacency)
    require.positive(**{"the clipping bound C": C, "the normaliser m": m})
    return BOUNDS_APART[adjacency] * C / m
