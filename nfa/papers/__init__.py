"""The papers. Each paper has a folder with statements, printed numbers, theory, tables, figures, audits and pictures.

`from nfa.papers import reproduce; reproduce("ohana2021:table1")` reruns an item and compares the result with the paper.
"""

from typing import TYPE_CHECKING

import lazy_loader

if TYPE_CHECKING:
    from nfa.papers.index import EXPERIMENTS as EXPERIMENTS
    from nfa.papers.index import find as find
    from nfa.papers.index import reproduce as reproduce

# These modules are loaded on first use, because the theory in the folders works without the code for experiments.
__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__, submod_attrs={"index": ["EXPERIMENTS", "find", "reproduce"]}
)
