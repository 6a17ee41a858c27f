"""Read numbers as people type them, such as ``.1``, ``1.``, ``+0.1``, ``1e-3`` and ``60_000``.

The function `given_to` makes a command read all its numbers in this way. `assignments` reads options of the form
KEY=VALUE. The function `value` converts the text after "=", and the function `one` converts a single number.
"""

import inspect
import json
import math
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, get_args

import typer

EXACT = 2**53  # a float distinguishes all whole numbers below this number
# In a text that is almost JSON: strings, and the words between brackets, commas and colons outside of strings.
WORD = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s,:\[\]{}"]+')


def one(text: str) -> int | float:
    """Return the number that a text represents: an int if `int` accepts the text, and otherwise a float.

    Raises ValueError for any other text.

    Examples
    --------
    >>> one(".1"), one("1."), one("+0.1"), one("1e-3"), one("60_000")
    (0.1, 1.0, 0.1, 0.001, 60000)
    >>> one("0,1")
    Traceback (most recent call last):
    ValueError: must be a number such as 0.1 or 1e-5, got '0,1'
    """
    if text.isascii():
        for kind in (int, float):
            with suppress(ValueError):  # raised if the text is no number of this kind, or has too many digits for int
                return kind(text)
    raise ValueError(f"must be a number such as 0.1 or 1e-5, got {text!r}")


def whole(text: str) -> int:
    """Return the whole number that a text such as 100, 1e3 or 5. stands for. Raise ValueError for any other text.

    Examples
    --------
    >>> whole("100"), whole("1e3"), whole("5.")
    (100, 1000, 5)
    """
    try:
        found = one(text)
    except ValueError:
        found = 0.5
    if isinstance(found, float) and not (found.is_integer() and abs(found) < EXACT):
        raise ValueError(f"must be a whole number such as 100 or 1e3, got {text!r}")
    return int(found)


def value(text: str) -> Any:
    """Return the JSON value that the text after KEY= stands for, or the text itself if there is no such value.

    The text may also contain numbers in any form that `one` reads. It may also be True, False or None.

    Examples
    --------
    >>> value(".1"), value("[1., +2]"), value("True"), value("normal"), value("v.1")
    (0.1, [1.0, 2], True, 'normal', 'v.1')
    """
    with suppress(ValueError):
        return one(text)
    with suppress(ValueError):
        return json.loads(WORD.sub(_in_json, text))
    return {"True": True, "False": False, "None": None}.get(text, text)


def _in_json(word: re.Match) -> str:
    """Return a number in the form of JSON, and any other word unchanged."""
    with suppress(ValueError):
        if math.isfinite(found := one(word[0])):
            return repr(found)
    return word[0]


def assignments(texts: Sequence[str], option: str = "--set") -> dict[str, Any]:
    """Return the settings in the KEY=VALUE texts of an option. The function `value` converts each VALUE.

    Raises
    ------
    ValueError : without a KEY or "=", for a KEY given twice, or for a number that is not finite

    Examples
    --------
    >>> assignments(["sigma=.01", "law=normal", "ternarize=true"])
    {'sigma': 0.01, 'law': 'normal', 'ternarize': True}
    """
    values: dict[str, Any] = {}
    for text in texts:
        key, equals, given = text.partition("=")
        if not (key and equals):
            raise ValueError(f"{option} must have the form KEY=VALUE, got {text!r}")
        if key in values:
            raise ValueError(f"{option} must set each KEY only once, got two values of {key}")
        values[key] = value(given)
        if isinstance(values[key], float) and not math.isfinite(values[key]):
            raise ValueError(f"{option} {key} must be finite, got {given}")
    return values


def given_to(command: Callable) -> None:
    """Make a command read all its number options with `one` and `whole`."""
    for parameter in inspect.signature(command).parameters.values():
        kinds = {kind for part in get_args(parameter.annotation) for kind in (part, *get_args(part))}
        for kind, read in ((int, whole), (float, lambda text: float(one(text)))):
            if kind in kinds:
                (option,) = (note for note in get_args(parameter.annotation) if hasattr(note, "parser"))
                option.parser, option.metavar = _parser(read, option.min), option.metavar or f"<{kind.__name__}>"


def _parser(read: Callable[[str], int | float], least: float | None) -> Callable[[Any], int | float]:
    def parser(given: Any) -> int | float:
        if not isinstance(given, str):  # the default of the option
            return given
        try:
            found = read(given)
        except ValueError as wrong:
            raise typer.BadParameter(str(wrong)) from None
        if least is not None and found < least:
            raise typer.BadParameter(f"must be at least {least}, got {given}")
        return found

    return parser
