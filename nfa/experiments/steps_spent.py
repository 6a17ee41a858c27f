"""What a secure run has spent, session by session: noted before anything that was computed is written.

No key outlives its process, so a run that goes on draws new batches and new noise from its last checkpoint on. Steps
after that checkpoint were spent all the same if anything of them was written, and are done once more: both are counted.
"""

import json
import os
from collections.abc import Sequence
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
