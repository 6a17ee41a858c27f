"""The terms of a formula that have a counterpart in the code, each with a mark of its own around it."""

import re
from collections.abc import Iterable

PLACES = 0xE100  # signs that no formula has, for marks that are set one after the other
TAG = re.compile(r" *\\tag{([^}]*)}")


def marked(latex: str, terms: Iterable[tuple[str, str]]) -> str:
    r"""A formula with ``\class{term-k}{...}`` around the k-th of the terms, where it has that term; longest first.

    Parameters
    ----------
    latex : str, without its dollars
    terms : pairs of a term and what it is in the code; those that are not between ``$`` stand in no formula

    Examples
    --------
    >>> print(marked(r"\gamma \frac{1}{m}", [("$m$", "m"), (r"$\gamma$", "gamma")]))
    \class{term-2}{\gamma} \frac{1}{\class{term-1}{m}}
    """
    latex = " ".join(latex.split())
    numbered = [(formula[1:-1], at) for at, (formula, _) in enumerate(terms, 1) if formula[0] == "$"]
    for term, at in sorted(numbered, key=lambda one: -len(one[0])):
        latex = occurrence(term).sub(lambda found, at=at: f"{chr(PLACES + at)}{found[0]}}}", latex, count=1)
    return re.sub(f"[{chr(PLACES)}-{chr(PLACES + 99)}]", lambda m: rf"\class{{term-{ord(m[0]) - PLACES}}}{{", latex)


def occurrence(term: str) -> re.Pattern[str]:
    r"""Where a term stands in a formula: ``m`` is no part of ``\gamma``, nor ``\phi`` of ``\phiv``."""
    before = r"(?<![A-Za-z\\])" if term[0].isalpha() else ""
    after = r"(?![A-Za-z])" if re.search(r"\\[A-Za-z]+$", term) else ""
    return re.compile(before + re.escape(term) + after)


def typeset(latex: str, terms: Iterable[tuple[str, str]] = ()) -> str:
    """A formula for the site: its terms marked, and behind it the number that stands beside it in print."""
    return TAG.sub(r"\\qquad\\text{(\1)}", marked(latex, terms))
