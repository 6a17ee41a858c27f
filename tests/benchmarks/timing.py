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
    """The number of calls of a step, from 1 to 1000, that take ``least`` seconds together.

    One call is timed for this.
    """
    start = time.perf_counter()
    step()
    return max(1, min(1000, round(least / max(time.perf_counter() - start, 1e-7))))


def one_round(step: Callable, calls: int, *, warm: bool) -> Timed:
    """One round of a step: the mean seconds of a call, and the means of the numbers that the call returns.

    Parameters
    ----------
    step : function of no argument, returning None or numbers by name
    calls : int >= 1
    warm : whether untimed calls for WARM seconds precede the timed calls. The untimed calls fill the caches and wake
    the sleeping threads. If the system wakes several threads on one core, it needs this time to move each thread to its
    own core

    Returns
    -------
    {"wall": time that passed, "cpu": time that the cores worked for this process, ...}, each the mean over the calls,
    and "calls"
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
    """Median, quartiles and minimum of a list of seconds."""
    low, middle, high = statistics.quantiles(times, n=4, method="inclusive") if len(times) > 1 else [*times] * 3
    return {"median": middle, "q1": low, "q3": high, "min": min(times)}


def ratio(above: Sequence[float], below: Sequence[float]) -> dict[str, float]:
    """The ratio of two medians.

    If the two lists have equally many rounds, the quartiles are those of the ratios of single rounds.
    """
    middle = statistics.median(below)
    rounds = [a / b for a, b in zip(above, below, strict=True)] if len(above) == len(below) else None
    spread = summary(rounds or [a / middle for a in above])
    return {"median": statistics.median(above) / middle, "q1": spread["q1"], "q3": spread["q3"]}


def busy(times: Timed, threads: int) -> dict[str, float] | None:
    """Parallel efficiency, which is processor time / wall time / threads: median and quartiles of the rounds.

    Return None if no processor time was measured.
    """
    if not times.get("cpu"):
        return None
    return summary([cpu / wall / threads for cpu, wall in zip(times["cpu"], times["wall"], strict=True)])


def resident(peak: bool = False) -> int | None:
    """Bytes of this process in memory, now or at most since `reset_peak`; None if the system does not report it."""
    try:
        with open("/proc/self/status") as status:
            fields = dict(line.split(":", 1) for line in status)
        return int(fields["VmHWM" if peak else "VmRSS"].split()[0]) * 1024
    except (OSError, KeyError):
        return None


def reset_peak() -> None:
    """Restart the peak of `resident`.

    Return freed memory to the system, because a step that reuses it does not raise the peak.
    """
    try:
        ctypes.CDLL(None).malloc_trim(0)  # a function of the GNU C library
    except (OSError, AttributeError, TypeError):
        pass
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pass


def bytes_of(step: Callable) -> int | None:
    """Largest increase of this process's bytes during the first two calls of a step.

    The increase includes memory that the first call leaves for the second, for example the optimizer's memory and
    buffers. Return None if the system does not report the memory of a process.
    """
    reset_peak()
    before = resident()
    step()
    step()
    most = resident(peak=True)
    return None if before is None or most is None else most - before


def worked(pid: int) -> float:
    """Seconds for which the threads of a process have had a core; 0 if the system does not report these seconds."""
    total, folder = 0, f"/proc/{pid}/task"
    try:
        for thread in os.listdir(folder):
            with open(f"{folder}/{thread}/schedstat") as file:
                total += int(file.read().split()[0])
    except (OSError, ValueError, IndexError):
        pass
    return total * 1e-9


def load() -> list[float]:
    """The mean number of processes that used a core or waited for one, over the last 1, 5 and 15 minutes."""
    return list(os.getloadavg())
