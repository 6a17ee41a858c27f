"""The function `reproduce` reruns an experiment, and writes report, records and picture into a folder.

This module has no list of experiments. `nfa.papers` passes an experiment to `reproduce`.
"""

import logging
import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

from nfa import data
from nfa.experiments import records, report
from nfa.experiments.declaration import AT_LEAST_1
from nfa.experiments.dry_run import Estimate, Source, estimates, kind, sources
from nfa.experiments.duration import duration
from nfa.experiments.experiment import SCALES, Analytic, Cell, Experiment, Records, Result, Trained, unfinished
from nfa.experiments.jobs import BACKENDS, connected, run_cells
from nfa.experiments.locks import locked
from nfa.experiments.plots import picture_names
from nfa.experiments.prepare import check, resolved
from nfa.experiments.run import Progress

logger = logging.getLogger(__name__)

MOST_SEEDS = 10_000


def default_folder(experiment: str, scale: str | None = None) -> Path:
    """The default folder of the results, in the current folder. For an `Analytic`, scale is None."""
    return Path("runs") / "-".join(filter(None, (experiment.replace(":", "-"), scale)))


def reproduce(
    experiment: Experiment | Analytic,
    *,
    scale: str = "demo",
    seeds: int | Sequence[int] | None = None,
    jobs: int = 1,
    backend: str = "local",
    scheduler: str | None = None,
    out: str | os.PathLike | None = None,
    resume: bool = True,
    dry_run: bool = False,
    data_dir: str | os.PathLike | None = None,
    kernels: bool = True,
    epochs: int | None = None,
    progress: Progress | None = None,
    just_run: Collection[str] = (),
    format: str = "png",
) -> Result:
    """Rerun a table or figure of a paper and compare the results with the paper's numbers.

    An `Analytic` is computed from formulas, without training. Its results are the same at every scale, and do not
    depend on jobs, resume, data_dir and kernels.

    Parameters
    ----------
    experiment : the experiment to rerun. `nfa.papers.find` returns the experiments of the papers by id
    scale : "demo" (embedded data, about a minute), "small" (minutes) or "paper" (the paper's own sizes)
    seeds : number of seeds (then 1, 2, ...), or a list of seeds; by default, the number of the scale
    jobs : number of parallel runs, each in its own process. The results do not depend on this number
    backend : "local" for processes on this machine, or "dask" for the workers of a scheduler, on one machine or several
    scheduler : address of the scheduler, for example "tcp://host:8786". The workers need the same paths for the output
        folder and the data
    out : folder for records, REPORT.md, table.txt, table.csv and figure.png; by default `default_folder`. An experiment
        that uses the runs of another experiment uses the folder of this other experiment
    resume : True to keep finished runs and continue interrupted runs, False to start all runs again
    dry_run : True to time a few steps of each kind of run, or parts of a step, and estimate the time and memory of all
        runs. Nothing is written
    data_dir : folder that is searched first for data sets
    kernels : False for plain NumPy in every run. A run with kernels cannot continue a run without kernels, and vice
        versa
    epochs : number of epochs after which every longer run stops. Table, report and picture then report this number. A
        later call with more epochs, or with None for all epochs, continues the runs. The results are bitwise identical
        with the results of runs that did not stop. nfa refuses a number that is smaller than the finished epochs of a
        run in the folder
    progress : function (cell, step, steps, record or None). It is called during every run, and once when the run is
        finished
    just_run : names of runs that are kept although resume is false, because another experiment has just finished them
    format : "pdf" or "svg", to write the picture also in this format, next to figure.png

    Raises
    ------
    ValueError : for a wrong argument, or a folder that contains other runs. Nothing has been written in this case
    OSError : if data cannot be read or results cannot be written, or if another process works in the folder
    nfa.train.Diverged : if a run diverges. Finished runs are kept
    """
    check_how(scale, jobs, backend, scheduler, epochs)
    pictures = picture_names(format, "" if isinstance(experiment, Analytic) else experiment.prefix)
    if isinstance(experiment, Analytic):
        for name, given in {"seeds": seeds, "epochs": epochs}.items():
            if given is not None:
                raise ValueError(
                    f"{experiment.id} is computed from formulas, so {name} have no effect: leave out {name}"
                )
        if scheduler is not None:
            raise ValueError(
                f"{experiment.id} is computed from formulas, so the backend dask has no effect: leave out backend"
            )
        return _compute(experiment, out, dry_run, pictures)
    how: dict[str, Any] = {"resume": resume, "data_dir": data_dir, "kernels": kernels, "epochs": epochs}
    todo = look(experiment, scale=scale, seeds=seeds, out=out, just_run=just_run, **how)
    if dry_run:
        text = plan(todo, estimates(todo.missing, todo.sources), jobs)
        return Result(experiment.id, scale, text=text, stopped=todo.stops)
    for cell in {kind(cell): cell for cell in reversed(todo.missing)}.values():
        check(cell.settings)
    done, folder = dict(todo.done), todo.folder
    if todo.stops:
        logger.info("%s: the runs stop at %s", experiment.id, todo.stops)
    if progress:
        for record in done.values():
            progress(record["cell"], record["steps"], record["steps"], record)
    with connected(scheduler) if scheduler is not None and todo.missing else nullcontext() as client:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / "reproduce.lock", f"the output folder {folder}"):
            cells = todo.cells
            while ready := _ready(cells, done):
                done |= run_cells(
                    ready,
                    folder.absolute() if client else folder,  # workers have other working folders than this process
                    experiment=experiment.home,
                    jobs=jobs,
                    resume=resume,
                    progress=progress,
                    client=client,
                )
                cells = [cell.known(done) for cell in cells]
                runs = [(cell, done[cell.name]) for cell in cells if cell.name in done and experiment.reported(cell)]
                if len(done) < len(cells) and runs:  # write a report before all runs of a long search are finished
                    _write_results(experiment, scale, todo.seeds, folder, runs, pictures)
            runs = [(cell, done[cell.name]) for cell in cells if experiment.reported(cell)]
            return _write_results(experiment, scale, todo.seeds, folder, runs, pictures)


def _ready(cells: Sequence[Cell], done: Records) -> list[Cell]:
    """The missing runs, in their order, up to the first run with settings that are not known yet.

    Raises
    ------
    ValueError : if the settings of the first missing run are not known
    """
    missing = [cell for cell in cells if cell.name not in done]
    ready = list(takewhile(lambda cell: cell.follow is None, missing))
    if missing and not ready:
        raise ValueError(
            f"the settings of the run {missing[0].name} follow from runs that are left out: run the whole experiment"
        )
    return ready


def check_how(
    scale: str, jobs: int = 1, backend: str = "local", scheduler: str | None = None, epochs: int | None = None
) -> None:
    """Raise a ValueError if an option is wrong for every experiment."""
    if scale not in SCALES:
        raise ValueError(f"scale must be one of {', '.join(SCALES)}, got {scale!r}")
    if jobs < 1:
        raise ValueError(f"jobs must be at least 1, got {jobs}")
    if backend not in BACKENDS:
        raise ValueError(f"backend must be one of {', '.join(BACKENDS)}, got {backend!r}")
    if (backend == "dask") != (scheduler is not None):
        raise ValueError(
            "backend dask and scheduler (the address of a running dask scheduler) work only together: give both"
            " settings, or leave out both settings"
        )
    if epochs is not None:
        AT_LEAST_1(epochs=epochs)


@dataclass(frozen=True, kw_only=True)
class Todo:
    """The runs of an experiment, the records of the finished runs, and the facts about the data.

    Parameters
    ----------
    seeds : seeds of the runs
    cells : all runs
    folder : folder of the results
    done : records of finished runs, by the names of the cells
    begun : finished epochs in the checkpoints of the other runs, by the names of the cells
    sources : the data sets by name
    """

    experiment: Experiment
    scale: str
    seeds: list[int]
    cells: list[Cell]
    folder: Path
    done: Mapping[str, dict[str, Any]]
    begun: Mapping[str, float]
    sources: Mapping[str, Source]

    @property
    def missing(self) -> list[Cell]:
        """The runs that are not finished."""
        return [cell for cell in self.cells if cell.name not in self.done]

    @property
    def stops(self) -> str:
        """Words about runs that stop early, such as "25 of 200 epochs"; "" if all runs are complete."""
        return unfinished((cell.epochs, cell.settings.epochs) for cell in self.cells)

    def seconds(self, cell: Cell, found: Mapping[str, Estimate]) -> float:
        """The remaining seconds of a missing run, from the estimate of its kind."""
        return found[kind(cell)].seconds * max(0.0, 1 - self.begun.get(cell.name, 0.0) / cell.epochs)


def look(
    experiment: Experiment,
    *,
    scale: str,
    seeds: int | Sequence[int] | None = None,
    out: str | os.PathLike | None = None,
    resume: bool = True,
    data_dir: str | os.PathLike | None = None,
    kernels: bool = True,
    epochs: int | None = None,
    just_run: Collection[str] = (),
) -> Todo:
    """Return the runs of an experiment and the records of its finished runs, without writing a file.

    The arguments have the meanings that they have in `reproduce`.

    Raises
    ------
    ValueError : for a wrong argument, a scale that the experiment does not have, or a folder that contains other runs
    OSError : if data cannot be read
    """
    if scale not in experiment.scales:
        raise ValueError(f"{experiment.id} has no scale {scale}. Its scales are {', '.join(experiment.scales)}")
    numbers = seed_numbers(experiment.seeds[scale] if seeds is None else seeds)
    chosen: dict[str, Any] = {} if data_dir is None else {"data_dir": os.path.abspath(data_dir)}
    chosen |= {} if kernels else {"kernels": False}
    cells = [_as_chosen(cell, chosen, epochs) for cell in experiment.cells(scale, numbers)]
    if epochs is not None and any(cell.follow for cell in cells):
        raise ValueError(
            f"{experiment.id} compares whole runs to choose settings, so epochs has no effect: leave out epochs"
        )
    folder = records.guard(default_folder(experiment.home, scale) if out is None else out, experiment.home)
    known, load = sources(cells), cache(data.load)
    done: dict[str, dict[str, Any]] = {}
    begun: dict[str, float] = {}
    for place, cell in enumerate(cells):
        cells[place] = cell = cell.known(done)
        if (resume or cell.name in just_run) and cell.follow is None and _has_files(folder, cell):
            settings = resolved(cell.settings, load)
            identity = records.identify(experiment.home, cell.name, cell.key.get("reading"), settings)
            record = records.finished(folder, identity, known[cell.settings.dataset].digest.__eq__, cell.until)
            if record is not None:
                done[cell.name] = record
            else:
                begun[cell.name] = records.epochs_begun(folder / f"{cell.name}.ckpt.npz")
    left: dict[str, Any] = {"done": done, "begun": begun, "sources": known}
    return Todo(experiment=experiment, scale=scale, seeds=numbers, cells=cells, folder=folder, **left)


def _has_files(folder: Path, cell: Cell) -> bool:
    """Whether a folder contains a record or a checkpoint of a run."""
    return any((folder / f"{cell.name}{ending}").exists() for ending in (".json", ".ckpt.npz"))


def plan(todo: Todo, found: Mapping[str, Estimate], jobs: int) -> str:
    """A text with the estimated times of the cells, the time and memory of all runs, and the method of the estimate.

    Parameters
    ----------
    found : estimates of the missing runs, from `estimates`
    jobs : number of parallel processes
    """
    experiment, missing = todo.experiment, todo.missing
    lines = [experiment.title, f"Scale {todo.scale}: {experiment.scales[todo.scale]}", ""]
    if todo.stops:
        lines[-1:] = [f"Stops at {todo.stops}.", ""]
    for cell in todo.cells:
        if cell.name in todo.done:
            told = "finished" if cell.until is None else f"at {cell.until} of {cell.settings.epochs} epochs"
        else:
            begun = todo.begun.get(cell.name, 0.0)
            told = f"about {duration(max(1, todo.seconds(cell, found)))}"
            told += f", from epoch {begun:.0f} on" if begun >= 1 else ""
        lines.append(f"{cell.name}: {told}")
    at_once = min(jobs, max(1, len(missing)))
    seconds = sum(todo.seconds(cell, found) for cell in missing) / at_once
    nbytes = at_once * max((found[kind(cell)].nbytes for cell in missing), default=0.0)
    lines += ["", f"{len(missing)} of {len(todo.cells)} runs to do, {jobs} at a time:"]
    lines[-1] += f" about {duration(max(1, seconds))}, {nbytes / 1e9:.1f} GB of memory." if missing else " nothing."
    if missing:
        lines.append("We estimated each kind of run separately on this machine:")
        lines += [f"- {name}: {one.how}" for name, one in found.items()]
    return "\n".join([*lines, "Nothing was written."]) + "\n"


def _compute(experiment: Analytic, out: str | os.PathLike | None, dry_run: bool, pictures: Sequence[str]) -> Result:
    """The result of an experiment from formulas: its rows, and the files that contain them."""
    folder = records.guard(default_folder(experiment.id) if out is None else out, experiment.id)
    if dry_run:
        plan = f"{experiment.title}\nNothing is trained: the item is computed from formulas in seconds.\n"
        return Result(experiment.id, "paper", text=plan)
    rows = experiment.rows()
    texts = report.texts_of_rows(experiment, rows)
    folder.mkdir(parents=True, exist_ok=True)
    records.write(folder / "rows.json", {"experiment": experiment.id, "rows": rows})
    for name, text in texts.items():
        records.write_text(folder / name, text)
    for name in pictures:
        experiment.picture(folder / name, rows)
    names = ("REPORT.md", "table.txt", "rows.json", "table.csv", *pictures)
    return Result(experiment.id, "paper", rows, [os.fspath(folder / name) for name in names], texts["table.txt"])


def seed_numbers(seeds: int | Sequence[int]) -> list[int]:
    """The list of seeds. A number n means the seeds 1, 2, ..., n.

    Raises ValueError if there are no seeds or too many seeds, or for a repeated or negative seed.
    """
    if isinstance(seeds, int):
        if not 1 <= seeds <= MOST_SEEDS:
            bound = "at least 1" if seeds < 1 else f"at most {MOST_SEEDS}"
            raise ValueError(f"seeds must be {bound}, got {seeds}")
        return list(range(1, seeds + 1))
    numbers = list(seeds)
    if not numbers or len(set(numbers)) < len(numbers) or min(numbers) < 0:
        raise ValueError(f"give one or more different seeds, each a whole number >= 0, got {numbers}")
    return numbers


def _as_chosen(cell: Cell, chosen: Mapping[str, Any], epochs: int | None) -> Cell:
    until = None if epochs is None or epochs >= cell.settings.epochs else epochs
    return replace(cell, settings=replace(cell.settings, **chosen), until=until)


def _write_results(experiment: Experiment, scale, seeds: list[int], folder: Path, runs: Trained, pictures) -> Result:
    """The result of an experiment from runs: its rows, and the files that contain them."""
    rows = report.rows(experiment, runs)
    texts = report.texts_of_runs(experiment, scale, seeds, rows, runs)
    for name, text in texts.items():
        records.write_text(folder / f"{experiment.prefix}{name}", text)
    for name in pictures:
        experiment.picture(folder / name, rows, runs)
    names = [*(experiment.prefix + name for name in texts), *pictures, *(f"{cell.name}.json" for cell, _ in runs)]
    files = [os.fspath(folder / name) for name in names]
    stopped = unfinished(records.epochs_of(record) for _, record in runs)
    return Result(experiment.id, scale, rows, files, texts["table.txt"], stopped)
