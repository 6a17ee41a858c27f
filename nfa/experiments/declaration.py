"""How a setting is declared: ``Annotated[type, Setting(range=...)]``, its meaning in the docstring of the class.

All else is read from there: the documentation of the class, the checks, what a record leaves out, and the option of
`nfa train`. Nothing heavy is imported here, since every start of the command line reads the declarations.
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
_MEANINGS: dict[type, dict[str, str]] = {}  # as the docstring had them before `documented` completed it


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a field may be, and what it is called on the command line.

    Parameters
    ----------
    range : called with the value by its name, ``range(batch=32)``, raises ValueError for a wrong one; not called for a
        None that the field's type allows. None for what another part of the run checks
    option : the names of its option where they are others than that of the field: ``"--net --architecture"``
    metavar : what the help shows in place of a value; None for the type
    unset : what the help gives as default if that is None or no parameters; "" for nothing
    empty : the word on the command line for no parameters at all, where there is one
    null : whether a record says null where it is None; a record leaves out others that are None
    """

    range: Callable[..., None] | None = None
    option: str = ""
    metavar: str | None = None
    unset: str = "none"
    empty: str | None = None
    null: bool = False


@dataclass(frozen=True)
class Declared:
    """A field as it was declared: its type is ``kind``, or None too if it is ``optional``.

    The first sentence of the docstring's entry is its ``meaning``, the help of its option; the others are ``more``.
    """

    name: str
    meaning: str
    more: str
    kind: type
    optional: bool
    default: Any
    setting: Setting


def declared(settings: type) -> list[Declared]:
    """The fields of a dataclass of settings, in their order; TypeError for one that does not say what it means."""
    found = []
    hints = get_type_hints(settings, include_extras=True)
    meanings: dict[str, str] = {}
    for cls in reversed(settings.__mro__):
        meanings |= _MEANINGS.get(cls) or meanings_of(inspect.cleandoc(vars(cls).get("__doc__") or ""))
    for f in fields(settings):
        annotation, *notes = get_args(hints[f.name]) if get_origin(hints[f.name]) is Annotated else (hints[f.name],)
        said = [note for note in notes if isinstance(note, Setting)]
        if f.name not in meanings and sys.flags.optimize < 2:  # -OO leaves docstrings out
            raise TypeError(f"{settings.__name__}.{f.name} must have its meaning in the class's docstring")
        meaning, stop, more = meanings.get(f.name, "").partition(". ")
        kinds = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
        (kind,) = (get_origin(one) or one for one in kinds if one is not NoneType)
        default = f.default if f.default_factory is MISSING else f.default_factory()
        setting = said[0] if said else Setting()
        found.append(Declared(f.name, meaning + stop.strip(), more, kind, NoneType in kinds, default, setting))
    return found


def check(settings: Any, called: Mapping[str, str] | None = None) -> None:
    """Raise a ValueError for the first setting that is out of its own range.

    ``called`` has the names that settings have in the sentence, if they have others there.
    """
    for one in declared(type(settings)):
        value = getattr(settings, one.name)
        if one.setting.range and not (one.optional and value is None):
            one.setting.range(**{(called or {}).get(one.name, one.name): value})


def documented(settings: AnyClass) -> AnyClass:
    """The class as `help` shows it best: what its fields declare in the docstring, bare types in the signature."""
    entries, meanings = [], meanings_of(inspect.cleandoc(settings.__doc__ or ""))
    for one in declared(settings):
        said = [one.meaning]
        if words := getattr(one.setting.range, "words", ""):
            said.append(f"{words[0].upper()}{words[1:]}.")
        said.append(one.more)
        if one.optional and one.setting.unset not in ("", "none"):
            said.append(f"None: {one.setting.unset}.")
        text = f"{one.name} : {' '.join(filter(None, said))}"
        text = re.sub(r"\{(nfa[.\w]+)\}", r"`\1`", text)  # of a list that help spells out
        entries.append(textwrap.fill(text, 100, subsequent_indent="    ", break_on_hyphens=False))
    head = inspect.cleandoc(settings.__doc__ or "").partition("\n\nParameters\n")[0]
    settings.__doc__ = "\n".join([head, "", "Parameters", "----------", *entries])
    _MEANINGS[settings] = meanings
    vars(settings)["__init__"].__annotations__ = get_type_hints(settings)
    return settings


# --- ranges -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Range:
    """What a setting must be, in words that follow "must be", and whether a value is.

    Examples
    --------
    >>> SHARE(validation=1.5)
    Traceback (most recent call last):
        ...
    ValueError: validation must be a share in [0, 1), got 1.5
    """

    words: str
    holds: Callable[[Any], bool]
    first: "Range | None" = None  # what must hold before

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
SEED = Range("a whole number >= 0", lambda value: isinstance(value, int))  # streams refuse one below 0
TRUE_OR_FALSE = Range("true or false", lambda value: isinstance(value, bool))


@dataclass(frozen=True)
class OneOf:
    """One of these names, or of those that a module lists, such as "nfa.mechanism.LAWS", loaded for the first check."""

    names: tuple[str, ...] | str

    @property
    def words(self) -> str:
        """For the documentation; a setting with names of its own explains each."""
        return f"one of `{self.names}`" if isinstance(self.names, str) else ""

    def __call__(self, /, **named: Any) -> None:
        allowed = tuple(pkgutil.resolve_name(self.names) if isinstance(self.names, str) else self.names)
        Range(f"one of {', '.join(allowed)}", lambda value: value in allowed)(**named)


def named_features(**named: Any) -> None:
    """A setting that names public features must be of a kind of `nfa.features`, with parameters in their ranges."""
    from nfa.features.kind import read

    for name, value in named.items():
        if not isinstance(value, str):
            raise ValueError(f"{name} must be a text such as random:512, got {value!r}")
        read(value)


def parameters(**named: Any) -> None:
    """Settings that hold parameters of something else must do so by name, in JSON values."""
    for name, value in named.items():
        if not isinstance(value, dict):
            raise ValueError(f"{name} must be a dictionary of parameters, got {value!r}")
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name} must be JSON values: {error}") from None


# --- settings of something else, which its signature declares ---------------------------------------------------


def check_type(name: str, value: Any, annotation: Any) -> None:
    """Raise ValueError where an annotation asks for a number or for true or false, and the value is none."""
    if annotation is bool and not isinstance(value, bool):
        raise ValueError(f"{name} must be true or false, got {value!r}")
    if annotation in (int, float) and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise ValueError(f"{name} must be a number, got {value!r}")
    if annotation in (int | None, float | None) and value is not None:
        check_type(name, value, float)


def whole_as_counts(values: Mapping[str, Any], types: Mapping[str, Any]) -> dict[str, Any]:
    """The values, with 8.0 or 1e3 as an int where the type that was declared is int; others stay.

    Examples
    --------
    >>> whole_as_counts({"bits": 8.0, "gain": 2.0}, {"bits": int | None, "gain": float})
    {'bits': 8, 'gain': 2.0}
    """
    counts = [name for name, kind in types.items() if kind in (int, int | None)]
    whole = {k: int(v) for k, v in values.items() if k in counts and isinstance(v, float) and v.is_integer()}
    return dict(values) | whole
