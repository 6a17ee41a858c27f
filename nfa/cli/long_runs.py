"""`nfa reproduce` of several items: one after the other, the shortest first, and none stops the others."""

import os
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from rich.text import Text

from nfa.cli.layout import output, plain_table, right, unbroken
from nfa.cli.terminal import FAILED, print_json, sentence, tell, working
from nfa.cli.time_left import Overall
from nfa.data import DataUnavailable
from nfa.data.search import existing
from nfa.experiments.dry_run import BUDGET, Estimate, estimates, kind
from nfa.experiments.duration import duration
from nfa.experiments.experiment import Analytic, Experiment, Result
from nfa.experiments.jobs import connected
from nfa.experiments.reproduce import Todo, check_how, default_folder, look, seed_numbers
from nfa.experiments.reproduce import reproduce as rerun
from nfa.papers.run_selection import NoSuchRun, only

PLAN_BUDGET = 5.0  # seconds to find an order in; a dry run takes `BUDGET` and more
DONE, WRONG, SKIPPED = "done", "failed", "skipped"


@dataclass
class Entry:
    """An item of the list.

    Parameters
    ----------
    folder : where its results go
    todo : its runs; None where nothing is trained, or where it cannot be
    seconds, nbytes : of all its runs that are missing, one after the other, and of the largest
    state, why, result : "" until it is "done", "failed" or "skipped", then for the last two a sentence
    """

    experiment: Experiment | Analytic
    folder: Path
    todo: Todo | None = None
    seconds: float = 0.0
    nbytes: float = 0.0
    state: str = ""
    why: str = ""
    result: Result | None = None

    @property
    def missing(self) -> list[str]:
        """The names of the runs to do."""
        return [cell.name for cell in self.todo.missing] if self.todo else []

    def stop(self, problem: BaseException) -> None:
        """It cannot be done: skipped where data or scale are not to be had, failed otherwise."""
        self.state = SKIPPED if isinstance(problem, DataUnavailable | NoScale | NoSuchRun) else WRONG
        self.why = sentence(problem)
        tell(f"{self.experiment.id}: {self.state}: {self.why}")
        if os.environ.get("NFA_DEBUG", "0") not in ("", "0"):
            traceback.print_exception(problem)


class NoScale(ValueError):
    """An item is not there at a scale."""


def reproduce(
    experiments: Sequence[Experiment | Analytic],
    options: Mapping[str, Any],
    out: Path | None,
    dry_run: bool,
    json: bool,
) -> None:
    """Rerun several items and print how each ended.

    Parameters
    ----------
    experiments : as `nfa.papers.index.several` hands them out
    options : scale, seeds, jobs, backend, scheduler, resume, data_dir, kernels, epochs and format of
        `nfa.experiments.reproduce.reproduce`, and only of `nfa.papers.run_selection`; an item without such a run is
        skipped
    out : folder in which each item gets one, named as if it were run alone; ``runs`` if None
    dry_run : say what it would take; write nothing

    Raises
    ------
    ValueError : for a bad option, or where no item has a run that is wanted; nothing has been written then
    typer.Exit : with code 1 if an item failed or was skipped
    """
    _check(options, out)
    trained = [experiment for experiment in experiments if isinstance(experiment, Experiment)]
    if options["epochs"] is not None and not trained:
        raise ValueError("epochs are for training, and all of these items are computed from formulas: leave them out")
    scale, jobs, wanted = options["scale"], options["jobs"], options["only"]
    options = {name: value for name, value in options.items() if name != "only"}
    if wanted:
        _some_run(trained, scale, wanted)
    entries = [Entry(e, _folder(e, scale, out)) for e in experiments]
    progress = Overall(jobs)
    with working(out or entries[0].folder.parent, options["resume"], display=progress):
        found = _estimate(entries, options, wanted, 2 * BUDGET if dry_run else PLAN_BUDGET)
        entries = in_order(entries, found)
        if not dry_run:
            _run_all(entries, options, found, progress)
    if json:
        print_json(_document(entries, scale, jobs, dry_run))
    else:
        (_print_plan if dry_run else _print_ends)(entries, scale, jobs)
    if any(entry.why for entry in entries):
        raise typer.Exit(FAILED)


def in_order(entries: Sequence[Entry], found: Mapping[str, Estimate]) -> list[Entry]:
    """The shortest first; items that share a folder follow one another, and their common runs count once."""
    shared: dict[Path, list[Entry]] = {}
    for entry in sorted(entries, key=lambda entry: entry.seconds):
        shared.setdefault(entry.folder, []).append(entry)

    def seconds(group: list[Entry]) -> float:
        return sum({name: s for entry in group for name, s in _seconds(entry, found).items()}.values())

    return [entry for group in sorted(shared.values(), key=seconds) for entry in group]


def _check(options: Mapping[str, Any], out: Path | None) -> None:
    """Refuse what is wrong whatever the item, before anything is written."""
    check_how(options["scale"], options["jobs"], options["backend"], options["scheduler"], options["epochs"])
    if options["seeds"] is not None:
        seed_numbers(options["seeds"])
    existing(options["data_dir"])
    if out is not None and out.exists() and not out.is_dir():
        raise ValueError(f"the output folder {out} is a file")
    if options["scheduler"] is not None:
        with connected(options["scheduler"]):
            pass


def _some_run(experiments: Sequence[Experiment], scale: str, wanted: Mapping[str, str]) -> None:
    """Raise a ValueError where no item has a run that is wanted."""
    refused = ValueError("only is for training, and all of these items are computed from formulas: leave it out")
    for experiment in experiments:
        try:
            only(experiment, scale, wanted)
            return
        except ValueError as problem:
            refused = problem
    raise refused


def _folder(experiment: Experiment | Analytic, scale: str, out: Path | None) -> Path:
    if isinstance(experiment, Analytic):
        folder = default_folder(experiment.id)
    else:
        folder = default_folder(experiment.home, scale)
    return folder if out is None else out / folder.name


def _estimate(
    entries: Sequence[Entry], options: Mapping[str, Any], wanted: Mapping[str, str], budget: float
) -> dict[str, Estimate]:
    """Look at what each item has to do, and estimate every kind of run once; an item keeps the wanted runs alone."""
    found: dict[str, Estimate] = {}
    trained = [(entry, entry.experiment) for entry in entries if isinstance(entry.experiment, Experiment)]
    until = time.monotonic() + budget
    chosen: dict[str, Any] = {name: options[name] for name in ("seeds", "resume", "data_dir", "kernels", "epochs")}
    for left, (entry, experiment) in zip(range(len(trained), 0, -1), trained, strict=True):
        tell(f"planning: {experiment.id}")
        try:
            if options["scale"] not in experiment.scales:
                raise NoScale(f"it has no scale {options['scale']}")
            entry.experiment = experiment = only(experiment, options["scale"], wanted)
            entry.todo = look(experiment, scale=options["scale"], out=entry.folder, **chosen)
            new = [cell for cell in entry.todo.missing if kind(cell) not in found]
            share = max(0.0, until - time.monotonic()) / left
            found |= estimates(new, entry.todo.sources, share)
            entry.seconds = sum(_seconds(entry, found).values())
            entry.nbytes = max((found[kind(cell)].nbytes for cell in entry.todo.missing), default=0.0)
        except Exception as problem:
            entry.todo = None
            entry.stop(problem)
    return found


def _seconds(entry: Entry, found: Mapping[str, Estimate]) -> dict[str, float]:
    """The time of each run to do."""
    return {cell.name: entry.todo.seconds(cell, found) for cell in entry.todo.missing} if entry.todo else {}


def _run_all(
    entries: Sequence[Entry], options: Mapping[str, Any], found: Mapping[str, Estimate], progress: Overall
) -> None:
    progress.expect({(entry.folder, name): s for entry in entries for name, s in _seconds(entry, found).items()})
    for entry in entries:
        if entry.state:
            continue
        try:
            entry.result = _run(entry, options, progress)
            entry.state = DONE
        except Exception as problem:
            entry.stop(problem)
            progress.give_up(entry.folder, entry.missing)


def _run(entry: Entry, options: Mapping[str, Any], progress: Overall) -> Result:
    if isinstance(entry.experiment, Analytic):
        return rerun(entry.experiment, scale=options["scale"], out=entry.folder)
    how: dict[str, Any] = {
        "out": entry.folder,
        "progress": progress.of(entry.folder),
        "just_run": progress.made.get(entry.folder, ()),
    }
    return rerun(entry.experiment, **options, **how)


def _took(entries: Sequence[Entry], jobs: int) -> tuple[float, float]:
    """Seconds and bytes of all that is to be done, common runs once for each folder."""
    runs: dict[tuple[Path, str], float] = {}
    for entry in entries:
        each = entry.seconds / max(1, len(entry.missing))
        runs |= {(entry.folder, name): each for name in entry.missing}
    at_once = min(jobs, max(1, len(runs)))
    return sum(runs.values()) / at_once, at_once * max((entry.nbytes for entry in entries), default=0.0)


def _document(entries: Sequence[Entry], scale: str, jobs: int, dry_run: bool) -> dict[str, Any]:
    items = []
    for entry in entries:
        result = entry.result
        item: dict[str, Any] = {
            "experiment": entry.experiment.id,
            "state": entry.state or None,
            "why": entry.why or None,
            "stopped": (entry.todo.stops if entry.todo else "") or None,
        }
        item |= {
            "folder": entry.folder,
            "runs": len(entry.todo.cells) if entry.todo else 0,
            "to_do": len(entry.missing),
        }
        item |= {"seconds": entry.seconds, "bytes": entry.nbytes}
        items.append(item | {"rows": result.rows if result else [], "files": result.files if result else []})
    answer: dict[str, Any] = {"scale": scale, "items": items}
    if dry_run:
        seconds, nbytes = _took(entries, jobs)
        return answer | {"jobs": jobs, "seconds": seconds, "bytes": nbytes}
    return answer | {state: sum(entry.state == state for entry in entries) for state in (DONE, WRONG, SKIPPED)}


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
    console.print(f"Scale {scale}, in this order, {jobs} at a time:\n")
    console.print(table)
    console.print(
        f"\nAll of it: about {duration(max(1, seconds))}, {nbytes / 1e9:.1f} GB of memory; common runs count once."
    )
    console.print(
        "Estimated on this machine from parts of a step; of one item --dry-run says more. Nothing was written."
    )


def _print_ends(entries: Sequence[Entry], scale: str, jobs: int) -> None:
    """An item a line: how it ended, how many of its rows are inside, where its report is."""
    table = plain_table(*map(unbroken, ("item", "", "rows inside", "folder")))
    for entry in entries:
        rows = entry.result.rows if entry.result else []
        judged = [row["verdict"] for row in rows if not row["verdict"].startswith("not comparable")]
        inside = f"{sum(v == 'inside' for v in judged)} of {len(judged)}" if judged else "-"
        style = {DONE: "green", WRONG: "red"}.get(entry.state, "yellow")
        table.add_row(entry.experiment.id, Text(entry.state, style=style), inside, str(entry.folder))
    console = output()
    console.print(f"Scale {scale}:\n")
    console.print(table)
    counts = {state: sum(entry.state == state for entry in entries) for state in (DONE, WRONG, SKIPPED)}
    console.print(f"\n{len(entries)} items: " + ", ".join(f"{n} {state}" for state, n in counts.items() if n))
    for entry in entries:
        if entry.result and entry.result.stopped:
            console.print(f"{entry.experiment.id}, stopped at {entry.result.stopped}", soft_wrap=True)
        if entry.why:
            console.print(f"{entry.experiment.id}, {entry.state}: {entry.why}", soft_wrap=True)
