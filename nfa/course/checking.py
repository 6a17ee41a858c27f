"""What the checks of a problem set are written with: calls under a time limit, comparisons that say what is wrong.

A check is a function that takes what the student wrote and returns, or raises `Wrong` with a sentence that helps. It
calls the student's function with `call`, shapes what comes back with `array`, and holds it with `close` against
something independent: differences, a loop, a library.
"""

import copy
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

SECONDS = 3.0  # that one call of a student's function may take; an honest one takes milliseconds
RTOL = 1e-4  # of the largest entry: float32 passes, and no mistake is that small


class Wrong(AssertionError):
    """What a student's function does is not right; the sentence says how, and gives no answer away."""


class TimeIsUp(BaseException):
    """Interrupts a call. No Exception, so that a student's `except Exception` does not swallow it."""


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Interrupt Python code that takes longer than this with `TimeIsUp`.

    It needs a main thread and a system with interval timers (not Windows); elsewhere nbgrader's own limit is left.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise TimeIsUp

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def call(function: Callable, *args: Any, copies: bool = True, **kwargs: Any) -> Any:
    """What the student's function returns for copies of these arguments; for themselves if ``copies`` is false.

    Raises
    ------
    Wrong : if it is not a function, raises anything or does not return in time
    """
    if not callable(function):
        raise Wrong(f"this must be a function, and it is {describe(function)}")
    name = getattr(function, "__name__", "your function")
    args, kwargs = copy.deepcopy((args, kwargs)) if copies else (args, kwargs)
    try:
        with limit(SECONDS), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return function(*args, **kwargs)
    except TimeIsUp:
        raise Wrong(f"{name} did not return within {SECONDS:g} seconds: does a loop in it never end?") from None
    except NotImplementedError:
        raise Wrong(f"{name} is not written yet") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise Wrong(f"{name} raised {type(error).__name__}: {shortened(error)}") from None


def array(value: Any, shape: tuple[int, ...], name: str) -> np.ndarray:
    """The value as a float64 array of this shape; lists of numbers and any float type are welcome.

    Raises
    ------
    Wrong : if it is something else, has another shape or holds nan or infinity
    """
    try:
        found = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise Wrong(f"{name} must be an array of shape {shape}, and it is {describe(value)}") from None
    if found.shape != shape:
        raise Wrong(f"{name} must have the shape {shape}, and it has the shape {found.shape}")
    if not np.isfinite(found).all():
        raise Wrong(f"{name} has entries that are nan or infinite")
    return found


def pair(value: Any, what: str) -> tuple[Any, Any]:
    """The two things that a function returns."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise Wrong(f"it must return two things, {what}, and it returns {describe(value)}")
    return value[0], value[1]


def layers(value: Any, first: int, L: int, name: str) -> Any:
    """A list that counts layers as the papers do: entry l for l = first..L. What is in lower slots does not matter."""
    try:
        length = len(value)
    except TypeError:
        raise Wrong(f"{name} must be a list with entries {first}..{L}, and it is {describe(value)}") from None
    if length != L + 1:
        raise Wrong(f"{name} must have {L + 1} entries, slots 0 to {L}, and it has {length}; layers count from 1")
    return value


def close(got: np.ndarray, want: np.ndarray, name: str, hint: str = "", rtol: float = RTOL) -> None:
    """Hold what a student computed against what it should be, within rtol of the largest entry of that.

    Raises
    ------
    Wrong : with the place of the largest difference, its size, and the hint; a common factor (a sign, a mean taken
        twice) is named instead
    """
    scale = max(float(np.abs(want).max(initial=0.0)), 1e-12)
    off = np.abs(got - want)
    if not off.size or off.max() <= rtol * scale:
        return
    factor = common_factor(got, want)
    if factor is not None:
        raise Wrong(f"{name} is {factor:.4g} times what it should be{'; ' + hint if hint else ''}")
    at = tuple(int(i) for i in np.unravel_index(int(off.argmax()), off.shape))
    place = f" at {list(at)}" if at else ""
    told = f"{name} is off by up to {off.max():.3g}{place}, where the largest entry is {scale:.3g}"
    raise Wrong(f"{told}; {hint}" if hint else told)


def common_factor(got: np.ndarray, want: np.ndarray) -> float | None:
    """The number c for which got = c want, if there is one (within `RTOL`), else None.

    Examples
    --------
    >>> common_factor(np.array([-1.0, -2.0]), np.array([1.0, 2.0]))
    -1.0
    >>> common_factor(np.array([1.0, 0.0]), np.array([0.0, 1.0])) is None
    True
    """
    square = float(np.vdot(want, want))
    if square == 0:
        return None
    c = float(np.vdot(want, got)) / square
    near = np.abs(got - c * want).max() <= RTOL * abs(c) * np.abs(want).max()
    return c if near and c != 0 else None


def slopes(f: Callable[[np.ndarray], float], at: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """The derivative of f by every entry of an array, by central differences (error about 1e-10 for f of order 1).

    Examples
    --------
    >>> slopes(lambda v: v @ v, np.array([1.0, 3.0])).round(6).tolist()
    [2.0, 6.0]
    """
    found = np.zeros(at.shape)
    for i in np.ndindex(at.shape):
        up, down = at.astype(float), at.astype(float)
        up[i] += step
        down[i] -= step
        found[i] = (f(up) - f(down)) / (2 * step)
    return found


def fair(check: Callable[[], None], function: Callable, **parts: Callable) -> None:
    """Run a check; where it fails, once more with right versions of earlier exercises in the notebook.

    So nobody loses points twice for one mistake, and nobody has to use the earlier functions in a given way. The first
    failure's sentence is the one told.
    """
    try:
        check()
        return
    except Wrong as first:
        told = first
    names = getattr(function, "__globals__", {})
    before = {name: names[name] for name in parts if name in names}
    names.update({name: parts[name] for name in before})
    try:
        check()
    except Wrong:
        raise told from None
    finally:
        names.update(before)


def describe(value: Any) -> str:
    """A value's type as one would say it."""
    return "None: is a return missing?" if value is None else f"of type {type(value).__name__}"


def shortened(error: BaseException, length: int = 200) -> str:
    """An error's text in one line that is not too long."""
    text = " ".join(str(error).split())
    return text if len(text) <= length else text[: length - 3] + "..."
