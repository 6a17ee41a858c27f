"""What a secure run has spent, sitting by sitting: noted before anything that was computed is written.

No key outlives its process, so a run that goes on draws new batches and new noise from its last checkpoint on. Steps
after that checkpoint were spent all the same if anything of them was written, and are done once more: both are counted.
"""

import json
import os
from pathlib import Path
from typing import Any

from nfa.experiments import records


def path_of(checkpoint: Path) -> Path:
    """Where the steps are noted, beside ``CELL.ckpt.npz``."""
    return checkpoint.with_name(checkpoint.name.removesuffix(".ckpt.npz") + ".spent.txt")


def note(checkpoint: Path, sittings: list[int]) -> None:
    """Write how many steps each sitting has spent, whole or not at all. Raises OSError if it cannot be written."""
    records.write_text(path_of(checkpoint), json.dumps(sittings) + "\n")


def earlier(checkpoint: Path) -> list[int]:
    """The steps of each earlier sitting; none where nothing was written.

    Raises
    ------
    ValueError : if there is a checkpoint without its note, or the note is damaged
    OSError : if it cannot be read
    """
    path = path_of(checkpoint)
    if not os.path.exists(path):
        if checkpoint.exists():
            raise ValueError(
                f"{checkpoint.name} has lost {path.name}, which tells what its steps spent: delete it to start afresh"
            )
        return []
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, list) or not all(type(count) is int and count >= 1 for count in found):
        raise ValueError(f"{path.name} does not tell what was spent: delete it and {checkpoint.name} to start afresh")
    return found
