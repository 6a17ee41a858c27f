"""The content of a numpydoc docstring: its first paragraph, and the meaning of each parameter."""

import importlib
import inspect
import re
from types import ModuleType

AS_IN = re.compile(r"as (?:in|for) `([\w.]+)`")


def first_paragraph(docstring: str) -> str:
    """The first paragraph of a docstring, in one line."""
    return " ".join(inspect.cleandoc(docstring).partition("\n\n")[0].split())


def meanings_of(docstring: str, module: ModuleType | None = None) -> dict[str, str]:
    """The meanings of the parameters in the section "Parameters" of a docstring.

    Entries look like ``name : text`` or ``name, name : text``.

    Parameters
    ----------
    docstring : as `inspect.getdoc` returns it. Continuation lines of a text are indented
    module : module with the function that a text "as in `function`" names; None to keep such a text

    Returns
    -------
    meanings : {name: text}, the text in one line; empty if there is no such section

    Examples
    --------
    >>> meanings_of("Walks.\\n\\nParameters\\n----------\\na, b : float > 0,\\n    in metres\\nc : int\\n\\nNone.")
    {'a': 'float > 0, in metres', 'b': 'float > 0, in metres', 'c': 'int'}
    """
    section = re.search(r"^Parameters\n-{3,}\n(.*?)(?=\n\n|\n[^\n]+\n-{3,}\n|\Z)", docstring, re.DOTALL | re.MULTILINE)
    found: dict[str, str] = {}
    for entry in re.split(r"\n(?=\S)", section[1]) if section else []:
        names, colon, text = entry.partition(" : ")
        if colon:
            found |= dict.fromkeys((name.strip().lstrip("*") for name in names.split(",")), " ".join(text.split()))
    return {name: _looked_up(name, text, module) for name, text in found.items()}


def _looked_up(name: str, text: str, module: ModuleType | None) -> str:
    """The text, or for a text "as in `function`", the meaning of the parameter ``name`` of this function."""
    said = AS_IN.fullmatch(text)
    if module is None or not said:
        return text
    home, _, function = said[1].rpartition(".")
    try:
        there = importlib.import_module(home) if home.startswith("nfa.") else module
    except ImportError:
        return text
    return meanings_of(inspect.getdoc(getattr(there, function, None)) or "", there).get(name, text)
