"""Marks around the terms of a formula that have a counterpart in the code, with a different mark for each term."""

import re
from collections.abc import Iterable

PLACES = 0xE100  # the first of the characters that replace marks until all are set; no formula has them
TAG = re.compile(r" *\\tag{([^}]*)}")


def marked(latex: str, terms: Iterable[tuple[str, str]]) -> str:
    r"""A formula with ``\class{term-k}{...}`` around the k-th term if it has this term. The longest terms come first.

    Parameters
    ----------
    latex : str, without dollar signs
    terms : pairs of a term and its code. Terms that are not between ``$`` are in no formula

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
    r"""The first place of a term in a formula. ``m`` is no part of ``\gamma``, and ``\phi`` is no part of ``\phiv``."""
    ends = r"(?![A-Za-z])" if re.search(r"\\[A-Za-z]+$", term) else ""
    for found in re.finditer(rf"({re.escape(term)}){ends}|\\[A-Za-z]+", latex):  # the second alternative skips names
        if found[1]:
            return found.span(1)
    return None


def typeset(latex: str, terms: Iterable[tuple[str, str]] = ()) -> str:
    """A formula for the site with marked terms, followed by its printed number."""
    return TAG.sub(r"\\qquad\\text{(\1)}", marked(latex, terms))
