"""Let a command continue if nfa cannot write to a stream or if the width of the terminal is invalid."""

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

WIDEST = 65_535  # largest number of columns or lines of a terminal
READER_GONE = {errno.EPIPE, errno.EBADF, errno.ECONNRESET}


class QuietStream:
    """A stream that drops its output after a failed write, instead of raising an error.

    After the failed write, the descriptor of the stream is connected to the null device. Otherwise, Python would raise
    an error when it flushes the stream at exit.

    Parameters
    ----------
    stream : text stream. All calls except writes are passed on to this stream

    Attributes
    ----------
    failure : the error of the first write that failed, or None
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.failure: OSError | ValueError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write or drop a text, and return its number of characters."""
        self._tried(lambda: self._stream.write(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write or drop several texts."""
        self.write("".join(lines))

    def flush(self) -> None:
        """Flush or drop the buffered text."""
        self._tried(self._stream.flush)

    @property
    def incomplete(self) -> bool:
        """Whether some output did not reach the reader. The value is False if the reader closed the stream."""
        if self.failure is None or isinstance(self.failure, ValueError):  # ValueError: the stream was closed
            return False
        hung_up = self.failure.errno == errno.EIO and self._stream.isatty()
        return not (hung_up or self.failure.errno in READER_GONE)

    def _tried(self, work: Callable[[], Any]) -> None:
        if self.failure is not None:
            return
        try:
            work()
        except (OSError, ValueError) as failure:
            if isinstance(failure, UnicodeError):
                raise
            self.failure = failure
            with suppress(AttributeError, OSError, ValueError):  # a stream without a descriptor
                _to_nowhere(self._stream.fileno())
                self._stream.flush()


@contextmanager
def quiet_streams() -> Iterator[tuple[QuietStream, QuietStream]]:
    """Replace standard output and standard error by two `QuietStream` objects while the body runs.

    If a stream is closed at the start, its descriptor is connected to the null device. Otherwise, the next file that
    the process opens would get this descriptor, and nfa would write its messages into that file.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            _to_nowhere(descriptor)
    before = sys.stdout, sys.stderr
    out, err = (QuietStream(open(os.devnull, "w") if stream is None else stream) for stream in before)
    quiet: Any = (out, err)
    sys.stdout, sys.stderr = quiet
    for stream in quiet:
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # print a question mark for ∇ if the encoding of the stream lacks ∇
    try:
        yield quiet
    finally:
        for stream in quiet:
            stream.flush()
        sys.stdout, sys.stderr = before


def leave_out_odd_displays() -> None:
    """Remove COLUMNS and LINES from the environment unless their values are possible sizes of a terminal.

    The function also removes MPLBACKEND. Jupyter sets MPLBACKEND to the backend of notebooks, but nfa only draws into
    files.
    """
    os.environ.pop("MPLBACKEND", None)
    for name in ("COLUMNS", "LINES"):
        text = os.environ.get(name, "")
        plain = text.isascii() and text.isdigit() and len(text) <= 9
        if not (plain and 1 <= int(text) <= WIDEST):
            os.environ.pop(name, None)


def _to_nowhere(descriptor: int) -> None:
    """Connect a descriptor to the null device, for this process and for its child processes."""
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, descriptor)
    os.set_inheritable(descriptor, True)
    if null != descriptor:
        os.close(null)
