"""The papers, a folder each: statements, printed numbers, theory, tables and figures, audits, pictures.

`from nfa.papers import reproduce; reproduce("ohana2021:table1")` reruns an item and holds it against the paper.
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from nfa.papers.index import EXPERIMENTS as EXPERIMENTS
    from nfa.papers.index import find as find
    from nfa.papers.index import reproduce as reproduce

# Loaded when they are asked for: the theory in these folders needs no machine for experiments.
__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__, submod_attrs={"index": ["EXPERIMENTS", "find", "reproduce"]}
)
