"""What the checks of a problem set are written with: calls under a time limit, comparisons that say what is wrong.

A check is a function that takes what the student wrote and returns, or raises `Wrong` with a sentence that helps. It
calls the student's function with `call`, shapes what comes back with `array`, and holds it with `close` against
something independent: differences, a loop, a library. Whatever is not right is told by `mismatch`, in one order.
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

SECONDS = 3.0  # of CPU time that one call of a student's function may take; an honest one takes milliseconds
WAIT = 20.0  # seconds by the clock, for one that sleeps; less than nbgrader gives to a cell
LARGEST = 1e150  # what an entry may be, so that its square, too, is a number
WORDS = 8  # different words that a reason must have
RTOL = 1e-4  # of the largest entry: float32 passes, and no mistake is that small

_practice = False  # whether a student tries the checks, who gets other values than grading has


class Nothing:
    """Stands for the None of a function that returned nothing, so that a None inside of an answer is told apart."""

    def __str__(self) -> str:
        return "nothing"


NOTHING = Nothing()


class Wrong(AssertionError):
    """What a student's function does is not right; the sentence says how, and gives no answer away.

    ``why`` is "error" where the function raised one, "time" where it did not return, else "".
    """

    def __init__(self, sentence: str, why: str = "") -> None:
        super().__init__(sentence)
        self.why = why


@contextmanager
def practising() -> Iterator[None]:
    """Give `seeded` and `size` the values of practice, as for a student who tries the checks."""
    global _practice
    before, _practice = _practice, True
    try:
        yield
    finally:
        _practice = before


def seeded(seed: int) -> np.random.Generator:
    """Random numbers for a check: always the same for a seed, but in practice others than in grading."""
    return np.random.default_rng([seed, 1] if _practice else seed)


def size(n: int) -> int:
    """A size of a case, such as a number of records or of units: in practice one more than in grading."""
    return n + _practice


def mismatch(name: str, found: Any, expected: Any = "", hint: str = "") -> Wrong:
    """What a check raises: the quantity that is wrong, what was found, what is expected and a hint, in this order.

    Of numbers it tells four digits, or more where these are the same. Only where ``found`` says what is expected may
    that be left out. A function that returned nothing has a hint of its own.

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
    """What a check raises for a value of another kind than is expected."""
    found = value if value is None or value is NOTHING else f"something of type {type(value).__name__}"
    return mismatch(name, found, expected)


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


def raiser(error: BaseException) -> str:
    """The name of the function in which an error was raised, "" if it has none."""
    at = error.__traceback__
    while at is not None and at.tb_next is not None:
        at = at.tb_next
    name = at.tb_frame.f_code.co_name if at is not None else "<"
    return "" if name.startswith("<") else name


def shortened(error: BaseException, length: int = 200) -> str:
    """An error's text in one line that is not too long; shapes that do not fit in plain words."""
    text = " ".join(str(error).split())
    if product := re.search(r"mismatch in its core dimension 0, .*size (\d+) is different from (\d+)", text):
        rows, columns = product.groups()
        text = f"the shapes in a matrix product do not fit: {columns} columns on the left and {rows} rows on the right"
    elif shapes := re.search(r"could not be broadcast together with .*?(\([\d,]*\)) (\([\d,]*\))", text):
        text = "shapes do not fit entry by entry: {} and {}".format(*shapes.groups())
    return text if len(text) <= length else text[: length - 3] + "..."


def call(function: Callable, *args: Any, copies: bool = True, **kwargs: Any) -> Any:
    """What the student's function returns for copies of these arguments, or for themselves; `NOTHING` for None.

    Raises
    ------
    Wrong : if it is not a function, raises anything or does not return in time
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
        if isinstance(error, NotImplementedError) and not error.args:  # as the student version has it
            raise Wrong(f"{raiser(error) or name} is not written yet", why="error") from None
        raise Wrong(f"{name} raised {type(error).__name__}: {shortened(error)}", why="error") from None


def held(function: Callable, *args: Any) -> tuple[Any, int]:
    """What `call` returns, and the memory that the call holds at most, in bytes."""
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
    """The mistake of a ``forward`` that forms h[0] W[1] in place of h[0] W[1]^T; None for every other mistake.

    Parameters
    ----------
    given : W, b and x of layers of different sizes, which allow no other product; W[0] and b[0] are None
    square : W, b and x of layers of one size
    """

    def check() -> None:
        W, b, x = square
        z, _ = pair(call(forward, W, b, x), "z and h")
        close(array(z[1], (len(x), len(b[1])), "z[1]"), x @ W[1] + b[1], "z[1]")

    if passes(call, forward, *given) or not passes(check):
        return None
    rows, columns = given[0][1].shape
    name = "the shape of what forward multiplies h[0] by, from the right"
    return mismatch(name, (rows, columns), (columns, rows), "W[1] is transposed")


def array(value: Any, shape: tuple[int, ...], name: str) -> np.ndarray:
    """The value as a float64 array of this shape; lists of numbers, tensors and any float type are welcome.

    Raises
    ------
    Wrong : if it is something else, has another shape or holds nan, infinity or what is nearly so
    """
    found = _floats(value)
    if found is None:
        raise misfit(name, value, f"an array of shape {shape}" if shape else "a number")
    if found.shape != shape:
        exchanged = len(shape) == 2 and found.shape == shape[::-1]
        raise mismatch(f"the shape of {name}", found.shape, shape, exchanged * "rows and columns are exchanged")
    for at in np.argwhere(~(np.abs(found) < LARGEST)):
        number(found[tuple(at)], f"{name}{place(at)}")  # which raises
    return found


def number(value: Any, name: str, finite: bool = True) -> float:
    """One number as a float; an array, list or tensor with one entry will do.

    Raises
    ------
    Wrong : if it is something else, nan, or infinite where that is not welcome
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
    """All numbers of an array, as a vector: for what is judged whatever the shape."""
    found = _floats(value)
    if found is None or not found.size:
        raise misfit(name, value, "numbers")
    return array(found.ravel(), (found.size,), name)


def pair(value: Any, what: str, length: int = 2) -> list[Any]:
    """The two things that a function returns, or three."""
    if not isinstance(value, tuple | list) and not (hasattr(value, "shape") and np.ndim(value)):
        raise misfit("what is returned", value, f"{length} things, {what}")
    if len(value) != length:
        raise mismatch("the number of things returned", len(value), f"{length}, {what}")
    return list(value)


def entries(value: Any, of: str, *names: str) -> list[Any]:
    """What a function's dictionary has under these names."""
    if not isinstance(value, dict):
        raise misfit(f"what {of} returns", value, "a dictionary")
    if missing := [name for name in names if name not in value]:
        raise mismatch(f"the entry {missing[0]!r} of what {of} returns", "none", "one")
    return [value[name] for name in names]


def guessed(guess: Callable[[], Any], *names: str, least: float = 0.0, most: float = np.inf) -> None:
    """Check a guess: one number for each of these quantities, between ``least`` and ``most``, both included.

    Every such guess is right, because its points are for having made one.
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
        raise mismatch("the letter", letter, "another one", hint)


def worded(value: Any, name: str, least: int) -> None:
    """Check that a value is a text with at least so many different words."""
    if not isinstance(value, str):
        raise misfit(name, value, f"a text of at least {least} words")
    words = {word.lower() for word in re.findall(r"\w+", value)}
    if len(words) < least:
        raise mismatch(f"the number of different words in {name}", len(words), f"at least {least}")


def layers(value: Any, first: int, L: int, name: str) -> Any:
    """A list that counts layers as the papers do: entry l for l = first..L. What is in lower slots does not matter."""
    try:
        length = len(value)
    except TypeError:
        raise misfit(name, value, f"a list with entries {first}..{L}") from None
    if length != L + 1:
        raise mismatch(
            f"the length of {name}", length, L + 1, f"the list must have slots 0 to {L}, because layers count from 1"
        )
    return value


def arrays(value: Any, like: Sequence[Any], name: str, first: int = 1) -> list[Any]:
    """The entries first..L of such a list as arrays, each of the shape of the entry of ``like``; None below."""
    value = layers(value, first, len(like) - 1, name)
    return [None] * first + [array(value[l], np.shape(like[l]), f"{name}[{l}]") for l in range(first, len(like))]


def upright(value: Any, shape: tuple[int, ...]) -> Any:
    """The value; its transpose where that has the shape, for what is judged of both."""
    found = _floats(value)
    return found.T if found is not None and found.shape == shape[::-1] != shape else value


def fitting(value: Any, like: Sequence[Any], name: str) -> dict[str, tuple[np.ndarray, Any]]:
    """Entries 1..L beside those of ``like``, by place, where the shape fits, upright or not: others cost elsewhere."""
    value, found = layers(value, 1, len(like) - 1, name), {}
    for l in range(1, len(like)):
        mine = _floats(upright(value[l], np.shape(like[l])))
        if mine is not None and mine.shape == np.shape(like[l]) and (np.abs(mine) < LARGEST).all():
            found[f"{name}[{l}]"] = mine, like[l]
    return found


def close(got: ArrayLike, want: ArrayLike, name: str, hint: str = "", rtol: float = RTOL, telling: bool = True) -> None:
    """Hold what a student computed against what it should be, within rtol of the largest entry of that.

    Raises
    ------
    Wrong : with the place of the largest difference and what is expected there, if ``telling``; a common factor of
        several numbers (a sign, a mean taken twice) is named instead
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
    """Hold numbers that the text asks for; the sentence does not tell what is expected, which would be the answer."""
    close(got, want, name, hint, rtol, telling=False)


def same_line(got: ArrayLike, want: ArrayLike, name: str, hint: str = "") -> float:
    """The factor between two arrays that are parallel or opposed: a wrong one is another check's business.

    Raises
    ------
    Wrong : if they are neither, with their cosine
    """
    got, want = np.asarray(got), np.asarray(want)
    factor = common_factor(got, want)
    if factor is None:
        cosine = abs(np.vdot(want, got)) / max(float(np.linalg.norm(got) * np.linalg.norm(want)), 1e-300)
        raise mismatch(f"the direction of {name} (the size of its cosine with the right one)", cosine, 1, hint)
    return factor


def same_scale(found: Mapping[str, tuple[Any, Any]], case: str, hint: str, turned: str) -> None:
    """Hold length and sign where the direction is right, of what `fitting` returns; a wrong sign has its own hint."""
    factors = {name: common_factor(*two) for name, two in found.items()}
    if not any(factors.values()):
        raise mismatch("entries with the right direction", "none", "at least one, to judge its norm and sign")
    for name, factor in factors.items():
        if factor is not None:
            close(*found[name], f"{name} {case}", hint if factor > 0 else turned)


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


def passes(check: Callable, *args: Any) -> bool:
    """Whether a check passes: of two that one mistake can fail, the later asks the earlier, and is then lenient."""
    try:
        check(*args)
    except Wrong:
        return False
    return True


def unless_lost(check: Callable[[], None], lenient: Callable[[], None], *earlier: Callable[[], None]) -> None:
    """Run a check; where it fails and one of the earlier does, a lenient one will do, and the first failure is told."""
    try:
        check()
    except Wrong:
        if all(map(passes, earlier)) or not passes(lenient):
            raise


def charged_once(at: int, cells: Sequence[tuple[Callable[[], None], Callable[[], None]]]) -> None:
    """Run the check of one of the cells of an exercise, of which one mistake must cost one.

    Each cell has its check and a lenient one, such as layers of one size, in which most products can be formed. Where
    the check fails and the lenient one passes, the cell loses its points if no other cell does: no earlier one that
    fails its check, and no later one that fails both.
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
    """Where an entry stands, nothing for a single number."""
    return f" at {[int(i) for i in at]}" if len(at) else ""


def _floats(value: Any) -> np.ndarray | None:
    """The value in float64, or None if it is not made of numbers."""
    try:
        value = value.detach() if hasattr(value, "detach") else value
        return None if value is None else np.asarray(value, dtype=float)
    except (TypeError, ValueError, RuntimeError):
        return None
