"""Files and folders that are written whole or not at all. Errors name the file that could not be written."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def write_whole(path: str | os.PathLike, content: bytes) -> None:
    """Write a file so that any reader, even after a crash, sees the old file or the new file, but no part of a file.

    Parameters
    ----------
    path : file to write, replaced atomically. Until then, ``path.part`` is next to it
    content : the whole content

    Raises
    ------
    OSError : if it cannot be written, with the name of the file. An existing file is then left unchanged
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
        if problem.errno is None or problem.strerror is None:
            raise
        raise OSError(problem.errno, problem.strerror, os.fspath(path)) from problem
    finally:
        with suppress(OSError):  # nothing there, or a folder that cannot be written, which is reported already
            part.unlink()


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A folder to fill. Its content is moved to its place only if the body ends without an error.

    Parameters
    ----------
    path : the place. A new folder appears at once, and an existing folder gets the new entries one by one

    Yields
    ------
    Path : an empty folder on the same disk

    Raises
    ------
    OSError : if it cannot be written, with the final name of the file. No part is left
    """
    there, parents = path.is_dir(), [parent for parent in path.parents if not parent.exists()]
    part = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=".part-", dir=path if there else path.parent))
        inside = part / "content"
        inside.mkdir()
        yield inside
        if there:
            for entry in sorted(inside.iterdir()):
                os.replace(entry, path / entry.name)
        else:
            os.replace(inside, path)
    except OSError as problem:
        if problem.errno is None or problem.strerror is None:
            raise
        named = path
        if part and problem.filename and Path(problem.filename).is_relative_to(part / "content"):
            named = path / Path(problem.filename).relative_to(part / "content")
        raise OSError(problem.errno, problem.strerror, os.fspath(named)) from problem
    finally:
        if part:
            shutil.rmtree(part, ignore_errors=True)
        for parent in parents:  # new folders that are still empty, the innermost first
            with suppress(OSError):
                parent.rmdir()
