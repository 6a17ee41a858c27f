"""What a secure run has spent, session by session: noted before anything that was computed is written.

No key outlives its process, so a run that goes on draws new batches and new noise from its last checkpoint on. Steps
after that checkpoint were spent all the same if anything of them was written, and are done once more: both are counted.
"""

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from nfa.experiments import records

Spent = tuple[int, int]  # of one session: its first step, which is at least 1, and how many steps it took, at least 1


def path_of(checkpoint: Path) -> Path:
    """Where the steps are noted, beside ``CELL.ckpt.npz``."""
    return checkpoint.with_name(checkpoint.name.removesuffix(".ckpt.npz") + ".spent.txt")


def note(checkpoint: Path, sessions: Sequence[Spent]) -> None:
    """Write what each session has spent, whole or not at all. Raises OSError if it cannot be written."""
    records.write_text(path_of(checkpoint), json.dumps(sessions) + "\n")


def recorded(privacy: dict[str, Any]) -> list[Spent]:
    """The steps of each session that a record or a checkpoint tells of; `sittings` is the name of earlier versions."""
    return [(first, steps) for first, steps in privacy.get("sessions", privacy.get("sittings", []))]


def earlier(checkpoint: Path, saved: Sequence[Spent] | None) -> list[Spent]:
    """What each earlier session has spent; nothing where nothing was written.

    Parameters
    ----------
    checkpoint : its path, whether it is there or not
    saved : what it says itself of the sessions whose weights it holds; None where there is none

    Raises
    ------
    ValueError : if there is a checkpoint without its note, or the note is damaged, does not tell where each session
        began, or tells less than the checkpoint
    OSError : if it cannot be read
    """
    path = path_of(checkpoint)
    if not os.path.exists(path):
        if saved is not None:
            raise ValueError(
                f"{checkpoint.name} has lost {path.name}, which tells what its steps spent: delete it to start afresh"
            )
        return []
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        found = None
    afresh = f"delete it and {checkpoint.name} to start afresh"
    if not isinstance(found, list) or not found:
        raise ValueError(f"{path.name} does not tell what was spent: {afresh}")
    if any(type(session) is int for session in found):
        raise ValueError(f"{path.name} tells how many steps each session took, but not where it began: {afresh}")
    if not all(isinstance(session, list) and _is_spent(*session) for session in found):
        raise ValueError(f"{path.name} does not tell what was spent: {afresh}")
    sessions = [(first, steps) for first, steps in found]
    if saved is not None and not _covers(sessions, list(saved)):
        raise ValueError(f"{path.name} tells less than {checkpoint.name} has spent: {afresh}")
    return sessions


def _is_spent(*session: Any) -> bool:
    return len(session) == 2 and all(type(number) is int and number >= 1 for number in session)


def _covers(noted: list[Spent], saved: list[Spent]) -> bool:
    """Whether a note goes on from what was saved: the same sessions, the last of them as long or longer, or more."""
    if not 1 <= len(saved) <= len(noted):
        return False
    (first, steps), (noted_first, noted_steps) = saved[-1], noted[len(saved) - 1]
    return saved[:-1] == noted[: len(saved) - 1] and first == noted_first and steps <= noted_steps


def in_fresh_epochs(sessions: Iterable[Spent], steps_per_epoch: int) -> list[int]:
    """The steps of all sessions, cut so that each part begins a fresh epoch of its own.

    A session shuffles anew where it begins, be it in the middle of an epoch: what is left of that epoch can use a
    record that an earlier session has used in it, and so can every epoch after it. With one part up to the end of that
    epoch and another from there on, the epochs begun in all parts are the most uses that any record can have had.

    Source: [ours:fresh-epochs]

    Proof. Within a part every step of an epoch is of one shuffle, which has a record at most once: at most one use for
    each epoch that the part begins. Shuffles of different parts and epochs are independent and uniform, so that one
    record can come in every one of them, among the steps that were taken.

    Parameters
    ----------
    sessions : of a run whose batches are those of shuffled epochs, step t in epoch (t - 1) // steps_per_epoch
    steps_per_epoch : int >= 1

    Returns
    -------
    parts : ints >= 1

    Examples
    --------
    Epochs of four steps: steps 1 to 5, 6 to 9 and 10 to 12 begin two epochs, two and one.

    >>> in_fresh_epochs([(1, 5), (6, 4), (10, 3)], 4)
    [5, 3, 1, 3]
    """
    parts = []
    for first, steps in sessions:
        begun = min(steps, (1 - first) % steps_per_epoch)  # the steps left of the epoch in which the session begins
        parts += [part for part in (begun, steps - begun) if part]
    return parts
