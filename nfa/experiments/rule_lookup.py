"""Rules by their names: those that nfa brings, and one's own as "module:function", networks too; what stands beside."""

import ast
import hashlib
import importlib
import inspect
import os
import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache, cached_property
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

# Rules under another name, which records have: the guarantee of pdfa is per label.
ALIASES = {"pdfa_label": "pdfa"}


def rules() -> list[str]:
    """The names of the rules that nfa brings, aliases included."""
    files = pkgutil.iter_modules(importlib.import_module("nfa.rules").__path__)
    return sorted([*(file.name for file in files), *ALIASES])


def from_outside(name: str) -> bool:
    """Whether a rule or a network of this name is one's own, "module:function", of which nfa has checked nothing.

    No module begins with a digit, as a network that is described by a text does.
    """
    return ":" in name and not name[0].isdigit()


def rule_function(name: str) -> Callable:
    """The rule of this name, or what it is an alias of: ``nfa.rules.NAME.NAME``, or the function of "module:function".

    Raises
    ------
    ValueError : if there is none (one's own module is looked for in the current folder too), for a function that
        wraps another, and for one that cannot be called as a rule is
    """
    function = _function(name, "rule")
    if hasattr(function, "__wrapped__"):
        raise ValueError(
            f"rule {name!r} wraps another function (functools.wraps), whose guarantee would not be its own: name a"
            " function that wraps none"
        )
    if lacks := _lacks(function):
        raise ValueError(
            f"rule {name!r} must take net, x and y by position and rng by name, as in def rule(net, x, y, *, rng): it"
            f" {lacks}"
        )
    return function


def _lacks(function: Callable) -> str:
    """What keeps a function from being called as ``function(net, x, y, rng=rng)``; "" where nothing does."""
    try:
        taken = inspect.signature(function).parameters
    except ValueError:
        return "has no signature that can be read"
    placed = [name for name, one in taken.items() if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    kinds = {one.kind for one in taken.values()}
    lacks = []
    if len(placed) < 3 and inspect.Parameter.VAR_POSITIONAL not in kinds:
        lacks.append(f"takes {'only ' + ' and '.join(placed) if placed else 'nothing'} by position")
    if "rng" in placed[:3]:
        lacks.append("has rng among the first three")
    elif inspect.Parameter.VAR_KEYWORD not in kinds and (
        "rng" not in taken or taken["rng"].kind is inspect.Parameter.POSITIONAL_ONLY
    ):
        lacks.append("takes no rng by name")
    return " and ".join(lacks)


def network_function(name: str) -> Callable:
    """The function "module:function" that builds a network of one's own. Raises ValueError if there is none."""
    return _function(name, "network")


def _function(name: str, what: str) -> Callable:
    module, function_name = _place(name, what)
    try:
        function = getattr(module, function_name)
    except AttributeError as failure:
        raise ValueError(f"{what} {name!r} cannot be imported: AttributeError: {failure}") from failure
    if not callable(function):
        raise ValueError(f"{what} {name!r} must name a function, got {type(function).__name__}")
    return function


def mechanism_beside(name: str) -> Callable | None:
    """The function ``mechanism`` of the module that a rule's name names; None where it has none.

    The module is that of the name, wherever the function says that it comes from: a function can say anything.

    Raises ValueError where what has this name is no function, or there is no such module.
    """
    mechanism = getattr(_place(name)[0], "mechanism", None)
    if mechanism is not None and not callable(mechanism):
        raise ValueError(f"the mechanism of rule {name} must be a function, got {type(mechanism).__name__}")
    return mechanism


def noise_setting(name: str) -> str:
    """The setting of a rule that its mechanism's noise is proportional to: ``NOISE`` of its module, or else "sigma"."""
    return str(getattr(_place(name)[0], "NOISE", "sigma"))


def file_digest(name: str) -> str | None:
    """A sha256 of the file that one's own rule or network stands in, so that no run is taken for one of it as it was.

    None for what nfa brings, or where there is no file. What that file imports is not looked at.
    """
    if not from_outside(name):
        return None
    file = getattr(_place(name)[0], "__file__", None)
    return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file and os.path.isfile(file) else None


def _place(name: str, what: str = "rule") -> tuple[ModuleType, str]:
    """The module that a name names, imported, and the name of the rule, or whatever it is, in it."""
    module_name, _, function_name = name.partition(":")
    own = from_outside(name)
    if not own:
        if name not in rules():
            raise ValueError(f"rule must be one of {', '.join(rules())}, or module:function, got {name!r}")
        function_name = ALIASES.get(name, name)
        module_name = f"nfa.rules.{function_name}"
    with _current_folder_first() if own else nullcontext():
        try:
            return importlib.import_module(module_name), function_name
        except Exception as failure:
            raise ValueError(f"{what} {name!r} cannot be imported: {type(failure).__name__}: {failure}") from failure


@contextmanager
def _current_folder_first() -> Iterator[None]:
    here = os.getcwd()
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)


# --- whether a rule of nfa is as its file has it


@cache
def _written(name: str) -> tuple[list[ast.stmt], dict[str, CodeType]] | None:
    """The statements of a module of nfa, and the code of what they define by name; None where it has no source."""
    places = [Path(root, *name.split(".")[1:]) for root in importlib.import_module("nfa").__path__]
    files = (file for path in places for file in (path.with_suffix(".py"), path / "__init__.py"))
    source = next((file for file in files if file.is_file()), None)
    if source is None:
        return None
    text = source.read_bytes()
    return ast.parse(text).body, _by_name(compile(text, str(source), "exec", dont_inherit=True))


def check_unchanged(name: str, others: Iterable[str] = ()) -> None:
    """Raise ValueError where a rule of nfa, what it calls of nfa, or another module is no longer what its file defines.

    Looked at are functions and methods, their code and their defaults, what is imported, and constants that are written
    out. This finds what an experiment has put in a function's place, not what is made to deceive: a process
    can change what looks, too. Nothing is asked of a rule from outside.
    """
    seen: set[str] = set()
    modules = () if from_outside(name) else (_place(name)[0], *map(importlib.import_module, others))
    if other := next(filter(None, (_changed(module, seen) for module in modules)), None):
        raise ValueError(
            f"{other} has been changed in this process, so that nfa states nothing of rule {name}: give a rule of your"
            " own a module of its own"
        )


def _changed(module: ModuleType, seen: set[str]) -> str | None:
    """A name in a module of nfa, or in those that it imports from, that is not what its file defines; or None."""
    seen.add(module.__name__)
    written = _written(module.__name__)
    if written is None:
        return module.__name__
    statements, codes = written
    names = vars(module)
    for node in statements:
        wrong: list[str] = []
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            wrong = [] if _is_defined_so(names.get(node.name), node, codes[node.name], names) else [node.name]
        elif isinstance(node, ast.Assign):
            wrong = [t.id for t in node.targets if isinstance(t, ast.Name) and not _is_literally(names.get(t.id), node)]
        elif isinstance(node, ast.Import):
            wrong = [a.asname for a in node.names if a.asname and names.get(a.asname) is not sys.modules.get(a.name)]
        elif isinstance(node, ast.ImportFrom):
            home = importlib.import_module(node.module or "")
            for name, there in ((a.asname or a.name, getattr(home, a.name, None)) for a in node.names):
                if names.get(name) is not there:
                    return f"{module.__name__}.{name}"
                below = there if isinstance(there, ModuleType) else home
                ours = below.__name__.split(".")[0] == "nfa" and below.__name__ not in seen
                if ours and (other := _changed(below, seen)):
                    return other
        if wrong:
            return f"{module.__name__}.{wrong[0]}"
    return None


def _by_name(code: CodeType) -> dict[str, CodeType]:
    """The code of what a module's or a class's own code defines, by name; the last of a name."""
    return {part.co_name: part for part in code.co_consts if isinstance(part, CodeType)}


def _is_literally(found: Any, node: ast.Assign) -> bool:
    """Whether a constant has the value that the file writes out; one that it computes is not looked at."""
    try:
        return found == ast.literal_eval(node.value)
    except ValueError:
        return True


def _is_defined_so(found: Any, node: ast.AST, code: CodeType, names: dict[str, Any]) -> bool:
    """Whether an object has the code, and the defaults, of a definition in the file."""
    if isinstance(node, ast.ClassDef):
        parts = [part for part in node.body if isinstance(part, ast.FunctionDef)]
        codes, members = _by_name(code), vars(found) if isinstance(found, type) else {}
        return all(_is_defined_so(members.get(part.name), part, codes[part.name], names) for part in parts)
    assert isinstance(node, ast.FunctionDef)
    if isinstance(found, cached_property):
        found = found.func
    found = getattr(found, "fget", None) or getattr(found, "__func__", found)
    if node.decorator_list:
        found = inspect.unwrap(found) if callable(found) else found
    if not inspect.isfunction(found) or found.__code__ != code or hasattr(found, "__wrapped__"):
        return False
    given = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    by_name = {arg.arg: _value(default, names) for arg, default in given if default is not None}
    by_place = tuple(_value(default, names) for default in node.args.defaults)
    defaults = (found.__kwdefaults__ or {}) == by_name and (found.__defaults__ or ()) == by_place
    return defaults and found.__globals__ is names


def _value(default: ast.expr, names: dict[str, Any]) -> Any:
    """What a default of the file stands for: a literal or a name, as a rule."""
    return eval(compile(ast.Expression(default), "", "eval"), names)


def fewest_repeats(rule_settings: dict[str, Any]) -> int:
    """How many repeats K go together: one, or two of antithetic pairs, or all where no pairs can be made of them."""
    K = rule_settings.get("K", 1)
    return 1 if not rule_settings.get("antithetic") else K if K % 2 else 2
