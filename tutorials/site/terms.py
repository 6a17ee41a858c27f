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
        if span := where(term, latex):
            first, last = span
            latex = f"{latex[:first]}{chr(PLACES + at)}{latex[first:last]}}}{latex[last:]}"
    return re.sub(f"[{chr(PLACES)}-{chr(PLACES + 99)}]", lambda m: rf"\class{{term-{ord(m[0]) - PLACES}}}{{", latex)


def where(term: str, latex: str) -> tuple[int, int] | None:
    r"""Where a formula has a term for the first time: ``m`` is no part of ``\gamma``, nor ``\phi`` of ``\phiv``."""
    ends = r"(?![A-Za-z])" if re.search(r"\\[A-Za-z]+$", term) else ""
    for found in re.finditer(rf"({re.escape(term)}){ends}|\\[A-Za-z]+", latex):  # names are passed over
        if found[1]:
            return found.span(1)
    return None


def typeset(latex: str, terms: Iterable[tuple[str, str]] = ()) -> str:
    """A formula for the site: its terms marked, and behind it the number that stands beside it in print."""
    return TAG.sub(r"\\qquad\\text{(\1)}", marked(latex, terms))
