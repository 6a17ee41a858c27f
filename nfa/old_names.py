"""Old names of public functions and types. They still work, and a warning names the new name."""

import sys
import warnings
from collections.abc import Callable


def old_names(module: str, **new: str) -> Callable[[str], object]:
    """A `__getattr__` for a module that resolves the old names of its attributes with a DeprecationWarning.

    Parameters
    ----------
    module : the module's ``__name__``
    new : {old name: new name}

    Examples
    --------
    A module writes ``__getattr__ = old_names(__name__, StepSize="LearningRate")``.

    >>> from nfa import optim
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     optim.StepSize is optim.LearningRate
    True
    >>> str(caught[0].message).partition(": ")[2]
    'use nfa.optim.LearningRate'
    """

    def resolved(name: str) -> object:
        if name not in new:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        warnings.warn(f"{module}.{name} is deprecated: use {module}.{new[name]}", DeprecationWarning, stacklevel=2)
        return getattr(sys.modules[module], new[name])

    return resolved
