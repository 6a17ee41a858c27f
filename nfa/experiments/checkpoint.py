"""Checkpoints, from which a run goes on as if it had never stopped; sessions, which write them; signals, which wait."""

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

# All that a secure run records of an epoch. The accuracy is that on public examples of weights that are released.
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
    """Write all that a run needs to go on from step t: W, b, the optimizer's state, the rule's state, t and meta.

    Parameters
    ----------
    path : file to write, replaced atomically: a reader sees the old file or the new one, never part of one
    state : the rule's state dict, if it keeps one: arrays and JSON values by name
    meta : any JSON value of the caller's (settings, history)
    privacy : JSON value, what is said of the privacy of every step up to t: whoever goes on must say the same
    sealed : whether all of it gets a code under the user's key, see `nfa.data.keyed_digest`
    average : the sums of the weights of the last steps, for a run that averages these

    Raises
    ------
    OSError : if the file cannot be written; an existing one is left as it is
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
    """A SHA-256 of arrays with their names."""
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
    """Put a saved run back into net, optimizer, the rule's state and the average, and return (t, meta).

    Parameters
    ----------
    path : file written by `save_checkpoint`
    net, optimizer : of the same shapes, dtype and kind as those saved; changed only if everything fits
    state : the rule's state dict, filled in place
    privacy : what this run says of the privacy of its steps
    sealed : whether the file must be as the user's key has sealed it
    average : the sums of the weights of the last steps, filled in place; None for a run that averages none

    Raises
    ------
    ValueError : if the file is not a whole checkpoint, is one of another network or optimizer, was not sealed, or does
        not say of the privacy of its steps what this run says
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
            f"the entry for the privacy of the steps is missing in {name}, so no run can continue from this checkpoint:"
            f" delete {name} to start afresh"
        )
    if header["privacy"] != json.loads(json.dumps(privacy)):
        raise ValueError(
            f"the steps in {name} have the privacy {json.dumps(header['privacy'])}, but this run has"
            f" {json.dumps(privacy)}. For a run that continues from this checkpoint, nfa would compute a wrong epsilon"
        )
    if kind != type(optimizer).__name__:
        raise ValueError(f"{name} was saved with the optimizer {kind}, not {type(optimizer).__name__}")
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
            raise ValueError(f"{name} is not a whole checkpoint: the optimizer's {key} does not fit the network")
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
    """One process at work on a run: from its first step, or an earlier session's checkpoint, to its last or a signal.

    Parameters
    ----------
    parts : of the run; net, optimizer and state move on with its steps
    identity : of the run, as `nfa.experiments.records.identify` gives it
    checkpoint : file to go on from, and to write; None for a run in memory, which has no other session
    start : int >= 0, steps done by earlier sessions
    spent_before : what each earlier session of a secure run has spent, see `nfa.experiments.steps_spent`
    history : an entry for each epoch that is over
    seconds_before : float >= 0, seconds that earlier sessions of a seeded run took; a secure run records no time
    began : by `time.monotonic`
    costs : what a step of it costs, memory and processor time, where that was looked at
    watched : the rule where it is compared with the gradient; None elsewhere
    average : of the weights after the last steps; None where the settings ask for none
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
        """Take over where an earlier session stopped, if there was one: its state goes into the parts.

        Raises
        ------
        ValueError : if its files are damaged, or do not say of its steps what this run says
        OSError : if they cannot be read
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
        """What a checkpoint must say of the privacy of its steps for this run to go on from it."""
        return {"rule": self.identity["settings"]["rule"], **self.parts.privacy.known}

    @property
    def net(self) -> Net:
        """The network that is evaluated and kept: of averaged weights, once a step counts that the settings average."""
        return self.parts.net if self.average is None else self.average.network(self.parts.net)

    @property
    def seconds(self) -> float:
        """Spent on the run until now, earlier sessions included."""
        return self.seconds_before + time.monotonic() - self.began

    def counted(self, t: int) -> list[Spent]:
        """The steps to account for at step t: those done, or of a secure run those of every session."""
        if not self.parts.privacy.secure:
            return [(1, t)]
        return [*self.spent_before, (self.start + 1, t - self.start)] if t > self.start else self.spent_before

    def end_epoch(self, entry: dict[str, Any]) -> None:
        """Add an epoch to the history: what was measured, and the share of its last batch that each clip scaled down.

        The shares are what the rule wrote in its state, in the order of its clips. A secure run records
        `OF_A_SECURE_EPOCH` alone.
        """
        if clipped := (self.parts.state or {}).get("clipped"):
            entry["clipped"] = clipped
        if self.parts.privacy.secure:
            entry = {name: entry[name] for name in OF_A_SECURE_EPOCH if name in entry}
        if self.watched and (cosines := self.watched.means()):
            entry["alignment"] = cosines
        self.history.append(entry)

    def account(self, t: int) -> dict[str, Any]:
        """The privacy part of the record that is about to be written at step t; see `_with_sessions`."""
        return self._with_sessions(t, self.parts.privacy.account)

    def _with_sessions(self, t: int, account: Callable[[list[Spent]], dict[str, Any]]) -> dict[str, Any]:
        """What is said of the steps up to t; of a secure run they are noted first, and its sessions are told."""
        self.note_spent(t)
        counted = self.counted(t)
        said = account(counted)
        if not self.parts.privacy.secure:
            return said
        return said | {"sessions": [list(session) for session in counted]}

    def note_spent(self, t: int) -> None:
        """Of a secure run, note its steps up to t as spent. Raises OSError if that cannot be written."""
        if self.parts.privacy.secure and self.checkpoint is not None:
            steps_spent.note(self.checkpoint, self.counted(t), self.identity)

    def save(self, t: int) -> None:
        """Write a checkpoint after step t, of a run in memory none. Raises OSError if it cannot be written."""
        if self.checkpoint is None:
            return
        parts, secure = self.parts, self.parts.privacy.secure
        said = self._with_sessions(t, parts.privacy.by_renyi().counted)  # which takes no time
        meta = self.identity | {"history": self.history, "spent": said}
        if not secure:  # the time tells how many examples were drawn
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
