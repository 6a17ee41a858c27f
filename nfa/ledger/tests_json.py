"""The tests that verify each statement, read from the ``verifies`` marks in ``tests/``.

In a checkout, this module reads the marks when they are needed. A wheel has no tests, so setup.py writes the result of
`scan` into the ``tests.json`` of the wheel. The module reads the test files and does not run them. So the result does
not depend on the installed libraries or the selected tests. This module imports nothing from nfa, because setup.py runs
it before nfa and its libraries are installed.
"""

import ast
import json
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TypeGuard

FILE = Path(__file__).resolve().with_name("tests.json")  # this file exists in a wheel and in an unpacked sdist
CHECKOUT = FILE.parents[2]


def tests_of(names: Iterable[str]) -> tuple[str, ...]:
    """Sorted pytest ids of the tests marked with one of the names; () if there is neither `FILE` nor ``tests/``.

    In a checkout, only the files that contain one of the names are parsed.

    Parameters
    ----------
    names : the id and the aliases of a statement

    Raises
    ------
    ValueError : if a mark does not give its ids as plain strings
    """
    if built := _built():
        return tuple(sorted({test for name in names for test in built.get(name, ())}))
    found: set[str] = set()
    for file, text in _marked_files(CHECKOUT):
        if wanted := [name for name in names if name in text]:
            found.update(test for name in wanted for test in _marks(file, text)[0].get(name, ()))
    return tuple(sorted(found))


def scan(root: Path) -> dict[str, list[str]]:
    """The pytest ids of the marked tests, by the names in the marks: {name: [tests/test_x.py::test_y]}.

    A mark may belong to a test function, a test class, a whole module (``pytestmark``) or a parameter of
    ``parametrize``. The pytest ids contain no parameters.

    Raises
    ------
    ValueError : if a mark does not give its ids as plain strings, or if a mark does not belong to a test
    """
    marked: dict[str, list[str]] = {}
    for file, text in _marked_files(root):
        found, tree, seen = _marks(file, text)
        for name, node_ids in found.items():
            marked.setdefault(name, []).extend(node_ids)
        for node in ast.walk(tree):
            if _is_mark(node) and id(node) not in seen:
                place = f"{file}:{node.lineno}"
                raise ValueError(f"{place}: put verifies(...) on a test, a test class or a parameter, or in pytestmark")
    return marked


@cache
def _built() -> dict[str, list[str]]:
    return json.loads(FILE.read_text(encoding="utf-8")) if FILE.is_file() else {}


@cache
def _marked_files(root: Path) -> list[tuple[str, str]]:
    """The path (relative to the root) and the text of every file of tests with a mark."""
    texts = [(path, path.read_text(encoding="utf-8")) for path in sorted((root / "tests").rglob("test_*.py"))]
    return [(path.relative_to(root).as_posix(), text) for path, text in texts if "verifies" in text]


@cache
def _marks(file: str, text: str) -> tuple[dict[str, list[str]], ast.Module, set[int]]:
    """{name: pytest ids of the marked tests} for a file, its syntax tree, and the `id` of each node read as a mark."""
    marked: dict[str, list[str]] = {}
    tree, seen = ast.parse(text, filename=file), set[int]()
    for node_id, names in _tests(tree.body, file, [], seen):
        for name in dict.fromkeys(names):
            marked.setdefault(name, []).append(node_id)
    return marked, tree, seen


def _tests(body: list[ast.stmt], prefix: str, above: list[str], seen: set[int]) -> Iterator[tuple[str, list[str]]]:
    own = list(above)
    for node in body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "pytestmark" for t in node.targets):
            own += _names(node.value, prefix, seen)
    for node in body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            yield f"{prefix}::{node.name}", own + [n for d in node.decorator_list for n in _names(d, prefix, seen)]
        elif isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
            inherited = own + [n for d in node.decorator_list for n in _names(d, prefix, seen)]
            yield from _tests(node.body, f"{prefix}::{node.name}", inherited, seen)


def _names(expression: ast.expr, where: str, seen: set[int]) -> list[str]:
    names = []
    for node in ast.walk(expression):
        if _is_mark(node):
            seen.add(id(node))
            for argument in node.args:
                if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
                    raise ValueError(
                        f"{where}:{node.lineno}: all arguments of verifies(...) must be ids as plain strings"
                    )
                names.append(argument.value)
    return names


def _is_mark(node: ast.AST) -> TypeGuard[ast.Call]:
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    return getattr(called, "attr", None) == "verifies" or getattr(called, "id", None) == "verifies"
