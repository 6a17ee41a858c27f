"""Running the cells of an experiment, here or in worker processes; the numbers are the same either way."""

import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

from nfa.experiments.cluster import on_workers
from nfa.experiments.experiment import Cell
from nfa.experiments.run import Progress, run

WATCH_EVERY = 0.2  # seconds


def run_cells(
    cells: list[Cell],
    folder: Path,
    *,
    experiment: str,
    jobs: int,
    resume: bool,
    progress: Progress | None,
    client: Any = None,
) -> dict[str, dict[str, Any]]:
    """Run every cell and return the records by the cells' names, in the order of the cells.

    Parameters
    ----------
    jobs : number of processes at work at the same time; 1 runs the cells in this process, one after the other
    client : of a dask scheduler, from `nfa.experiments.cluster.connected`, whose workers run the cells instead
    progress : as for `nfa.experiments.run.run`; called in this process, from a second thread too when jobs > 1

    Raises
    ------
    what a run raises : records of the cells that are finished stay, the other runs are stopped
    """
    train = partial(_run_cell, folder=folder, experiment=experiment, resume=resume)
    if client is not None:
        found = on_workers(client, train, cells, progress)
    elif jobs == 1 or len(cells) < 2:
        found = {cell.name: train(cell, progress=progress) for cell in cells}
    else:
        found = _in_processes(train, cells, jobs, progress)
    return {cell.name: found[cell.name] for cell in cells}


def _run_cell(cell: Cell, *, folder: Path, experiment: str, resume: bool, progress: Progress | None) -> dict[str, Any]:
    return run(
        cell.settings,
        folder,
        experiment=experiment,
        cell=cell.name,
        reading=cell.key.get("reading"),
        resume=resume,
        progress=progress,
    )


def _in_processes(train, cells: list[Cell], jobs: int, progress: Progress | None) -> dict[str, dict[str, Any]]:
    from joblib import Parallel, delayed

    found = {}
    with (
        tempfile.TemporaryDirectory(prefix="nfa-", ignore_cleanup_errors=True) as notes,
        _watching(Path(notes), progress),
    ):
        workers = Parallel(n_jobs=min(jobs, len(cells)), backend="loky", return_as="generator_unordered")
        for record in workers(delayed(_in_worker)(train, cell, _Note(notes), os.getpid()) for cell in cells):
            found[record["cell"]] = record
            if progress:
                progress(record["cell"], record["steps"], record["steps"], record)
    return found


def _in_worker(train, cell: Cell, note: "_Note", parent: int) -> dict[str, Any]:
    """Train one cell in a worker process."""
    _end_with(parent)
    return train(cell, progress=note)


@cache
def _end_with(parent: int) -> None:
    """From now on, end this process as soon as its parent is gone: nobody could stop it any more, or wants its work."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(WATCH_EVERY)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class _Note:
    """A progress callback for a worker process: it leaves the last step in a file, one for each cell."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, cell: str, step: int, steps: int, record: dict[str, Any] | None) -> None:
        if record is None:
            with suppress(OSError):  # a full disk, or a parent that was killed and its folder removed
                (Path(self.folder) / cell).write_text(f"{step} {steps}")


@contextmanager
def _watching(notes: Path, progress: Progress | None) -> Iterator[None]:
    """Hand the workers' notes on to the progress callback while the body runs."""
    if progress is None:
        yield
        return
    over = threading.Event()

    def watch() -> None:
        told: dict[str, int] = {}
        while not over.wait(WATCH_EVERY):
            for note in notes.iterdir():
                step, _, steps = note.read_text().partition(" ")
                if steps and told.get(note.name) != int(step):  # else the worker is just writing it
                    told[note.name] = int(step)
                    progress(note.name, int(step), int(steps), None)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()
