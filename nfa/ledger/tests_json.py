"""Which tests verify which statement: reads the ``verifies`` marks in ``tests/`` and writes ``tests.json``.

Run ``python -m nfa.ledger.tests_json`` in a checkout after marking a test. The files are read, not run, so
that the answer does not depend on what is installed or selected.
"""

import ast
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeGuard

from nfa.ledger.lookup import find, items

HERE = Path(__file__).resolve().parent
FILE = HERE / "tests.json"


def scan(root: Path) -> dict[str, list[str]]:
    """The node ids of the marked tests by the names that the marks give: {name: [tests/test_x.py::test_y]}.

    A mark counts on a test function, a test class, a whole module (``pytestmark``) or a parameter of
    ``parametrize``. Node ids carry no parameters.

    Raises
    ------
    ValueError : if a mark does not give its ids as plain strings, or stands where it marks no test to read
    """
    marked: dict[str, list[str]] = {}
    for path in sorted((root / "tests").rglob("test_*.py")):
        file, text = path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
        if "verifies" not in text:
            continue
        tree = ast.parse(text, filename=file)
        seen: set[int] = set()
        for node_id, names in _tests(tree.body, file, [], seen):
            for name in dict.fromkeys(names):
                marked.setdefault(name, []).append(node_id)
        for node in ast.walk(tree):
            if _is_mark(node) and id(node) not in seen:
                raise ValueError(
                    f"{file}:{node.lineno}: put verifies(...) on a test, a test class or a parameter, or in pytestmark"
                )
    return marked


def by_statement(marked: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """What ``tests.json`` must hold, in the order of the ledger: {id: node ids}; ValueError for an unknown id.

    Parameters
    ----------
    marked : from `scan`
    """
    tests: dict[str, set[str]] = {}
    for name, node_ids in marked.items():
        tests.setdefault(find(name).id, set()).update(node_ids)
    return {item.id: sorted(tests[item.id]) for item in items() if item.id in tests}


def rendered(marked: Mapping[str, Sequence[str]]) -> str:
    """The text of ``tests.json``."""
    return json.dumps(by_statement(marked), indent=1) + "\n"


def _tests(body: list[ast.stmt], prefix: str, above: list[str], seen: set[int]) -> Iterator[tuple[str, list[str]]]:
    own = list(above)
    for node in body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "pytestmark" for t in node.targets):
            own += _names(node.value, prefix, seen)
    for node in body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            yield (
                f"{prefix}::{node.name}",
                own + [n for d in node.decorator_list for n in _names(d, prefix, seen)],
            )
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
                    raise ValueError(f"{where}:{node.lineno}: verifies takes ids as plain strings")
                names.append(argument.value)
    return names


def _is_mark(node: ast.AST) -> TypeGuard[ast.Call]:
    if not isinstance(node, ast.Call):
        return False
    called = node.func
    return getattr(called, "attr", None) == "verifies" or getattr(called, "id", None) == "verifies"


def main() -> int:
    """Rewrite ``tests.json`` from the marks; 1 with a sentence where there are no tests to read."""
    root = HERE.parent.parent
    if not (root / "tests").is_dir():
        print("there is no folder tests beside nfa: run this in a checkout", file=sys.stderr)
        return 1
    FILE.write_text(rendered(scan(root)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
