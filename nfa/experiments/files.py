"""Files that are written whole or not at all."""

import os
from contextlib import suppress
from pathlib import Path


def write_whole(path: str | os.PathLike, content: bytes) -> None:
    """Write a file so that a reader, and whoever comes after a crash, sees the old one or the new one, never a part.

    Parameters
    ----------
    path : file to write, replaced atomically; until then ``path.part`` stands beside it
    content : all of it

    Raises
    ------
    OSError : if it cannot be written, with the name of the file; an existing one is left as it is
    """
    path = Path(path)
    part = path.with_name(path.name + ".part")
    try:
        with open(part, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError as problem:
        if problem.filename is None and problem.strerror is not None:  # a full disk does not say for which file
            raise OSError(problem.errno, problem.strerror, os.fspath(path)) from problem
        raise
    finally:
        with suppress(OSError):  # nothing there, or a folder that cannot be written, which is told already
            part.unlink()
