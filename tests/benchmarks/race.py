"""Rounds of a race.

Every contender has its own process, which sleeps except in its turn. Each round has another order.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from . import timing
from .contenders import ANY, Contender

PAUSE = 0.05  # seconds between two turns, in which the threads of the last contender become idle
LEAST = 0.15  # smallest total of the seconds of a contender's calls in one round
# All timed processes keep the memory that they free. Our code sets this in the C library. In the processes of peers,
# these variables set it.
KEEP_MEMORY = {"MALLOC_TRIM_THRESHOLD_": str(1 << 28), "MALLOC_MMAP_THRESHOLD_": str(1 << 25)}
CORE_TYPES = {"AVX2": "Haswell", "AVX-512": "SkylakeX"}  # OpenBLAS's name for a core that has these instructions
ENVIRONMENT = "environment"  # the core type that the environment sets, or that OpenBLAS detects


class Lost(RuntimeError):
    """Raised if a contender's process ends although nobody has ended it."""


def core_types(asked: Sequence[str] | None) -> tuple[list[str], dict[str, str]]:
    """The requested core types (by default all) that this processor has, and the reason for each type that is left out.

    Raises ValueError for an unknown name.
    """
    known = [*CORE_TYPES, ENVIRONMENT]
    if unknown := [name for name in asked or [] if name not in known]:
        raise ValueError(f"there is no core type {unknown[0]!r}; the core types are {', '.join(known)}")
    try:
        flags = Path("/proc/cpuinfo").read_text().split()
    except OSError:
        flags = []
    here = {"AVX2": "avx2" in flags, "AVX-512": "avx512f" in flags, ENVIRONMENT: True}
    wanted = list(asked or CORE_TYPES)
    missing = {name: f"this processor has no {name}" for name in wanted if not here[name]}
    return [name for name in wanted if here[name]] or [ENVIRONMENT], missing


_alive: list["Contestant"] = []
_ending = threading.Event()  # while set, a process that has just been started ends at once


class Contestant:
    """A contender's process, as the racing process controls it.

    Parameters
    ----------
    contender : the contender to build
    core : a name of CORE_TYPES; other names leave the environment unchanged
    folder : the folder with the data that `own.export` writes
    tiny, threads, least, bound : as for `race`
    """

    def __init__(
        self,
        contender: Contender,
        core: str,
        folder: Path,
        *,
        tiny: bool,
        threads: int,
        least: float,
        bound: int | None = None,
    ) -> None:
        self.contender = contender
        self._errors, self._speaking = tempfile.TemporaryFile("w+"), threading.Lock()
        self.process = subprocess.Popen(
            [sys.executable, "-m", f"{__package__}.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            bufsize=1,
            env=self._environment(core, threads),
            start_new_session=True,  # so that Ctrl-C does not reach this process
        )
        _alive.append(self)
        if _ending.is_set():  # `end` may have missed this new process in the list
            self.end()
        task = contender._asdict() | {"folder": str(folder), "tiny": tiny, "threads": threads, "least": least}
        self.about = self._ask(task | {"bound": None if contender.every_core else bound})

    def _environment(self, core: str, threads: int) -> dict[str, str]:
        variables = dict(os.environ)
        if core in CORE_TYPES:
            variables["OPENBLAS_CORETYPE"] = CORE_TYPES[core]
        if self.contender.kind != "peer":
            return variables
        names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
        return variables | dict.fromkeys(names, str(threads)) | KEEP_MEMORY

    def _ask(self, question: Any) -> Any:
        assert self.process.stdin
        assert self.process.stdout
        with self._speaking:
            try:
                self.process.stdin.write(json.dumps(question) + "\n")
                answer = self.process.stdout.readline()
            except (BrokenPipeError, ValueError):  # ValueError: the process was ended before the first message
                answer = ""
            found = json.loads(answer) if answer else {"failed": ""}
            if "failed" in found:
                said = ""
                if not self._errors.closed:
                    self._errors.seek(0)
                    said = self._errors.read()[-2000:]
                raise Lost(f"the process of {self.contender.name} ended:\n{found['failed']}{said}")
            return found

    def round(self, order: Sequence[str]) -> dict[str, timing.Timed]:
        """One round of the named steps, in this order."""
        return self._ask(list(order))

    def end(self) -> None:
        """End the process and the processes that it started.

        `_ask` may still be waiting for this process in another thread. It then raises `Lost`.
        """
        if hasattr(os, "killpg") and self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        with self._speaking:
            if not self._errors.closed:  # another thread may have ended this process meanwhile
                with self.process, self._errors, contextlib.suppress(BrokenPipeError):
                    self.process.stdin.close()


def start(contenders: Sequence[Contender], cores: Sequence[str], tell: Callable[[str], None], **how: Any) -> dict:
    """Start the processes, at most ``threads`` at a time: {(name, core type): Contestant}.

    If the core type makes no difference to a contender, its core type is `contenders.ANY`. ``how`` contains the other
    arguments of `Contestant`.
    """
    taken = {"all": cores, "first": cores[:1], "any": [ANY]}
    wanted = [(c, core) for c in contenders for core in taken[c.cores]]
    made: dict[tuple[str, str], Contestant] = {}
    _ending.clear()

    def make(one):
        tell(f"{one[0].name} gets ready ({len(made)} of {len(wanted)} are)")
        made[one[0].name, one[1]] = Contestant(*one, **how)

    with ThreadPoolExecutor(how["threads"]) as pool:
        try:
            for _ in pool.map(make, wanted):
                pass
        except BaseException:
            _ending.set()
            pool.shutdown(wait=False, cancel_futures=True)
            end()
            raise
    return {(c.name, core): made[c.name, core] for c, core in wanted}


def end() -> None:
    """End all processes, also those that are still being prepared."""
    while _alive:
        _alive.pop().end()


def race(
    contenders: Sequence[Contender],
    cores: Sequence[str],
    *,
    rounds: int,
    folder: Path,
    tiny: bool,
    threads: int,
    tell: Callable[[str], None],
    bound: int | None = None,
) -> dict[str, dict[str, Any]]:
    """Time the contenders in turn: {name: {core type: {"times": {label: {"wall": [s, ...], ...}}, ...}}}.

    Parameters
    ----------
    contenders : the contenders that take part
    cores : core types, of `core_types`; a contender runs once, as `contenders.ANY`, if the core type does not matter
    rounds : int >= 1; a contender may have a smaller maximum
    folder : the folder with the data
    tiny : whether to use sizes so small that the times mean nothing
    threads : number of threads of every library
    tell : function that is called with a line of progress
    bound : largest number of cores of a process; None for all cores. A contender may set ``every_core`` to use all
    cores

    Notes
    -----
    "others" is the largest processor time of the waiting processes in a turn, as a share of the turn's time. It is 0 if
    all waiting processes slept.
    """
    least = 0.0 if tiny else LEAST
    how = {"folder": folder, "tiny": tiny, "threads": threads, "least": least, "bound": bound}
    contestants = start(contenders, cores, tell, **how)
    try:
        found: dict[str, dict[str, Any]] = {}
        for (name, core), one in contestants.items():
            found.setdefault(name, {})[core] = {**one.about, "others": 0.0}
            if "left_out" not in one.about:
                found[name][core]["times"] = {label: {} for label in one.about["labels"]}
        able = {key: one for key, one in contestants.items() if "labels" in one.about}
        shuffle, order = random.Random(0).shuffle, list(able)
        for r in range(rounds):
            shuffle(order)
            for key in order:
                if r < (able[key].contender.most_rounds or rounds):
                    tell(f"round {r + 1} of {rounds}: {' '.join(name for name in key if name != ANY)}")
                    _turn(able, key, found[key[0]][key[1]], shuffle)
        return found
    finally:
        end()


def _turn(able: dict, key: tuple[str, str], into: dict[str, Any], shuffle: Callable) -> None:
    """Run one turn of one contender, and add its times to the contender's results."""
    time.sleep(PAUSE)
    labels = list(into["times"])
    shuffle(labels)
    others = [one.process.pid for other, one in able.items() if other != key]
    began, before = time.perf_counter(), sum(map(timing.worked, others))
    answers = able[key].round(labels)
    passed, after = time.perf_counter() - began, sum(map(timing.worked, others))
    into["others"] = max(into["others"], round((after - before) / passed, 4))
    for label, answer in answers.items():
        for what, value in answer.items():
            into["times"][label].setdefault(what, []).append(value)
