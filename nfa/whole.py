"""Files and folders that are written whole or not at all. Errors name the file that could not be written."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def write_whole(path: str | os.PathLike, content: bytes) -> None:
    """Write a file so that any reader, even after a crash, sees either the old file or the whole new file.

    Parameters
    ----------
    path : file to write, replaced atomically. The content is first written to ``path.part``
    content : the whole content

    Raises
    ------
    OSError : if the file cannot be written. The error names the file, and an existing file is unchanged
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
        with suppress(OSError):  # no file, or the folder cannot be written, as the first error reports
            part.unlink()


@contextmanager
def whole_folder(path: Path) -> Iterator[Path]:
    """A folder to fill. Its content is moved to ``path`` only if the body of the ``with`` statement raises no error.

    Parameters
    ----------
    path : the final folder. A new folder appears with its whole content. An existing folder gets the new entries one by
        one

    Yields
    ------
    Path : an empty folder on the same disk

    Raises
    ------
    OSError : if a file cannot be written, with the file's final name. The temporary folder is deleted
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
        for parent in parents:  # remove new folders that are still empty, the innermost first
            with suppress(OSError):
                parent.rmdir()
