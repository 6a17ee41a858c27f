"""`python -m tests.benchmarks`: run the race, print the times, and write JSON and pictures. See --help."""

import argparse
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

from . import report
from .race import CORE_TYPES, ENVIRONMENT, Lost, end

# Signals after which the bench ends all its processes, with the message for each signal. The exit code is the signal's
# number plus 128.
SIGNALS = {"SIGINT": "interrupted", "SIGTERM": "terminated", "SIGHUP": "terminated"}


def _stop(number: int, _frame: FrameType | None) -> NoReturn:
    """Interrupt the main thread. Later signals are ignored, so the main thread has time to end all processes."""
    _on_signals(signal.SIG_IGN)
    raise KeyboardInterrupt(signal.Signals(number))


def _on_signals(handler) -> None:
    for name in SIGNALS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:  # `nohup` ignores SIGHUP, for example
            signal.signal(number, handler)


def main() -> int:
    """Run the parts that the command-line arguments select, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    add = parser.add_argument
    add("--only", nargs="+", metavar="PART", help=f"{', '.join(report.PARTS)}; by default all but growth")
    add("--without", nargs="+", metavar="NAME", default=[], help="contenders to leave out: 'jax bp', say")
    add(
        "--all",
        action="store_true",
        help="also growth, and Opacus and JAX with every example's gradient: they take long",
    )
    add("--rounds", type=int, default=9, help="rounds (default 9)")
    add("--threads", type=int, help="cores to use, for every library (default: two, or one where there is one)")
    cores = f"core types of OpenBLAS: {', '.join(CORE_TYPES)} (both by default, where the processor has them), or"
    add("--core-types", nargs="+", metavar="TYPE", help=f"{cores} {ENVIRONMENT}, what OPENBLAS_CORETYPE says")
    add("--out", default="runs/bench", help="folder for bench.json and the pictures (default runs/bench)")
    add("--tiny", action="store_true", help="sizes at which no time means anything, to try the harness")
    asked = parser.parse_args()

    here = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else list(range(os.cpu_count() or 1))
    threads = min(asked.threads or 2, len(here))
    if threads < 1:
        parser.error(f"--threads must be at least 1, got {asked.threads}")
    _on_signals(_stop)
    try:
        report.run(
            asked.only,
            cores=asked.core_types,
            without=asked.without,
            extra=asked.all,
            rounds=asked.rounds,
            tiny=asked.tiny,
            out=asked.out,
            threads=threads,
        )
    except KeyboardInterrupt as interrupt:
        end()
        number = interrupt.args[0] if interrupt.args else signal.SIGINT
        said = SIGNALS[number.name]
        print(f"{said}: nothing was written; --only names parts that take less time", file=sys.stderr)
        return 128 + number
    except (ValueError, Lost, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
