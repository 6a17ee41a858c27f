"""The command `nfa`, which is also `python -m nfa`. Ctrl-C ends it quietly, even while Python imports modules."""

import os
import signal
import sys

INTERRUPTED = 130  # the value of `nfa.cli.terminal.INTERRUPTED`, which is not imported yet


def main() -> int:
    """Import the command line, run it, and return its exit code.

    An import can swallow a KeyboardInterrupt, or print it with a traceback. So while the modules are imported, Ctrl-C
    ends the process at once. No file is open then. If the parent process has switched Ctrl-C off, it stays off.
    """
    heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if heeded:
        signal.signal(signal.SIGINT, _end)
    from nfa.cli.main import main as command_line

    try:
        if heeded:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return command_line()
    except KeyboardInterrupt:  # before the command begins, or after it
        return INTERRUPTED


def _end(number: int, frame: object) -> None:
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
