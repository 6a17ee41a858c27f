"""A whole benchmark run: race the groups, measure growth, judge the targets, print, and write JSON and pictures."""

import json
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from . import arithmetic, contenders, pictures, race, scaling, start, targets, timing
from .contenders import Contender

PARTS = (*contenders.GROUPS, "start")
_CORES = {"growth": {"threads": 1}}  # otherwise only large sizes would use several cores, and the exponent would change
EXTRA = ("growth",)  # parts that are measured only if all parts or this part are requested
ALIASES = {"scaling": "growth", "normals": "noise"}


class Progress:
    """Display of progress: the current part, the number of remaining parts and the time since the start.

    A terminal shows one line, which is updated. Without a terminal, each part has a line.

    Parameters

    ----------

    parts : the parts to come, in order
    """

    def __init__(self, parts: Sequence[str]) -> None:
        self.parts, self.part, self.began = list(parts), "", time.monotonic()
        self.live = sys.stderr.isatty()

    def begin(self, part: str) -> None:
        """Begin a part."""
        self.part = part
        if not self.live:
            self._line("begins")

    def __call__(self, what: str) -> None:
        if self.live:
            self._line(what)

    def _line(self, what: str) -> None:
        left = self.parts[self.parts.index(self.part) + 1 :] if self.part in self.parts else self.parts
        after = f"; then {', '.join(left)}" if left else ""
        text = f"[{time.monotonic() - self.began:3.0f} s] {self.part}: {what}{after}"
        try:
            width = os.get_terminal_size(2).columns if self.live else 1000
        except OSError:
            width = 80
        sys.stderr.write(f"\r\033[K{text[: width - 1]}" if self.live else f"{text}\n")
        sys.stderr.flush()

    def clear(self) -> None:
        """Clear the line of a terminal, so that other text can be printed."""
        if self.live:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


def machine(threads: int) -> dict[str, Any]:
    """The properties of the machine that the times depend on.

    Contenders report the properties of their own processes.
    """
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": threads,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def parts_of(only: Sequence[str] | None, extra: bool) -> list[str]:
    """The requested parts, in the order in which they run.

    By default, these are all parts, but parts in EXTRA need ``extra``. Raises ValueError for an unknown part.
    """
    default = [part for part in PARTS if extra or part not in EXTRA]
    asked = {ALIASES.get(part, part) for part in only or default}
    if unknown := sorted(asked - set(PARTS)):
        raise ValueError(f"there is no part {unknown[0]!r}; the parts are {', '.join(PARTS)}")
    return [part for part in PARTS if part in asked]


def run(
    only: Sequence[str] | None = None,
    *,
    cores: Sequence[str] | None = None,
    without: Sequence[str] = (),
    extra: bool = False,
    rounds: int = 9,
    tiny: bool = False,
    out: str | os.PathLike = "runs/bench",
    threads: int = 2,
    progress: Callable[[Sequence[str]], Any] = Progress,
) -> dict[str, Any]:
    """Measure the requested parts (by default those of `parts_of`), print them, and write ``bench.json`` and pictures.

    Parameters
    ----------
    cores : core types of OpenBLAS, as for `race.core_types`
    without : names of contenders that do not take part; extra: whether the slow contenders take part

    Raises
    ------
    ValueError : for a part or core type that does not exist, or fewer than one round
    race.Lost : if a contender's process ends by itself
    """
    parts, (here, missing) = parts_of(only, extra), race.core_types(cores)
    if rounds < 1:
        raise ValueError(f"the number of rounds must be at least 1, got {rounds}")
    folder, tell = Path(out), progress(parts)
    folder.mkdir(parents=True, exist_ok=True)
    document: dict[str, Any] = {
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "tiny": tiny,
        "rounds": rounds,
        "pause": race.PAUSE,
        "core_types": {name: race.CORE_TYPES.get(name, os.environ.get("OPENBLAS_CORETYPE", "")) for name in here},
        "left_out": missing,
        "environment_core_type": os.environ.get("OPENBLAS_CORETYPE"),
        "machine": machine(threads),
        "load_before": timing.load(),
        "seconds": {},
        "groups": {},
    }
    for reason in missing.values():
        print(f"{reason}: left out")
    try:
        with tempfile.TemporaryDirectory(prefix="nfa-bench-") as data:
            _export(Path(data), tiny, threads)
            how: dict[str, Any] = {"rounds": rounds, "tiny": tiny, "threads": threads, "tell": tell, "bound": threads}
            for part in parts:
                tell.begin(part)
                began = time.monotonic()
                if part == "start":
                    what, found = start.DOC, start.measure(Path(data), here[0], **how)
                else:
                    what = contenders.GROUPS[part][0]
                    chosen = contenders.of(part, extra=extra, without=tuple(without))
                    found = race.race(chosen, here, folder=Path(data), **how | _CORES.get(part, {}))
                document["groups"][part] = {"what": what, "contenders": found}
                document["seconds"][part] = round(time.monotonic() - began, 1)
                tell.clear()
                print_group(part, document["groups"][part])
    finally:
        tell.clear()
        race.end()
    document["load_after"] = timing.load()
    document["targets"] = targets.judge(document["groups"], here)
    arithmetic.add(document["targets"], document["groups"])
    document["over_floor"] = targets.over_floor(document["groups"], here)
    if "growth" in document["groups"]:
        document["growth"] = {"interval": scaling.HOW, "rows": scaling.fit(document["groups"]["growth"])}
        print("\nGrowth\n" + "\n".join(scaling.table(document["growth"]["rows"])))
    print_targets(document["targets"])
    written = [_write(document, folder / "bench.json"), *pictures.draw(document, folder)]
    before, after = (document[f"load_{when}"][0] for when in ("before", "after"))
    print(f"\n{sum(document['seconds'].values()):.0f} s, load before {before:.1f}, after {after:.1f}", end="; ")
    print(", ".join(map(str, written)))
    return document


def _export(folder: Path, tiny: bool, threads: int) -> None:
    names = [] if tiny else ["fashion-mnist-small", "fashion-mnist", "mnist"]
    build = Contender("data", "own:export", {"names": names}, once=True)
    try:
        race.Contestant(build, race.ENVIRONMENT, folder, tiny=True, threads=threads, least=0.0)
    finally:  # ends the processes before the folder is removed
        race.end()


def _write(document: dict[str, Any], path: Path) -> Path:
    """Replace the record of benchmarks in one operation, so that a reader never sees a part of the record."""
    part = path.with_suffix(".json.part")
    part.write_text(json.dumps(document, indent=1) + "\n")
    part.replace(path)
    return path


def print_group(name: str, group: dict[str, Any]) -> None:
    """Print a group as a table."""
    print(f"\n{name}: {group['what']}")
    print(f"  {'ms':54s} {'median':>9s} {'q1':>9s} {'q3':>9s} {'cpu':>9s} {'busy':>5s} {'step MB':>9s}")
    for contender, by_core in group["contenders"].items():
        for core, about in by_core.items():
            title = contender if core == contenders.ANY else f"{contender} ({core})"
            if "left_out" in about:
                print(f"  {title}: left out. {about['left_out']}")
                continue
            for label, found in about["times"].items():
                wall, cpu = timing.summary(found["wall"]), timing.summary(found.get("cpu", found["wall"]))
                row = " ".join(f"{1e3 * t:9.3f}" for t in (wall["median"], wall["q1"], wall["q3"], cpu["median"]))
                memory, share = about.get("bytes", {}).get(label), timing.busy(found, about.get("threads", 1))
                text = f"{title}: {label}" if label not in ("step", "epoch", "once") else title
                row += f" {share['median']:5.2f}" if share else 6 * " "
                print(f"  {text:54s} {row} {'' if memory is None else f'{memory / 1e6:9.1f}'}", flush=True)


def print_targets(rows: list[dict[str, Any]]) -> None:
    """Print the targets as a table."""
    print("\nTargets: time of ours over time of the other, or what the line names; in brackets what it was before")
    for row in rows:
        title, before = f"{row['what']} ({row['core']})", f" [{row['before']}]" if row["before"] else ""
        if row["found"] is None:
            print(f"  {title:66s} not measured{before}")
            continue
        reached = "reached" if row["reached"] else "NOT reached"
        spread = f"{row['q1']:.3g} to {row['q3']:.3g}"
        wanted = next(f"{side.replace('_', ' ')} {row[side]:.3g}" for side in ("at_most", "at_least") if side in row)
        print(f"  {title:66s} {row['found']:7.3g} ({spread}){before}, {wanted}: {reached}")
    if any(row.get("arithmetic") for row in rows):
        print(
            "\nArithmetic: the time of the operations and bytes alone, what remains, the ratio or the seconds that the"
        )
        print("floor alone would give")
        print("\n".join(arithmetic.table(rows)))
