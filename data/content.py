"""The bytes of a file, gzip'd or not, read without trusting anything it says about its own size."""

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

LARGEST = 2**30  # bytes; no array that a reader of this package builds is larger
DEFLATE = 1032  # no deflate stream grows by more than this factor when it is unpacked
CHUNK = 2**20


@contextmanager
def open_content(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading its unpacked bytes; whether it is gzip'd is seen from its first two bytes.

    Raises
    ------
    ValueError : if the gzip data turn out to be damaged or cut short while they are read
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
    """Up to n bytes of a stream, in chunks, so that memory follows what is there and not what was asked for."""
    content = bytearray()
    while len(content) < n:
        chunk = stream.read(min(CHUNK, n - len(content)))
        if not chunk:
            break
        content += chunk
    return content
