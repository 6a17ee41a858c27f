"""What stands behind each target: the operations and bytes that a step cannot do without, their time, and what remains.

Operations are those of the products: 2 a b c for (a, b) times (b, c), and for a convolution as many as its definition
has, whatever is made of them. For the MLP their time is that of its products alone, elsewhere that at the rate of the
fastest product, a large square one where it was measured; both are of the same run, by the same library, on as many
cores. A way with fewer operations can take less. `nfa.kernels.toom_cook` is one, so a step of ours on the CNN can be
below this floor. Bytes are of what no cache has kept: parameters and their momentum, read and written once, and the
records; they are taken at the rate of a copy.
"""

import math
import statistics
from itertools import pairwise
from typing import Any

from . import problem as problems
from .floors import LARGE, positions, square
from .targets import SECONDS, STEPS, TARGETS, Groups, Target, find, seconds_of

DIRECT = ("dfa", "dp_dfa", "photonic")  # B e in place of W^T dz
REPEATS = 100  # K of the steps of ULR
ULR_SIZES, ULR_BATCH = (784, 128, 64, 32, 10), 500


def work(group: str, rule: str) -> tuple[int, int] | None:
    """(operations, bytes) of a step of a rule at the sizes that are timed; None where it has no products to count.

    The hybrid's are counted as BP's: its dense layers take little of a network of convolutions.
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
        terms += 2 * weights * used  # forward, and the sum over examples
        if l > 0 and not direct:
            terms += weights * used  # W^T dz
        if direct and l < len(shapes) - 1:
            terms += shapes[-1].shape[0] * shape[0] * used  # B e
    return 2 * m * terms, 4 * (4 * parameters + m * 784)


def forward(group: str) -> int:
    """Operations of one record's forward pass through the MLP or the CNN."""
    shapes = problems.layers(group, tiny=False)
    places = positions(shapes, tiny=False)
    return sum(2 * math.prod(shape) * used for (shape, _), used in zip(shapes, places, strict=True))


def _repeats() -> tuple[int, int]:
    """Of ULR: every layer's K losses an example, from that layer on, and the forward pass and the sums."""
    weights = [a * b for a, b in pairwise(ULR_SIZES)]
    after = sum(REPEATS * sum(weights[l:]) for l in range(1, len(weights) + 1))
    return 2 * ULR_BATCH * (after + 2 * sum(weights)), 4 * (4 * sum(weights) + ULR_BATCH * 784)


def rates(groups: Groups, core: str) -> tuple[float, float] | None:
    """(operations, bytes) a second: of the fastest product of this run and of a copy; None if none was measured."""
    multiplied, copied = [], []
    for group in ("mlp", "cnn"):
        if large := seconds_of(groups, (group, "floor", LARGE), core):
            multiplied.append(2 * square(False) ** 3 / large)
        if told := find(groups, (group, "floor", "copy"), core):
            copied.append(8 * told[0]["parameters"] / statistics.median(told[1]))  # read and written
    for rule in ("bp", "dfa"):
        if (alone := _products_alone(groups, rule, core)) and (counted := work("mlp", rule)):
            multiplied.append(counted[0] / alone)
    return (max(multiplied), max(copied)) if multiplied and copied else None


def _products_alone(groups: Groups, rule: str, core: str) -> float | None:
    """Seconds of the products of the MLP's step, measured alone."""
    return seconds_of(groups, ("mlp", "floor", f"products of {'DFA' if rule in DIRECT else 'BP'}"), core)


def of(groups: Groups, target: Target, core: str) -> dict[str, Any] | None:
    """The arithmetic of a target; None where it has none or what it needs was not measured.

    Returns
    -------
    dict : "flops" and "bytes" of what is timed; "rate", operations a second of the fastest product; "floor", the
        seconds that the operations or the bytes take in this run, whichever is more; "ours", the seconds found;
        "rest", what remains of them; "least", the ratio or the seconds of the target if nothing but the floor were
        left. Where an epoch is held against its steps, "floor" is the time of these, of reading the data, and of the
        forward passes' operations with which the network is measured
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
    """Give each row of `targets.judge` its arithmetic."""
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
