"""The functions with which the checks of a problem set are written: calls with a time limit, and comparisons.

A check is a function that takes a student's functions and values. It returns None, or raises `Wrong` with a helpful
sentence. It calls the student's function with `call`, converts the result with `array`, and compares it by `close` with
independent values: from differences, a loop or a library. `mismatch` writes the sentence about a mistake, always in the
same order.
"""

import copy
import inspect
import re
import signal
import threading
import tracemalloc
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from nfa.old_names import old_names

SECONDS = 3.0  # CPU time for one call of a student's function; a correct function takes milliseconds
WAIT = 20.0  # seconds on the clock for a function that sleeps; less than nbgrader's limit for a cell
LARGEST = 1e150  # limit of an entry, so that the square of an entry is also finite
WORDS = 8  # different words that a reason must have
RTOL = 1e-4  # relative to the largest entry: float32 passes, and no mistake is that small

_practice = False  # whether a student tries the checks; the values then differ from the values of grading

__getattr__ = old_names(__name__, slopes="derivatives")


class Nothing:
    """Replaces the None of a function that returned nothing, to distinguish it from a None inside a result."""

    def __str__(self) -> str:
        return "nothing"


NOTHING = Nothing()


class Wrong(AssertionError):
    """A student's function is wrong. The message describes the mistake, but does not reveal the solution.

    ``why`` is "error" if the function raised an error, "time" if it did not return in time, and otherwise "".
    """

    def __init__(self, sentence: str, why: str = "") -> None:
        super().__init__(sentence)
        self.why = why


@contextmanager
def practising() -> Iterator[None]:
    """Use the values of practice in `seeded` and `size`, as for a student who tries the checks."""
    global _practice
    before, _practice = _practice, True
    try:
        yield
    finally:
        _practice = before


def seeded(seed: int) -> np.random.Generator:
    """Random numbers for a check. The same seed gives other numbers in practice than in grading."""
    return np.random.default_rng([seed, 1] if _practice else seed)


def size(n: int) -> int:
    """A size of a case, such as a number of records or units. In practice it is larger by 1 than in grading."""
    return n + _practice


def mismatch(name: str, found: Any, expected: Any = "", hint: str = "") -> Wrong:
    """The error that a check raises: the wrong quantity, the found value, the expected value and a hint, in this order.

    Numbers have four digits, or more if these digits are equal. Leave out ``expected`` only if ``found`` already
    describes the expected value. A function that returned nothing gets its own hint.

    Examples
    --------
    >>> str(mismatch("the rank", 3, 4.0, "draw one"))
    'the rank: found 3, expected 4; draw one'
    """
    hint = "your function returned nothing: is the return missing?" if found is NOTHING else hint
    for digits in (4, 7, 17):
        texts = [f"{v + 0:.{digits}g}" if isinstance(v, int | float | np.number) else str(v) for v in (found, expected)]
        if texts[0] != texts[1]:
            break
    return Wrong(f"{name}: found {texts[0]}{texts[1] and ', expected '}{texts[1]}{hint and '; '}{hint}")


def misfit(name: str, value: Any, expected: str) -> Wrong:
    """The error that a check raises for a value of a wrong kind."""
    found = value if value is None or value is NOTHING else f"something of type {type(value).__name__}"
    return mismatch(name, found, expected)


class TimeIsUp(BaseException):
    """Interrupts a call. It is not an Exception, so that a student's `except Exception` does not catch it."""


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Interrupt the body with `TimeIsUp` if its CPU time exceeds ``seconds``, or its time on the clock exceeds `WAIT`.

    We limit the CPU time so that no student loses points because the machine is busy. The limit needs the main thread
    and a system with interval timers (not Windows). Without them, only nbgrader's own limit applies.
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


def raiser(error: BaseException) -> str:
    """The name of the function in which an error was raised; "" if the function has no name."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    name = at.tb_frame.f_code.co_name if at is not None else "<"
    return "" if name.startswith("<") else name


def shortened(error: BaseException, length: int = 200) -> str:
    """The text of an error in one line of limited length. Errors about shapes that do not fit get plain words."""
    text = " ".join(str(error).split())
    if product := re.search(r"mismatch in its core dimension 0, .*size (\d+) is different from (\d+)", text):
        rows, columns = product.groups()
        text = f"the shapes in a matrix product do not fit: {columns} columns on the left and {rows} rows on the right"
    elif shapes := re.search(r"could not be broadcast together with .*?(\([\d,]*\)) (\([\d,]*\))", text):
        text = "shapes do not fit entry by entry: {} and {}".format(*shapes.groups())
    return text if len(text) <= length else text[: length - 3] + "..."


def call(function: Callable, *args: Any, copies: bool = True, **kwargs: Any) -> Any:
    """The result of the student's function, or `NOTHING` for None. By default, it gets copies of the arguments.

    Raises
    ------
    Wrong : if the object is not a function, raises an error or does not return in time
    """
    if not callable(function):
        raise misfit("the checked object", function, "a function")
    name = getattr(function, "__name__", "your function")
    args, kwargs = copy.deepcopy((args, kwargs)) if copies else (args, kwargs)
    try:
        with limit(SECONDS), warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            value = function(*args, **kwargs)
        return NOTHING if value is None else value
    except TimeIsUp:
        told = f"{name} did not return within {SECONDS:g} seconds: does a loop in it never end?"
        raise Wrong(told, why="time") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        if isinstance(error, NotImplementedError) and not error.args:  # as in the student version
            raise Wrong(f"{raiser(error) or name} is not written yet", why="error") from None
        raise Wrong(f"{name} raised {type(error).__name__}: {shortened(error)}", why="error") from None


def held(function: Callable, *args: Any) -> tuple[Any, int]:
    """The result of `call`, and the largest memory of the call in bytes."""
    before = tracemalloc.is_tracing()
    if not before:
        tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        start = tracemalloc.get_traced_memory()[0]
        value = call(function, *args)
        return value, tracemalloc.get_traced_memory()[1] - start
    finally:
        if not before:
            tracemalloc.stop()


def transposed_first(forward: Callable, given: tuple, square: tuple) -> Wrong | None:
    """The error for a ``forward`` that computes h[0] W[1] in place of h[0] W[1]^T; None for every other mistake.

    Parameters
    ----------
    given : W, b and x of layers with different sizes, for which only the correct product exists; W[0] and b[0] are None
    square : W, b and x of layers of one size
    """

    def check() -> None:
        W, b, x = square
        z, _ = pair(call(forward, W, b, x), "z and h")
        close(array(z[1], (len(x), len(b[1])), "z[1]"), x @ W[1] + b[1], "z[1]")

    if passes(call, forward, *given) or not passes(check):
        return None
    rows, columns = given[0][1].shape
    name = "the shape of the matrix by which forward multiplies h[0] from the right"
    return mismatch(name, (rows, columns), (columns, rows), "W[1] is transposed")


def array(value: Any, shape: tuple[int, ...], name: str) -> np.ndarray:
    """The value as a float64 array of this shape. Lists of numbers, tensors and any float type are accepted.

    Raises
    ------
    Wrong : if the value is of another kind, has another shape, or contains NaN or an entry of `LARGEST` or more
    """
    found = _floats(value)
    if found is None:
        raise misfit(name, value, f"an array of shape {shape}" if shape else "a number")
    if found.shape != shape:
        exchanged = len(shape) == 2 and found.shape == shape[::-1]
        raise mismatch(f"the shape of {name}", found.shape, shape, exchanged * "rows and columns are exchanged")
    for at in np.argwhere(~(np.abs(found) < LARGEST)):
        number(found[tuple(at)], f"{name}{place(at)}")  # this call raises
    return found


def number(value: Any, name: str, finite: bool = True) -> float:
    """One number as a float. An array, list or tensor with one entry is accepted.

    Raises
    ------
    Wrong : if the value is of another kind or NaN, or if it is not finite and ``finite`` is true
    """
    found = _floats(value)
    if found is None:
        raise misfit(name, value, "a number")
    if found.size != 1:
        raise mismatch(f"the shape of {name}", found.shape, "the shape of one number")
    one = float(found.ravel()[0])
    if np.isnan(one) or (finite and not abs(one) < LARGEST):
        raise mismatch(name, one, f"less than {LARGEST:g}" if np.isfinite(one) else f"a {'finite ' * finite}number")
    return one


def numbers(value: Any, name: str) -> np.ndarray:
    """All numbers of an array as a vector, for values that are judged without their shape."""
    found = _floats(value)
    if found is None or not found.size:
        raise misfit(name, value, "numbers")
    return array(found.ravel(), (found.size,), name)


def pair(value: Any, what: str, length: int = 2) -> list[Any]:
    """The ``length`` values that a function returns, as a list."""
    if not isinstance(value, tuple | list) and not (hasattr(value, "shape") and np.ndim(value)):
        raise misfit("the result", value, f"{length} values: {what}")
    if len(value) != length:
        raise mismatch("the number of returned values", len(value), f"{length}: {what}")
    return list(value)


def entries(value: Any, of: str, *names: str) -> list[Any]:
    """The values with these names in the dictionary that a function returns."""
    if not isinstance(value, dict):
        raise misfit(f"the result of {of}", value, "a dictionary")
    if missing := [name for name in names if name not in value]:
        raise mismatch(f"the entry {missing[0]!r} in the dictionary that {of} returns", "none", "one entry")
    return [value[name] for name in names]


def guessed(guess: Callable[[], Any], *names: str, least: float = 0.0, most: float = np.inf) -> None:
    """Check a guess: one number for each of these quantities, between ``least`` and ``most``, both included.

    Every such guess gets the points, because the points are for making a guess.
    """
    value = call(guess)
    for name, one in zip(names, pair(value, "the guesses", len(names)) if len(names) > 1 else [value], strict=True):
        found = number(one, f"the guess of {name}")
        if not least <= found <= most:
            told = f"a number between {least:g} and {most:g}" if np.isfinite(most) else f"at least {least:g}"
            raise mismatch(f"the guess of {name}", found, told)


def answered(question: Callable[[], Any], right: str, hint: str) -> None:
    """Check the answer to a question with choices: the right letter, and a reason of at least `WORDS` different words.

    Nobody judges the reason here. The teacher reads it.
    """
    letter, reason = pair(call(question), "the letter and the reason")
    if not isinstance(letter, str):
        raise misfit("the letter", letter, "a letter, as text")
    worded(reason, "the reason", WORDS)
    if letter.strip().lower() != right:
        raise mismatch("the letter", letter, "another letter", hint)


def worded(value: Any, name: str, least: int) -> None:
    """Check that a value is a text with at least ``least`` different words."""
    if not isinstance(value, str):
        raise misfit(name, value, f"a text of at least {least} different words")
    words = {word.lower() for word in re.findall(r"\w+", value)}
    if len(words) < least:
        raise mismatch(f"the number of different words in {name}", len(words), f"at least {least}")


def layers(value: Any, first: int, L: int, name: str) -> Any:
    """Check a list with the entries first..L for layers, which the papers count from 1. Lower entries do not matter."""
    try:
        length = len(value)
    except TypeError:
        raise misfit(name, value, f"a list with entries {first}..{L}") from None
    if length != L + 1:
        raise mismatch(
            f"the length of {name}", length, L + 1, f"the list must have slots 0 to {L}, because we count layers from 1"
        )
    return value


def arrays(value: Any, like: Sequence[Any], name: str, first: int = 1) -> list[Any]:
    """The entries first..L of a list of layers as arrays with the shapes of ``like``; None for lower entries."""
    value = layers(value, first, len(like) - 1, name)
    return [None] * first + [array(value[l], np.shape(like[l]), f"{name}[{l}]") for l in range(first, len(like))]


def upright(value: Any, shape: tuple[int, ...]) -> Any:
    """The value, or its transpose if only the transpose has the shape, for checks that accept both."""
    found = _floats(value)
    return found.T if found is not None and found.shape == shape[::-1] != shape else value


def fitting(value: Any, like: Sequence[Any], name: str) -> dict[str, tuple[np.ndarray, Any]]:
    """Pairs of entries 1..L of the value and of ``like``, by place, if the entry or its transpose has the right shape.

    Another check judges the entries with other shapes.
    """
    value, found = layers(value, 1, len(like) - 1, name), {}
    for l in range(1, len(like)):
        mine = _floats(upright(value[l], np.shape(like[l])))
        if mine is not None and mine.shape == np.shape(like[l]) and (np.abs(mine) < LARGEST).all():
            found[f"{name}[{l}]"] = mine, like[l]
    return found


def close(got: ArrayLike, want: ArrayLike, name: str, hint: str = "", rtol: float = RTOL, telling: bool = True) -> None:
    """Compare a student's values with the expected values, within rtol times the largest expected entry.

    Raises
    ------
    Wrong : with the place of the largest difference and, if ``telling``, the expected value there. If ``telling`` and
        all numbers are wrong by a common factor, such as a sign, the message names the factor instead
    """
    got, want = np.asarray(got, dtype=float), np.asarray(want, dtype=float)
    off = np.abs(got - want)
    if not off.size or off.max() <= rtol * max(float(np.abs(want).max()), 1e-12):
        return
    factor = common_factor(got, want) if telling and got.size > 1 else None
    if factor is not None and abs(factor - 1) > 1e-3:
        raise mismatch(name, f"{factor:.4g} times what is expected", hint=hint)
    at = np.unravel_index(int(off.argmax()), off.shape)
    raise mismatch(f"{name}{place(at)}", got[at], want[at] if telling else "another number", hint)


def same_number(got: ArrayLike, want: ArrayLike, name: str, hint: str, rtol: float = RTOL) -> None:
    """Compare numbers for which an assignment asks. The message does not contain the expected numbers."""
    close(got, want, name, hint, rtol, telling=False)


def same_line(got: ArrayLike, want: ArrayLike, name: str, hint: str = "") -> float:
    """The factor between two arrays that are parallel or opposite. Another check judges the factor.

    Raises
    ------
    Wrong : if the arrays are neither parallel nor opposite, with their cosine
    """
    got, want = np.asarray(got), np.asarray(want)
    factor = common_factor(got, want)
    if factor is None:
        cosine = abs(np.vdot(want, got)) / max(float(np.linalg.norm(got) * np.linalg.norm(want)), 1e-300)
        name = f"the direction of {name} (the absolute value of its cosine with the right direction)"
        raise mismatch(name, cosine, 1, hint)
    return factor


def same_scale(found: Mapping[str, tuple[Any, Any]], case: str, hint: str, turned: str) -> None:
    """Check norm and sign of the entries of `fitting` that have the right direction. A wrong sign has its own hint."""
    factors = {name: common_factor(*two) for name, two in found.items()}
    if not any(factors.values()):
        raise mismatch("entries with the right direction", "none", "at least one entry, to judge its norm and sign")
    for name, factor in factors.items():
        if factor is not None:
            close(*found[name], f"{name} {case}", hint if factor > 0 else turned)


def common_factor(got: ArrayLike, want: ArrayLike) -> float | None:
    """The number c with got = c want within `RTOL`; None if there is no such number, or if it is 0.

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


def derivatives(f: Callable[[np.ndarray], float], at: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """The derivative of f with respect to each entry, by central differences (error about 1e-10 for f of order 1).

    Examples
    --------
    >>> derivatives(lambda v: v @ v, np.array([1.0, 3.0])).round(6).tolist()
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
    """Run a check. If it fails, run it again with correct versions of earlier exercises in the notebook.

    So no student loses points twice for one mistake, and no student has to use the earlier functions in a given way. If
    both runs fail, we report the second failure, because it is about this exercise. But we report the first failure if
    the function raises an error or takes too long only with the correct versions. If the first run took too long, the
    second run has a third of the time, which is enough for every correct function.
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


def passes(check: Callable, *args: Any) -> bool:
    """Whether a check passes. A check uses it to be lenient if an earlier check fails because of the same mistake."""
    try:
        check(*args)
    except Wrong:
        return False
    return True


def unless_lost(check: Callable[[], None], lenient: Callable[[], None], *earlier: Callable[[], None]) -> None:
    """Run a check. If it fails, raise its failure, unless an earlier check also fails and the lenient check passes."""
    try:
        check()
    except Wrong:
        if all(map(passes, earlier)) or not passes(lenient):
            raise


def charged_once(at: int, cells: Sequence[tuple[Callable[[], None], Callable[[], None]]]) -> None:
    """Run the check of one cell of an exercise. One mistake must cost the points of only one cell.

    Each cell has a check and a lenient check. A lenient check can use layers of one size, for which most matrix
    products exist. Suppose that the check fails and the lenient check passes. Then the cell loses its points only if no
    other cell loses points: no earlier cell fails its check, and no later cell fails both of its checks.
    """
    check, lenient = cells[at]
    try:
        check()
    except Wrong as told:
        if told.why == "time" or not passes(lenient):
            raise
        earlier = any(not passes(other) for other, _ in cells[:at])
        if not earlier and all(passes(other) or passes(mild) for other, mild in cells[at + 1 :]):
            raise


def place(at: Sequence[Any] | np.ndarray) -> str:
    """The place of an entry in words; an empty text for a single number."""
    return f" at {[int(i) for i in at]}" if len(at) else ""


def _floats(value: Any) -> np.ndarray | None:
    """The value in float64, or None if it does not consist of numbers."""
    try:
        value = value.detach() if hasattr(value, "detach") else value
        return None if value is None else np.asarray(value, dtype=float)
    except (TypeError, ValueError, RuntimeError):
        return None
