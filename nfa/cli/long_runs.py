"""The command `nfa reproduce` for several items, the shortest first. If an item fails, the other items still run."""

import os
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import typer
from rich.text import Text

from nfa.cli.layout import output, plain_table, right, unbroken
from nfa.cli.terminal import FAILED, ProgressDisplay, print_json, sentence, tell, working
from nfa.data import DataUnavailable
from nfa.data.search import existing
from nfa.experiments.dry_run import BUDGET, Estimate, estimates, kind
from nfa.experiments.duration import duration
from nfa.experiments.experiment import Analytic, Experiment, Result
from nfa.experiments.jobs import connected
from nfa.experiments.reproduce import Todo, check_how, default_folder, look, seed_numbers
from nfa.experiments.reproduce import reproduce as rerun
from nfa.papers.run_selection import NoSuchRun, only

PLAN_BUDGET = 5.0  # seconds in which nfa estimates the times of the items. A dry run uses 2 * BUDGET seconds instead
TRUSTED = 60.0  # seconds of finished training from which the measured speed counts more than the first estimates
DONE, WRONG, SKIPPED = "done", "failed", "skipped"


@dataclass
class Entry:
    """An item to reproduce.

    Parameters
    ----------
    folder : folder of the item's results
    todo : runs of the item, or None if nothing is trained or the item cannot be run
    missing : {name: seconds} of the runs that are still to do
    nbytes : bytes of memory for the largest of these runs
    state : "" at first, then "done", "failed" or "skipped"
    why : reason, as a sentence, if the item failed or was skipped
    result : result of the item. It has no rows until the item is done
    """

    experiment: Experiment | Analytic
    folder: Path
    todo: Todo | None = None
    missing: Mapping[str, float] = field(default_factory=dict)
    nbytes: float = 0.0
    state: str = ""
    why: str = ""
    result: Result = field(default_factory=lambda: Result("", ""))

    @property
    def seconds(self) -> float:
        """The sum of the times of all missing runs of the item."""
        return sum(self.missing.values())

    def stop(self, problem: BaseException) -> None:
        """Mark the item as skipped if its data, scale or run do not exist, and otherwise as failed."""
        self.state = SKIPPED if isinstance(problem, DataUnavailable | NoScale | NoSuchRun) else WRONG
        self.why = sentence(problem)
        tell(f"{self.experiment.id}: {self.state}: {self.why}")
        if os.environ.get("NFA_DEBUG", "0") not in ("", "0"):
            traceback.print_exception(problem)


class NoScale(ValueError):
    """The item has no runs at the wanted scale."""


class Overall(ProgressDisplay):
    """The progress of several items: a line for each run, with the estimated time until all runs are finished.

    Parameters
    ----------
    jobs : number of runs at the same time
    """

    LINE_EVERY = 60.0  # seconds between two lines about a run

    def __init__(self, jobs: int) -> None:
        super().__init__()
        self.made: dict[Path, set[str]] = {}  # runs that this command has finished, by folder
        self._jobs, self._began = jobs, 0.0
        self._seconds: dict[str, float] = {}  # estimated seconds of each run, by folder and name

    def expect(self, seconds: Mapping[str, float]) -> None:
        """Set the runs that this command computes. ``seconds`` has the estimated seconds by `run_name`."""
        self._seconds, self._runs, self._began = dict(seconds), len(seconds), time.monotonic()

    def of(self, folder: Path) -> Callable[[str, int, int, Mapping[str, Any] | None], None]:
        """Return the progress callback for the runs of a folder. The callback ignores runs of earlier commands."""

        def told(cell: str, step: int, steps: int, record: Mapping[str, Any] | None) -> None:
            if (key := run_name(folder, cell)) in self._seconds:
                if record is not None:
                    self.made.setdefault(folder, set()).add(cell)
                self(key, step, steps, record)

        return told

    def give_up(self, entry: Entry) -> None:
        """Remove the unfinished runs of an item from the expected runs."""
        for key in (run_name(entry.folder, name) for name in entry.missing):
            if key not in self._finished:
                self._seconds[key] = 0.0
                self._share.pop(key, None)
                if self._bars and key in self._tasks:
                    self._bars.remove_task(self._tasks.pop(key))

    def left(self) -> float:
        """Return the estimated seconds until all runs are finished."""
        done = sum(self._share.get(key, 0.0) * s for key, s in self._seconds.items())
        rest = sum(self._seconds.values()) - done
        at_once = min(self._jobs, max(1, self._runs - len(self._finished)))
        took = time.monotonic() - self._began
        return rest / at_once * (took + TRUSTED) / (done / at_once + TRUSTED)

    def _tell(self, cell: str, step: int, steps: int) -> None:
        if cell in self._first:
            super()._tell(cell, step, steps)
        else:  # print no line at the start of a run, because with several items there would be too many lines
            self._first[cell], self._told[cell] = (time.monotonic(), step), time.monotonic()

    def _bar(self, key: str, label: str, completed: float, total: float) -> None:
        super()._bar(key, label, completed, total)
        if not key:
            self._bars.update(self._tasks[key], description=f"{label}, about {duration(self.left())} left")

    def _line(self, text: str) -> None:
        super()._line(f"{text}; about {duration(self.left())} left for all runs")


def run_name(folder: Path, cell: str) -> str:
    """Return the name of a run in the display of the progress."""
    return f"{folder.name}/{cell}"


def reproduce(
    experiments: Sequence[Experiment | Analytic],
    how: Mapping[str, Any],
    wanted: Mapping[str, str],
    out: Path | None,
    dry_run: bool,
    json: bool,
) -> None:
    """Rerun several items and print the outcome of each.

    Parameters
    ----------
    experiments : items that `nfa.papers.index.several` returns
    how : scale, seeds, jobs, backend, scheduler, resume, data_dir, kernels, epochs and format for
        `nfa.experiments.reproduce.reproduce`
    wanted : runs to make, as in `nfa.papers.run_selection.only`; an item without such a run is skipped
    out : folder that contains the folder of each item. None means the folder ``runs``
    dry_run : print an estimate of time and memory, and write nothing

    Raises
    ------
    ValueError : for a bad option, or if no item has a wanted run. In both cases, the command has written nothing
    typer.Exit : with code 1 if an item failed or was skipped
    """
    _check(experiments, how, wanted, out)
    scale, jobs = how["scale"], how["jobs"]
    entries = []
    for one in experiments:
        folder = default_folder(one.id) if isinstance(one, Analytic) else default_folder(one.home, scale)
        entries.append(Entry(one, folder if out is None else out / folder.name))
    progress = Overall(jobs)
    with working(out or entries[0].folder.parent, how["resume"], display=progress):
        _estimate(entries, how, wanted, 2 * BUDGET if dry_run else PLAN_BUDGET)
        entries = in_order(entries)
        if not dry_run:
            _run_all(entries, how, progress)
    if json:
        print_json(_document(entries, scale, jobs, dry_run))
    else:
        (_print_plan if dry_run else _print_ends)(entries, scale, jobs)
    if any(entry.why for entry in entries):
        raise typer.Exit(FAILED)


def in_order(entries: Sequence[Entry]) -> list[Entry]:
    """Return the items, the shortest first. Items with a common folder stay together. Shared runs are counted once."""
    shared: dict[Path, list[Entry]] = {}
    for entry in sorted(entries, key=lambda entry: entry.seconds):
        shared.setdefault(entry.folder, []).append(entry)
    groups = sorted(shared.values(), key=lambda group: sum(_runs(group).values()))
    return [entry for group in groups for entry in group]


def _runs(entries: Sequence[Entry]) -> dict[str, float]:
    """Return the seconds of each run to do, by its `run_name`. Runs that several items share occur once."""
    return {run_name(entry.folder, name): s for entry in entries for name, s in entry.missing.items()}


def _check(
    experiments: Sequence[Experiment | Analytic], how: Mapping[str, Any], wanted: Mapping[str, str], out: Path | None
) -> None:
    """Raise ValueError for an option that is wrong for every item, or for a wanted run that no item has."""
    check_how(how["scale"], how["jobs"], how["backend"], how["scheduler"], how["epochs"])
    if how["seeds"] is not None:
        seed_numbers(how["seeds"])
    existing(how["data_dir"])
    if out is not None and out.exists() and not out.is_dir():
        raise ValueError(f"--out must be a folder, but {out} is a file: give another --out")
    if how["scheduler"] is not None:
        with connected(how["scheduler"]):
            pass
    trained = [experiment for experiment in experiments if isinstance(experiment, Experiment)]
    if not trained and how["epochs"] is not None:
        raise ValueError("all of these items are computed from formulas, so --epochs has no effect: leave out --epochs")
    if not trained and wanted:
        raise ValueError("all of these items are computed from formulas, so --only has no effect: leave out --only")
    refusals = []
    for experiment in trained:
        try:
            only(experiment, how["scale"], wanted)
        except ValueError as problem:
            refusals.append(problem)
    if refusals and len(refusals) == len(trained):
        raise refusals[-1]


def _estimate(entries: Sequence[Entry], how: Mapping[str, Any], wanted: Mapping[str, str], budget: float) -> None:
    """Keep only the wanted runs of each item, and find the runs that are not finished.

    Estimate the time of each kind of run once.
    """
    found: dict[str, Estimate] = {}
    trained = [(entry, entry.experiment) for entry in entries if isinstance(entry.experiment, Experiment)]
    until = time.monotonic() + budget
    chosen: dict[str, Any] = {name: how[name] for name in ("scale", "seeds", "resume", "data_dir", "kernels", "epochs")}
    for left, (entry, experiment) in zip(range(len(trained), 0, -1), trained, strict=True):
        tell(f"planning: {experiment.id}")
        try:
            if how["scale"] not in experiment.scales:
                raise NoScale(f"{experiment.id} has no scale {how['scale']}")
            entry.experiment = experiment = only(experiment, how["scale"], wanted)
            todo = look(experiment, out=entry.folder, **chosen)
            new = [cell for cell in todo.missing if kind(cell) not in found]
            found |= estimates(new, todo.sources, max(0.0, until - time.monotonic()) / left)
            entry.missing = {cell.name: todo.seconds(cell, found) for cell in todo.missing}
            entry.nbytes = max((found[kind(cell)].nbytes for cell in todo.missing), default=0.0)
            entry.todo = todo
        except Exception as problem:
            entry.stop(problem)


def _run_all(entries: Sequence[Entry], how: Mapping[str, Any], progress: Overall) -> None:
    progress.expect(_runs(entries))
    for entry in entries:
        if entry.state:
            continue
        try:
            if isinstance(entry.experiment, Analytic):
                entry.result = rerun(entry.experiment, scale=how["scale"], out=entry.folder)
            else:
                just_run = progress.made.get(entry.folder, ())
                display = progress.of(entry.folder)
                entry.result = rerun(entry.experiment, out=entry.folder, progress=display, just_run=just_run, **how)
            entry.state = DONE
        except Exception as problem:
            entry.stop(problem)
            progress.give_up(entry)


def _took(entries: Sequence[Entry], jobs: int) -> tuple[float, float]:
    """Return the seconds that all missing runs need with these jobs, and the bytes of the runs that run at once.

    Runs that several items share are counted once.
    """
    runs = _runs(entries)
    at_once = min(jobs, max(1, len(runs)))
    return sum(runs.values()) / at_once, at_once * max((entry.nbytes for entry in entries), default=0.0)


def _count(entries: Sequence[Entry]) -> dict[str, int]:
    return {state: sum(entry.state == state for entry in entries) for state in (DONE, WRONG, SKIPPED)}


def _document(entries: Sequence[Entry], scale: str, jobs: int, dry_run: bool) -> dict[str, Any]:
    items = []
    for entry in entries:
        todo = entry.todo
        item: dict[str, Any] = {"experiment": entry.experiment.id, "state": entry.state or None}
        item |= {"why": entry.why or None, "stopped": (todo.stops if todo else "") or None, "folder": entry.folder}
        item |= {"runs": len(todo.cells) if todo else 0, "to_do": len(entry.missing), "seconds": entry.seconds}
        items.append(item | {"bytes": entry.nbytes, "rows": entry.result.rows, "files": entry.result.files})
    answer: dict[str, Any] = {"scale": scale, "items": items}
    if dry_run:
        seconds, nbytes = _took(entries, jobs)
        return answer | {"jobs": jobs, "seconds": seconds, "bytes": nbytes}
    return answer | _count(entries)


def _print_plan(entries: Sequence[Entry], scale: str, jobs: int) -> None:
    table = plain_table("item", right("runs to do"), "time", right("memory"))
    for entry in entries:
        at_once = min(jobs, max(1, len(entry.missing)))
        if entry.why:
            cells = ["-", entry.state, ""]
        elif entry.todo is None:
            cells = ["none", "seconds, by formulas", ""]
        else:
            told = f"about {duration(max(1, entry.seconds / at_once))}"
            told += f", to {entry.todo.stops}" if entry.todo.stops else ""
            cells = [f"{len(entry.missing)} of {len(entry.todo.cells)}", told, f"{at_once * entry.nbytes / 1e9:.1f} GB"]
            if not entry.missing:
                cells[1:] = ["finished", ""]
        table.add_row(entry.experiment.id, *cells)
    console, (seconds, nbytes) = output(), _took(entries, jobs)
    console.print(f"At scale {scale}, the items run in this order, with {jobs} run{'s' * (jobs != 1)} at a time:\n")
    console.print(table)
    console.print(
        f"\nAll items together need about {duration(max(1, seconds))} and {nbytes / 1e9:.1f} GB of memory. Runs that"
        " several items share are counted once."
    )
    console.print(
        "nfa estimates these times by timing parts of a step on this machine. For more details, use --dry-run with a"
        " single item. The command has written no file."
    )


def _print_ends(entries: Sequence[Entry], scale: str, jobs: int) -> None:
    """Print a line for each item: the outcome, the number of rows inside the band, and the path of the report."""
    table = plain_table(*map(unbroken, ("item", "", "rows inside", "folder")))
    for entry in entries:
        judged = [row["verdict"] for row in entry.result.rows if not row["verdict"].startswith("not comparable")]
        inside = f"{sum(v == 'inside' for v in judged)} of {len(judged)}" if judged else "-"
        style = {DONE: "green", WRONG: "red"}.get(entry.state, "yellow")
        table.add_row(entry.experiment.id, Text(entry.state, style=style), inside, str(entry.folder))
    console = output()
    console.print(f"Scale {scale}:\n")
    console.print(table)
    counts = ", ".join(f"{n} {state}" for state, n in _count(entries).items() if n)
    console.print(f"\n{len(entries)} items: {counts}")
    for entry in entries:
        if entry.result.stopped:
            console.print(f"{entry.experiment.id}, stopped at {entry.result.stopped}", soft_wrap=True)
        if entry.why:
            console.print(f"{entry.experiment.id}, {entry.state}: {entry.why}", soft_wrap=True)
