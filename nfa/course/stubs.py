"""Exercises from functions of nfa: functions without their bodies, which `check` or the project's tests judge.

`exercises` finds the functions that compute some statements, and `write` makes a file of these functions to fill in.
`load` reads the filled-in functions. `use` replaces nfa's own functions by these functions. The command ``pytest
--stub=FILE`` calls `use` before it collects tests.
"""

import ast
import importlib
import importlib.util
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any

from nfa import ledger
from nfa.require import path_meant

HEAD = '''"""Exercises: {title}.

Fill in the bodies, and keep names and signatures. Then let nfa judge your functions:

    nfa course check THIS_FILE

The command goes from simple cases to harder cases and stops at the first failure. In the clone, run all tests of these
statements:

    python -m pytest {options} --stub=THIS_FILE

You may add helpers. If a body calls one of these functions, nfa uses your version of that function.
"""

from __future__ import annotations

from nfa.course.stubs import exercise
'''


@dataclass(frozen=True)
class Exercise:
    """A function of nfa to write again: ``module:function`` or ``module:Class.method``, and its statements."""

    code: str
    ids: tuple[str, ...]


_found: list[tuple[Exercise, FunctionType]] = []


def exercise(code: str, *ids: str) -> Callable:
    """Mark a function as a student's version of nfa's ``code``. The mark has no effect until `load` reads it."""

    def mark(function: FunctionType) -> FunctionType:
        _found.append((Exercise(code, ids), function))
        return function

    return mark


def exercises(statements: Iterable[str]) -> list[Exercise]:
    """The functions that compute these statements, in the order of the statements, each once with all its ids.

    Raises
    ------
    ValueError : for an unknown statement, or if no function computes any of the statements
    """
    ids: dict[str, list[str]] = {}
    for name in (names := list(statements)):
        for item in ledger.select(name):
            for code in item.code:
                if isinstance(_node(code), ast.FunctionDef):
                    ids.setdefault(code, [])
                    if item.id not in ids[code]:
                        ids[code].append(item.id)
    if not ids:
        raise ValueError(f"an exercise needs a function of nfa, but no function computes {', '.join(names)}")
    return [Exercise(code, tuple(found)) for code, found in ids.items()]


def write(chosen: Iterable[Exercise]) -> str:
    """The content of the file to fill in: the imports, the signature and the docstring of every exercise.

    Examples
    --------
    >>> print(write([Exercise("nfa.clip:clip_l2", ("lee2020:clip",))]).splitlines()[-1].strip())
    raise NotImplementedError("exercise: [lee2020:clip]")
    """
    chosen = list(chosen)
    ids = list(dict.fromkeys(name for one in chosen for name in one.ids))
    parts = [HEAD.format(title=", ".join(ids), options=" ".join(f"--eq {name}" for name in ids))]
    nodes = {one.code: _node(one.code) for one in chosen}
    lines = {code: _imports(code.partition(":")[0], node) for code, node in nodes.items()}
    names = _names(chosen)
    means: dict[str, set[str]] = {}  # every meaning of a name, because two modules can have helpers with the same name
    for one in chosen:
        module, _, qualname = one.code.partition(":")
        means.setdefault(names[one.code], set()).add(f"from {module} import {qualname}")
        for name, line in lines[one.code].items():
            means.setdefault(name, set()).add(line)
    for one in chosen:
        own = lines[one.code]
        parts.append("\n".join(dict.fromkeys(own.values())))
        inside = [line for name, line in own.items() if len(means[name]) > 1]
        parts.append(_stub(one, nodes[one.code], names[one.code], inside))
    return "\n\n".join(part for part in parts if part) + "\n"


def load(path: Path) -> list[tuple[Exercise, FunctionType]]:
    """The functions of a filled-in file, each with its exercise.

    Raises
    ------
    ValueError : if the file cannot be run, or marks no function
    """
    if not path.is_file():
        raise ValueError(f"the file of exercises {path} does not exist{path_meant(path, ['.py'])}")
    _found.clear()
    run_file(path)
    if not _found:
        raise ValueError(
            f"{path} has no function marked @exercise(...). `nfa course stub` writes a file with such functions"
        )
    return list(_found)


def run_file(path: Path) -> None:
    """Run a student's file as a module. No compiled file is written, because it would hide an edit in the same second.

    Raises
    ------
    ValueError : with one sentence, if the file cannot be run
    """
    spec = importlib.util.spec_from_file_location("nfa_exercises", path)
    if spec is None or spec.loader is None:
        raise ValueError(f"the name of a file of exercises must end in .py, got {path}")
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    except (Exception, SystemExit) as error:
        raise ValueError(f"{path} cannot be run: {type(error).__name__}: {error}") from error
    finally:
        sys.dont_write_bytecode = before


def use(path: Path) -> list[Exercise]:
    """Replace nfa's own functions by the functions of a filled-in file, also in modules that already imported them.

    We exchange the code of each function and not its name. So tables, defaults and ``from ... import`` get the new
    function, in every module and at any time. The process cannot undo the exchange.

    Raises
    ------
    ValueError : if the file cannot be run, marks no function, or marks a function that nfa does not have
    """
    found = load(path)
    for one, mine in found:
        _exchange(one, mine)
    return [one for one, _ in found]


def _exchange(one: Exercise, mine: FunctionType) -> None:
    module, _, qualname = one.code.partition(":")
    try:
        holder: Any = importlib.import_module(module)
        for part in qualname.split(".")[:-1]:
            holder = getattr(holder, part)
        kept = inspect.getattr_static(holder, qualname.rpartition(".")[2])
    except (ImportError, AttributeError):
        raise ValueError(f"nfa has no function {one.code} that an exercise could replace") from None
    if hasattr(kept, "cache_clear"):
        kept.cache_clear()
    raw: Any = kept.fget if isinstance(kept, property) else getattr(kept, "__func__", kept)
    own = inspect.unwrap(raw)
    if not isinstance(own, FunctionType) or own.__code__.co_freevars:
        raise ValueError(f"an exercise can replace only a plain function, but {one.code} is not a plain function")
    key = f"_exercise_{qualname.replace('.', '_')}"
    own.__globals__[key] = mine
    scope: dict[str, Any] = {}
    exec(f"def {own.__name__}(*args, **kwargs):\n    return {key}(*args, **kwargs)", scope)
    own.__code__ = scope[own.__name__].__code__
    own.__defaults__, own.__kwdefaults__ = None, None
    own.__signature__ = inspect.signature(mine)  # type: ignore[attr-defined]


def _names(chosen: list[Exercise]) -> dict[str, str]:
    """The name of each function in the file: as in nfa, with the class before a method, and each name only once."""
    names: dict[str, str] = {}
    for one in chosen:
        module, _, qualname = one.code.partition(":")
        name = qualname.replace(".", "_")
        names[one.code] = f"{module.rpartition('.')[2]}_{name}" if name in names.values() else name
    return names


@cache
def _tree(module: str) -> tuple[str, ast.Module]:
    text = inspect.getsource(importlib.import_module(module))
    return text, ast.parse(text)


def _node(code: str) -> Any:
    """The definition of ``module:Class.method`` in the source of its module; None if there is no definition."""
    module, _, qualname = code.partition(":")
    node: Any = _tree(module)[1]
    for part in qualname.split("."):
        below = (child for child in getattr(node, "body", []) if getattr(child, "name", None) == part)
        node = next(below, None)
    return node


def _imports(module: str, node: ast.FunctionDef) -> dict[str, str]:
    """For every name that a function uses and its module imports or defines, the line that imports this name."""
    used = {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
    lines = {}
    for statement in _tree(module)[1].body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            source = f"from {statement.module} " if isinstance(statement, ast.ImportFrom) else ""
            for alias in statement.names:
                name = alias.asname or alias.name.partition(".")[0]
                lines[name] = f"{source}import {alias.name}{f' as {alias.asname}' if alias.asname else ''}"
            continue
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement]
        for target in targets:
            at = target.target if isinstance(target, ast.AnnAssign) else target
            every = [at] if isinstance(at, ast.FunctionDef | ast.ClassDef) else ast.walk(at)
            for found in every if isinstance(at, ast.FunctionDef | ast.ClassDef | ast.Name | ast.Tuple) else []:
                defined = getattr(found, "name", None) or getattr(found, "id", None)
                if defined and defined != node.name:
                    lines[defined] = f"from {module} import {defined}"
    return {name: line for name, line in lines.items() if name in used}


def _stub(one: Exercise, node: ast.FunctionDef, name: str, inside: list[str]) -> str:
    """The function's head and docstring, unchanged, and a body that raises an error with the ids of the exercise."""
    module = one.code.partition(":")[0]
    text = _tree(module)[0].splitlines()
    body = node.body
    documented = isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant)
    last = (body[0].end_lineno or 0) if documented else body[0].lineno - 1
    head = textwrap.dedent("\n".join(text[node.lineno - 1 : last]))
    head = head.replace(f"def {node.name}(", f"def {name}(", 1)
    what = " ".join(f"[{i}]" for i in one.ids)
    marked = "".join(f', "{i}"' for i in one.ids)
    lines = [*inside, f'raise NotImplementedError("exercise: {what}")']
    return f'\n@exercise("{one.code}"{marked})\n{head}\n' + textwrap.indent("\n".join(lines), "    ")
