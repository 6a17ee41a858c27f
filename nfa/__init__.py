"""Noisy feedback alignment: five papers on private learning without backpropagation, as code to read next to them.

Import the part that you need: `from nfa.network import mlp`, `from nfa.rules.dfa import dfa`.
"""

from pathlib import Path

import lazy_loader

__version__ = "0.2.0"
__year__ = "2026"  # year of this version, for citations

# # In a checkout, kernels/ and data/ are next to nfa/. In an installed nfa, both folders are inside nfa/.
_root = Path(__file__).resolve().parent.parent
if (_root / "setup.cfg").is_file() and (_root / "kernels" / "__init__.py").is_file():
    __path__.append(str(_root))

# The names that a user imports directly. They are loaded at the first use, so reading the version does not load NumPy.
__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    ["data", "feedback", "network", "noise", "optim", "sampling"],
    {"network": ["ops"], "experiments.classifier": ["Classifier", "fit"]},
)
