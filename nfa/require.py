"""Range checks in one line. For example, ``require.positive(sigma=sigma)`` raises ValueError unless sigma > 0.

The keyword is the name of the number in the message. One call can check several numbers, in the given order:

>>> sigma, tau_B = 0.2, -1.0
>>> positive(sigma=sigma, tau_B=tau_B)
Traceback (most recent call last):
ValueError: tau_B must be positive and finite, got -1.0

A name that is not an identifier is passed as ``positive(**{"the learning rate gamma": gamma})``. NaN is outside every
range. A check takes single numbers (`finite` and `pairs` take arrays), changes nothing and returns nothing.

This module has the checks that many modules use. A check that belongs to a subject is in the module of this subject.
For example, `nfa.privacy.divergences.check_order` checks the order of a Renyi divergence. A check that is used once is
written out where it is used.
"""

import math
import os
from collections.abc import Collection, Iterable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

Interval = Literal["(0, 1)", "(0, 1]", "[0, 1)", "[0, 1]"]


def positive(**numbers: float) -> None:
    """Raise ValueError unless every number is in (0, inf)."""
    for name, x in numbers.items():
        if not 0 < x < math.inf:
            raise ValueError(f"{name} must be positive and finite, got {x}")


def positive_or_infinite(**numbers: float) -> None:
    """Raise ValueError unless every number is in (0, inf], because a bound may be infinite.

    Examples
    --------
    >>> positive_or_infinite(tau_h=math.inf)
    >>> positive_or_infinite(**{"the clipping bound C": 0.0})
    Traceback (most recent call last):
    ValueError: the clipping bound C must be positive, got 0.0
    """
    for name, x in numbers.items():
        if not x > 0:
            raise ValueError(f"{name} must be positive, got {x}")


def not_negative(**numbers: float) -> None:
    """Raise ValueError unless every number is in [0, inf).

    Examples
    --------
    >>> not_negative(lam=math.nan)
    Traceback (most recent call last):
    ValueError: lam must be at least 0 and finite, got nan
    """
    for name, x in numbers.items():
        if not 0 <= x < math.inf:
            raise ValueError(f"{name} must be at least 0 and finite, got {x}")


def at_least(least: float, /, **numbers: float) -> None:
    """Raise ValueError unless every number is in [least, inf], because an epsilon may be infinite.

    Examples
    --------
    >>> at_least(0, epsilon=math.inf)
    >>> at_least(1, trials=0)
    Traceback (most recent call last):
    ValueError: trials must be at least 1, got 0
    """
    for name, x in numbers.items():
        if not x >= least:
            raise ValueError(f"{name} must be at least {least}, got {x}")


def within(interval: Interval, /, **numbers: float) -> None:
    """Raise ValueError unless every number is in an interval from 0 to 1, as a probability, a rate or a share must be.

    Examples
    --------
    >>> within("(0, 1]", q=1)
    >>> within("(0, 1)", delta=1)
    Traceback (most recent call last):
    ValueError: delta must be in (0, 1), got 1
    """
    with_0, with_1 = interval[0] == "[", interval[-1] == "]"
    for name, x in numbers.items():
        if not (0 < x < 1 or (with_0 and x == 0) or (with_1 and x == 1)):
            raise ValueError(f"{name} must be in {interval}, got {x}")


def integer(least: int, /, **numbers: float) -> None:
    """Raise ValueError unless every number has an integer value (3 or 3.0, not True) and is at least `least`.

    Examples
    --------
    >>> integer(1, steps=3.0)
    >>> integer(1, steps=2.5)
    Traceback (most recent call last):
    ValueError: steps must be an integer and at least 1, got 2.5
    """
    for name, x in numbers.items():
        if isinstance(x, bool) or not (least <= x < math.inf and x == int(x)):
            raise ValueError(f"{name} must be an integer and at least {least}, got {x}")


def whole(least: int, /, **numbers: int) -> None:
    """Raise ValueError unless every number has an integer type, as the size of an array must, and is at least `least`.

    Examples
    --------
    >>> whole(1, trials=np.int64(3))
    >>> whole(1, trials=3.0)
    Traceback (most recent call last):
    ValueError: trials must be a whole number >= 1, got 3.0
    """
    for name, n in numbers.items():
        if not (isinstance(n, int | np.integer) and n >= least):
            raise ValueError(f"{name} must be a whole number >= {least}, got {n!r}")


def one_of(choices: Collection[str], /, **values: str | None) -> None:
    """Raise ValueError unless every value is one of the choices, which the message lists.

    Examples
    --------
    >>> one_of(("published", "preprint"), version="draft")
    Traceback (most recent call last):
    ValueError: version must be one of published, preprint, got 'draft'
    """
    for name, value in values.items():
        if value not in choices:
            raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}")


def finite(**arrays: ArrayLike) -> None:
    """Raise ValueError unless every array, of any shape, contains only finite numbers.

    Examples
    --------
    >>> finite(mean=[0.0, math.nan])
    Traceback (most recent call last):
    ValueError: mean holds NaN or infinity
    """
    for name, values in arrays.items():
        if not np.isfinite(values).all():
            raise ValueError(f"{name} holds NaN or infinity")


def pairs(x: np.ndarray, y: np.ndarray) -> None:
    """Raise ValueError unless x and y have the same number of examples, at least one."""
    if len(x) == 0 or len(x) != len(y):
        raise ValueError(f"x and y must have the same number of examples, at least 1, got {len(x)} and {len(y)}")


def normaliser(m: float, /, *, rule: str, optional: bool = False) -> None:
    """Raise ValueError unless m, the divisor of a rule's sum over examples, is a possible number of examples above 0.

    Parameters
    ----------
    m : float, at most 2^53
    rule : the rule's name
    optional : whether the rule uses the size of the batch if m is not given. The message then advises to give m

    Examples
    --------
    >>> normaliser(0, rule="bp", optional=True)
    Traceback (most recent call last):
    ValueError: the normaliser m of bp must be positive, got m=0. Give m if a batch can be empty
    """
    if 2**53 < m < math.inf:
        raise ValueError(f"the normaliser m of {rule} must be at most 2^53, got m={m}")
    if not 0 < m < math.inf:
        hint = ". Give m if a batch can be empty" if optional else ""
        raise ValueError(f"the normaliser m of {rule} must be positive, got m={m}{hint}")


def meant(name: str, known: Iterable[str], what: str = "") -> str:
    """The end of a message about an unknown name, with the known names that are close to it; "" if none is close.

    Case and characters other than letters and digits do not matter. In a name such as ``lee2020:fig2``, the text after
    the colon is compared with that of the paper's known names. This text may also be given alone.

    Parameters
    ----------
    what : text before the names, such as "the document "

    Examples
    --------
    >>> meant("DPSGD", ["bp", "dp_sgd", "dp_dfa"]), meant("table", ["fig1"])
    ('; did you mean dp_sgd?', '')
    >>> meant("paper:fgi2", ["paper:fig2", "paper:table"]), meant("fig2", ["paper:fig2", "other:fig1"])
    ('; did you mean paper:fig2?', '; did you mean paper:fig2?')
    """
    import difflib  # only a wrong name needs it

    known = list(dict.fromkeys(known))
    head, colon, local = name.rpartition(":")
    siblings = [one for one in known if colon and one.startswith(f"{head}:")]
    typed = _letters(local if siblings else name)
    spelled: dict[str, list[str]] = {}
    for one in siblings or [one for one in known if (":" in one) == bool(colon)]:
        spelled.setdefault(_letters(one.rpartition(":")[2] if siblings else one), []).append(one)
    close = [typed] if typed in spelled else difflib.get_close_matches(typed, spelled, n=3)
    names = [one for spelling in close for one in spelled[spelling]]
    names = ([one for one in known if ":" in one and one.rpartition(":")[2] == name] or names)[:3]
    return f"; did you mean {what}{' or '.join(names)}?" if names else ""


def path_meant(path: os.PathLike[str], ends: Collection[str] = ("",)) -> str:
    """`meant` for a missing path: similar names in its folder with one of the endings, or "" without a folder."""
    folder, name = os.path.split(path)
    try:
        known = sorted(one for one in os.listdir(folder or ".") if one.lower().endswith(tuple(ends)))
    except OSError:
        return ""
    return meant(name, known)


def _letters(name: str) -> str:
    return "".join(c for c in name.casefold() if c.isalnum())
