"""The command `nfa` (or `python -m nfa`). Ctrl-C ends the command without a traceback, even during imports."""

import os
import signal
import sys

INTERRUPTED = 130  # the value of `nfa.cli.terminal.INTERRUPTED`, which is not imported yet


def main() -> int:
    """Import the command line, run it, and return its exit code.

    An import can swallow a KeyboardInterrupt, or print the exception with a traceback. So while the modules are
    imported, Ctrl-C ends the process at once. No file is open during the imports. If the parent process ignores Ctrl-C,
    this process ignores it too.
    """
    heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if heeded:
        signal.signal(signal.SIGINT, _end)
    from nfa.cli.main import main as command_line

    try:
        if heeded:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return command_line()
    except KeyboardInterrupt:  # Ctrl-C before the command begins, or after it has ended
        return INTERRUPTED


def _end(number: int, frame: object) -> None:
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
