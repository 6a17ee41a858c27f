"""Running the cells of an experiment on the workers of a dask scheduler, on this machine or on many."""

import logging
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from nfa.experiments.experiment import Cell
from nfa.experiments.run import Progress

BACKENDS = ("local", "dask")
ANSWER = 10.0  # seconds in which a scheduler must answer
LOOK_EVERY = 1.0  # seconds between two looks at whether the scheduler is still there
TELL_EVERY = 0.5  # seconds between two notes of a worker on how far it is

_one_at_a_time = threading.Lock()  # threads that limit the linear algebra of one process would undo each other's limit


class Abandoned(RuntimeError):
    """Raised in a worker whose cell nobody waits for any more."""


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """A client of the scheduler at this address, "tcp://host:8786" say.

    Raises
    ------
    OSError : if dask[distributed] is not installed
    ValueError : if no scheduler answers there, or a worker has several threads
    """
    try:
        from distributed import Client
    except ImportError as missing:
        raise OSError(
            f"backend dask needs dask[distributed], which cannot be imported ({missing}): pip install 'nfa[sweep]'"
        ) from missing
    with _silent():
        try:
            client = Client(address, timeout=ANSWER)
        except Exception as failure:
            raise ValueError(f"scheduler {address!r}: no dask scheduler answers there") from failure
        try:
            if any(n > 1 for n in client.nthreads().values()):
                raise ValueError(
                    f"the workers of scheduler {address} must run one cell at a time, each in a process of its own:"
                    " start them with --nthreads 1"
                )
            yield client
        finally:
            with suppress(Exception):
                client.close(timeout=1)


@contextmanager
def _silent() -> Iterator[None]:
    """Without the log lines and the warnings of the library: what went wrong is told in a sentence."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def on_workers(client: Any, train: Callable, cells: list[Cell], progress: Progress | None) -> dict[str, dict[str, Any]]:
    """Run every cell on some worker and return the records by the cells' names.

    A cell whose worker is gone is begun again on another, and goes on from its checkpoint if it left one.

    Parameters
    ----------
    client : from `connected`
    train : function (cell, progress=...) -> record, which the workers can import; it names folders in full
    progress : called in this process, from a second thread too

    Raises
    ------
    what a run raises : records of the cells that are finished stay, the other runs are stopped
    OSError : if the scheduler is gone; the records stay
    """
    from distributed import CancelledError, KilledWorker, wait

    topic, found = f"nfa-{uuid.uuid4().hex}", {}
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
                record = found[future.key] = future.result()
                waiting.remove(future)
                if progress:
                    progress(record["cell"], record["steps"], record["steps"], record)
    except CancelledError:
        raise OSError(
            f"the dask scheduler at {client.scheduler.address} is gone; what is finished is kept,"
            " and the same command goes on from there"
        ) from None
    except KilledWorker as killed:
        raise OSError(f"the workers that ran a cell were killed again and again: {killed}") from None
    finally:
        with suppress(Exception):
            client.cancel(list(waiting), force=True)
    return {record["cell"]: record for record in found.values()}


def _on_worker(train: Callable, cell: Cell, topic: str) -> dict[str, Any]:
    with _one_at_a_time:
        return train(cell, progress=_Told(topic))


class _Told:
    """A progress callback for a worker: it tells the client the last step, and stops a run that nobody waits for."""

    def __init__(self, topic: str) -> None:
        from distributed import get_worker

        self.topic, self.worker = topic, get_worker()
        self.key, self.told = self.worker.get_current_task(), -TELL_EVERY

    def __call__(self, cell: str, step: int, steps: int, record: dict[str, Any] | None) -> None:
        if record is not None or time.monotonic() - self.told < TELL_EVERY:
            return
        self.told = time.monotonic()
        task = self.worker.state.tasks.get(self.key)
        if task is None or task.state == "cancelled":
            raise Abandoned(f"nobody waits for {cell} any more")
        self.worker.log_event(self.topic, (cell, step, steps))
