"""Operations and bytes that a step of each target needs, the time that they take, and the remaining time of the step.

We count the operations of the products: 2 a b c for (a, b) times (b, c). For a convolution we count the operations of
its definition, even if the code uses another algorithm. For the MLP, the time of the operations is the measured time of
its products alone. For the other networks, we divide the operations by the rate of the fastest product that was
measured. The fastest product can be a large square product. All times come from one run, with one library and one
number of cores.

A method with fewer operations can take less time than this floor. `nfa.kernels.toom_cook` is such a method, so our step
on the CNN can be below the floor.

We count the bytes that no cache holds: parameters and momentum, each read and written once, and the records. We compute
their time from the rate of a copy.
"""

import math
import statistics
from itertools import pairwise
from typing import Any

from . import problem as problems
from .floors import LARGE, positions, square
from .targets import SECONDS, STEPS, TARGETS, Groups, Target, find, seconds_of

DIRECT = ("dfa", "dp_dfa", "photonic")  # rules that compute B e instead of W^T dz
REPEATS = 100  # K, the number of losses per example and layer in a step of ULR
ULR_SIZES, ULR_BATCH = (784, 128, 64, 32, 10), 500


def work(group: str, rule: str) -> tuple[int, int] | None:
    """(operations, bytes) of a step of a rule at the timed sizes; None if we do not count the rule's products.

    The hybrid rule is counted as BP, because its dense layers take a small part of a convolutional network.
    """
    if group == "ulr":
        return _repeats()
    if group not in ("mlp", "cnn"):
        return None
    shapes, m = problems.layers(group, tiny=False), problems.batch(False, group)
    places, parameters, terms = positions(shapes, tiny=False), 0, 0
    direct = rule in DIRECT
    for l, ((shape, _), used) in enumerate(zip(shapes, places, strict=True)):
        weights = math.prod(shape)
        parameters += weights + shape[0]
        terms += 2 * weights * used  # forward pass, and the sum over examples
        if l > 0 and not direct:
            terms += weights * used  # product W^T dz
        if direct and l < len(shapes) - 1:
            terms += shapes[-1].shape[0] * shape[0] * used  # product B e
    return 2 * m * terms, 4 * (4 * parameters + m * 784)


def forward(group: str) -> int:
    """Operations of one record's forward pass through the MLP or the CNN."""
    shapes = problems.layers(group, tiny=False)
    places = positions(shapes, tiny=False)
    return sum(2 * math.prod(shape) * used for (shape, _), used in zip(shapes, places, strict=True))


def _repeats() -> tuple[int, int]:
    """(operations, bytes) of a step of ULR: the forward pass, each layer's K losses per example, and the sums."""
    weights = [a * b for a, b in pairwise(ULR_SIZES)]
    after = sum(REPEATS * sum(weights[l:]) for l in range(1, len(weights) + 1))
    return 2 * ULR_BATCH * (after + 2 * sum(weights)), 4 * (4 * sum(weights) + ULR_BATCH * 784)


def rates(groups: Groups, core: str) -> tuple[float, float] | None:
    """(operations, bytes) per second of the fastest product and of the copy; None if one was not measured."""
    multiplied, copied = [], []
    for group in ("mlp", "cnn"):
        if large := seconds_of(groups, (group, "floor", LARGE), core):
            multiplied.append(2 * square(False) ** 3 / large)
        if told := find(groups, (group, "floor", "copy"), core):
            copied.append(8 * told[0]["parameters"] / statistics.median(told[1]))  # each byte is read and written
    for rule in ("bp", "dfa"):
        if (alone := _products_alone(groups, rule, core)) and (counted := work("mlp", rule)):
            multiplied.append(counted[0] / alone)
    return (max(multiplied), max(copied)) if multiplied and copied else None


def _products_alone(groups: Groups, rule: str, core: str) -> float | None:
    """Seconds of the products of the MLP's step, measured alone."""
    return seconds_of(groups, ("mlp", "floor", f"products of {'DFA' if rule in DIRECT else 'BP'}"), core)


def of(groups: Groups, target: Target, core: str) -> dict[str, Any] | None:
    """The arithmetic of a target; None if the target has none, or if a time that it needs was not measured.

    Returns
    -------
    dict : "flops" and "bytes" of the timed code; "rate", operations per second of the fastest product; "floor", the
    larger of the seconds for the operations and the seconds for the bytes in this run; "ours", the measured seconds;
    "rest", the measured seconds minus the floor; "least", the target's ratio or seconds if the code took only the
    floor. If an epoch is compared with its steps, "floor" is the time of these steps, of reading the data, and
        of the operations of the forward passes that measure the network
    """
    group, name, _ = target.ours
    counted, rate = work(group.removesuffix(" epoch"), name), rates(groups, core)
    ours, told = seconds_of(groups, target.ours, core), find(groups, target.ours, core)
    if target.measured != SECONDS or counted is None or ours is None or told is None or rate is None:
        return None
    times = told[0].get("steps", 1) if target.ours[2] == "epoch" else 1
    flops, moved = (n * times for n in counted)
    floor = max(flops / rate[0], moved / rate[1])
    if group.startswith("mlp") and (alone := _products_alone(groups, name, core)):
        floor = max(alone * times, moved / rate[1])
    other = seconds_of(groups, target.other, core) if target.other else None
    if target.times == STEPS and other:
        looked = told[0].get("looked_at", 0) * forward(group.removesuffix(" epoch"))
        floor = other * times + looked / rate[0] + told[0].get("reading", 0.0)
    found = {"flops": flops, "bytes": moved, "rate": rate[0], "floor": floor, "ours": ours, "rest": ours - floor}
    if target.other and other:
        found["least"] = floor / (other * times if target.times == STEPS else other)
    elif isinstance(target.times, int):
        found["least"] = floor * target.times
    return found


def add(rows: list[dict[str, Any]], groups: Groups) -> None:
    """Add the arithmetic of its target to each row of `targets.judge`."""
    known = {target.what: target for target in TARGETS}
    for row in rows:
        row["arithmetic"] = of(groups, known[row["what"]], row["core"])


def table(rows: list[dict[str, Any]]) -> list[str]:
    """The arithmetic as lines of text, for the targets that have one."""
    lines = [
        f"  {'ms':66s} {'Gflop':>8s} {'MB':>7s} {'floor':>9s} {'ours':>9s} {'rest':>9s} {'least':>6s} {'wanted':>6s}"
    ]
    for row in rows:
        if not (found := row.get("arithmetic")):
            continue
        title = f"{row['what']} ({row['core']})"
        times = " ".join(f"{1e3 * found[key]:9.2f}" for key in ("floor", "ours", "rest"))
        sizes = f"{found['flops'] / 1e9:8.2f} {found['bytes'] / 1e6:7.1f}"
        far = "  no room for it" if found.get("least", 0) > row["at_most"] else ""
        lines.append(f"  {title:66s} {sizes} {times} {found.get('least', 0):6.2f} {row['at_most']:6.2f}{far}")
    return lines
