"""Checkpoints from which a run continues, and the sessions of a run, which write the checkpoints."""

import hashlib
import io
import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from nfa.data import keyed_digest
from nfa.data.npz import first_line, unpack
from nfa.experiments import steps_spent
from nfa.experiments.alignment import Watched
from nfa.experiments.averaging import TailAverage, first_averaged
from nfa.experiments.prepare import Prepared
from nfa.experiments.records import COUNT_BESIDE, UNSEALED
from nfa.experiments.steps_spent import Spent
from nfa.network import Net
from nfa.whole import write_whole

# A secure run records only these entries of an epoch. We measure the accuracy of released weights on public examples.
OF_A_SECURE_EPOCH = ("epoch", "step", "test_accuracy")


def save_checkpoint(
    path: str | os.PathLike,
    net: Net,
    optimizer,
    t: int,
    state: dict[str, Any] | None = None,
    meta: Any = None,
    privacy: Any = None,
    sealed: bool = False,
    average: TailAverage | None = None,
) -> None:
    """Write the data that a run needs to continue: W, b, the states of optimizer and rule, the step t and meta.

    Parameters
    ----------
    path : file to write. It is replaced atomically, so a reader sees the old file or the whole new file
    state : the rule's state dict, with arrays and JSON values by name; None if the rule keeps no state
    meta : any JSON value of the caller (settings, history)
    privacy : JSON value, the statement about the privacy of every step up to t. A run that continues from this file
        must have an equal statement
    sealed : whether the file gets a seal: a code that is computed from the whole content with the user's key, see
        `nfa.data.keyed_digest`
    average : sums of the weights of the last steps, for a run that averages the weights

    Raises
    ------
    OSError : if the file cannot be written. An existing file is then left unchanged
    """
    arrays = {f"W{l}": net.W[l] for l in range(1, net.L + 1)} | {f"b{l}": net.b[l] for l in range(1, net.L + 1)}
    for name, memory in optimizer.state.items():
        arrays |= {f"optimizer/{name}/{i}": a for i, a in enumerate(memory)}
    if average is not None:
        arrays |= {f"average/{i}": a for i, a in enumerate(average.sums)}
    kept = dict(state or {})
    arrays |= {f"state/{name}": kept.pop(name) for name in list(kept) if isinstance(kept[name], np.ndarray)}
    header = {"t": t, "optimizer": type(optimizer).__name__, "state": kept, "meta": meta, "privacy": privacy}
    arrays = {"header": np.frombuffer(json.dumps(header).encode(), np.uint8)} | arrays
    if sealed:
        arrays["seal"] = np.frombuffer(keyed_digest.seal(_digest_of(arrays)).encode(), np.uint8)
    content = io.BytesIO()
    np.savez(content, **arrays)
    write_whole(path, content.getvalue())


def _digest_of(arrays: dict[str, np.ndarray]) -> str:
    """A SHA-256 of arrays and their names."""
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def load_checkpoint(
    path: str | os.PathLike,
    net: Net,
    optimizer,
    state: dict[str, Any] | None = None,
    privacy: Any = None,
    sealed: bool = False,
    average: TailAverage | None = None,
) -> tuple[int, Any]:
    """Load a saved run into net, optimizer, the rule's state and the average, and return (t, meta).

    Parameters
    ----------
    path : file written by `save_checkpoint`
    net, optimizer : network and optimizer of this run. They must have the shapes, dtype and kind of the saved network
        and optimizer. They are changed only if the whole file fits
    state : the rule's state dict, which gets the saved entries
    privacy : JSON value, this run's statement about the privacy of its steps
    sealed : whether the file must have a valid seal from the user's key
    average : sums of the weights of the last steps, filled in place; None for a run that does not average

    Raises
    ------
    ValueError : if the file is not a whole checkpoint, belongs to another network or optimizer, has no valid seal, or
        has a statement about privacy that differs from this run's
    OSError : if the file cannot be read
    """
    name = os.fspath(path)
    content = Path(path).read_bytes()
    try:
        arrays = unpack(io.BytesIO(content), len(content))
        seal = arrays.pop("seal").tobytes().decode() if sealed and "seal" in arrays else None
        digest = _digest_of(arrays) if sealed else ""
        header = json.loads(arrays.pop("header").tobytes())
        t, kind, kept, meta = header["t"], header["optimizer"], header["state"], header["meta"]
        if not (type(t) is int and t >= 0 and isinstance(kept, dict)):
            raise ValueError("the step or the state of the rule is not valid")
    except Exception as damage:
        again = "delete this file to start the run afresh"
        raise ValueError(f"{name} is not a whole checkpoint ({first_line(damage)}): {again}") from damage
    if sealed and not keyed_digest.sealed(seal, digest):
        raise ValueError(f"{name} {UNSEALED}. To start afresh, delete {name}. {COUNT_BESIDE}")
    if "privacy" not in header:
        raise ValueError(
            f"{name} does not record the privacy of its steps, so no run can continue from this checkpoint:"
            f" delete {name} to start afresh"
        )
    if header["privacy"] != json.loads(json.dumps(privacy)):
        raise ValueError(
            f"a run that continues from {name} must have the privacy of the steps in this checkpoint. These steps have"
            f" the privacy {json.dumps(header['privacy'])}, but this run has {json.dumps(privacy)}: choose another"
            " folder"
        )
    if kind != type(optimizer).__name__:
        raise ValueError(f"{name} was saved with the optimizer {kind}, but this run uses {type(optimizer).__name__}")
    parameters = {f"{p}{l}": getattr(net, p)[l] for l in range(1, net.L + 1) for p in "Wb"}
    for key, value in parameters.items():
        found = arrays.pop(key, None)
        if found is None or found.shape != value.shape or found.dtype != value.dtype:
            raise ValueError(
                f"{name} was saved from another network: the array {key} must be {value.dtype} {value.shape}"
            )
        parameters[key] = found
    memory: dict[str, list[np.ndarray]] = {}
    remembered: dict[str, np.ndarray] = {}
    sums: list[np.ndarray] = []
    for key, array in arrays.items():
        place, _, rest = key.partition("/")
        if place == "optimizer":
            memory.setdefault(rest.rpartition("/")[0], []).append(array)
        elif place == "state":
            remembered[rest] = array
        elif place == "average" and average is not None:
            sums.append(array)
        else:
            raise ValueError(f"{name} was saved from another network: the network of this run has no {key}")
    fitting = [(p.shape, p.dtype) for p in parameters.values()]
    for key, kept_arrays in memory.items():
        if [(a.shape, a.dtype) for a in kept_arrays] != fitting:
            raise ValueError(
                f"{name} is not a whole checkpoint: the optimizer's {key} must have the shapes and types of the"
                " network's arrays"
            )
    if average is not None:
        try:
            average.restore(sums, t)
        except ValueError as wrong:
            raise ValueError(f"{name} is not a whole checkpoint: {wrong}") from None
    for l in range(1, net.L + 1):
        net.W[l], net.b[l] = parameters[f"W{l}"], parameters[f"b{l}"]
    optimizer.state = memory
    if state is not None:
        state.clear()
        state.update(kept, **remembered)
    return t, meta


@dataclass(kw_only=True)
class Session:
    """The work of one process on a run.

    A session begins at step 1 or at a checkpoint, and ends at the last step or at a signal.

    Parameters
    ----------
    parts : the `Prepared` parts of the run. The steps change net, optimizer and state
    identity : identity of the run, from `nfa.experiments.records.identify`
    checkpoint : file to continue from, and to write; None for a run in memory, which has only one session
    start : int >= 0, number of steps that earlier sessions have done
    spent_before : steps that each earlier session of a secure run has spent, see `nfa.experiments.steps_spent`
    history : one entry for each finished epoch
    seconds_before : float >= 0, seconds of earlier sessions of a seeded run; a secure run records no time
    began : time of the start, by `time.monotonic`
    costs : memory and processor time of a step, if they were measured
    watched : the rule, if its direction is compared with the gradient; otherwise None
    average : average of the weights after the last steps; None if the settings ask for no average
    """

    parts: Prepared
    identity: dict[str, Any]
    checkpoint: Path | None
    start: int = 0
    spent_before: list[Spent] = field(default_factory=list)
    history: list[dict[str, Any]] = field(default_factory=list)
    seconds_before: float = 0.0
    costs: dict[str, Any] = field(default_factory=dict)
    began: float = field(init=False)
    watched: Watched | None = field(init=False)
    average: TailAverage | None = field(init=False)

    def __post_init__(self) -> None:
        self.began = time.monotonic()
        every = self.parts.align_every
        self.watched = None if every is None else Watched(self.parts.rule, every)
        share, net = self.parts.settings.average, self.parts.net
        self.average = None if share is None else TailAverage(net, first_averaged(share, self.parts.steps))

    def go_on(self) -> None:
        """Load the state of an earlier session into the parts, if there was an earlier session.

        Raises
        ------
        ValueError : if the files of the earlier session are damaged, or have a statement about privacy that differs
            from this run's
        OSError : if these files cannot be read
        """
        parts, saved, secure = self.parts, None, self.parts.privacy.secure
        if self.checkpoint is None:
            return
        if self.checkpoint.exists():
            self.start, meta = load_checkpoint(
                self.checkpoint,
                parts.net,
                parts.optimizer,
                parts.state,
                self._said_of_steps(),
                sealed=secure,
                average=self.average,
            )
            self.history, self.seconds_before = meta.get("history", []), meta.get("seconds", 0.0)
            if secure:
                saved = steps_spent.recorded(meta["spent"])
                steps_spent.check(saved, self.start)
            if self.watched:
                self.watched.t, self.watched.noted = self.start, meta.get("noted", [])
        if secure:
            self.spent_before = steps_spent.earlier(self.checkpoint, saved, self.identity)

    def _said_of_steps(self) -> dict[str, Any]:
        """The statement about privacy that a checkpoint must have so that this run can continue from it."""
        return {"rule": self.identity["settings"]["rule"], **self.parts.privacy.known}

    @property
    def net(self) -> Net:
        """The network that is evaluated and saved.

        If the run averages weights, this network has the averaged weights from the first averaged step on.
        """
        return self.parts.net if self.average is None else self.average.network(self.parts.net)

    @property
    def seconds(self) -> float:
        """Seconds spent on the run so far, including earlier sessions."""
        return self.seconds_before + time.monotonic() - self.began

    def counted(self, t: int) -> list[Spent]:
        """The steps that epsilon covers at step t: the steps done or, in a secure run, the steps of every session."""
        if not self.parts.privacy.secure:
            return [(1, t)]
        return [*self.spent_before, (self.start + 1, t - self.start)] if t > self.start else self.spent_before

    def end_epoch(self, entry: dict[str, Any]) -> None:
        """Add an epoch to the history, with the share of its last batch that each clip scaled down.

        The rule has written these shares in its state, in the order of its clips. A secure run records only
        `OF_A_SECURE_EPOCH`.
        """
        if clipped := (self.parts.state or {}).get("clipped"):
            entry["clipped"] = clipped
        if self.parts.privacy.secure:
            entry = {name: entry[name] for name in OF_A_SECURE_EPOCH if name in entry}
        if self.watched and (cosines := self.watched.means()):
            entry["alignment"] = cosines
        self.history.append(entry)

    def account(self, t: int) -> dict[str, Any]:
        """The privacy part of the record at step t, see `_with_sessions`."""
        return self._with_sessions(t, self.parts.privacy.account)

    def _with_sessions(self, t: int, account: Callable[[list[Spent]], dict[str, Any]]) -> dict[str, Any]:
        """The privacy part for the steps up to t.

        A secure run first writes the note that these steps are spent. Its privacy part also lists the sessions.
        """
        self.note_spent(t)
        counted = self.counted(t)
        said = account(counted)
        if not self.parts.privacy.secure:
            return said
        return said | {"sessions": [list(session) for session in counted]}

    def note_spent(self, t: int) -> None:
        """In a secure run, write the note of the steps spent up to t. Raise OSError if the note cannot be written."""
        if self.parts.privacy.secure and self.checkpoint is not None:
            steps_spent.note(self.checkpoint, self.counted(t), self.identity)

    def save(self, t: int) -> None:
        """Write a checkpoint after step t, except for a run in memory. Raise OSError if the file cannot be written."""
        if self.checkpoint is None:
            return
        parts, secure = self.parts, self.parts.privacy.secure
        # Here we compute epsilon from Renyi divergences, because this computation takes almost no time.
        said = self._with_sessions(t, parts.privacy.by_renyi().counted)
        meta = self.identity | {"history": self.history, "spent": said}
        if not secure:  # in a secure run, the time would reveal the number of drawn examples
            meta["seconds"] = self.seconds
        if self.watched:
            meta["noted"] = self.watched.noted
        state = parts.state
        if state and secure:
            state = {name: value for name, value in state.items() if name != "clipped"}
        said_of_steps = self._said_of_steps()
        save_checkpoint(
            self.checkpoint, parts.net, parts.optimizer, t, state, meta, said_of_steps, secure, self.average
        )


@contextmanager
def signals_noted() -> Iterator[list[int]]:
    """Collect the signals Ctrl-C and SIGTERM in a list, so that the caller can end after a complete step.

    A process that ended in the middle of a step could save some new and some old weights.
    """
    seen: list[int] = []
    if threading.current_thread() is not threading.main_thread():  # only the main thread gets signals
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
