"""One training run, with checkpoints and a record. If a run is interrupted and continued, its results do not change."""

import logging
import math
import os
import signal
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from nfa.data import Dataset
from nfa.experiments import records, steps_spent, trained
from nfa.experiments.checkpoint import Session, signals_noted
from nfa.experiments.declaration import AT_LEAST_1
from nfa.experiments.locks import locked
from nfa.experiments.prepare import Prepared, check, prepare
from nfa.experiments.settings import Settings
from nfa.kernels import cores
from nfa.network import Net, accuracy
from nfa.network.net import outputs
from nfa.train import Diverged
from nfa.whole import write_whole

__all__ = ["Settings", "check", "run"]

logger = logging.getLogger(__name__)

# progress(cell, step, steps, record): called from time to time during a run, and once with the record at the end.
Progress = Callable[[str, int, int, dict[str, Any] | None], None]
PROGRESS_EVERY = 0.1  # seconds between two calls of progress
LOCK_WAIT = 5.0  # seconds to wait for a lock; a worker ends within this time after its parent has ended
TRAIN_LOSS_EXAMPLES = 2000  # number of examples, the first in the training set, for the training loss


def cell_name(settings: Settings) -> str:
    """The default name of a run's files: rule and seed."""
    of = "secure" if settings.secure else f"seed{settings.seed}"
    return f"{settings.rule.replace(':', '-').replace('.', '-')}-{of}"


def run(
    settings: Settings,
    folder: str | os.PathLike,
    *,
    experiment: str = "train",
    cell: str | None = None,
    reading: str | None = None,
    resume: bool = True,
    until: int | None = None,
    checkpoint_every: float = 10.0,
    progress: Progress | None = None,
    before: Callable[[Prepared], None] | None = None,
    keep_weights: bool = False,
) -> dict[str, Any]:
    """Train with the settings and return the record, which is also written to ``folder/CELL.json``.

    Parameters
    ----------
    settings : Settings
    folder : folder of the results. If the folder does not exist, it is made after all checks
    experiment, cell, reading : names for the record. By default, the name of the cell is the rule and the seed
    resume : True to return the record of a finished run and to continue an interrupted run, False to start again
    until : int >= 1, number of epochs after which the run stops. The settings in the record are the settings of the
        whole run. The entry ``stopped`` of the record contains ``until`` and the number of epochs of the whole run. The
        run can be continued from the checkpoint next to the record. None, or the number of epochs in the settings, for
        the whole run
    checkpoint_every : seconds between checkpoints ``folder/CELL.ckpt.npz``; 0 for a checkpoint after every step
    progress : function (cell, step, steps, record or None), first called after all checks, when training begins
    before : function that is called with the parts of the run before the folder is read or written. Its exceptions are
        not caught
    keep_weights : write the weights after the last step next to the record. The record then contains the name and the
        digest of this file

    Raises
    ------
    ValueError : for wrong settings, or a folder that contains other runs or this run with more epochs than `until`.
        Nothing has been written in this case
    NoGuarantee : if noise is requested, and no theorem covers the run. Nothing has been written in this case
    OSError : if data cannot be read or results cannot be written, or if another process works on the same run
    nfa.train.Diverged : if the run diverges. No record is written
    KeyboardInterrupt : on Ctrl-C, after a checkpoint. SIGTERM also takes effect after a checkpoint

    Notes
    -----
    The record of a seeded run has ``"train_accuracy"``: the share of all its training examples that the network
    classifies correctly at the end. Its history also contains this value after epochs 1, 2, 4, 8, ... Records of
    earlier versions do not contain this value.

    Guarantee: suppose that a seeded run is interrupted at any step or stopped after any epoch, and then resumed. Then
    its record equals the record of the uninterrupted run, except for the timing.

    A resumed secure run draws new random numbers for the steps after its last checkpoint, and its epsilon includes the
    steps that were lost (see `nfa.experiments.steps_spent`). A secure run has only one record, written at its end, and
    cannot be stopped earlier. This record contains no seed. Except for the released steps, it contains nothing computed
    from the training examples: no loss, no accuracy on these examples, no shares of clipped examples, no time. The
    record contains a digest of the data and a seal. Both are computed with a key of the user, see
    `nfa.data.keyed_digest`. A ValueError is raised if the key is missing, if the data differ, or if the record was
    edited.
    """
    cell = cell or cell_name(settings)
    if until is not None:
        AT_LEAST_1(until=until)
        if settings.secure:
            raise ValueError(
                "a secure run has one record for all its epochs, so nfa cannot stop this run after some of the epochs"
            )
    with limited(settings.threads):
        parts = prepare(settings)
        if before is not None:
            before(parts)
        last = parts.steps if until is None else min(parts.steps, until * parts.batches.steps_per_epoch)
        identity = records.identify(experiment, cell, reading, parts.settings)
        folder = records.guard(folder, experiment)
        if parts.privacy.secure:
            records.refuse_key(folder)
            if resume:
                records.refuse_seeded(folder)
        checkpoint = folder / f"{cell}.ckpt.npz"
        record = _finished(parts, folder, identity, until) if resume else None
        if record is None:
            identity["digest"] = parts.told_of_data()
            folder.mkdir(parents=True, exist_ok=True)
            with locked(folder / f"{cell}.lock", f"{cell} in the output folder {folder}", LOCK_WAIT):
                if resume:
                    # another process may have finished the run while we waited for the lock
                    record = _finished(parts, folder, identity, until)
                if record is None:
                    compiling = round(parts.compile(), 3)
                    timing = {"compiling": compiling, "threads": settings.threads, **parts.part}
                    session = Session(parts=parts, identity=identity, checkpoint=checkpoint)
                    if resume:
                        session.go_on()
                        if not session.start and (folder / f"{cell}.json").exists():
                            logger.info(
                                "the checkpoint of the stopped run %s is missing, so this run starts afresh", cell
                            )
                    try:
                        train_until(last, session, checkpoint_every, progress)
                    except Diverged as divergence:
                        session.note_spent(divergence.step)  # the error message is a published result of these steps
                        raise
                    if last < parts.steps:
                        session.save(last)
                    # In a secure run, the note of spent steps is already written.
                    record = record_of(session, last, timing)
                    if keep_weights:
                        network = trained.Trained.of(parts, session.net)
                        content = trained.to_bytes(network)
                        record["weights"] = trained.described(network, cell, content)
                        write_whole(folder / trained.file_name(cell), content)
                    if parts.privacy.secure:
                        record["seal"] = records.seal_of(record)
                    records.write(folder / f"{cell}.json", record)
        part = checkpoint.with_name(checkpoint.name + ".part")  # an incomplete checkpoint of a process that was killed
        for left in (steps_spent.path_of(checkpoint), checkpoint, part) if last == parts.steps else (part,):
            with suppress(OSError):
                left.unlink()
    if progress:
        progress(cell, record["steps"], record["steps"], record)
    return record


def run_in_memory(
    settings: Settings,
    load: Callable[..., Dataset],
    *,
    progress: Progress | None = None,
    before: Callable[[Prepared], None] | None = None,
) -> tuple[trained.Trained, dict[str, Any]]:
    """Train as `run` does, and return the network with its record. Nothing about the run is written to a file.

    Parameters
    ----------
    settings : Settings
    load : function that returns the data, called as `nfa.data.load`
    progress, before : as for `run`

    Raises as `run` does, except OSError for files of results. An interrupted secure run has published nothing. The
    digest of the data and the seal of a secure run need the user's key, which is made if it does not exist.
    """
    cell = cell_name(settings)
    with limited(settings.threads):
        parts = prepare(settings, load)
        if before is not None:
            before(parts)
        identity = records.identify("train", cell, None, parts.settings) | {"digest": parts.told_of_data()}
        timing = {"compiling": round(parts.compile(), 3), "threads": settings.threads, **parts.part}
        session = Session(parts=parts, identity=identity, checkpoint=None)
        train_until(parts.steps, session, math.inf, progress)
        record = record_of(session, parts.steps, timing)
        if parts.privacy.secure:
            record["seal"] = records.seal_of(record)
    return trained.Trained.of(parts, session.net), record


def _finished(parts: Prepared, folder: Path, identity: dict[str, Any], until: int | None) -> dict[str, Any] | None:
    """Return the record of the run in this folder, or None if the run is not finished.

    The record's privacy part is checked first.
    """
    record = records.finished(folder, identity, parts.has_data, until)
    if record is not None and not parts.privacy.secure:
        parts.privacy.refuse_other_count(record["privacy"])
    if record is not None and parts.privacy.secure:
        parts.privacy.check_record(record, parts.steps)
        records.refuse_unsealed(record, f"{identity['cell']}.json")
    return record


def train_until(last: int, session: Session, checkpoint_every: float, progress: Progress | None) -> None:
    """Take the remaining steps up to the last step, with checkpoints from time to time.

    On a signal, write a checkpoint and then pass the signal to its handler.
    """
    parts, cell = session.parts, session.identity["cell"]
    start = session.start
    loop = parts.train(start, session.watched)
    saved = shown = session.began
    if progress:
        progress(cell, start, last, None)
    with signals_noted() as signals:
        for t in islice(_costs_noted(loop, session), last - start):
            if session.average is not None:
                session.average.add(parts.net, t)
            if t % parts.batches.steps_per_epoch == 0:
                session.end_epoch(measure(parts, t, session.net))
            now = time.monotonic()
            if signals or (t < last and now - saved >= checkpoint_every):
                session.save(t)
                saved = now
            if signals:
                break
            if progress and now - shown >= PROGRESS_EVERY:
                progress(cell, t, last, None)
                shown = now
    if signals:
        signal.raise_signal(signals[0])  # the checkpoint is written, so we call the handler of the signal
        raise KeyboardInterrupt


def _costs_noted(loop: Iterator[int], session: Session) -> Iterator[int]:
    """Yield the steps of a loop, and note their memory and processor time in the session.

    We measure the largest memory of arrays during the first step, including its batch, and the mean processor time of
    the other steps. Other processes change the processor time less than the elapsed time. A secure run measures neither
    memory nor time, because both reveal the number of drawn examples.
    """
    if session.parts.privacy.secure:
        yield from loop
        return
    if not tracemalloc.is_tracing():
        tracemalloc.start()
        try:
            first = next(loop)
            session.costs["step_bytes"] = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        yield first
    seconds, steps, began = 0.0, 0, time.process_time()
    for t in loop:
        seconds, steps = seconds + time.process_time() - began, steps + 1
        session.costs["cpu_seconds_per_step"] = round(seconds / steps, 6)
        yield t
        began = time.process_time()


@contextmanager
def limited(threads: int) -> Iterator[None]:
    """Limit the number of threads. Each thread works on parts of a step or on pieces of a kernel's work.

    The linear algebra library uses one thread. The process keeps freed memory.
    """
    cores.keep_memory()  # this change is permanent, because the C library cannot undo it
    cores.limit(threads)
    try:
        with cores.one_threaded():
            yield
    finally:
        cores.limit()


def measure(parts: Prepared, t: int, net: Net | None = None) -> dict[str, Any]:
    """Make one entry of the history at the end of an epoch, for net or, by default, for the network of the run.

    In a secure run, the training examples are not used, because an overflow in one example must not end the run. A
    secure run has diverged if the outputs for the public test examples are not finite. Without test examples, a secure
    run has diverged if the weights are not finite.
    """
    net = parts.net if net is None else net
    entry = {"epoch": t // parts.batches.steps_per_epoch, "step": t}
    with np.errstate(over="ignore", invalid="ignore"):
        if parts.privacy.secure:
            tried = parts.x_test[:TRAIN_LOSS_EXAMPLES]
            values = [outputs(net, tried, run=cores.together)[0]] if len(tried) else [*net.W[1:], *net.b[1:]]
            diverged = not all(np.isfinite(array).all() for array in values)
        else:
            entry |= _of_training_examples(parts, net, entry["epoch"])
            diverged = not math.isfinite(entry["train_loss"])
        if len(parts.x_val):  # only a seeded run has held-out examples
            entry["validation_accuracy"] = accuracy(net, parts.x_val, parts.y_val, cores.together)
        if len(parts.x_test):
            entry["test_accuracy"] = accuracy(net, parts.x_test, parts.y_test, cores.together)
    if diverged:
        raise Diverged(t, net.L)
    return entry


def _of_training_examples(parts: Prepared, net: Net, epoch: int) -> dict[str, float]:
    """The training loss, the training accuracy of some epochs and, for a regularised objective, its value.

    The training accuracy is measured after epochs 1, 2, 4, 8, ..., because it takes a forward pass over all training
    examples. For a regularised objective, the accuracy and the value of the objective are measured after every epoch.
    """
    batches = parts.batches
    found = {"train_loss": _mean_loss(net, batches.x[:TRAIN_LOSS_EXAMPLES], batches.y[:TRAIN_LOSS_EXAMPLES])}
    if (ridge := parts.rule.keywords.get("ridge")) is not None:
        theta2 = sum(float(np.vdot(p, p)) for p in (*net.W[1:], *net.b[1:]))
        found["objective"] = _mean_loss(net, batches.x, batches.y) + ridge * theta2
    if ridge is not None or epoch & (epoch - 1) == 0:
        found["train_accuracy"] = train_accuracy(parts, net)
    return found


def train_accuracy(parts: Prepared, net: Net) -> float:
    """Share of all training examples of a seeded run that a network classifies correctly, without noise."""
    batches = parts.batches
    with np.errstate(over="ignore", invalid="ignore"):
        return accuracy(net, batches.x, _labels(batches.y), cores.together)


def _labels(y: np.ndarray) -> np.ndarray:
    return y.argmax(axis=1) if y.shape[1] > 1 else y[:, 0]


def _mean_loss(net: Net, x: np.ndarray, y: np.ndarray) -> float:
    z_L, _ = outputs(net, x, run=cores.together)
    return float(net.loss.value(z_L, y).mean(dtype=np.float64))


def record_of(session: Session, steps: int, timing: dict[str, Any]) -> dict[str, Any]:
    """The record of a run that is finished or stopped after this number of steps.

    The record of a secure run contains only one value computed from examples: the accuracy of its released weights on
    public examples. So the record of a secure run contains no time of a step and no number of drawn examples.

    Parameters
    ----------
    timing : entries about timing that the session does not contain: "compiling", "threads" and "part"
    """
    parts, identity, seconds = session.parts, session.identity, session.seconds
    dataset, kernels, privacy = parts.dataset, parts.kernels, session.account(steps)
    secure, last = parts.privacy.secure, session.history[-1]
    measured: dict[str, float] = {}
    if not secure:  # the record of a secure run has no accuracy on training examples
        at_end = last["train_accuracy"] if "train_accuracy" in last else train_accuracy(parts, session.net)
        measured = {"train_accuracy": at_end}
    drawn_again = {} if secure else parts.batches.recorded(steps)
    if secure:
        timing = {name: value for name, value in timing.items() if name != "compiling"}
    else:
        own = {"seconds": round(seconds, 3), "seconds_per_step": round(seconds / steps, 6)}
        timing = own | timing | session.costs
    stopped: dict[str, Any] = {}
    if steps < parts.steps:
        done, of = records.epochs_of({"history": session.history, "settings": identity["settings"]})
        stopped = {"stopped": {"epochs": done, "of": of}}
        if parts.mechanism is not None:
            words = f"{privacy['statement'].rstrip('.')}. The run stopped after {done} of {of} epochs, {steps:,} steps."
            privacy = privacy | {"statement": words}
    return {
        "format": records.FORMAT,
        **{name: identity[name] for name in ("experiment", "cell", "reading")},
        # Digests of the user's own files.
        **{name: digest for name, digest in identity.items() if name.endswith("_digest")},
        "seed": identity["settings"].get("seed"),  # None for a secure run
        "settings": identity["settings"],
        "private": parts.privacy.warrants(privacy),
        "privacy": privacy,
        "data": {
            "name": dataset.name,
            "digest": identity["digest"],
            "source": dataset.source,
            "note": dataset.note,
            "train": parts.sizes.N,
            "validation": 0 if dataset.unsplit else parts.sizes.held,
            "test": parts.sizes.held if dataset.unsplit else len(parts.x_test),
        },
        **drawn_again,
        **stopped,
        "n_parameters": parts.net.n_parameters,
        "steps": steps,
        "history": session.history,
        **measured,
        "test_accuracy": last.get("test_accuracy"),  # None if the run has no test set or was not tested
        "kernels": kernels,
        **({"kernels_left_out": parts.kernels_left_out} if parts.kernels_left_out else {}),
        "versions": records.versions() | ({"numba": version("numba")} if kernels else {}),
        "timing": timing,
    }
