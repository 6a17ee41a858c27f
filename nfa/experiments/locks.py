"""A lock that prevents two processes from working on the same run or in the same folder at the same time."""

import errno
import os
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl

ASK_EVERY = 0.05  # seconds between two attempts to get the lock
STALE = 1.0  # seconds after which a network file system certainly reports that another machine has removed the file


@contextmanager
def locked(path: Path, what: str, wait: float = 0.0) -> Iterator[None]:
    """Hold the lock ``path`` while the body of the ``with`` statement runs.

    Parameters
    ----------
    path : path of the lock file, in a folder that exists. The file is removed afterwards
    what : words for the error message, such as "bp-seed1 in the output folder runs/table1"
    wait : seconds to wait while another process holds the lock

    Raises
    ------
    OSError : if another process holds the lock, or if the file cannot be written

    Notes
    -----
    Guarantee: at most one process at a time holds the lock of a path. The lock is an flock of the operating system. The
    system frees the lock when its owner ends for any reason, so the file of a killed process locks nothing. On Windows,
    and on a file system without flock, there is no lock.
    """
    if sys.platform == "win32":
        yield
        return
    file = _acquired(path, what, time.monotonic() + wait)
    try:
        with suppress(OSError):  # the disk may be full, but only an error message needs the content of the file
            os.ftruncate(file, 0)
            os.pwrite(file, f"process {os.getpid()} on {platform.node()}".encode(), 0)
        yield
    finally:
        with suppress(OSError):
            path.unlink()  # before we free the lock
        os.close(file)


def _acquired(path: Path, what: str, until: float) -> int:
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _still_there(path, file):
                return file
        except BlockingIOError:
            owner = os.read(file, 200).decode(errors="replace")
            os.close(file)
            if time.monotonic() >= until:
                raise OSError(
                    f"another {owner or 'process'} uses {what}: wait until this process ends, or choose another folder"
                ) from None
            time.sleep(ASK_EVERY)
            continue
        except OSError as failure:
            if failure.errno != errno.ESTALE:  # the file system has no locks
                return file
            if time.monotonic() >= until + STALE:
                os.close(file)
                raise
        os.close(file)


def _still_there(path: Path, file: int) -> bool:
    """Whether the locked file still has this path. The previous owner may just have removed the file."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False
