"""What happens once a process, each in new processes: not raced, for nothing stays warm."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .contenders import Contender
from .race import Contestant, end

DOC = "what happens once a process: importing, a command, what compiles at first use"
IMPORT = "import time; t = time.perf_counter(); import nfa; print(time.perf_counter() - t)"
FIRST = (("mlp", "dp_dfa"), ("cnn", "dp_sgd"), ("ulr", "ulr"), ("cnn", "dp_hybrid"), ("mlp", "photonic"))
TRAIN = "train --rule dp_dfa --set sigma=0.01 --set tau_e=0.1 --set tau_h=1 --batch 256 --epochs 1 --json"


def _seconds(arguments: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, *arguments], capture_output=True, check=True, stdin=subprocess.DEVNULL)
    return time.perf_counter() - began


def measure(folder: Path, core: str, *, rounds: int, tiny: bool, threads: int, tell: Callable[[str], None]) -> dict:
    """A group as `race.race` gives it, each contender with the label "once" and a few rounds at most."""

    def imported() -> float:
        return float(subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True).stdout)

    def trained() -> float:
        into = tempfile.mkdtemp(dir=folder)
        return _seconds(["-m", "nfa", *TRAIN.split(), "--threads", str(threads), "--save", into])

    def first(problem: str, rule: str) -> float:
        options = {"problem": problem, "rule": rule, "small": tiny}
        contender = Contender("first use", "own:first_use", options, once=True)
        one = Contestant(contender, core, folder, tiny=True, threads=threads, least=0.0)  # tiny: built once
        end()
        return one.about["first_use"]

    found: dict[str, Any] = {}
    todo: dict[str, tuple[Callable[[], float], int]] = {
        "import nfa": (imported, 5),
        "nfa eq": (lambda: _seconds(["-m", "nfa", "eq", "lee2020:eq5"]), 5),
        "nfa train, whole command": (trained, 2),
        **{f"first use, {p} {rule}": (lambda p=p, rule=rule: first(p, rule), 1) for p, rule in FIRST},
    }
    if tiny:
        todo = {name: todo[name] for name in ("import nfa", "first use, mlp dp_dfa")}
    for name, (how, most) in todo.items():
        tell(name)
        seconds = [how() for _ in range(1 if tiny else min(rounds, most))]
        found[name] = {core: {"times": {"once": {"wall": seconds}}}}
    return found
