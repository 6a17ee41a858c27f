"""Keep a failing display from stopping the work: streams that cannot be written, and invalid terminal widths."""

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

WIDEST = 65_535  # columns or lines, of any terminal
READER_GONE = {errno.EPIPE, errno.EBADF, errno.ECONNRESET}


class QuietStream:
    """A stream that drops its output after a write fails, instead of raising.

    After the failure, its descriptor leads to the null device, so that Python can flush its buffers when it ends.

    Parameters
    ----------
    stream : text stream, which answers all calls except those that write

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
        """Whether a reader did not get all of the output. This is false if the reader closed its end."""
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
    """Replace standard output and standard error by a `QuietStream` each while the body runs.

    A stream that is closed from the start leads to the null device. Otherwise the next file that the process opens
    would take its place, and messages would be written into that file.
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
            stream.reconfigure(errors="replace")  # a terminal without ∇ shows a question mark, not an error
    try:
        yield quiet
    finally:
        for stream in quiet:
            stream.flush()
        sys.stdout, sys.stderr = before


def leave_out_odd_displays() -> None:
    """Drop COLUMNS and LINES from the environment unless they are the size of a terminal, in plain digits.

    MPLBACKEND goes too: nfa draws into files, and Jupyter chooses for its notebooks.
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
