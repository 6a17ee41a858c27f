"""The statements of a document in the order of print, and the texts by which readers search for a statement."""

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from nfa import ledger
from nfa.ledger import Item

ORDER = Path(__file__).with_suffix(".toml")
PAGES = re.compile(r"section ([\d.]+) \(which begins on page (\d+)\)")
LINES = re.compile(r"\blines? (\d+(?:(?:-| to | and |, )\d+)*)")


@cache
def _printed() -> dict[str, dict]:
    return tomllib.loads(ORDER.read_text(encoding="utf-8"))


def items(paper: str) -> list[Item]:
    """The statements of a document in the order of print or, without a printed document, in the order of the ledger.

    Raises
    ------
    ValueError : if the order lacks a statement of the document, or has a statement twice or an unknown statement
    """
    found = {item.id.partition(":")[2]: item for item in ledger.items(paper)}
    if paper not in _printed():
        return list(found.values())
    order = _printed()[paper]["order"].split()
    if sorted(order) != sorted(found):
        odd = ", ".join(sorted({name for name in (*order, *found) if order.count(name) != 1 or name not in found}))
        raise ValueError(f"{ORDER.name} must have each statement of {paper} once; look at {odd}")
    return [found[name] for name in order]


def names(item: Item) -> list[str]:
    """The id and all other names of a statement, without its document and in small letters."""
    own = [name.partition(":")[2].lower() for name in (item.id, *item.aliases)]
    also = _printed().get(item.paper, {}).get("also", {})
    return own + [name for name, those in also.items() if own[0] in those.lower().split()]


def pages(item: Item) -> list[int]:
    """The possible pages of a statement, if its place names the page on which a section begins.

    The last possible page is the first page of the next section.
    """
    begins = _sections(item.paper)
    found: set[int] = set()
    for section, _ in PAGES.findall(item.where):
        after = [page for other, page in begins if _number(other) > _number(section)]
        first = dict(begins)[section]
        found |= set(range(first, min(after, default=first) + 1))
    return sorted(found)


def lines(item: Item) -> list[tuple[int, int]]:
    """The ranges (first, last) of printed line numbers in the place of a statement."""
    ranges = [re.split("-| to ", one) for found in LINES.findall(item.where) for one in re.split(" and |, ", found)]
    return [(int(ends[0]), int(ends[-1])) for ends in ranges]


@cache
def _sections(paper: str) -> list[tuple[str, int]]:
    found = {pair for item in ledger.items(paper) for pair in PAGES.findall(item.where)}
    return sorted(((section, int(page)) for section, page in found), key=lambda pair: _number(pair[0]))


def _number(section: str) -> tuple[int, ...]:
    return tuple(map(int, section.strip(".").split(".")))


def facts(item: Item) -> Iterator[tuple[str, str]]:
    """The names and texts of the attributes that the search of the page uses."""
    yield "kind", item.kind
    yield "verdict", item.verdict
    yield "names", ";".join(names(item))
    yield "find", " ".join(item.where.lower().split())
    if pages(item):
        yield "pages", " ".join(map(str, pages(item)))
    if lines(item):
        yield "lines", " ".join(f"{first}-{last}" for first, last in lines(item))
