"""The whole run: races by group, peaks of memory, growth, targets; printed, and written as JSON."""

import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Collection
from pathlib import Path
from typing import Any

import threadpoolctl

from nfa.kernels import cores

from . import groups, scaling, targets, timing

LIBRARIES = ("numpy", "numba", "scipy", "torch", "opacus", "jax", "jaxlib")
PARTS = (*groups.GROUPS, "start", "scaling", "memory")


def peak(group: str, name: str, *, tiny: bool) -> int | None:
    """Bytes that the first two steps of a contender need beyond what its network and data hold, at most.

    Two steps at the tiny size go before, so that compiling and loading libraries is not counted (JAX compiles anew for
    new shapes, which is).
    """
    warm = groups.GROUPS[group](True)[name]()
    warm()
    warm()
    step = groups.GROUPS[group](tiny)[name]()
    timing.reset_peak()
    before = timing.resident()
    step()
    step()
    after = timing.resident(peak=True)
    return None if before is None or after is None else after - before


def _peaks(group: str, names: list[str], tiny: bool) -> dict[str, int | None]:
    """The peak of every contender, each in a new process."""
    found = {}
    for name in names:
        command = [sys.executable, "-m", f"{__package__}", "--peak", group, name, *(["--tiny"] if tiny else [])]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[-1]
        found[name] = None if told == "None" else int(told)
    return found


def machine(threads: int | None) -> dict[str, Any]:
    """What the numbers depend on besides the code."""
    versions = {}
    for library in LIBRARIES:
        try:
            versions[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            versions[library] = None
    blas = [lib for lib in threadpoolctl.threadpool_info() if lib["user_api"] == "blas"]
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": threads or cores.count(),
        "blas": [{key: lib[key] for key in ("internal_api", "version", "num_threads")} for lib in blas],
        "versions": versions,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def run(
    only: list[str] | None,
    *,
    without: Collection[str] = (),
    repeats: int,
    tiny: bool,
    out: str | os.PathLike,
    threads: int | None,
) -> dict:
    """Measure the parts asked for (all by default), print them, write ``bench.json`` and ``scaling.png`` into out.

    ``without`` names contenders that do not take part.

    Raises ValueError for a part that does not exist, or fewer than one round.
    """
    wanted = set(only or PARTS)
    if unknown := sorted(wanted - set(PARTS)):
        raise ValueError(f"there is no part {unknown[0]!r}; the parts are {', '.join(PARTS)}")
    if repeats < 1:
        raise ValueError(f"the number of rounds must be at least 1, got {repeats}")
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    kept = cores.keep_memory()  # for the whole process, the peers' steps included
    document: dict[str, Any] = {
        "when": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "tiny": tiny,
        "repeats": repeats,
        "keep_memory": kept,
        "load_before": timing.load(),
        "groups": {},
    }
    for name, contenders in groups.GROUPS.items():
        if name in wanted:
            steps = {label: build() for label, build in contenders(tiny).items() if label not in without}
            document["groups"][name] = timing.race(steps, repeats=repeats, least=0.0 if tiny else 0.05)
            _print_group(name, groups.GROUPS[name].__doc__ or "", document["groups"][name])
    if "start" in wanted:
        document["groups"]["start"] = groups.start(tiny, repeats)
    document["targets"] = targets.judge(document["groups"])
    _print_targets(document["targets"])
    if "memory" in wanted:
        document["peak_bytes"] = {
            name: _peaks(name, [label for label in contenders(True) if label not in without], tiny)
            for name, contenders in groups.GROUPS.items()
            if name in ("mlp", "cnn")
        }
        _print_peaks(document["peak_bytes"])
    if "scaling" in wanted:
        document["scaling"] = scaling.measure(tiny, repeats)
        scaling.draw(document["scaling"], folder / "scaling.png")
        print("\nGrowth\n" + "\n".join(scaling.table(document["scaling"])))
    document["load_after"] = timing.load()
    document["machine"] = machine(threads)
    (folder / "bench.json").write_text(json.dumps(document, indent=1) + "\n")
    print(f"\nload before {document['load_before'][0]:.1f}, after {document['load_after'][0]:.1f}; {folder}/bench.json")
    return document


def _print_group(name: str, doc: str, times: dict[str, Any]) -> None:
    print(f"\n{name}: {doc.splitlines()[0]}")
    print(f"  {'ms':44s} {'median':>9s} {'q1':>9s} {'q3':>9s} {'cpu':>9s}")
    for label, found in times.items():
        wall, cpu = timing.summary(found["wall"]), timing.summary(found["cpu"])
        middle = [wall["median"], wall["q1"], wall["q3"], cpu["median"]]
        print(f"  {label:44s} " + " ".join(f"{1e3 * value:9.3f}" for value in middle), flush=True)


def _print_targets(rows: list[dict[str, Any]]) -> None:
    print("\nTargets: time of ours over time of the other, or seconds")
    for row in rows:
        if row["found"] is None:
            print(f"  {row['what']:52s} not measured")
            continue
        reached = "reached" if row["reached"] else "NOT reached"
        spread = f"{row['q1']:.3g} to {row['q3']:.3g}"
        print(f"  {row['what']:52s} {row['found']:7.3g} ({spread}), at most {row['at_most']:.3g}: {reached}")


def _print_peaks(peaks: dict[str, dict[str, int | None]]) -> None:
    for group, rows in peaks.items():
        print(f"\nMemory at most, beyond network and data, {group}")
        for name, found in rows.items():
            print(f"  {name:28s} " + ("unknown" if found is None else f"{found / 2**20:9.1f} MiB"))
