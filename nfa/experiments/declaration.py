"""The declaration of a setting: ``Annotated[type, Setting(range=...)]``.

The docstring of the class contains the meaning of the setting. From the declaration, nfa derives the
documentation of the class, the checks, the values that a record leaves out, and the option of `nfa train`. The
declarations are read whenever a command starts. So this module imports no module that is slow to import.
"""

import inspect
import json
import math
import pkgutil
import re
import sys
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from nfa.docstrings import meanings_of

AnyClass = TypeVar("AnyClass", bound=type)
# The meanings of the settings. We read them from the docstrings before `documented` completes the docstrings.
_MEANINGS: dict[type, dict[str, str]] = {}


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The allowed values of a field, and its name on the command line.

    Parameters
    ----------
    range : function that checks the value, called with a keyword: ``range(batch=32)``. The function raises ValueError
        for a wrong value. The function is not called for the value None if the field's type allows None. If there is no
        such function, another part of the run checks the value
    option : the names of the option if they differ from the name of the field: ``"--net --architecture"``
    metavar : placeholder of the value in the help; None for the type
    unset : words that the help prints for the default None or the default {}; "" to print no default
    empty : word on the command line for an empty dictionary of parameters, if there is such a word
    null : whether a record contains null if the value is None. If false, the record leaves out the setting
    """

    range: Callable[..., None] | None = None
    option: str = ""
    metavar: str | None = None
    unset: str = "none"
    empty: str | None = None
    null: bool = False


@dataclass(frozen=True)
class Declared:
    """A declared field. Its value has the type ``kind``. If ``optional`` is true, the value can also be None.

    ``meaning`` is the first sentence of the field's entry in the docstring, which is the help of the option. ``more``
    contains the other sentences.
    """

    name: str
    meaning: str
    more: str
    kind: type
    optional: bool
    default: Any
    setting: Setting


def declared(settings: type) -> list[Declared]:
    """The fields of a dataclass of settings, in their order. Raises TypeError for a field without a meaning."""
    found = []
    hints = get_type_hints(settings, include_extras=True)
    meanings: dict[str, str] = {}
    for cls in reversed(settings.__mro__):
        meanings |= _MEANINGS.get(cls) or meanings_of(inspect.cleandoc(vars(cls).get("__doc__") or ""))
    for f in fields(settings):
        annotation, *notes = get_args(hints[f.name]) if get_origin(hints[f.name]) is Annotated else (hints[f.name],)
        said = [note for note in notes if isinstance(note, Setting)]
        if f.name not in meanings and sys.flags.optimize < 2:  # -OO removes docstrings
            raise TypeError(f"the docstring of {settings.__name__} must describe the setting {f.name}")
        meaning, stop, more = meanings.get(f.name, "").partition(". ")
        kinds = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
        (kind,) = (get_origin(one) or one for one in kinds if one is not NoneType)
        default = f.default if f.default_factory is MISSING else f.default_factory()
        setting = said[0] if said else Setting()
        found.append(Declared(f.name, meaning + stop.strip(), more, kind, NoneType in kinds, default, setting))
    return found


def check(settings: Any, called: Mapping[str, str] | None = None) -> None:
    """Raise ValueError for the first setting with a value out of its range.

    ``called`` maps names of settings to other names for the error message.
    """
    for one in declared(type(settings)):
        value = getattr(settings, one.name)
        if one.setting.range and not (one.optional and value is None):
            one.setting.range(**{(called or {}).get(one.name, one.name): value})


def documented(settings: AnyClass) -> AnyClass:
    """Complete the class docstring with the declarations of its fields, and leave only types in its signature."""
    entries, meanings = [], meanings_of(inspect.cleandoc(settings.__doc__ or ""))
    for one in declared(settings):
        said = [one.meaning]
        if words := getattr(one.setting.range, "words", ""):
            said.append(f"{words[0].upper()}{words[1:]}.")
        said.append(one.more)
        if one.optional and one.setting.unset not in ("", "none"):
            said.append(f"None: {one.setting.unset}.")
        text = f"{one.name} : {' '.join(filter(None, said))}"
        # The help prints the whole list, but the docstring prints only the name of the list.
        text = re.sub(r"\{(nfa[.\w]+)\}", r"`\1`", text)
        entries.append(textwrap.fill(text, 100, subsequent_indent="    ", break_on_hyphens=False))
    head = inspect.cleandoc(settings.__doc__ or "").partition("\n\nParameters\n")[0]
    settings.__doc__ = "\n".join([head, "", "Parameters", "----------", *entries])
    _MEANINGS[settings] = meanings
    vars(settings)["__init__"].__annotations__ = get_type_hints(settings)
    return settings


# --- ranges -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Range:
    """An allowed range: words that follow "must be" in a message, and a test of a value.

    Examples
    --------
    >>> SHARE(validation=1.5)
    Traceback (most recent call last):
        ...
    ValueError: validation must be a share in [0, 1), got 1.5
    """

    words: str
    holds: Callable[[Any], bool]
    first: "Range | None" = None  # a range that is checked first

    def __call__(self, /, **named: Any) -> None:
        for name, value in named.items():
            if self.first:
                self.first(**{name: value})
            if not self.holds(value):
                raise ValueError(f"{name} must be {self.words}, got {value!r}")


AT_LEAST_1 = Range("a whole number >= 1", lambda value: isinstance(value, int) and value >= 1)
FINITE = Range("a finite number", lambda value: isinstance(value, int | float) and math.isfinite(value))
POSITIVE = Range("positive", lambda value: value > 0, first=FINITE)
SHARE = Range("a share in [0, 1)", lambda value: 0 <= value < 1, first=FINITE)
SHARE_OF_STEPS = Range("a share in (0, 1]", lambda value: 0 < value <= 1, first=FINITE)
PROBABILITY = Range("a number between 0 and 1", lambda value: isinstance(value, float) and 0 < value < 1)
SEED = Range("a whole number >= 0", lambda value: isinstance(value, int))  # the streams refuse a negative seed
TRUE_OR_FALSE = Range("true or false", lambda value: isinstance(value, bool))


@dataclass(frozen=True)
class OneOf:
    """The range of a setting with named values. ``names`` are the names, or the path of a list that a check imports."""

    names: tuple[str, ...] | str

    @property
    def words(self) -> str:
        """The words for the documentation; "" for a tuple of names, because the setting's meaning lists the names."""
        return f"one of `{self.names}`" if isinstance(self.names, str) else ""

    def __call__(self, /, **named: Any) -> None:
        allowed = tuple(pkgutil.resolve_name(self.names) if isinstance(self.names, str) else self.names)
        Range(f"one of {', '.join(allowed)}", lambda value: value in allowed)(**named)


def named_features(**named: Any) -> None:
    """Check that a setting of public features names a kind of `nfa.features`, with parameters in their ranges."""
    from nfa.features.kind import read

    for name, value in named.items():
        if not isinstance(value, str):
            raise ValueError(f"{name} must be a text such as random:512, got {value!r}")
        read(value)


def parameters(**named: Any) -> None:
    """Check that a setting is a dictionary from names of parameters to JSON values."""
    for name, value in named.items():
        if not isinstance(value, dict):
            raise ValueError(f"{name} must be a dictionary from names of parameters to values, got {value!r}")
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name} must contain only JSON values ({error})") from None


# --- settings that the signature of a function declares ----------------------------------------------------------


def check_type(name: str, value: Any, annotation: Any) -> None:
    """Raise ValueError if an annotation asks for a number or a boolean, but the value has another type."""
    if annotation is bool and not isinstance(value, bool):
        raise ValueError(f"{name} must be true or false, got {value!r}")
    if annotation in (int, float) and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise ValueError(f"{name} must be a number, got {value!r}")
    if annotation in (int | None, float | None) and value is not None:
        check_type(name, value, float)


def whole_as_counts(values: Mapping[str, Any], types: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values, with 8.0 or 1e3 as an int if the declared type is int. Other values are unchanged.

    Examples
    --------
    >>> whole_as_counts({"bits": 8.0, "gain": 2.0}, {"bits": int | None, "gain": float})
    {'bits': 8, 'gain': 2.0}
    """
    counts = [name for name, kind in types.items() if kind in (int, int | None)]
    whole = {k: int(v) for k, v in values.items() if k in counts and isinstance(v, float) and v.is_integer()}
    return dict(values) | whole
