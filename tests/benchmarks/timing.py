"""Seconds and bytes: a contender's calls in one round, medians and ratios over the rounds, memory of a process."""

import ctypes
import os
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

Timed = dict[str, Any]
WARM = 0.1


def calls_for(step: Callable, least: float) -> int:
    """How many calls of a step take ``least`` seconds together: one is timed, and the answer is from 1 to 1000."""
    start = time.perf_counter()
    step()
    return max(1, min(1000, round(least / max(time.perf_counter() - start, 1e-7))))


def one_round(step: Callable, calls: int, *, warm: bool) -> Timed:
    """One round of a step: a call's mean seconds, and the means of the numbers that it returns.

    Parameters
    ----------
    step : function of no argument, returning None or numbers by name
    calls : int >= 1
    warm : calls before, untimed, for WARM seconds: they bring caches and sleeping threads back to this process, and the
        system takes as long to give threads that it woke on one core a core each

    Returns
    -------
    {"wall": time that passed, "cpu": time that the cores worked for this process, ...}, each a call's mean, and "calls"
    """
    began = time.perf_counter()
    while warm:
        step()
        warm = time.perf_counter() - began < WARM
    told = []
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(calls):
        told.append(step())
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    numbers = {name: statistics.fmean(one[name] for one in told) for name in told[0] or {}}
    return {"wall": wall / calls, "cpu": cpu / calls, "calls": calls, **numbers}


def summary(times: Sequence[float]) -> dict[str, float]:
    """Median, quartiles and minimum of some seconds."""
    low, middle, high = statistics.quantiles(times, n=4, method="inclusive") if len(times) > 1 else [*times] * 3
    return {"median": middle, "q1": low, "q3": high, "min": min(times)}


def ratio(above: Sequence[float], below: Sequence[float]) -> dict[str, float]:
    """The ratio of two medians, and the quartiles of its spread: round by round, where both have as many rounds."""
    middle = statistics.median(below)
    rounds = [a / b for a, b in zip(above, below, strict=True)] if len(above) == len(below) else None
    spread = summary(rounds or [a / middle for a in above])
    return {"median": statistics.median(above) / middle, "q1": spread["q1"], "q3": spread["q3"]}


def busy(times: Timed, threads: int) -> dict[str, float] | None:
    """Parallel efficiency, processor time over wall time over threads: median and quartiles of the rounds.

    None where no processor time was measured.
    """
    if not times.get("cpu"):
        return None
    return summary([cpu / wall / threads for cpu, wall in zip(times["cpu"], times["wall"], strict=True)])


def resident(peak: bool = False) -> int | None:
    """Bytes of this process in memory, now or at most since `reset_peak`; None where the system does not say."""
    try:
        with open("/proc/self/status") as status:
            fields = dict(line.split(":", 1) for line in status)
        return int(fields["VmHWM" if peak else "VmRSS"].split()[0]) * 1024
    except (OSError, KeyError):
        return None


def reset_peak() -> None:
    """Let the peak of `resident` begin anew, with no freed memory left that a step could take unseen, if possible."""
    try:
        ctypes.CDLL(None).malloc_trim(0)  # of the GNU C library
    except (OSError, AttributeError, TypeError):
        pass
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pass


def bytes_of(step: Callable) -> int | None:
    """Bytes that this process has more at most during the first two calls of a step than before them.

    What the first call leaves for the second counts, for example the optimizer's memory and buffers that are kept.
    None where the system does not say.
    """
    reset_peak()
    before = resident()
    step()
    step()
    most = resident(peak=True)
    return None if before is None or most is None else most - before


def worked(pid: int) -> float:
    """Seconds that the threads of a process have had a core; 0 where the system does not say."""
    total, folder = 0, f"/proc/{pid}/task"
    try:
        for thread in os.listdir(folder):
            with open(f"{folder}/{thread}/schedstat") as file:
                total += int(file.read().split()[0])
    except (OSError, ValueError, IndexError):
        pass
    return total * 1e-9


def load() -> list[float]:
    """How many processes wanted a core over the last 1, 5 and 15 minutes."""
    return list(os.getloadavg())
