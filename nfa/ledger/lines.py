"""The lines of an object that compute an equation, and the source that a reader needs to understand these lines."""

import ast
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from nfa.ledger.source import source_of

SPAN = " ... "  # in an anchor, the separator of the texts for the first and the last line


@dataclass(frozen=True)
class Line:
    """A line of an object's source, without the indentation of its class."""

    number: int  # in the file, from 1
    text: str
    marked: bool  # whether the line computes the equation or a part of it


def lines_of(code: str, anchors: Iterable[str] = (), *, whole: bool = False) -> tuple[list[Line], bool]:
    """The signature and body of an object. The lines that an anchor names are marked.

    Parameters
    ----------
    code : str, ``module:object`` as in the ledger
    anchors : texts. Each text occurs in exactly one line outside docstrings. Spaces do not matter. ``A ... B`` names
        the lines from the line with A to the line with B
    whole : bool, whether docstrings and checks are included

    Returns
    -------
    lines : list of `Line`
    checked : bool, whether checks of the arguments were left out. A check is a call of ``require`` or of a function
        with a name that begins with ``check`` or ``no_``. A statement that raises under a condition is also a check. A
        loop over checks, an ``else`` that raises, a ValueError raised at the end, and a method that contains only
        checks are also checks. Marked lines are never left out. The checks of a function that contains only checks are
        not left out

    Raises
    ------
    ValueError : if there is no such object, or if an anchor does not occur in exactly one line of the object
    """
    _, first, source = source_of(code)
    source = textwrap.dedent(source)
    tree, texts = ast.parse(source), source.splitlines()
    docstrings = set(_lines(_docstrings(tree)))
    marked = {at for anchor in anchors for at in _named(anchor, texts, docstrings, code)}
    checks = set() if whole else set(_checks(tree, marked))
    for at in sorted(checks, reverse=True):  # leave out checks, with the comments above them
        while at > 1 and texts[at - 2].lstrip().startswith("#"):
            at -= 1
            checks.add(at)
    dropped = checks if whole else checks | docstrings
    kept: list[Line] = []
    for at, text in enumerate(texts, 1):
        # Whether the previous kept line is blank or opens a block.
        opens = kept and (not kept[-1].text.strip() or kept[-1].text.endswith(":"))
        if at not in dropped and (text.strip() or not opens):
            kept.append(Line(first + at - 1, text, at in marked))
    return kept, bool(checks)


def runs(lines: Iterable[Line]) -> list[list[Line]]:
    """The lines in pieces, each with only marked or only unmarked lines.

    Marked lines that are not adjacent in the file are in separate pieces.
    """
    pieces: list[list[Line]] = []
    for line in lines:
        above = pieces[-1][-1] if pieces else None
        if above and above.marked == line.marked and (not line.marked or line.number == above.number + 1):
            pieces[-1].append(line)
        else:
            pieces.append([line])
    return pieces


def _named(anchor: str, texts: list[str], docstrings: set[int], code: str) -> range:
    first, _, last = anchor.partition(SPAN)
    ends = []
    for part in (first, last or first):
        wanted = " ".join(part.split())
        found = [at for at, text in enumerate(texts, 1) if at not in docstrings and wanted in " ".join(text.split())]
        if len(found) != 1:
            raise ValueError(f"{code} must have exactly one line with the anchor {wanted!r}, but has {len(found)}")
        ends += found
    if ends[1] < ends[0]:
        order = f"in {code}, the line with {last!r} comes before the line with {first!r}"
        raise ValueError(f"the anchor {anchor!r} is in the wrong order: {order}")
    return range(ends[0], ends[1] + 1)


def _lines(nodes: Iterable[ast.stmt]) -> Iterator[int]:
    for node in nodes:
        yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _docstrings(tree: ast.Module) -> Iterator[ast.stmt]:
    """The docstrings of functions and classes that contain more than a docstring, and strings below assignments."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            yield from (stmt for stmt in body or () if _is_string(stmt) and len(body or ()) > 1)


def _checks(tree: ast.Module, marked: set[int]) -> Iterator[int]:
    """The lines of checks in functions that do more than check, and the lines of methods that only check."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not _checks_by_name(node.name):
            yield from _checks_of(node.body, marked)
        if isinstance(node, ast.ClassDef):
            methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
            only = [one for one in methods if _checks_by_name(one.name) or all(map(_is_check, _does(one.body)))]
            yield from _unmarked(only, marked) if len(only) < len(node.body) else ()


def _checks_of(body: list[ast.stmt], marked: set[int]) -> Iterator[int]:
    """The lines of the checks among some statements, and in the branches and loops of these statements."""
    does = _does(body)
    checks = list(filter(_is_check, does))
    yield from _unmarked(checks, marked) if len(checks) < len(does) else ()
    for stmt in does:
        if isinstance(stmt, ast.If | ast.For | ast.While | ast.With) and stmt not in checks:
            yield from _checks_of(stmt.body, marked)
            otherwise = getattr(stmt, "orelse", [])
            if len(otherwise) == 1 and isinstance(otherwise[0], ast.Raise):  # also yield the line of the ``else``
                yield from range((stmt.body[-1].end_lineno or 0) + 1, (otherwise[0].end_lineno or 0) + 1)
            else:
                yield from _checks_of(otherwise, marked)


def _unmarked(stmts: Iterable[ast.stmt], marked: set[int]) -> Iterator[int]:
    for stmt in stmts:
        lines = set(_lines([stmt]))
        yield from lines if marked.isdisjoint(lines) else ()


def _does(body: list[ast.stmt]) -> list[ast.stmt]:
    return [stmt for stmt in body if not _is_string(stmt)]


def _is_check(stmt: ast.stmt) -> bool:
    if isinstance(stmt, ast.If) and not stmt.orelse and isinstance(stmt.body[-1], ast.Raise):
        return True
    if isinstance(stmt, ast.Raise):  # the function ends here, without a result
        return isinstance(stmt.exc, ast.Call) and ast.unparse(stmt.exc.func) == "ValueError"
    if isinstance(stmt, ast.If | ast.For):
        return not stmt.orelse and all(map(_is_check, stmt.body))
    if not (isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call)):
        return False
    name = ast.unparse(stmt.value.func)
    return name.startswith("require.") or _checks_by_name(name.rpartition(".")[2])


def _checks_by_name(name: str) -> bool:
    return name.lstrip("_").startswith(("check", "no_"))


def _is_string(stmt: ast.stmt) -> bool:
    return isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant) and isinstance(stmt.value.value, str)
