"""Find the source lines of a ledger entry ``module:object``, without running them."""

import ast
import os
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent


def source_of(code: str) -> tuple[str, int, str]:
    """The place where an object is defined, and its source text.

    Parameters
    ----------
    code : str, ``module:object`` as in the ledger. The object may be a function, a class, a method
        (``module:Class.method``) or a name that is assigned at the top of the module or class

    Returns
    -------
    file : str, path relative to the folder that contains the package, such as ``nfa/network/ops.py``
    line : int, first line, counted from 1, including decorators and the comment above an assignment
    source : str, the lines of the object

    Raises
    ------
    ValueError : if there is no such module, or if the module has no such object

    Examples
    --------
    >>> source_of("nfa.ledger.source:source_of")[0]
    'nfa/ledger/source.py'
    """
    module, _, name = code.partition(":")
    try:
        spec = find_spec(module) if module else None
    except ModuleNotFoundError:
        spec = None
    text = spec.loader.get_source(module) if spec and spec.loader and hasattr(spec.loader, "get_source") else None
    if spec is None or text is None:
        raise ValueError(f"there is no module {module!r} for the ledger entry {code!r}")
    for qualname, first, last in definitions(text):
        if qualname == name:
            file = Path(os.path.relpath(os.path.realpath(spec.origin or ""), PACKAGE.parent)).as_posix()
            return file, first, "\n".join(text.splitlines()[first - 1 : last])
    raise ValueError(f"there is no {name!r} in module {module}, but the ledger entry {code!r} needs it")


@cache  # many statements have their code in the same module
def definitions(text: str) -> tuple[tuple[str, int, int], ...]:
    """(qualified name, first line, last line) of every function, class, method and assignment of a module."""
    return tuple(_walk(ast.parse(text).body, "", text.splitlines()))


def _walk(body: list[ast.stmt], prefix: str, lines: list[str]) -> Iterator[tuple[str, int, int]]:
    for at, node in enumerate(body):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            yield prefix + node.name, first, node.end_lineno or node.lineno
            if isinstance(node, ast.ClassDef):
                yield from _walk(node.body, f"{prefix}{node.name}.", lines)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            first, last = node.lineno, node.end_lineno or node.lineno
            while first > 1 and lines[first - 2].lstrip().startswith("#"):
                first -= 1
            below = body[at + 1] if at + 1 < len(body) else None
            if (
                isinstance(below, ast.Expr)
                and isinstance(below.value, ast.Constant)
                and isinstance(below.value.value, str)
            ):
                # A string below an assignment is its docstring, so it belongs to the assignment.
                last = below.end_lineno or last
            for target in targets:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        yield prefix + name.id, first, last
