"""Rules by their names: those that nfa brings, and one's own as "module:function"."""

import hashlib
import importlib
import os
import pkgutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

# Rules under another name, which records have: the guarantee of pdfa is per label.
ALIASES = {"pdfa_label": "pdfa"}


def rules() -> list[str]:
    """The names of the rules that nfa brings, aliases included."""
    files = pkgutil.iter_modules(importlib.import_module("nfa.rules").__path__)
    return sorted([*(file.name for file in files), *ALIASES])


def rule_function(name: str) -> Callable:
    """The rule of this name, or what it is an alias of: ``nfa.rules.NAME.NAME``, or the function of "module:function".

    Raises
    ------
    ValueError : if there is none; one's own module is looked for in the current folder too
    """
    module_name, colon, function_name = name.partition(":")
    if not colon:
        if name not in rules():
            raise ValueError(f"rule must be one of {', '.join(rules())}, or module:function, got {name!r}")
        function_name = ALIASES.get(name, name)
        module_name = f"nfa.rules.{function_name}"
    with _current_folder_first() if colon else nullcontext():
        try:
            function = getattr(importlib.import_module(module_name), function_name)
        except Exception as failure:
            raise ValueError(f"rule {name!r} cannot be imported: {type(failure).__name__}: {failure}") from failure
    if not callable(function):
        raise ValueError(f"rule {name!r} must name a function, got {type(function).__name__}")
    return function


def rule_digest(name: str) -> str | None:
    """A sha256 of the file that one's own rule stands in, so that a run is not taken for one of a rule before it.

    None for a rule that nfa brings, or where there is no file. What that file imports is not looked at.
    """
    module, colon, _ = name.partition(":")
    if not colon:
        return None
    rule_function(name)
    file = getattr(sys.modules[module], "__file__", None)
    return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file and os.path.isfile(file) else None


@contextmanager
def _current_folder_first() -> Iterator[None]:
    here = os.getcwd()
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)
