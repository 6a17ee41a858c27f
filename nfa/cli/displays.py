"""What shows the work never decides it: streams that cannot be written, and widths that are none."""

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

WIDEST = 65_535  # columns or lines, of any terminal
READER_GONE = {errno.EPIPE, errno.EBADF, errno.ECONNRESET}


class QuietStream:
    """A stream that goes silent once it cannot be written, instead of raising.

    Its descriptor then leads to the null device, so that Python can flush what is left when it ends.

    Parameters
    ----------
    stream : text stream; what is not about writing is left to it

    Attributes
    ----------
    failure : the error that made it silent, or None
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.failure: OSError | ValueError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text, or drop it; its number of characters."""
        self._tried(lambda: self._stream.write(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write texts, or drop them."""
        self.write("".join(lines))

    def flush(self) -> None:
        """Hand on what is buffered, or drop it."""
        self._tried(self._stream.flush)

    @property
    def incomplete(self) -> bool:
        """Whether somebody lacks a part of what was written; nobody does once the reader is gone."""
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
    """Standard output and standard error, each as a `QuietStream` while the body runs.

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
    """Let a descriptor lead to the null device, for this process and for those that it starts."""
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, descriptor)
    os.set_inheritable(descriptor, True)
    if null != descriptor:
        os.close(null)
