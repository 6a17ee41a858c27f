"""The papers, a folder each: statements, printed numbers, theory, tables and figures, audits, pictures.

`from nfa.papers import reproduce; reproduce("ohana2021:table1")` reruns an item and holds it against the paper.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nfa.papers.index import EXPERIMENTS, find, reproduce

__all__ = ["EXPERIMENTS", "find", "reproduce"]


def __getattr__(name: str) -> Any:
    """The names above, loaded when they are asked for: the theory in these folders needs no machine for experiments."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.index"), name)
