"""What the checks of a problem set are written with: calls under a time limit, comparisons that say what is wrong.

A check is a function that takes what the student wrote and returns, or raises `Wrong` with a sentence that helps. It
calls the student's function with `call`, shapes what comes back with `array`, and holds it with `close` against
something independent: differences, a loop, a library.
"""

import copy
import inspect
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

SECONDS = 3.0  # of CPU time that one call of a student's function may take; an honest one takes milliseconds
LARGEST = 1e150  # what an entry may be, so that its square, too, is a number
WAIT = 20.0  # seconds by the clock, for one that sleeps; less than nbgrader gives to a cell
COUNTS = {2: "two", 3: "three"}
RTOL = 1e-4  # of the largest entry: float32 passes, and no mistake is that small


class Wrong(AssertionError):
    """What a student's function does is not right; the sentence says how, and gives no answer away.

    ``why`` is "error" where the function raised one, "time" where it did not return, else "".
    """

    def __init__(self, sentence: str, why: str = "") -> None:
        super().__init__(sentence)
        self.why = why


class TimeIsUp(BaseException):
    """Interrupts a call. No Exception, so that a student's `except Exception` does not swallow it."""


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Interrupt Python code with `TimeIsUp` that takes more CPU time than this, or longer than `WAIT`.

    CPU time, so that a busy machine costs nobody points. It needs a main thread and a system with interval timers (not
    Windows); elsewhere nbgrader's own limit is left.
    """
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise TimeIsUp

    timers = ((signal.SIGPROF, signal.ITIMER_PROF, seconds), (signal.SIGALRM, signal.ITIMER_REAL, WAIT))
    before = [signal.signal(number, stop) for number, _, _ in timers]
    for _, timer, length in timers:
        signal.setitimer(timer, length)
    try:
        yield
    finally:
        for (number, timer, _), handler in zip(timers, before, strict=True):
            signal.setitimer(timer, 0)
            signal.signal(number, handler)


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
        told = f"{name} did not return within {SECONDS:g} seconds: does a loop in it never end?"
        raise Wrong(told, why="time") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if isinstance(error, NotImplementedError) and not error.args:  # as the student version has it
            raise Wrong(f"{_raiser(error) or name} is not written yet", why="error") from None
        raise Wrong(f"{name} raised {type(error).__name__}: {shortened(error)}", why="error") from None


def array(value: Any, shape: tuple[int, ...], name: str) -> np.ndarray:
    """The value as a float64 array of this shape; lists of numbers, tensors and any float type are welcome.

    Raises
    ------
    Wrong : if it is something else, has another shape or holds nan, infinity or what is nearly so
    """
    found = _floats(value)
    if found is None:
        what = f"an array of shape {shape}" if shape else "a number"
        raise Wrong(f"{name} must be {what}, and it is {describe(value)}")
    if found.shape != shape:
        raise Wrong(f"{name} must have the shape {shape}, and it has the shape {found.shape}")
    if not (np.abs(found) < LARGEST).all():
        raise Wrong(f"{name} has entries that are nan, infinite or nearly so")
    return found


def number(value: Any, name: str, finite: bool = True) -> float:
    """One number as a float; an array, list or tensor with one entry will do.

    Raises
    ------
    Wrong : if it is something else, nan, or infinite where that is not welcome

    Examples
    --------
    >>> number([2], "the rank")
    2.0
    """
    found = _floats(value)
    if found is None:
        raise Wrong(f"{name} must be a number, and it is {describe(value)}")
    if found.size != 1:
        raise Wrong(f"{name} must be one number, and it has the shape {found.shape}")
    one = float(found.ravel()[0])
    if np.isnan(one) or (finite and not abs(one) < LARGEST):
        raise Wrong(f"{name} must be a {'finite ' * finite}number, and it is {one}")
    return one


def pair(value: Any, what: str, length: int = 2) -> list[Any]:
    """The two things that a function returns, or three."""
    if not isinstance(value, tuple | list) and not (hasattr(value, "shape") and np.ndim(value)):
        raise Wrong(f"it must return {COUNTS[length]} things, {what}, and it returns {describe(value)}")
    if len(value) != length:
        raise Wrong(f"it must return {COUNTS[length]} things, {what}, and it returns {len(value)}")
    return list(value)


def entries(value: Any, of: str, *names: str) -> list[Any]:
    """What a function's dictionary has under these names."""
    if not isinstance(value, dict):
        raise Wrong(f"{of} must return a dictionary, and it returns {describe(value)}")
    if missing := [name for name in names if name not in value]:
        raise Wrong(f"{of} has no entry {missing[0]!r} yet")
    return [value[name] for name in names]


def layers(value: Any, first: int, L: int, name: str) -> Any:
    """A list that counts layers as the papers do: entry l for l = first..L. What is in lower slots does not matter."""
    try:
        length = len(value)
    except TypeError:
        raise Wrong(f"{name} must be a list with entries {first}..{L}, and it is {describe(value)}") from None
    if length != L + 1:
        raise Wrong(f"{name} must have {L + 1} entries, slots 0 to {L}, and it has {length}; layers count from 1")
    return value


def arrays(value: Any, like: Sequence[Any], name: str, first: int = 1) -> list[Any]:
    """The entries first..L of such a list as arrays, each of the shape of the entry of ``like``; None below."""
    value = layers(value, first, len(like) - 1, name)
    return [None] * first + [array(value[l], np.shape(like[l]), f"{name}[{l}]") for l in range(first, len(like))]


def close(got: ArrayLike, want: ArrayLike, name: str, hint: str = "", rtol: float = RTOL) -> None:
    """Hold what a student computed against what it should be, within rtol of the largest entry of that.

    Raises
    ------
    Wrong : with the place of the largest difference, its size, and the hint; a common factor (a sign, a mean taken
        twice) is named instead
    """
    got, want = np.asarray(got), np.asarray(want)
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


def same_number(got: float, want: float, name: str, hint: str, rtol: float = RTOL) -> None:
    """Hold a number that the text asks for; the sentence does not tell how far off it is, which would be the answer."""
    if not abs(got - want) <= rtol * max(abs(want), 1e-12):
        raise Wrong(f"{name} is not {got:.4g}; {hint}")


def common_factor(got: ArrayLike, want: ArrayLike) -> float | None:
    """The number c for which got = c want, if there is one (within `RTOL`), else None.

    Examples
    --------
    >>> common_factor(np.array([-1.0, -2.0]), np.array([1.0, 2.0]))
    -1.0
    >>> common_factor(np.array([1.0, 0.0]), np.array([0.0, 1.0])) is None
    True
    """
    got, want = np.asarray(got), np.asarray(want)
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

    So nobody loses points twice for one mistake, and nobody has to use the earlier functions in a given way. Of two
    failures the second is told, which is that of this exercise, unless only the right versions make it raise. After a
    call that took too long the second has a third of the time, in which every honest one returns.
    """
    global SECONDS
    seconds = SECONDS
    try:
        check()
        return
    except Wrong as first:
        told = first
    names = getattr(inspect.unwrap(function) if callable(function) else function, "__globals__", {})
    before = {name: names[name] for name in parts if name in names}
    if not before:
        raise told
    names.update({name: parts[name] for name in before})
    try:
        if told.why == "time":
            SECONDS = seconds / 3
        check()
    except Wrong as second:
        raise told if second.why and told.why != "error" else second from None
    finally:
        SECONDS = seconds
        names.update(before)


def describe(value: Any) -> str:
    """A value's type as one would say it."""
    return "None: is a return missing?" if value is None else f"of type {type(value).__name__}"


def _floats(value: Any) -> np.ndarray | None:
    """The value in float64, or None if it is not made of numbers."""
    try:
        value = value.detach() if hasattr(value, "detach") else value
        return None if value is None else np.asarray(value, dtype=float)
    except (TypeError, ValueError, RuntimeError):
        return None


def _raiser(error: BaseException) -> str:
    """The name of the function in which an error was raised, "" if it has none."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    name = at.tb_frame.f_code.co_name if at is not None else "<"
    return "" if name.startswith("<") else name


def shortened(error: BaseException, length: int = 200) -> str:
    """An error's text in one line that is not too long."""
    text = " ".join(str(error).split())
    return text if len(text) <= length else text[: length - 3] + "..."
