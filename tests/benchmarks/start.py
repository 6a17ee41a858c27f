"""Times of work that a process does only once, such as imports.

We measure each time in new processes without warm-up.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .contenders import Contender
from .problem import Built
from .race import ENVIRONMENT, Contestant, end

DOC = "what happens once a process: importing, a command, what compiles at first use"
IMPORT = "import time; t = time.perf_counter(); import nfa; print(time.perf_counter() - t)"
FIRST = (("mlp", "dp_dfa"), ("cnn", "dp_sgd"), ("ulr", "ulr"), ("cnn", "dp_hybrid"), ("mlp", "photonic"))
TRAIN = "train --rule dp_dfa --set sigma=0.01 --set tau_e=0.1 --set tau_h=1 --batch 256 --epochs 1 --json"


def python(folder: str, *, tiny: bool, threads: int, arguments: list[str], printed: bool) -> Built:
    """Start Python with these arguments.

    Return the seconds that Python took or, if ``printed``, the seconds that it prints.
    """
    began = time.perf_counter()
    command = [sys.executable, *arguments]
    done = subprocess.run(command, capture_output=True, check=True, text=True, stdin=subprocess.DEVNULL)
    return Built({}, {"seconds": float(done.stdout) if printed else time.perf_counter() - began})


def measure(
    folder: Path,
    core: str,
    *,
    rounds: int,
    tiny: bool,
    threads: int,
    tell: Callable[[str], None],
    bound: int | None = None,
) -> dict:
    """Measure the group "start", and return times in the form of `race.race`. Each contender has the label "once"."""

    def told(build: str, kind: str, with_core: str, options: dict[str, Any]) -> dict[str, Any]:
        one = Contender("start", build, options, kind=kind, once=True)
        try:  # with tiny, the worker builds only once
            return Contestant(one, with_core, folder, tiny=True, threads=threads, least=0.0, bound=bound).about
        finally:
            end()

    def seconds(arguments: list[str], printed: bool = False) -> float:
        # A worker starts this command, because a worker ends with the present process, and ends the processes that it
        # started.
        return told("start:python", "command", ENVIRONMENT, {"arguments": arguments, "printed": printed})["seconds"]

    def imported() -> float:
        return seconds(["-c", IMPORT], printed=True)

    def trained() -> float:
        into = tempfile.mkdtemp(dir=folder)
        return seconds(["-m", "nfa", *TRAIN.split(), "--threads", str(threads), "--out", into])

    def first(problem: str, rule: str) -> float:
        return told("own:first_use", "ours", core, {"problem": problem, "rule": rule, "small": tiny})["first_use"]

    found: dict[str, Any] = {}
    todo: dict[str, tuple[Callable[[], float], int]] = {
        "import nfa": (imported, 5),
        "nfa eq": (lambda: seconds(["-m", "nfa", "eq", "lee2020:eq5"]), 5),
        "nfa train, whole command": (trained, 2),
        **{f"first use, {p} {rule}": (lambda p=p, rule=rule: first(p, rule), 1) for p, rule in FIRST},
    }
    if tiny:
        todo = {name: todo[name] for name in ("import nfa", "first use, mlp dp_dfa")}
    for name, (how, most) in todo.items():
        tell(name)
        times = [how() for _ in range(1 if tiny else min(rounds, most))]
        found[name] = {core: {"times": {"once": {"wall": times}}}}
    return found
