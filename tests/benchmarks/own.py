"""Contenders of nfa: steps and epochs as `nfa train` runs them, with the kernels that the settings choose."""

import itertools
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from nfa import data
from nfa.experiments.prepare import prepare
from nfa.experiments.run import run
from nfa.experiments.settings import Settings

from .problem import ARRAYS, LR, MOMENTUM, SIGMA, TINY, TRAIN_LOSS, WHOLE, Built, C, batch, name_of_data, whole_batches

NETS = {"mlp": "ohana2021", "cnn": "lee2020-cnn", "ulr": "dpulr2024-mlp"}
TINY_NETS = {"mlp": "64-16-12-10", "cnn": "lee2020-cnn", "ulr": "64-12-10"}
_NOISE: dict[str, Any] = {"sigma": SIGMA}
RULES: dict[str, tuple[str, dict[str, Any]]] = {
    "bp": ("bp", {}),
    "dfa": ("dfa", {}),
    "dp_dfa": ("dp_dfa", {**_NOISE, "tau_e": 0.1, "tau_h": 1.0}),
    "dp_sgd": ("dp_sgd", {**_NOISE, "C": C}),
    "dp_hybrid": ("dp_hybrid", {**_NOISE, "tau": C, "tau_e": 0.1, "tau_h": 1.0}),
    "photonic": ("pdfa", {**_NOISE, "t": 0.15, "tau_h_min": 0.1}),
    "ulr": ("ulr", {"sigma": 0.1, "K": 100}),
}


def settings(folder: str, problem: str, rule: str, *, tiny: bool, threads: int, epoch=False, **more) -> Settings:
    """The settings of a run with a rule of RULES; ``more`` has further settings."""
    name, own = RULES[rule]
    dataset = name_of_data(folder, problem, tiny=tiny, epoch=epoch)
    m = batch(tiny, problem)
    if not epoch and not tiny:
        more = {"train_examples": whole_batches(6000, m), **more}
    given: dict[str, Any] = {
        "rule": name,
        "rule_settings": {**own, "K": 3} if tiny and "K" in own else own,
        "dataset": str(Path(folder, "tiny.npz")) if dataset == TINY else dataset,
        "classes": "10" if dataset == TINY else None,
        "architecture": (TINY_NETS if tiny else NETS)[problem],
        "feedback_law": "spectral",
        "feedback_scale": 1.0,
        "batch": m,
        "lr": 1e-6 if rule == "ulr" else LR,
        "momentum": MOMENTUM,
        "epochs": 1,
        "threads": threads,
    }
    return Settings(**given | more)


def stepping(chosen: Settings):
    """A function that runs one whole step of a run, including data and noise, and the `Parts` of this run."""
    parts = prepare(chosen)
    steps = parts.train()

    def step() -> None:
        next(steps)

    return step, parts


def step(folder: str, *, problem: str, rule: str, tiny: bool, threads: int, size: int = 0, **more) -> Built:
    """One step of `nfa train`, with another batch size if ``size`` is given."""
    if size and not tiny:
        more |= {"batch": size, "train_examples": size}
    one, parts = stepping(settings(folder, problem, rule, tiny=tiny, threads=threads, **more))
    return Built({"step": one}, {"kernels": parts.kernels})


def epoch(folder: str, *, problem: str, rule: str, tiny: bool, threads: int, **more) -> Built:
    """One epoch of `nfa train` in a running process: read and prepare the data, train, measure, write the record.

    The timed function returns the seconds of training alone, as in the record of the run. The contender also reports
    ``reading``, the seconds for reading the data. ``looked_at`` is the number of records on which loss and accuracy are
    measured at the end.
    """
    chosen = settings(folder, problem, rule, tiny=tiny, threads=threads, epoch=True, **more)
    if problem == "ulr" and not tiny and chosen.dataset != WHOLE["ulr"]:
        raise ValueError(f"the data set {WHOLE['ulr']} is not here; NFA_DATA_HOME names its folder")
    number = itertools.count()
    place = tempfile.mkdtemp(dir=folder)
    told: dict[str, Any] = {"data": Path(chosen.dataset).stem}

    def one() -> dict[str, float]:
        record = run(chosen, Path(place, str(next(number))))
        told.update(kernels=record["kernels"], steps=record["steps"], records=record["data"]["train"])
        return {"training": record["timing"]["seconds"]}

    if not tiny:  # measure the values in the contender's report before the first turn
        began = time.perf_counter()
        images = data.load(chosen.dataset)
        told["reading"] = time.perf_counter() - began
        n = len(images.x_train)
        told["looked_at"] = min(TRAIN_LOSS, n) + n + len(images.x_test)
        parts = prepare(chosen)
        told |= {"records": n, "steps": parts.steps, "kernels": parts.kernels}
    return Built({"epoch": one}, told)


def first_use(folder: str, *, problem: str, rule: str, small: bool, tiny: bool, threads: int) -> Built:
    """Seconds that a run's preparation and first step take more at the first time in a process than at the second time.

    The difference is the time to import numba and to compile each kernel at its first use. Start a new process for each
    measurement, also if ``tiny``. The sizes are those of a real step, unless ``small``.
    """
    seconds = []
    for _ in range(2):
        began = time.perf_counter()
        stepping(settings(folder, problem, rule, tiny=small, threads=threads))[0]()
        seconds.append(time.perf_counter() - began)
    return Built({}, {"first_use": seconds[0] - seconds[1]})


def export(folder: str, *, tiny: bool, threads: int, names: list[str]) -> Built:
    """Write data sets as plain files for processes that do not use nfa.

    A data set that is not available is left out.
    """
    images = np.random.default_rng(0).integers(0, 256, (60, 1, 8, 8), dtype=np.uint8)
    labels = np.arange(60) % 10
    np.savez(Path(folder, "tiny.npz"), x_train=images[:40], y_train=labels[:40], x_test=images[40:], y_test=labels[40:])
    found = []
    here = {one.name for one in data.list_datasets() if one.found}
    for name in (TINY, *(name for name in names if name in here)):
        one = data.load(Path(folder, "tiny.npz") if name == TINY else name)
        for what in ARRAYS:
            np.save(Path(folder, f"{name}-{what}.npy"), getattr(one, what))
        found.append(name)
    return Built({}, {"data": found})
