"""The steps that each session of a secure run has spent. A session notes these steps before it writes a result.

Each process has its own key, so a continued run draws new batches and new noise after its last checkpoint. If a result
of the steps after this checkpoint was written, these steps are spent, although the run repeats them. So epsilon
includes the lost steps and the repeated steps.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from nfa.data import keyed_digest
from nfa.experiments import records

Spent = tuple[int, int]  # the first step of a session and its number of steps, each at least 1


def path_of(checkpoint: Path) -> Path:
    """The path of the note of spent steps, which is next to ``CELL.ckpt.npz``."""
    return checkpoint.with_name(checkpoint.name.removesuffix(".ckpt.npz") + ".spent.txt")


def note(checkpoint: Path, sessions: Sequence[Spent], identity: dict[str, Any]) -> None:
    """Write the note: the spent steps of each session, with a seal. The file is written whole or not at all.

    Parameters
    ----------
    checkpoint : path of the checkpoint
    sessions : spent steps of each session of the run
    identity : identity of the run, as from `nfa.experiments.records.identify`

    Raises
    ------
    OSError : if the note cannot be written, or if the user's key cannot be read
    ValueError : if the user's key is damaged
    """
    seal = keyed_digest.seal(_content(sessions, identity))
    records.write_text(path_of(checkpoint), json.dumps({"sessions": sessions, "seal": seal}) + "\n")


def _content(sessions: Sequence[Spent], identity: dict[str, Any]) -> str:
    """The content that the seal covers: sessions and run, without the data's digest, which has a new salt each time."""
    run = {name: value for name, value in identity.items() if name != "digest"}
    return json.dumps([[list(session) for session in sessions], run], sort_keys=True)


def recorded(privacy: dict[str, Any]) -> list[Spent]:
    """The steps of each session in a record or a checkpoint. Raises ValueError if there is no list of sessions."""
    found = privacy.get("sessions")
    if not isinstance(found, list) or not all(isinstance(session, list) and _is_spent(*session) for session in found):
        raise ValueError("the record must have a list of sessions")
    return [(first, steps) for first, steps in found]


def check(sessions: Sequence[Spent], steps: int) -> None:
    """Raise ValueError unless a run with this number of steps can have these sessions.

    The first session begins at step 1. Each later session begins at a step of the previous session, at the step after
    the previous session's last step, or again at step 1. The last session ends at the last step of the run. So the
    sessions cover all steps of the run without a gap, and no session has other steps.

    Examples
    --------
    >>> check([(1, 7), (6, 7)], 12)
    >>> check([(1, 7), (6, 2), (1, 12)], 12)
    >>> check([(1, 5), (7, 6)], 12)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: the sessions are not those of a run of 12 steps: a session begins at step 7, ... ends at step 5
    """
    before = f"the sessions are not those of a run of {steps} steps: "
    began, last = 1, 0
    for first, many in sessions:
        if first > last + 1:
            raise ValueError(f"{before}a session begins at step {first}, but the previous session ends at step {last}")
        if 1 < first < began:
            raise ValueError(
                f"{before}a session begins at step {first}, but continues a session that begins at the later step"
                f" {began}"
            )
        began, last = first, first + many - 1
        if last > steps:
            raise ValueError(f"{before}a session ends at step {last}")
    if last != steps:
        raise ValueError(f"{before}the sessions end at step {last}")


def earlier(checkpoint: Path, saved: Sequence[Spent] | None, identity: dict[str, Any]) -> list[Spent]:
    """Return the steps that each earlier session has spent; an empty list if there is neither a checkpoint nor a note.

    Parameters
    ----------
    checkpoint : path of the checkpoint, which need not exist
    saved : the sessions that the checkpoint reports; None if there is no checkpoint
    identity : identity of the run, as for `note`

    Raises
    ------
    ValueError : if there is a checkpoint without its note, or if the note is damaged, belongs to another run, has no
        valid seal from this user's key, or contains fewer steps than the checkpoint
    OSError : if a file cannot be read
    """
    path = path_of(checkpoint)
    if not os.path.exists(path):
        if saved is not None:
            raise ValueError(
                f"{path.name} is missing. This file records the privacy that the steps of {checkpoint.name} spent. To"
                f" start afresh, delete {checkpoint.name}. {records.COUNT_BESIDE}"
            )
        return []
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        found = None
    afresh = f"To start afresh, delete {path.name} and {checkpoint.name}. {records.COUNT_BESIDE}"
    try:
        sessions = recorded(found if isinstance(found, dict) else {})
    except ValueError:
        raise ValueError(f"{path.name} does not record the steps that were taken. {afresh}") from None
    if not keyed_digest.sealed(found.get("seal"), _content(sessions, identity)):
        raise ValueError(f"{path.name} {records.UNSEALED}. {afresh}")
    if saved is not None and not _covers(sessions, list(saved)):
        raise ValueError(f"{path.name} records fewer steps than {checkpoint.name} has taken. {afresh}")
    return sessions


def _is_spent(*session: Any) -> bool:
    return len(session) == 2 and all(type(number) is int and number >= 1 for number in session)


def _covers(noted: list[Spent], saved: list[Spent]) -> bool:
    """Whether a note has all sessions of a checkpoint. The last of these sessions may have more steps in the note."""
    if not 1 <= len(saved) <= len(noted):
        return False
    (first, steps), (noted_first, noted_steps) = saved[-1], noted[len(saved) - 1]
    return saved[:-1] == noted[: len(saved) - 1] and first == noted_first and steps <= noted_steps
