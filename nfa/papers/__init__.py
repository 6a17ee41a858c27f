"""The papers, a folder each: statements, printed numbers, theory, tables and figures, audits, pictures.

`from nfa.papers import reproduce; reproduce("ohana2021:table1")` reruns an item and holds it against the paper.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nfa.papers.index import EXPERIMENTS as EXPERIMENTS
    from nfa.papers.index import find as find
    from nfa.papers.index import reproduce as reproduce


def __getattr__(name: str) -> Any:
    if name in ("EXPERIMENTS", "find", "reproduce"):  # the theory in these folders needs no machine for experiments
        from nfa.papers import index

        return getattr(index, name)
    raise AttributeError(f"module 'nfa.papers' has no attribute {name!r}")
