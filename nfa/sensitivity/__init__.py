"""The sensitivities of the private rules, with our corrections: the largest change of a direction by one record.

This module covers rules that clip each record's term as a whole, as in DP-SGD. `nfa.sensitivity.dfa` and
`nfa.sensitivity.pdfa` cover rules that clip the factors of a term.
"""

from nfa import require

# The sums on two neighbours differ by at most k times the bound on one record's term. If a record is replaced, its term
# is subtracted and the new record's term is added, so k = 2. If a record is added or removed, only its term is added or
# subtracted, so k = 1. A new label can change a term into its opposite, so k = 2. A record that is zeroed out has the
# term 0, so k = 1.
# Source: [ours:zero-out]
BOUNDS_APART = {"replace-one": 2, "add-remove": 1, "zero-out": 1, "replace-label": 2}


def clipped_sensitivity(*, C: float, m: float, adjacency: str) -> float:
    """The sensitivity of a sum of gradients clipped to l2 norm C, divided by m: k C / m with k from `BOUNDS_APART`.

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
