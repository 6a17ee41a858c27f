"""Noisy feedback alignment: five papers on private learning without backpropagation, as code beside the page.

Import the part you need: `from nfa.network import mlp`, `from nfa.rules.dfa import dfa`.
"""

from importlib import import_module
from pathlib import Path
from types import ModuleType

__version__ = "0.1.0"

# A checkout keeps kernels/ and data/ beside nfa/; an installed nfa has them inside.
_root = Path(__file__).resolve().parent.parent
if (_root / "setup.cfg").is_file() and (_root / "kernels" / "__init__.py").is_file():
    __path__.append(str(_root))


def __getattr__(name: str) -> ModuleType:
    if name == "ops":  # `from nfa import ops`, without NumPy for who only asks for the version
        return import_module("nfa.network.ops")
    raise AttributeError(f"module 'nfa' has no attribute {name!r}")
