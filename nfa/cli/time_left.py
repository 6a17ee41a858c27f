"""How far the runs of several items are: one line a run, with the time left for all."""

import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from nfa.cli.terminal import ProgressDisplay
from nfa.experiments.duration import duration

TRUSTED = 60.0  # seconds of training that the estimates weigh, beside what has been trained


class Overall(ProgressDisplay):
    """How far a list of items is: a line a run, with the time left for all, corrected by how long the first ones took.

    Parameters
    ----------
    jobs : runs at work at the same time
    """

    LINE_EVERY = 60.0  # a run says how far it is

    def __init__(self, jobs: int) -> None:
        super().__init__()
        self.made: dict[Path, set[str]] = {}  # runs that this command has finished, by folder
        self._jobs, self._began = jobs, 0.0
        self._seconds: dict[str, float] = {}  # that each run should take
        self._keys: dict[tuple[Path, str], str] = {}  # what the run of a folder is called here

    def expect(self, seconds: Mapping[tuple[Path, str], float]) -> None:
        """Runs that are to come, by folder and name."""
        self._keys = {(folder, name): f"{folder.name}/{name}" for folder, name in seconds}
        self._seconds = {self._keys[run]: s for run, s in seconds.items()}
        self._runs, self._began = len(seconds), time.monotonic()

    def of(self, folder: Path) -> Callable[[str, int, int, Mapping[str, Any] | None], None]:
        """The progress callback of the runs of a folder; of those finished before it says nothing."""

        def told(cell: str, step: int, steps: int, record: Mapping[str, Any] | None) -> None:
            key = self._keys.get((folder, cell))
            if key is not None:
                if record is not None:
                    self.made.setdefault(folder, set()).add(cell)
                self(key, step, steps, record)

        return told

    def give_up(self, folder: Path, names: Iterable[str]) -> None:
        """Expect no more of these runs, but for those that are finished."""
        for name in names:
            key = self._keys[folder, name]
            if key not in self._finished:
                self._seconds[key] = 0.0
                self._share.pop(key, None)
                if self._bars and key in self._tasks:
                    self._bars.remove_task(self._tasks.pop(key))

    def left(self) -> float:
        """Seconds until all is done."""
        done = sum(self._share.get(key, 0.0) * s for key, s in self._seconds.items())
        rest = sum(self._seconds.values()) - done
        at_once = min(self._jobs, max(1, self._runs - len(self._finished)))
        took = time.monotonic() - self._began
        return rest / at_once * (took + TRUSTED) / (done / at_once + TRUSTED)

    def _tell(self, cell: str, step: int, steps: int) -> None:
        if cell in self._first:
            super()._tell(cell, step, steps)
        else:  # a run has its line when it is finished
            self._first[cell], self._told[cell] = (time.monotonic(), step), time.monotonic()

    def _bar(self, key: str, label: str, completed: float, total: float) -> None:
        super()._bar(key, label, completed, total)
        if not key:
            self._bars.update(self._tasks[key], description=f"{label}, about {duration(self.left())} left")

    def _line(self, text: str) -> None:
        super()._line(f"{text}; about {duration(self.left())} left for all")
