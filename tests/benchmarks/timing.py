"""Timing in turn: every contender once a round, so that a busy moment of the machine hits all of them alike."""

import os
import random
import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any


def race(steps: Mapping[str, Callable], *, repeats: int, least: float = 0.02) -> dict[str, dict[str, Any]]:
    """Time the functions of no argument in turn: {name: {"wall": [s, ...], "cpu": [s, ...], "calls": n}}.

    Parameters
    ----------
    steps : {name: function}, each already built; two calls go untimed before the first round
    repeats : int >= 1, rounds; each takes the contenders in another order
    least : float, seconds that a contender's calls in one round take together at least, one call before them untimed

    Notes
    -----
    "wall" and "cpu" are a call's mean in each round: time that passed, and time that the cores worked for this process.
    On a busy machine cpu is what is left of a contender when others take turns on its cores.
    """
    calls = {}
    for name, step in steps.items():
        step()
        start = time.perf_counter()
        step()
        calls[name] = max(1, min(1000, round(least / max(time.perf_counter() - start, 1e-7))))
    found: dict[str, dict[str, Any]] = {name: {"wall": [], "cpu": [], "calls": calls[name]} for name in steps}
    order = list(steps)
    shuffle = random.Random(0).shuffle
    for _ in range(repeats):
        shuffle(order)
        for name in order:
            step = steps[name]
            step()  # brings caches and sleeping threads back to this contender
            cpu, wall = time.process_time(), time.perf_counter()
            for _ in range(calls[name]):
                step()
            found[name]["wall"].append((time.perf_counter() - wall) / calls[name])
            found[name]["cpu"].append((time.process_time() - cpu) / calls[name])
    return found


def summary(times: list[float]) -> dict[str, float]:
    """Median, quartiles and minimum of some seconds."""
    low, middle, high = statistics.quantiles(times, n=4, method="inclusive") if len(times) > 1 else times * 3
    return {"median": middle, "q1": low, "q3": high, "min": min(times)}


def ratio(above: list[float], below: list[float]) -> dict[str, float]:
    """The ratio of two medians, and the quartiles of the ratios round by round, which is its spread."""
    rounds = summary([a / b for a, b in zip(above, below, strict=True)])
    return {"of_medians": statistics.median(above) / statistics.median(below), "q1": rounds["q1"], "q3": rounds["q3"]}


def resident(peak: bool = False) -> int | None:
    """Bytes of this process in memory, now or at most since `reset_peak`; None where the system does not say."""
    try:
        with open("/proc/self/status") as status:
            fields = dict(line.split(":", 1) for line in status)
        return int(fields["VmHWM" if peak else "VmRSS"].split()[0]) * 1024
    except (OSError, KeyError):
        return None


def reset_peak() -> None:
    """Let the peak of `resident` begin anew, where the system can."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pass


def load() -> list[float]:
    """How many processes wanted a core over the last 1, 5 and 15 minutes."""
    return list(os.getloadavg())
