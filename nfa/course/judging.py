"""The judge of one function: cases in stages, the first failure in one sentence, and the slip that explains it.

A `Task` has cases with values from an independent method, a reference function, and slips. A slip is a common mistake:
the reference with one replaced text. A slip is recognised by the values that it computes. If the student's function and
a slip give the same values in the tested cases, the sentence of the slip is reported.
"""

import ast
import itertools
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nfa.course import checking
from nfa.course.checking import NOTHING, RTOL, Wrong


class NamedSlip(NamedTuple):
    """A slip: one replacement in the source of the reference, and the sentence that explains it."""

    old: str
    new: str
    sentence: str


class TaskCase(NamedTuple):
    """One value that a function computes.

    ``run`` takes the function and returns the value that is compared with ``want``. ``what`` is the name of this value
    in a sentence. A case without ``want`` is a probe. A probe is not judged, and only helps to distinguish slips. A
    stage is judged only if all earlier stages are correct.
    """

    stage: str
    name: str
    run: Callable[[Callable], Any]
    want: Any = None
    what: str = "the value"
    rtol: float = RTOL


@dataclass(frozen=True)
class Task:
    """Everything that is needed to judge one function.

    Parameters
    ----------
    cases : function that makes the cases, in the order of their stages
    source : text of the reference function, in which slips replace a part
    scope : names that the source needs
    slips : wrong versions that are recognised
    hints : {stage: hint for a failure without a recognised slip}
    copies : whether every call gets copies of its arguments. If false, each case must make its own arguments
    """

    cases: Callable[[], Iterable[TaskCase]]
    source: str
    scope: Mapping[str, Any]
    slips: Sequence[NamedSlip]
    hints: Mapping[str, str]
    copies: bool = True

    def function(self, *slips: NamedSlip) -> Callable:
        """The reference with these slips.

        Raises
        ------
        ValueError : if the text of a slip does not occur exactly once in the source
        """
        source = self.source
        for slip in slips:
            if (times := source.count(slip.old)) != 1:
                raise ValueError(f"{slip.old!r} must occur exactly once in the reference, but occurs {times} times")
            source = source.replace(slip.old, slip.new)
        scope = dict(self.scope)
        exec(compile(source, "<slip>", "exec"), scope)
        return scope[last_function(source)]


@dataclass(frozen=True)
class Judgement:
    """The result of `judge`: the stages, the number of correct stages, and the first failure.

    ``problem`` is "" if the function is correct. ``where`` is the student's line that raised an error, or "". ``slips``
    are the sentences of the slips that explain the failure. ``hint`` is the hint of the stage.
    """

    stages: tuple[str, ...]
    passed: int
    problem: str = ""
    where: str = ""
    slips: tuple[str, ...] = ()
    hint: str = ""


def judge(task: Task, function: Callable, path: Path | None = None) -> Judgement:
    """Run the cases of a task up to the first failure. ``path`` is the student's file."""
    cases = list(task.cases())
    judged = [case for case in cases if case.want is not None]
    probes = [case for case in cases if case.want is None]
    slips: tuple[str, ...] = ()
    stages = tuple(dict.fromkeys(case.stage for case in judged))
    for at, case in enumerate(judged):
        try:
            value = case.run(Called(function, task.copies))
            hold(value, case.want, case.what, case.rtol)
        except Wrong as wrong:
            # All cases of the stage distinguish slips best. But after the first failure, the function may have a second
            # mistake.
            later = [one for one in judged[at + 1 :] if one.stage == case.stage]
            for more in (later, []) if wrong.why != "time" else ():
                slips = recognised(task, function, judged[: at + 1] + more + probes)
                if slips:
                    break
            where = _line(wrong.__context__, path) if wrong.why == "error" else ""
            problem, done = f"{case.name}: {wrong}", stages.index(case.stage)
            if isinstance(wrong.__context__, NotImplementedError):
                problem, where = f"{function.__name__} is not written yet", ""
            return Judgement(stages, done, problem, where, slips, task.hints.get(case.stage, ""))
    return Judgement(stages, len(stages))


def hold(value: Any, want: Any, name: str, rtol: float = RTOL) -> None:
    """Compare the value of a function with the expected value.

    ``want`` is a number, an array, or a list with an entry for each layer. The first entries of a list can be None, and
    are then not compared. ``want`` can also be a dictionary of several such values, which the function returns as a
    tuple.

    Raises
    ------
    Wrong : with the first difference
    """
    if isinstance(want, Mapping):
        values = checking.pair(value, " and ".join(want), len(want))
        for (part, wanted), one in zip(want.items(), values, strict=True):
            hold(one, wanted, part, rtol)
    elif isinstance(want, list):
        first = next(l for l, one in enumerate(want) if one is not None)
        got = checking.arrays(value, want, name, first)
        for l in range(len(want) - 1, first - 1, -1):
            checking.close(got[l], want[l], f"{name}[{l}]", rtol=rtol)
    else:
        checking.close(checking.array(value, np.shape(want), name), want, name, rtol=rtol)


def recognised(task: Task, function: Callable, cases: Sequence[TaskCase]) -> tuple[str, ...]:
    """The sentences of the slip or of the two slips that explain the values of the function in all cases.

    A slip counts only if it is wrong in one of these cases. If no slip is recognised, the result is empty.
    """
    got = [_value(case, Called(function, task.copies)) for case in cases]
    right = [case.want if case.want is not None else _value(case, task.function()) for case in cases]
    if not any(isinstance(value, np.ndarray) for one in got for value in _parts(one)):
        return ()  # all cases raised an error, as with many slips
    for slips in [*((slip,) for slip in task.slips), *itertools.combinations(task.slips, 2)]:
        try:
            version = task.function(*slips)
        except (ValueError, SyntaxError):
            if len(slips) == 1:
                raise
            continue  # the two slips replace the same text
        if _explains(cases, got, right, version):
            return tuple(dict.fromkeys(slip.sentence for slip in slips))
    return ()


def _explains(cases: Sequence[TaskCase], got: Sequence[Any], right: Sequence[Any], version: Callable) -> bool:
    """Whether a wrong version gives the values of the student's function, and is wrong in at least one case.

    If one of the two functions raises an error and the other gives values of a wrong shape, the two results count as
    equal. In at least one case, both functions must give the same numbers.
    """
    wrong = same = 0
    for case, mine, wanted in zip(cases, got, right, strict=True):
        theirs = _value(case, version)
        if _alike(mine, theirs, case.rtol):
            same += any(isinstance(part, np.ndarray) for part in _parts(mine))
        elif isinstance(mine, type) is isinstance(theirs, type) or _fits(mine, wanted) or _fits(theirs, wanted):
            return False
        wrong += not _alike(theirs, wanted, case.rtol)
    return bool(wrong and same)


def _fits(value: Any, wanted: Any) -> bool:
    """Whether a value has arrays with the expected shapes. The numbers do not matter."""
    return [np.shape(part) for part in _parts(value)] == [np.shape(part) for part in _parts(wanted)] and not (
        isinstance(value, type)
    )


def without_docstring(source: str) -> str:
    """The source of one function without its docstring, so that no slip can replace words of the docstring.

    Examples
    --------
    >>> print(without_docstring("def f(x):\\n    'Return x.'\\n    return x"))
    def f(x):
        return x
    """
    (node,) = ast.parse(source).body
    assert isinstance(node, ast.FunctionDef)
    lines, first = source.splitlines(keepends=True), node.body[0]
    return "".join(lines[: first.lineno - 1] + lines[first.end_lineno or 0 :])


def last_function(source: str) -> str:
    """The name of the last function that a text defines. The functions above it are helpers."""
    return [node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)][-1]


class Called:
    """A student's function. Each call has a time limit and, if ``copies`` is true, copies of the arguments."""

    def __init__(self, function: Callable, copies: bool) -> None:
        self.function, self.copies = function, copies

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return checking.call(self.function, *args, copies=self.copies, **kwargs)


def at_once(function: Callable, work: Callable[[Callable], Any]) -> Any:
    """The result of ``work`` for a function, under one time limit. Use it if ``work`` calls the function very often."""
    if not isinstance(function, Called):
        return work(function)

    @wraps(function.function)
    def whole() -> Any:
        return work(function.function)

    return checking.call(whole, copies=False)


def _value(case: TaskCase, function: Callable) -> Any:
    """The value of a case, or the type of the error that it raises."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return case.run(function)
    except Wrong as wrong:
        return type(wrong.__context__)
    except Exception as error:
        return type(error)


def _parts(value: Any) -> Iterator[Any]:
    """The arrays of a value, in order. None and types of errors are unchanged."""
    if isinstance(value, Mapping):
        value = tuple(value.values())
    try:
        array = None if value is None or value is NOTHING else np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        array = None
    if array is not None:
        yield array
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _parts(one)
    else:
        yield None if value is NOTHING else value


def _alike(one: Any, other: Any, rtol: float) -> bool:
    mine, theirs = list(_parts(one)), list(_parts(other))
    return len(mine) == len(theirs) and all(_same(a, b, rtol) for a, b in zip(mine, theirs, strict=True))


def _same(a: Any, b: Any, rtol: float) -> bool:
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return a is b
    if a.shape != b.shape:
        return False
    largest = np.abs(b[np.isfinite(b)]).max(initial=1e-12)
    return bool(np.allclose(a, b, rtol=0, atol=rtol * largest, equal_nan=True))


def _line(error: BaseException | None, path: Path | None) -> str:
    """The innermost line of the student's file at which an error was raised."""
    if error is None or path is None:
        return ""
    every = traceback.extract_tb(error.__traceback__)
    frames = [frame for frame in every if Path(frame.filename).resolve() == path.resolve()]
    return f"{path.name}:{frames[-1].lineno}: {frames[-1].line}" if frames else ""
