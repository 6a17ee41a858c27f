"""Run the cells of an experiment: in this process, in worker processes, or on the workers of a dask scheduler.

The results do not depend on where a cell runs.
"""

import logging
import os
import tempfile
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import cache, partial
from pathlib import Path
from typing import Any

from nfa.experiments.experiment import Cell
from nfa.experiments.run import Progress, run

logger = logging.getLogger(__name__)

BACKENDS = ("local", "dask")
# Seconds between two checks for new notes of workers, and between two checks whether the parent process still runs.
WATCH_EVERY = 0.2
ANSWER = 10.0  # seconds after which a scheduler without an answer is an error
LOOK_EVERY = 1.0  # seconds between two checks whether the scheduler still runs
TELL_EVERY = 0.5  # seconds between two reports of a worker about its progress

# At most one thread at a time may limit the threads of the linear algebra. Two threads would undo each other's limit.
_one_at_a_time = threading.Lock()


class Abandoned(RuntimeError):
    """Raised in a worker if no process waits for its cell."""


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
    jobs : number of parallel processes. With 1, the cells run in this process, one after another
    client : client of a dask scheduler, from `connected`. The workers of the scheduler then run the cells
    progress : as for `nfa.experiments.run.run`. It is called in this process; with jobs > 1, also from a second thread

    Raises
    ------
    any error of a run : the records of finished cells are kept, and the other runs are stopped
    """
    train = partial(_run_cell, folder=folder, experiment=experiment, resume=resume)
    if client is not None:
        found = on_workers(client, train, cells, progress)
    elif jobs == 1 or len(cells) < 2:
        found = {cell.name: train(cell, progress=progress) for cell in cells}
    else:
        if any(cell.settings.kernels for cell in cells):
            logger.info("each of %d processes compiles its kernels before its first run", min(jobs, len(cells)))
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
        until=cell.until,
        progress=progress,
    )


# Code for worker processes on this machine.


def _in_processes(train, cells: list[Cell], jobs: int, progress: Progress | None) -> dict[str, dict[str, Any]]:
    from joblib import Parallel, delayed

    with (
        tempfile.TemporaryDirectory(prefix="nfa-", ignore_cleanup_errors=True) as notes,
        _watching(Path(notes), progress) if progress else nullcontext(),
    ):
        workers = Parallel(n_jobs=min(jobs, len(cells)), backend="loky", return_as="generator_unordered")
        records = workers(delayed(_in_worker)(train, cell, notes, os.getpid()) for cell in cells)
        return {record["cell"]: _finished(record, progress) for record in records}


def _finished(record: dict[str, Any], progress: Progress | None) -> dict[str, Any]:
    """Pass a record to the progress callback, and return it."""
    if progress:
        progress(record["cell"], record["steps"], record["steps"], record)
    return record


def _in_worker(train, cell: Cell, notes: str, parent: int) -> dict[str, Any]:
    """Train one cell in a worker process."""
    _end_with(parent)
    return train(cell, progress=partial(_note, notes))


@cache
def _end_with(parent: int) -> None:
    """End this process as soon as its parent ends, because after this no process can stop it or use its result."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(WATCH_EVERY)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _note(folder: str, cell: str, step: int, steps: int, record: dict[str, Any] | None) -> None:
    """The progress callback of a worker process. It writes the number of the last step to the file of the cell."""
    if record is None:
        with suppress(OSError):  # the disk is full, or the parent was killed and its folder was removed
            Path(folder, cell).write_text(f"{step} {steps}")


@contextmanager
def _watching(notes: Path, progress: Progress) -> Iterator[None]:
    """Pass the workers' notes to the progress callback while the body of the ``with`` statement runs."""
    over = threading.Event()

    def watch() -> None:
        last: dict[str, int] = {}
        while not over.wait(WATCH_EVERY):
            for note in notes.iterdir():
                step, _, steps = note.read_text().partition(" ")
                if steps and last.get(note.name) != int(step):  # a worker still writes an empty note
                    last[note.name] = int(step)
                    progress(note.name, int(step), int(steps), None)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


# Code for the workers of a dask scheduler, on this machine or on several.


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """A client of the scheduler at this address, for example "tcp://host:8786".

    Raises
    ------
    OSError : if dask[distributed] is not installed
    ValueError : if no scheduler answers at this address, or if a worker has several threads
    """
    try:
        from distributed import Client
    except ImportError as missing:
        raise OSError(
            f"backend dask needs dask[distributed], which cannot be imported ({missing}). Install it with"
            " pip install 'noisy-feedback-alignment[sweep]'"
        ) from missing
    with _silent():
        try:
            client = Client(address, timeout=ANSWER)
        except Exception as failure:
            raise ValueError(
                f"scheduler must be the address of a running dask scheduler, but no scheduler answers at {address!r}"
            ) from failure
        try:
            if any(n > 1 for n in client.nthreads().values()):
                raise ValueError(
                    f"each worker of the scheduler {address} must run one cell at a time, in its own process:"
                    " start the workers with --nthreads 1"
                )
            yield client
        finally:
            with suppress(Exception):
                client.close(timeout=1)


@contextmanager
def _silent() -> Iterator[None]:
    """Suppress the log lines and the warnings of dask. nfa reports errors in one sentence instead."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def on_workers(client: Any, train: Callable, cells: list[Cell], progress: Progress | None) -> dict[str, dict[str, Any]]:
    """Run every cell on a worker, and return the records by the names of the cells.

    If the worker of a cell is lost, another worker runs the cell, from its checkpoint if there is one.

    Parameters
    ----------
    client : from `connected`
    train : function (cell, progress=...) -> record. The workers must be able to import the function. The
        function must use absolute paths
    progress : called in this process, also from a second thread

    Raises
    ------
    any error of a run : the records of finished cells are kept, and the other runs are stopped
    OSError : if the scheduler is lost. The records of finished cells are kept
    """
    from distributed import CancelledError, KilledWorker, wait
    from distributed.comm import CommClosedError

    topic, found = f"nfa-{uuid.uuid4().hex}", []
    if progress:
        client.subscribe_topic(topic, lambda event: progress(event[1][0], event[1][1], event[1][2], None))
    waiting = {client.submit(_on_worker, train, cell, topic, key=f"{cell.name}-{topic}", pure=False) for cell in cells}
    try:
        while waiting:
            with suppress(TimeoutError):
                wait(waiting, timeout=LOOK_EVERY, return_when="FIRST_COMPLETED")
            if client.status != "running":
                raise CancelledError
            for future in [future for future in waiting if future.done()]:
                found.append(_finished(future.result(), progress))
                waiting.remove(future)
    except (CancelledError, CommClosedError):  # CommClosedError if the scheduler is lost while it sends a record
        raise OSError(
            f"the dask scheduler at {client.scheduler.address} does not answer. Finished runs are kept. To continue the"
            " other runs, run the same command again"
        ) from None
    except KilledWorker as killed:
        raise OSError(
            f"the dask workers that computed one run were killed several times, so nfa gives up: {killed}"
        ) from None
    finally:
        with suppress(Exception):
            client.cancel(list(waiting), force=True)
    return {record["cell"]: record for record in found}


def _on_worker(train: Callable, cell: Cell, topic: str) -> dict[str, Any]:
    with _one_at_a_time:
        return train(cell, progress=_Report(topic))


class _Report:
    """A progress callback for a worker.

    It reports the last step to the client, and stops the run if no client waits for the result.
    """

    def __init__(self, topic: str) -> None:
        from distributed import get_worker

        self.topic, self.worker = topic, get_worker()
        self.key, self.reported = self.worker.get_current_task(), -TELL_EVERY

    def __call__(self, cell: str, step: int, steps: int, record: dict[str, Any] | None) -> None:
        if record is not None or time.monotonic() - self.reported < TELL_EVERY:
            return
        self.reported = time.monotonic()
        task = self.worker.state.tasks.get(self.key)
        if task is None or task.state == "cancelled":
            raise Abandoned(f"the command no longer waits for {cell}")
        self.worker.log_event(self.topic, (cell, step, steps))
