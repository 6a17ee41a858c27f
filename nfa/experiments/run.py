"""One training run: from settings to a record, through checkpoints from which it goes on bit for bit."""

import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from nfa.experiments import records, steps_spent
from nfa.experiments.alignment import Watched
from nfa.experiments.locks import locked
from nfa.experiments.prepare import Prepared, check, kernels_of, prepare
from nfa.experiments.privacy_statement import account, warranted
from nfa.experiments.rule_lookup import rule_digest
from nfa.experiments.settings import Settings
from nfa.kernels import cores
from nfa.network import Net, accuracy, forward
from nfa.sampling import REJECTION
from nfa.train import Diverged, load_checkpoint, save_checkpoint, train

__all__ = ["Settings", "check", "run"]

# progress(cell, step, steps, record): called now and then during a run, and once with its record when it is finished.
Progress = Callable[[str, int, int, dict[str, Any] | None], None]
PROGRESS_EVERY = 0.1  # seconds
LOCK_WAIT = 5.0  # seconds in which a process that lost its parent is sure to end
NOT_KEPT = "not kept: a hash of the training data would tell neighbours apart"
TRAIN_LOSS_EXAMPLES = 2000  # the training loss is that of the first so many training examples, the same in all epochs


def cell_name(settings: Settings) -> str:
    """The name of a run's files, where an experiment gives none: rule and seed."""
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
    checkpoint_every: float = 10.0,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Train as the settings say and return the record, which is also written to ``folder/CELL.json``.

    Parameters
    ----------
    settings : Settings
    folder : made if needed, once everything is checked
    experiment, cell, reading : names for the record; the cell defaults to rule and seed
    resume : return the record of a finished run, go on with an interrupted one; otherwise start afresh
    checkpoint_every : seconds between checkpoints ``folder/CELL.ckpt.npz``; 0 for one after every step
    progress : function (cell, step, steps, record or None), first called when all is checked and training begins

    Raises
    ------
    ValueError : for bad settings, or a folder that holds other runs; nothing has been written then
    OSError : if data cannot be read or results not written, or if another process is at work on the same run
    nfa.train.Diverged : if the run diverges; no record is written
    KeyboardInterrupt : on Ctrl-C, after a checkpoint; SIGTERM too is obeyed after one

    Notes
    -----
    Guarantee: interrupted at any step and resumed, a run gives the record of the uninterrupted one, timing aside. A
    secure run draws afresh from its last checkpoint on, and counts the steps that were lost: see
    `nfa.experiments.steps_spent`. Its record holds no seed, nor what would show the training examples: a digest, their
    loss.
    """
    cell = cell or cell_name(settings)
    with limited(settings.threads):
        parts = prepare(settings)
        digest = NOT_KEPT if settings.secure else parts.dataset.digest
        identity = identify(experiment, cell, reading, settings, digest)
        folder = records.guard(folder, experiment)
        if settings.secure and resume:
            _refuse_seeded(folder)
        record = standing(folder, identity) if resume else None
        if record is None:
            folder.mkdir(parents=True, exist_ok=True)
            with locked(folder / f"{cell}.lock", f"{cell} in the output folder {folder}", LOCK_WAIT):
                record = standing(folder, identity) if resume else None  # another process may just have finished it
                if record is None:
                    record = _trained(parts, settings, folder, identity, resume, checkpoint_every, progress)
        checkpoint = folder / f"{cell}.ckpt.npz"
        part = checkpoint.with_name(checkpoint.name + ".part")  # of a process that was killed
        for left in (steps_spent.path_of(checkpoint), checkpoint, part):
            with suppress(OSError):
                left.unlink()
    if progress:
        progress(cell, record["steps"], record["steps"], record)
    return record


def _refuse_seeded(folder: Path) -> None:
    """Raise ValueError where a secure run would go on beside the interrupted run of a seed."""
    for path in sorted(folder.glob("*.ckpt.npz")):
        if not records.checkpoint_meta(path)["settings"].get("secure"):
            raise ValueError(
                f"the output folder {folder} holds the interrupted run {path.name.removesuffix('.ckpt.npz')}, which has"
                " a seed: a secure run cannot go on from it, choose another folder"
            )


def _trained(parts, settings, folder, identity, resume, checkpoint_every, progress) -> dict[str, Any]:
    """The record of the run, trained from its checkpoint on if it goes on with one, and written."""
    checkpoint = folder / f"{identity['cell']}.ckpt.npz"
    steps = settings.epochs * parts.batches.steps_per_epoch
    start, meta = _resumed(checkpoint, parts, settings) if resume else (0, {})
    sittings = steps_spent.earlier(checkpoint) if settings.secure and resume else []
    history, seconds = _train(
        parts, settings, steps, start, meta, checkpoint, identity, checkpoint_every, progress, sittings
    )
    counted = _count(settings, sittings, start, steps)
    if settings.secure:
        steps_spent.note(checkpoint, counted)
    record = _record(identity, parts, settings, steps, history, seconds, counted)
    records.write(folder / f"{identity['cell']}.json", record)
    return record


def _count(settings: Settings, sittings: list[int], start: int, t: int) -> list[int]:
    """The steps to account for at step t: those done, or of a secure run those of every sitting."""
    return [*sittings, t - start] if settings.secure and t > start else sittings if settings.secure else [t]


@contextmanager
def limited(threads: int) -> Iterator[None]:
    """No more threads than that for the linear algebra library and for kernels; freed memory stays with the process."""
    cores.keep_memory()  # for good: the C library has no way back
    with threadpool_limits(threads):
        cores.limit(threads)
        try:
            yield
        finally:
            cores.limit()


def identify(experiment: str, cell: str, reading: str | None, settings: Settings, digest: str) -> dict[str, Any]:
    """What a record or a checkpoint must agree with to be of this run; digest is of the data."""
    own = rule_digest(settings.rule)
    return {
        "experiment": experiment,
        "cell": cell,
        "reading": reading,
        "settings": settings.to_json(),
        "digest": digest,
        **({} if own is None else {"rule_digest": own}),
    }


def standing(folder: Path, identity: dict[str, Any]) -> dict[str, Any] | None:
    """The record of the run in this folder, or None if it is not finished.

    Raises
    ------
    ValueError : if the folder holds a finished or an interrupted run of this name with other settings or data
    """
    path, checkpoint = folder / f"{identity['cell']}.json", folder / f"{identity['cell']}.ckpt.npz"
    if path.exists():
        record = records.read(path)
        records.same(record | {"digest": record["data"]["digest"]}, identity, folder, "a finished run")
        return record
    if checkpoint.exists():
        records.same(records.checkpoint_meta(checkpoint), identity, folder, "an interrupted run")
    return None


def _says(parts: Prepared, settings: Settings) -> dict[str, Any]:
    """What a checkpoint must say of the privacy of its steps for this run to go on from it."""
    return {"rule": settings.rule, **parts.privacy}


def _resumed(checkpoint: Path, parts: Prepared, settings: Settings) -> tuple[int, dict[str, Any]]:
    """Steps done by an interrupted run, whose state is put into the parts, and what it noted in its checkpoint."""
    if not checkpoint.exists():
        return 0, {}
    return load_checkpoint(checkpoint, parts.net, parts.optimizer, parts.state, _says(parts, settings))


def _train(parts, settings, steps, start, meta, checkpoint, identity, checkpoint_every, progress, sittings):
    """Train to the last step; return the history and the seconds spent, those of earlier sittings included.

    What an epoch's entry says of clips is of its last step: what the rule told its state, the share of the batch that
    each clip shortened, in the order of the clips.
    """
    history, seconds = meta.get("history", []), meta.get("seconds", 0.0)
    every = settings.align_every
    watched = None if every is None else Watched(parts.rule, every, start, meta.get("noted", []))
    began = saved = shown = time.monotonic()
    loop = train(
        parts.net,
        watched or parts.rule,
        parts.batches,
        parts.optimizer,
        parts.streams,
        start=start,
        mechanism=parts.mechanism,
    )
    if progress:
        progress(identity["cell"], start, steps, None)
    with _signals_noted() as signals:
        for t in islice(loop, steps - start):
            if t % parts.batches.steps_per_epoch == 0:
                history.append(measure(parts, t))
                if clipped := (parts.state or {}).get("clipped"):
                    history[-1]["clipped"] = clipped
                if settings.secure:
                    for name in ("train_loss", "objective", "train_accuracy", "clipped"):
                        history[-1].pop(name, None)
                if watched and (cosines := watched.means()):
                    history[-1]["alignment"] = cosines
            now = time.monotonic()
            if signals or (t < steps and now - saved >= checkpoint_every):
                counted = _count(settings, sittings, start, t)
                state = parts.state
                if settings.secure:
                    steps_spent.note(checkpoint, counted)
                    state = {name: kept for name, kept in (state or {}).items() if name != "clipped"}  # shows the batch
                said = account(parts.privacy, parts.mechanism, settings, counted, parts.batches.steps_per_epoch)
                meta = identity | {"history": history, "seconds": seconds + now - began, "spent": said}
                if watched:
                    meta["noted"] = watched.noted
                save_checkpoint(checkpoint, parts.net, parts.optimizer, t, state, meta, _says(parts, settings))
                saved = now
            if signals:
                break
            if progress and now - shown >= PROGRESS_EVERY:
                progress(identity["cell"], t, steps, None)
                shown = now
    if signals:
        signal.raise_signal(signals[0])  # to whoever handles it, now that all is saved
        raise KeyboardInterrupt
    return history, seconds + time.monotonic() - began


@contextmanager
def _signals_noted() -> Iterator[list[int]]:
    """Collect Ctrl-C and SIGTERM instead of obeying at once: in the middle of a step, W and b are of two steps."""
    seen: list[int] = []
    if threading.current_thread() is not threading.main_thread():  # signals go to the main thread
        yield seen
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    before = {number: handler for number, handler in before.items() if handler not in (None, signal.SIG_IGN)}
    for number in before:
        signal.signal(number, lambda number, frame: seen.append(number))
    try:
        yield seen
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def measure(parts: Prepared, t: int) -> dict[str, Any]:
    """One entry of the history, at the end of an epoch."""
    net, batches = parts.net, parts.batches
    with np.errstate(over="ignore", invalid="ignore"):
        loss = _mean_loss(net, batches.x[:TRAIN_LOSS_EXAMPLES], batches.y[:TRAIN_LOSS_EXAMPLES])
        entry = {"epoch": t // batches.steps_per_epoch, "step": t, "train_loss": loss}
        if (ridge := parts.rule.keywords.get("ridge")) is not None:  # a regularised objective over all examples
            theta2 = sum(float(np.vdot(p, p)) for p in (*net.W[1:], *net.b[1:]))
            entry["objective"] = _mean_loss(net, batches.x, batches.y) + ridge * theta2
            entry["train_accuracy"] = accuracy(net, batches.x, _labels(batches.y))
        if len(parts.x_val):
            entry["validation_accuracy"] = accuracy(net, parts.x_val, parts.y_val)
        entry["test_accuracy"] = accuracy(net, parts.x_test, parts.y_test)
    if not math.isfinite(loss):
        raise Diverged(t, net.L)
    return entry


def _labels(y: np.ndarray) -> np.ndarray:
    return y.argmax(axis=1) if y.shape[1] > 1 else y[:, 0]


def _mean_loss(net: Net, x: np.ndarray, y: np.ndarray) -> float:
    z, _ = forward(net, x)
    return float(net.loss.value(z[net.L], y).mean(dtype=np.float64))


def _record(identity, parts, settings, steps, history, seconds, counted) -> dict[str, Any]:
    dataset, kernels = parts.dataset, kernels_of(parts.rule)
    privacy = account(parts.privacy, parts.mechanism, settings, counted, parts.batches.steps_per_epoch)
    rejection = {"rejection": parts.batches.statistics(steps)} if settings.sampling == REJECTION else {}
    return {
        "format": records.FORMAT,
        **{name: identity[name] for name in ("experiment", "cell", "reading", "rule_digest") if name in identity},
        "seed": None if settings.secure else settings.seed,
        "settings": identity["settings"],
        "private": warranted(privacy, settings),
        "privacy": privacy,
        "data": {
            "name": dataset.name,
            "digest": identity["digest"],
            "source": dataset.source,
            "note": dataset.note,
            "train": parts.batches.n,
            "validation": len(parts.x_val),
            "test": len(parts.x_test),
        },
        **rejection,
        "n_parameters": parts.net.n_parameters,
        "steps": steps,
        "history": history,
        "test_accuracy": history[-1]["test_accuracy"],
        "kernels": kernels,
        "versions": records.versions() | ({"numba": version("numba")} if kernels else {}),
        "timing": {"seconds": round(seconds, 3), "seconds_per_step": round(seconds / steps, 6)},
    }
