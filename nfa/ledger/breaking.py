"""Line breaks in formulas that are too wide for a terminal, at a relation, a sum, a product or a space."""

import re
import unicodedata
from collections.abc import Iterator

OPENING, CLOSING = "([{⟨⌊⌈", ")]}⟩⌋⌉"
SIGNS = "=<>≤≥≈≐∼∝≡←∈+−⊙·×"
RELATION = r" (?=(?:[=<>≤≥≈≐∼∝≡←∈]|:=) )"
# Places at which a line may end: before a relation, a sum or a product, or at any other space. Each place has a rank,
# which holds outside brackets.
PLACES = {RELATION: 6, r" (?=[+−] )": 4, r" (?=[⊙·×] )": 2, rf"(?<![{SIGNS}])(?<!\blog)(?<!\bln)(?<!\bexp) ": -4}
DEEP = 6  # penalty for a place within a bracket
EARLY = 3  # penalty for a place in the first half of a line, because such a break makes the line short
FURTHER = 4  # additional indentation of a continued line, for each open bracket


def broken(text: str, width: int) -> list[str]:
    """The lines of a formula, each within a width if there is a place to break. Continued lines are indented.

    A break before a relation is best, then before a plus or minus, then before a product, then at a space. A break
    outside brackets is better than a break within brackets. A late break is better than an early break.

    Parameters
    ----------
    text : str, as `nfa.ledger.formulas.in_text` returns it
    width : int, columns

    Examples
    --------
    >>> broken("f(a + b) = c + d + e", 14)
    ['f(a + b)', '    = c + d', '    + e']
    """
    lines, shown = text.split("\n"), []
    least = FURTHER if len(lines) > 1 else 0  # least indentation of the second and the following lines
    for line, *cases in _with_cases(lines):
        wide = cases and max(map(columns, (line, *cases))) > width
        if wide and (found := re.fullmatch(rf"(.*?)(?: ([{SIGNS}]))? *({{ .*)", line)):
            head, sign, first = found.groups()  # the cases begin on a new line, below the text before the brace
            shown += _parts(head, width, least + FURTHER)
            line = " " * FURTHER + (f"{sign} " if sign else "") + first
            cases = [" " * line.index("{ ") + case.lstrip() for case in cases]
        shown += [part for row in (line, *cases) for part in _parts(row, width, max(least, _indent(row)) + FURTHER)]
    return shown


def _with_cases(lines: list[str]) -> Iterator[list[str]]:
    """Groups of lines: each line, with the cases that are below its brace."""
    group = lines[:1]
    for line in lines[1:]:
        begins = re.match(".*?(?={ )", group[0])
        if begins and line.startswith(" " * columns(begins[0]) + "{ "):
            group.append(line)
        else:
            yield group
            group = [line]
    yield group


def _parts(line: str, width: int, indent: int) -> list[str]:
    parts, within = [], 0
    while columns(line) > width and (places := _places(line, width, within)):
        _, at, within = max(places)
        parts.append(line[:at].rstrip())
        steps = FURTHER if re.match(RELATION, line[at:]) and not within else indent + FURTHER * within
        line = " " * max(steps, _indent(parts[0]) + FURTHER) + line[at:].lstrip()
    return [*parts, line]


def _places(line: str, width: int, within: int) -> list[tuple[int, int, int]]:
    """The possible breaks within the given width: (rank, position, number of open brackets) of each."""
    depth, places = within, []
    for at, sign in enumerate(line):
        depth = max(0, depth + (sign in OPENING) - (sign in CLOSING))
        taken = columns(line[:at].rstrip())
        kinds = [worth for place, worth in PLACES.items() if re.compile(place).match(line, at)]
        if kinds and _indent(line) < at and taken <= width:
            early = EARLY if 2 * taken < width else 0
            places.append((max(kinds) - DEEP * depth - early, at, depth))
    return places


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def columns(text: str) -> int:
    """The number of columns of a text. An accent needs no column, because it is above the previous character."""
    return sum(not unicodedata.combining(sign) for sign in text)
