"""Functions that print the JSON document, the error messages and the progress of all subcommands of `nfa`."""

import dataclasses
import json
import logging
import math
import os
import pkgutil
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core
from rich.console import Console
from rich.markup import escape

from nfa.experiments.duration import duration


def _named(text: str) -> Path:
    if not str(text):
        raise typer.BadParameter("must not be empty: to name the current folder, give '.'")
    return Path(text)


option = partial(typer.Option, show_default=False)
argument = partial(typer.Argument, show_default=False)
NAMED: Any = {"parser": _named}  # refuses an empty path, because a shell variable may be unset
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        metavar="DIR",
        **NAMED,
        help="Folder in which nfa searches for data first, before NFA_DATA_HOME and the cache.",
    ),
]
OK, FAILED, USAGE, INTERRUPTED, TERMINATED = 0, 1, 2, 130, 143


class Listing(typer.core.TyperCommand):
    """A command with references such as ``{nfa.sampling.SCHEMES}`` in its help.

    In the printed help, each reference is replaced by the names to which it refers. The module of a reference is
    imported only to print the help, so the command starts quickly.
    """

    def format_help(self, ctx: Any, formatter: Any) -> None:
        for parameter in self.params:
            told: Any = parameter
            told.help = spelled_out(told.help or "")
        super().format_help(ctx, formatter)


def spelled_out(help: str) -> str:
    """Return a help text in which each reference is replaced by the names or the text that the reference points to.

    Examples
    --------
    >>> spelled_out("The law of the noise: {nfa.mechanism.LAWS}.")
    'The law of the noise: gaussian or laplace.'
    """

    def listed(found: re.Match) -> str:
        value = pkgutil.resolve_name(found[1])
        *names, last = [value] if isinstance(value, str) else value
        return f"{', '.join(names)} or {last}" if names else last

    return re.sub(r"\{(nfa[\w.]+)\}", listed, help)


class Terminated(KeyboardInterrupt):
    """The process received SIGTERM. nfa stops as after Ctrl-C, but with exit code 143 instead of 130."""


class Failed(Exception):
    """A run with valid settings failed (exit code 1). The message is a sentence with the cause."""


def print_json(value: Any) -> None:
    """Print a value as the only JSON document on standard output."""
    sys.stdout.write(json.dumps(plain(value), indent=2, allow_nan=False) + "\n")


def plain(value: Any) -> Any:
    """Return the value in types of JSON, with infinity as ``"inf"``, NaN as null, arrays as lists and paths as text.

    Examples
    --------
    >>> plain({"epsilon": float("inf"), "sd": float("nan"), "n": (1, 2)})
    {'epsilon': 'inf', 'sd': None, 'n': [1, 2]}
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = dataclasses.asdict(value)
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if hasattr(value, "tolist"):  # NumPy's numbers and arrays
        return plain(value.tolist())
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else "inf" if value > 0 else "-inf"
    return value


def tell(message: str) -> None:
    """Print one line on standard error."""
    print(f"nfa: {message}", file=sys.stderr)


def in_new_words(rule: str, own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a rule, with each old value replaced by its new value. Print a line for each old value."""
    from nfa.rules.spec import new_values

    new = new_values(rule, own)
    for name, value in new.items():
        tell(f"{name}={own[name]} is now called {name}={value}")
    return {**own, **new}


def sentence(problem: BaseException) -> str:
    """Return the message of an error in one line, without a traceback."""
    if isinstance(problem, OSError) and problem.strerror:
        named = f"{problem.filename}: " if problem.filename else ""
        return f"{named}{problem.strerror}"
    text = " ".join(str(problem).split())
    if isinstance(problem, MemoryError):
        return f"out of memory{': ' + text if text else ''}"
    told = isinstance(problem, ValueError | OSError) or type(problem).__module__.startswith("nfa.")
    return text if told and text else f"{type(problem).__name__}: {text}. To print the traceback, set NFA_DEBUG=1."


class _Lines(logging.Handler):
    """A handler that passes each log message to a function that prints a line."""

    def __init__(self, line: Callable[[str], None]) -> None:
        super().__init__()
        self._line = line

    def emit(self, record: logging.LogRecord) -> None:
        self._line(record.getMessage())


class ProgressDisplay:
    """The progress of runs on standard error: bars with the remaining time on a terminal, and plain lines otherwise.

    The experiments report progress with the call ``progress(cell, step, steps, record)``. ``cell`` is the name of a
    run. The record is None until this run is finished. ``began`` is True after any run has begun.

    Parameters
    ----------
    runs : number of all runs
    """

    LINE_EVERY = 15.0  # seconds between two plain lines about one run

    def __init__(self, runs: int = 1) -> None:
        self.began = False
        self._runs = runs
        self._share: dict[str, float] = {}  # the finished share of each run
        self._finished: set[str] = set()
        self._console = Console(stderr=True, highlight=False)
        self._bars: Any = None
        self._tasks: dict[str, Any] = {}
        self._first: dict[str, tuple[float, int]] = {}  # time and step of the first call for each run
        self._told: dict[str, float] = {}  # time of the last plain line about each run
        self._news = _Lines(self._say)
        logging.getLogger("nfa").setLevel(logging.INFO)

    def __enter__(self) -> "ProgressDisplay":
        if self._console.is_interactive:
            from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bars

            columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
            self._bars = Bars(*columns, TextColumn("left"), console=self._console, transient=True)
            self._bars.start()
        logging.getLogger("nfa").addHandler(self._news)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger("nfa").removeHandler(self._news)
        if self._bars:
            self._bars.stop()

    def __call__(self, cell: str, step: int, steps: int, record: Mapping[str, Any] | None) -> None:
        self.began = self.began or record is None
        if cell in self._finished:  # a worker's last message may arrive after the record
            return
        self._share[cell] = step / steps
        if record is not None:
            from nfa.experiments.records import accuracy_in_words

            self._finished.add(cell)
            count = f" ({len(self._finished)} of {self._runs} runs)" if self._runs > 1 else ""
            stopped = record.get("stopped")
            done = "stopped at {epochs} of {of} epochs".format(**stopped) if stopped else "finished"
            self._line(", ".join(filter(None, [f"{cell}: {done}{count}", accuracy_in_words(record)])))
        if self._bars:
            self._draw(cell, step, steps)
        elif record is None:
            self._tell(cell, step, steps)

    def _draw(self, cell: str, step: int, steps: int) -> None:
        if cell in self._finished:
            if cell in self._tasks:
                self._bars.remove_task(self._tasks[cell])
        else:
            if self._runs > 1:
                self._bar("", f"all {self._runs} runs", sum(self._share.values()), self._runs)
            self._bar(cell, cell, step, steps)

    def _bar(self, key: str, label: str, completed: float, total: float) -> None:
        if key not in self._tasks:
            self._tasks[key] = self._bars.add_task(escape(label), total=total, completed=completed)
        self._bars.update(self._tasks[key], completed=completed)

    def _tell(self, cell: str, step: int, steps: int) -> None:
        now = time.monotonic()
        if cell not in self._first:
            self._first[cell], self._told[cell] = (now, step), now
            plural = "" if steps == 1 else "s"
            self._line(f"{cell}: at step {step} of {steps}" if step else f"{cell}: starts, {steps} step{plural}")
        elif now - self._told[cell] >= self.LINE_EVERY:
            began, first = self._first[cell]
            left = (now - began) / max(1, step - first) * (steps - step)
            self._line(f"{cell}: step {step} of {steps}, about {duration(left)} left")
            self._told[cell] = now

    def _line(self, text: str) -> None:
        """Print the progress of a run. A subclass can add other numbers to the line."""
        self._say(text)

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False, soft_wrap=True)


@contextmanager
def working(
    folder: str | os.PathLike, resume: bool = True, runs: int = 1, display: ProgressDisplay | None = None
) -> Iterator[ProgressDisplay]:
    """Show the progress of the runs in a `with` block, and distinguish bad settings from failed runs.

    Raises
    ------
    ValueError : unchanged, if it is raised before the first step
    Failed : for any other failure
    typer.Exit : with code 130 on Ctrl-C and 143 on SIGTERM, after a message on standard error
    """
    progress = display or ProgressDisplay(runs)
    try:
        with _sigterm_raises(), progress:
            yield progress
    except KeyboardInterrupt as stop:
        again = "the same command" if resume else "the same command without --no-resume"
        if any(Path(folder).rglob("*.*")):  # also true for a lock file, because its run may still write a checkpoint
            tell(f"stopped. Finished work is kept in {os.fspath(folder)}. To continue this work, run {again}.")
        else:
            tell("stopped before any result was written. To start again, run the same command.")
        raise typer.Exit(TERMINATED if isinstance(stop, Terminated) else INTERRUPTED) from None
    except Exception as problem:
        from nfa.mechanism import NoGuarantee

        if isinstance(problem, NoGuarantee) or (isinstance(problem, ValueError) and not progress.began):
            raise
        raise Failed(sentence(problem)) from problem


@contextmanager
def _sigterm_raises() -> Iterator[None]:
    """Raise Terminated on SIGTERM, as Python raises KeyboardInterrupt on Ctrl-C."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: object) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def example(*lines: str) -> str:
    """Return the epilog of a help text, with commands to try."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)


Resume = Annotated[
    bool, typer.Option("--resume/--no-resume", help="Continue an interrupted run or, with --no-resume, start again.")
]
