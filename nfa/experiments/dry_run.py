"""Estimates of the time and memory of runs. We time a few steps of each kind of run.

If a step is long, we time steps with fewer examples or fewer repeats, and scale the measured time up. A trial (the
timed steps of a run) reads only some of the records of a data set.
"""

import math
import os
import tempfile
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from nfa.experiments import prepare, public
from nfa.experiments.experiment import Cell
from nfa.experiments.privacy_statement import with_some_noise
from nfa.experiments.run import TRAIN_LOSS_EXAMPLES, limited
from nfa.experiments.settings import Settings
from nfa.network import predict
from nfa.network.net import AT_ONCE
from nfa.rules.spec import spec
from nfa.sampling import ALL_RECORDS, OPTIONS, EpochPartition
from nfa.train import train

BUDGET = 10.0  # seconds for timing all kinds of runs
ROUNDS = 3  # number of timed steps of each size, if the time of a step is scaled
CLEAR = 0.05  # seconds; other processes change the time of a step of this duration only a little
TRIAL_STEPS, TRIAL_SECONDS = 20, 0.2  # a trial takes more steps and seconds than these limits, unless the budget ends
FEW = 8  # number of examples at the start of a trial
# Learning rate of a trial. It is so small that no parameter changes. It is so large that no update is a subnormal
# number, because computations with subnormal numbers are slow.
NO_STEP = 1e-20
SOME = 1000  # number of records of a data set in a trial
BASE_BYTES = 150e6  # memory of Python with NumPy and SciPy


@dataclass(frozen=True, eq=False)
class Source:
    """The facts about a data set that an estimate needs.

    Parameters
    ----------
    train, test, size : number of training examples, number of test examples, and number of values of one example
    declared : number of training records in the registry; None for a file of the user
    classes : number of classes
    nbytes, seconds : memory of the arrays, and time to read them
    some : {name of an array: some of its rows}. The training rows contain every class
    """

    digest: str
    train: int
    test: int
    size: int
    declared: int | None
    classes: int
    nbytes: int
    seconds: float
    some: dict[str, Any]


@dataclass(frozen=True)
class Estimate:
    """The estimate for one run: its time, the memory of its process, and words about the timed steps."""

    seconds: float
    nbytes: float
    how: str


def kind(cell: Cell) -> str:
    """Return the kind of a run: rule, network, data, epochs and batch size. All runs of a kind take the same time."""
    batches = "whole epochs at once" if cell.settings.sampling in ALL_RECORDS else f"batches of {cell.settings.batch}"
    return f"{_work(cell.settings)}, {cell.epochs} {'epoch' if cell.epochs == 1 else 'epochs'} in {batches}"


def sources(cells: Iterable[Cell]) -> dict[str, Source]:
    """Read every data set of the cells once. Raises OSError if a data set is not available."""
    found: dict[str, Source] = {}
    for settings in (cell.settings for cell in cells):
        if settings.dataset not in found:
            began = time.perf_counter()
            read = public.load(settings)
            seconds = time.perf_counter() - began
            x, test = read.x_train, read.x_test
            first = np.union1d(np.arange(min(SOME, len(x))), np.unique(read.y_train, return_index=True)[1])
            some = {"x_train": x[first], "y_train": read.y_train[first]}
            some |= {"x_test": test[:SOME].copy(), "y_test": read.y_test[:SOME].copy()}
            counts = (len(x), len(test), math.prod(x.shape[1:]), read.records, read.classes, x.nbytes + test.nbytes)
            found[settings.dataset] = Source(read.digest, *counts, seconds, some)
    return found


def estimates(cells: Iterable[Cell], known: Mapping[str, Source], budget: float = BUDGET) -> dict[str, Estimate]:
    """The time and memory of the cells' runs, by their `kind`.

    Parameters
    ----------
    known : from `sources`
    budget : seconds for all trials together. If no time is left for a kind, a step on a few examples is still timed.
        The budget does not include the time for such steps and for the compilation of kernels

    Raises
    ------
    ValueError, OSError : the errors that the runs would raise before their first step
    """
    until = time.perf_counter() + budget
    by_work: dict[str, dict[str, Cell]] = {}
    for cell in cells:
        by_work.setdefault(_work(cell.settings), {}).setdefault(kind(cell), cell)
    found: dict[str, Estimate] = {}
    with tempfile.TemporaryDirectory(prefix="nfa-") as folder:
        files = {name: os.path.join(folder, f"{k}.npz") for k, name in enumerate(known)}
        for name, file in files.items():
            np.savez(file, **known[name].some)
        for left, samples in zip(range(len(by_work), 0, -1), by_work.values(), strict=True):
            name, now = next(iter(samples.values())).settings.dataset, time.perf_counter()
            found |= _of_one_work(samples, known[name], files[name], now + max(0.0, until - now) / left)
    return found


def _work(settings: Settings) -> str:
    """Words for the computation of a step, without the batch size and the number of batches."""
    ways = [f"{k} = {v}" for k, v in settings.rule_settings.items() if k == "K" or isinstance(v, str)]
    by = " by OPU" if settings.opu is not None else ""
    some = "" if settings.train_examples is None else f"{settings.train_examples} examples of "
    rule = f"{settings.rule}{by}{' with ' + ', '.join(ways) if ways else ''}"
    features = "" if settings.features is None else f"features {settings.features} of "
    return f"{rule} of {settings.architecture} on {features}{some}{settings.dataset}"


def _of_one_work(samples: dict[str, Cell], source: Source, file: str, until: float) -> dict[str, Estimate]:
    """Return the estimates of kinds that differ only in batches and epochs. These kinds use the same network and data.

    The file contains some of the records of the data set.
    """
    most = max((cell.settings for cell in samples.values()), key=lambda settings: settings.batch)
    sizes = public.sizes(most, source.declared, source.train)
    n, held = sizes.N, sizes.held
    with limited(most.threads):
        parts = prepare.prepare(_smaller(with_some_noise(spec(most.rule), most), file, source))
        looked_at = min(TRAIN_LOSS_EXAMPLES, n) + held + source.test + (n if "ridge" in parts.rule.keywords else 0)
        evaluation = looked_at * _evaluation(parts, (until - time.perf_counter()) / 8)
        once = source.seconds + (n + held + source.test) * _features(parts)
        trial, found = _Trial(parts, most), {}
        for left, (name, cell) in zip(range(len(samples), 0, -1), samples.items(), strict=True):
            settings, now = cell.settings, time.perf_counter()
            record_numbers = np.broadcast_to(np.zeros(1, np.float32), (n, 1))  # arrays of n rows without the data
            batches = prepare.make_batches(settings, record_numbers, record_numbers, parts.streams, n)
            rows = n if settings.sampling in ALL_RECORDS else settings.batch
            step, how = trial.step(batches, rows, now + (until - now) / left)
            seconds = once + cell.epochs * (batches.steps_per_epoch * step + evaluation)
            found[name] = Estimate(seconds, _bytes(parts, source, n, held, rows), how)
    return found


def _smaller(settings: Settings, file: str, source: Source) -> Settings:
    """The settings of a run with the same computation on some records, with the fewest repeats and no epsilon."""
    n = len(source.some["x_train"])
    given = dict(own := settings.rule_settings) | ({"K": fewest_repeats(own)} if "K" in own else {})
    given |= {} if settings.N_B is None else {"N_B": settings.N_B}
    scheme = settings.sampling if settings.sampling in ALL_RECORDS else EpochPartition.scheme
    some: dict[str, Any] = {"dataset": file, "validation": 0.0, "sampling": scheme, "batch": min(settings.batch, n)}
    some["tested"] = True  # because we time the classification on test examples
    some |= dict.fromkeys(
        ("test", "data_dir", "records", "train_examples", *OPTIONS, "adjacency", "delta", "accountant", "conversion")
    )
    some["classes"] = str(source.classes)
    return replace(settings, rule_settings=given, lr=NO_STEP, epochs=1, **some)


def fewest_repeats(rule_settings: dict[str, Any]) -> int:
    """The smallest number of repeats of a trial: 1 or, for antithetic repeats, 2 if K is even and K if K is odd."""
    K = rule_settings.get("K", 1)
    return 1 if not rule_settings.get("antithetic") else K if K % 2 else 2


class _Trial:
    """Timed steps on some of the examples of a batch, with some of the repeated forward passes.

    Parameters
    ----------
    parts : parts of a run on some of the records. The steps do not change its parameters, because the learning rate is
        tiny
    settings : settings of the full run
    """

    def __init__(self, parts: prepare.Prepared, settings: Settings) -> None:
        self.parts, self.each = parts, fewest_repeats(settings.rule_settings)
        self.repeats = settings.rule_settings.get("K", 1) // self.each  # number of groups of `each` repeats
        self.took: dict[tuple[int, int], float] = {}  # seconds of a step, by examples and repeats

    def step(self, batches, rows: int, until: float) -> tuple[float, str]:
        """Return the seconds of a whole step on this number of examples, and words about the measurement."""
        m = self._first(batches, rows)
        # In a shorter step, the part of the time that grows with the number of examples is too small to measure.
        plain = min(CLEAR, 2 * self.took[m, 1])
        while True:
            left, once = until - time.perf_counter(), self.took[m, 1]
            if 2 * once * (rows / m) * self.repeats <= left:
                return self._whole(batches, rows, until)
            more = min(2 * m, rows)
            too_long = 6 * ROUNDS * once > left and once > plain and (more, 1) not in self.took
            if m == rows or too_long:
                return self._scaled(batches, m, rows, until)
            m = more
            self._time(batches, m, 1)

    def _first(self, batches, rows: int) -> int:
        """Time a step on the smallest number of examples that the rule accepts, and return this number."""
        m = min(FEW, rows)
        while True:
            try:
                self._time(batches, m, 1)
                return m
            except ValueError:  # a rule may need more examples
                if m == rows:
                    raise
                m = min(2 * m, rows)

    def _time(self, batches, m: int, repeats: int) -> float:
        """The shortest time of a few steps. We do not time the first step, which compiles kernels."""
        if (m, repeats) not in self.took:
            loop, rounds = self._loop(batches, m, repeats), []
            next(loop)
            for _ in range(ROUNDS):
                began = time.perf_counter()
                next(loop)
                rounds.append(time.perf_counter() - began)
            self.took[m, repeats] = min(rounds)
        return self.took[m, repeats]

    def _loop(self, batches, m: int, repeats: int):
        parts = self.parts
        rule = partial(parts.rule, K=repeats * self.each) if "K" in parts.rule.keywords else parts.rule
        return train(parts.net, rule, _Few(batches, parts.batches, m), parts.optimizer, parts.streams)

    def _whole(self, batches, rows: int, until: float) -> tuple[float, str]:
        loop = self._loop(batches, rows, self.repeats)
        next(loop)
        began = time.perf_counter()
        for taken, _ in enumerate(loop, start=1):
            now = time.perf_counter()
            step = (now - began) / taken
            if now + step > until or (taken >= TRIAL_STEPS and now - began > TRIAL_SECONDS):
                break
        return step, f"timed {taken} step{'s' if taken > 1 else ''}"

    def _scaled(self, batches, m: int, rows: int, until: float) -> tuple[float, str]:
        """Scale up the time of a step, which has a fixed part and a part that grows with the examples and repeats."""
        once, several, part = self.took[m, 1], 1, ""
        whole = once
        if self.repeats > 1:
            while several < self.repeats:
                several = min(2 * several, self.repeats)
                t = self._time(batches, m, several)
                if t > min(CLEAR, 2 * once) and 3 * ROUNDS * t > until - time.perf_counter():
                    break
            whole += max(0.0, self.took[m, several] - once) / (several - 1) * (self.repeats - 1)
            part = f"{several * self.each} of K = {self.repeats * self.each} repeats"
        smaller = max((k for k, repeats in self.took if repeats == 1 and k < m), default=0)
        if not smaller and 1 < m < rows:
            with suppress(ValueError):  # the rule may need more examples
                self._time(batches, m // 2, 1)
                smaller = m // 2
        # We find the time of a step without examples from a line through two measurements. With only one measurement,
        # we take 0.
        line = (self.took[smaller, 1] * m - once * smaller) / (m - smaller) if smaller else 0.0
        alone = min(max(0.0, line), once)
        step = alone + (whole - alone) * rows / m
        if m < rows:
            part = f"{m} of {rows} examples" + (f" with {part}" if part else "")
        return step, f"timed {part}, and scaled" if part else f"timed {ROUNDS} steps"


class _Few:
    """The first examples of a run's batches, taken from a data set with fewer records."""

    def __init__(self, batches, few, m: int) -> None:
        self.batches, self.x, self.y, self.m = batches, few.x, few.y, m

    def at(self, t: int) -> tuple[np.ndarray, np.ndarray]:
        # Repeat records, because a drawn batch may have fewer than m records.
        chosen = np.resize(self.batches.indices(t), self.m) % len(self.x)
        return self.x[chosen], self.y[chosen]


def _features(parts: prepare.Prepared) -> float:
    """Return the seconds to compute the features of one example.

    If several runs have the same features, only the first run computes the features. The other runs need less time.
    """
    if parts.features is None:
        return 0.0
    examples = np.ones((4 * FEW, *parts.features.shape), parts.net.W[1].dtype)
    parts.features(examples[:1])  # the first call computes the filters, so it is not timed
    began = time.perf_counter()
    parts.features(examples)
    return (time.perf_counter() - began) / len(examples)


def _evaluation(parts: prepare.Prepared, most: float) -> float:
    """Return the seconds to classify one example, measured on all examples that fit into the allowed seconds."""
    examples, m = parts.x_test, 1
    predict(parts.net, examples[:1])  # the first call compiles kernels, so it is not timed
    while True:
        began = time.perf_counter()
        predict(parts.net, examples[:m])
        seconds = time.perf_counter() - began
        if 8 * m > min(AT_ONCE, len(examples)) or 8 * seconds > most:
            return seconds / min(m, len(examples))
        m *= 8


def _bytes(parts: prepare.Prepared, source: Source, n: int, held: int, rows: int) -> float:
    """Memory of one run.

    The memory includes the data as read and as floats, the parameters with the optimizer state and the direction, and
    the arrays of the layers.
    """
    net = parts.net
    size = source.size if parts.features is None else math.prod(parts.features.out_shape)
    floats = (n + held + source.test) * size + n * math.prod(net.shape_h[net.L])
    width = sum(map(math.prod, (*net.shape_z[1:], *net.shape_h[1:])))  # number of values of one example in all layers
    threads = parts.settings.threads
    together = min(rows, parts.part["part"] * threads) if parts.part else rows
    floats += (4 + threads) * net.n_parameters + 2 * max(AT_ONCE * threads, together) * width
    return BASE_BYTES + source.nbytes + floats * net.W[1].itemsize
