"""The bytes of a file, compressed by gzip or not. We do not trust the sizes that the file itself declares."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

LARGEST = 2**30  # largest number of bytes of an array that a reader of this package returns
DEFLATE = 1032  # unpacking makes a deflate stream at most so many times larger
CHUNK = 2**20


@contextmanager
def open_content(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading its unpacked bytes. The first two bytes show whether gzip has compressed the file.

    Raises
    ------
    ValueError : if the gzip data are damaged or cut short. The error is raised while the data are read
    OSError : if the file cannot be opened or read
    """
    with path.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        if not packed:
            yield raw
            return
        try:
            with gzip.open(raw, "rb") as unpacked:
                yield cast(BinaryIO, unpacked)
        except (gzip.BadGzipFile, zlib.error, EOFError) as error:
            raise ValueError(f"{path.name}: the gzip data are damaged or cut short") from error


def room(path: Path) -> int:
    """The largest number of unpacked bytes that a file of this size can hold, at most `LARGEST`."""
    return min(LARGEST, DEFLATE * path.stat().st_size)


def read_at_most(stream: BinaryIO, n: int) -> bytearray:
    """Read up to n bytes of a stream, in chunks, so that the memory depends on the bytes of the stream and not on n."""
    content = bytearray()
    while len(content) < n:
        chunk = stream.read(min(CHUNK, n - len(content)))
        if not chunk:
            break
        content += chunk
    return content
