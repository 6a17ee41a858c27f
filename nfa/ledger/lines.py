"""The lines of an object that are an equation, and what of its source a reader of the equation needs to see."""

import ast
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from nfa.ledger.source import source_of

SPAN = " ... "  # between the first and the last of several lines


@dataclass(frozen=True)
class Line:
    """A line of an object's source, without the indentation that its class gives it."""

    number: int  # in its file, from 1
    text: str
    marked: bool  # it is the equation, or a part of it


def lines_of(code: str, anchors: Iterable[str] = (), *, whole: bool = False) -> tuple[list[Line], bool]:
    """The signature and body of an object, with the lines that the anchors name marked.

    Parameters
    ----------
    code : str, ``module:object`` as in the ledger
    anchors : texts that occur in one line each, outside docstrings, however they are spaced; ``A ... B`` names the
        lines from that of A to that of B
    whole : bool, whether docstrings and checks are shown too

    Returns
    -------
    lines : list of `Line`
    checked : bool, whether checks of what comes in were left out: statements of a function's own body that call
        ``require`` or a function whose name begins with ``check``, that end in raising under a condition, or that are
        loops over such. Marked lines are never left out, and neither are the checks of what does nothing else.

    Raises
    ------
    ValueError : if there is no such object, or an anchor is not in exactly one of its lines
    """
    _, first, source = source_of(code)
    source = textwrap.dedent(source)
    tree, texts = ast.parse(source), source.splitlines()
    docstrings = set(_lines(_docstrings(tree)))
    marked = {at for anchor in anchors for at in _named(anchor, texts, docstrings, code)}
    checks = set() if whole else set(_lines(_checks(tree, marked)))
    for at in sorted(checks, reverse=True):  # with the comments above them
        while at > 1 and texts[at - 2].lstrip().startswith("#"):
            at -= 1
            checks.add(at)
    dropped = checks if whole else checks | docstrings
    kept: list[Line] = []
    for at, text in enumerate(texts, 1):
        opens = kept and (not kept[-1].text.strip() or kept[-1].text.endswith(":"))  # what was left out stood here
        if at not in dropped and (text.strip() or not opens):
            kept.append(Line(first + at - 1, text, at in marked))
    return kept, bool(checks)


def runs(lines: Iterable[Line]) -> list[list[Line]]:
    """The lines in pieces that are marked or not; marked ones that are apart in the file are pieces of their own."""
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
            raise ValueError(
                f"{code} must have one line with {wanted!r}, the anchor of an equation; it has {len(found)}"
            )
        ends += found
    if ends[1] < ends[0]:
        raise ValueError(f"{code} has the line of {last!r} above that of {first!r}, in the anchor {anchor!r}")
    return range(ends[0], ends[1] + 1)


def _lines(nodes: Iterable[ast.stmt]) -> Iterator[int]:
    for node in nodes:
        yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _docstrings(tree: ast.Module) -> Iterator[ast.stmt]:
    """The docstrings of functions and classes that have more than a docstring, and the strings below assignments."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Module):
            yield from (stmt for stmt in body or () if _is_string(stmt) and len(body or ()) > 1)


def _checks(tree: ast.Module, marked: set[int]) -> Iterator[ast.stmt]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not _checks_by_name(node.name):
            does = [stmt for stmt in node.body if not _is_string(stmt)]
            checks = [stmt for stmt in does if _is_check(stmt) and marked.isdisjoint(_lines([stmt]))]
            if len(checks) < len(does):
                yield from checks


def _is_check(stmt: ast.stmt) -> bool:
    if isinstance(stmt, ast.If) and not stmt.orelse and isinstance(stmt.body[-1], ast.Raise):
        return True
    if isinstance(stmt, ast.If | ast.For):
        return not stmt.orelse and all(map(_is_check, stmt.body))
    if not (isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Call)):
        return False
    name = ast.unparse(stmt.value.func)
    return name.startswith("require.") or _checks_by_name(name.rpartition(".")[2])


def _checks_by_name(name: str) -> bool:
    return name.lstrip("_").startswith("check")


def _is_string(stmt: ast.stmt) -> bool:
    return isinstance(stmt, ast.Expr) and isinstance(stmt.value, ast.Constant) and isinstance(stmt.value.value, str)
