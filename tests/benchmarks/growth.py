"""Contenders for `scaling`: steps and runs of many sizes, each labelled "axis value", such as "width 64"."""

import itertools
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from nfa.experiments.experiment import Cell
from nfa.experiments.jobs import run_cells
from nfa.experiments.run import run
from nfa.experiments.settings import Settings
from nfa.kernels import cores

from .own import RULES, TINY_NETS, settings, stepping
from .problem import Built, sizes_of_growth

# The quantities that vary, and their values, in addition to `problem.sizes_of_growth`. Otherwise the width is 256, the
# depth 3 and the batch size 128.
AXES = {
    "width": (128, 256, 512, 1024),
    "depth": (2, 4, 8, 16),
    "K": (10, 20, 40, 80),
    "records": (750, 1500, 3000, 6000),
    "jobs": (1, 2),
}
TINY = {"width": (8, 16), "depth": (2, 3), "K": (2, 4), "records": (10, 20), "jobs": (1,)}
CELLS = 4  # number of runs that the worker processes divide among themselves


def _axes(tiny: bool) -> dict[str, tuple[int, ...]]:
    return TINY if tiny else AXES


def _features(folder: str, width: int, n: int) -> str:
    """The path of a file of n random records with this number of features each."""
    path = Path(folder, f"random-{width}-{n}.npz")
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0, 1, (n, width)).astype(np.float32), np.arange(n) % 10
    part = tempfile.mkstemp(dir=folder, suffix=".npz")[1]  # another process may be writing the same file
    np.savez(part, x_train=x, y_train=y, x_test=x[:10], y_test=y[:10])
    Path(part).replace(path)
    return str(path)


def rules(folder: str, *, rule: str, tiny: bool, threads: int) -> Built:
    """A step of a rule for every width and depth; the MLP's step for every batch size and every number of threads."""
    steps, used = {}, []
    for axis in ("width", "depth"):
        for value in _axes(tiny)[axis]:
            size = {"width": 8 if tiny else 256, "depth": 3, axis: value}
            sizes = "-".join(map(str, [*[size["width"]] * size["depth"], 10]))
            steps[f"{axis} {value}"], parts = stepping(_of(folder, rule, sizes, 4 if tiny else 128, threads))
            used = parts.kernels
    mlp = TINY_NETS["mlp"] if tiny else "784-512-512-10"
    for axis, values in sizes_of_growth(tiny).items():
        for value, m in values:
            step, _ = stepping(_of(folder, rule, mlp, m, value if axis == "threads" else threads))
            steps[f"{axis} {value}"] = step if axis == "batch" else _with_threads(step, value, threads)
    return Built(steps, {"kernels": used})


def _of(folder: str, rule: str, architecture: str, m: int, threads: int) -> Settings:
    """The settings of a run of a rule on random records; the number of records is the batch size."""
    name, own = RULES[rule]
    return Settings(
        rule=name,
        rule_settings=own,
        dataset=_features(folder, int(architecture.partition("-")[0]), max(20, m)),
        pixels="as-is",
        architecture=architecture,
        feedback_law="spectral",
        feedback_scale=1.0,
        batch=m,
        sampling="without-replacement",
        threads=threads,
    )


def _with_threads(step: Callable, n: int, after: int) -> Callable:
    """The step with n threads for the kernels. After the step, the process has its usual number of threads again."""

    def one() -> None:
        cores.limit(n)
        step()
        cores.limit(after)

    return one


def repeats(folder: str, *, tiny: bool, threads: int) -> Built:
    """A step of ULR on the network 256-128-10 with batch size 64, for every number K of losses per example."""
    width, m, steps, used = (16 if tiny else 256), (4 if tiny else 64), {}, []
    for K in _axes(tiny)["K"]:
        chosen = Settings(
            rule="ulr",
            rule_settings={"sigma": 0.1, "K": K},
            dataset=_features(folder, width, max(20, 2 * m)),
            pixels="as-is",
            architecture=f"{width}-{width // 2}-10",
            batch=m,
            lr=1e-6,
            sampling="without-replacement",
            threads=threads,
        )
        steps[f"K {K}"], parts = stepping(chosen)
        used = parts.kernels
    return Built(steps, {"kernels": used})


def records(folder: str, *, tiny: bool, threads: int) -> Built:
    """One epoch of DP-DFA for every number of records. The time includes reading the data and writing the record."""
    number, place = itertools.count(), tempfile.mkdtemp(dir=folder)

    def runs(n: int) -> Callable[[], None]:
        chosen = settings(folder, "mlp", "dp_dfa", tiny=tiny, threads=threads, train_examples=n, **_small(tiny))

        def one() -> None:
            run(chosen, Path(place, str(next(number))))

        return one

    return Built({f"records {n}": runs(n) for n in _axes(tiny)["records"]}, {})


def _small(tiny: bool) -> dict[str, Any]:
    return {} if tiny else {"dataset": "fashion-mnist-small"}


def jobs(folder: str, *, tiny: bool, threads: int) -> Built:
    """CELLS runs of one thread each.

    Worker processes that already exist divide these runs, as with `nfa reproduce --jobs`.
    """
    number, place = itertools.count(), tempfile.mkdtemp(dir=folder)

    def shared(workers: int) -> Callable[[], None]:
        def one() -> None:
            epochs = 1 if tiny else 2
            chosen = [
                settings(folder, "mlp", "dp_dfa", tiny=tiny, threads=1, seed=seed, epochs=epochs, **_small(tiny))
                for seed in range(1, 1 + CELLS)
            ]
            cells = [Cell(f"seed{one.seed}", one, {}) for one in chosen]
            into = Path(place, str(next(number)))
            run_cells(cells, into, experiment="bench", jobs=workers, resume=False, progress=None)

        return one

    steps = {f"jobs {n}": shared(n) for n in _axes(tiny)["jobs"] if n <= (os.cpu_count() or 1)}
    if not tiny:  # the first call starts the workers and compiles
        for step in steps.values():
            step()
    return Built(steps, {"cells": CELLS})
