"""The targets, as data: ratios of the times of two contenders, seconds, memory, and busy cores."""

import statistics
from collections.abc import Mapping
from typing import Any, NamedTuple

from . import timing
from .contenders import ANY, CNN_RULES, LARGE, LARGE_RULES, MLP_RULES

STEPS = "steps"
SECONDS, MEGABYTES, BUSY = "seconds", "megabytes", "busy"
EFFICIENCY = 0.88  # least share of the cores' time in a step
Place = tuple[str, str, str]  # group, contender, label
Groups = Mapping[str, Mapping[str, Any]]


class Target(NamedTuple):
    """A target: ``ours`` may take at most ``bound`` times as long as ``other``.

    Without ``other``, ``bound`` is a number of seconds or megabytes.

    Parameters
    ----------
    what : the target in words
    ours, other : group, contender and label
    bound : the largest value that reaches the target; for BUSY, the smallest value that reaches it
    before : the value with steps that were not split by examples, in a fair measurement; "" if there is no such value
    times : number of calls of ``ours`` that we compare with one call of ``other``. STEPS: we compare one call of
    ``ours`` with as many calls of ``other`` as ``ours`` reports steps
    measured : SECONDS; MEGABYTES, of 10^6 bytes, from `timing.bytes_of`; or BUSY, from `timing.busy`
    """

    what: str
    ours: Place
    other: Place | None
    bound: float
    before: str = ""
    times: int | str = 1
    measured: str = SECONDS

    @property
    def side(self) -> str:
        """Whether the bound is the largest or the smallest value that reaches the target."""
        return "at_least" if self.measured == BUSY else "at_most"


def _step(group: str, name: str) -> Place:
    return group, name, "step"


def _epoch(group: str, name: str) -> Place:
    return f"{group} epoch", name, "epoch"


def _beside(what: str, group: str, ours: str, other: str, bound: float, before: str) -> Target:
    return Target(f"{group.upper()}: {what}", _step(group, ours), _step(group, other), bound, before)


PRODUCTS = ("mlp", "floor", "products of DFA")
DP_DFA = _step("mlp", "dp_dfa")
TARGETS = [
    _beside("DP-DFA over torch's BP without privacy", "mlp", "dp_dfa", "torch bp", 0.95, "1.22 to 1.28"),
    Target("MLP: DP-DFA over the floor of its products", DP_DFA, PRODUCTS, 1.5, "2.0"),
    _beside("photonic over DFA", "mlp", "photonic", "dfa", 1.15, ""),
    _beside("DP-SGD over Opacus ghost", "mlp", "dp_sgd", "opacus ghost", 0.44, ".55"),
    _beside("DP-SGD, secure, over seeded", "mlp", "dp_sgd, secure", "dp_sgd", 3.0, ""),
    _beside("BP over JAX, compiled", "mlp", "bp", "jax bp", 0.88, "1.04 to 1.18"),
    _beside("BP over torch's BP", "cnn", "bp", "torch bp", 1.0, "1.06 to 1.14"),
    _beside("DP-SGD over torch's BP without privacy", "cnn", "dp_sgd", "torch bp", 1.2, ""),
    _beside("DP-SGD over Opacus ghost", "cnn", "dp_sgd", "opacus ghost", 0.42, ".45 to .48"),
    _beside("hybrid over DP-SGD", "cnn", "dp_hybrid", "dp_sgd", 1.0, ""),
    _beside("DP-DFA over torch's BP without privacy", "cnn", "dp_dfa", "torch bp", 0.75, ".81 to .91"),
    *(
        Target(
            f"{g.upper()}: memory of {rule}, {LARGE[g]:,} examples, MB",
            ("large", f"{g} {rule}", "step"),
            None,
            most,
            before if rule == "dp_dfa" else "",
            measured=MEGABYTES,
        )
        for g, most, before in (("mlp", 20, "92"), ("cnn", 120, ""))
        for rule in LARGE_RULES
    ),
    *(
        Target(f"{g.upper()}: cores busy in a step of {rule}", _step(g, rule), None, EFFICIENCY, measured=BUSY)
        for g, rules in (("mlp", MLP_RULES), ("cnn", CNN_RULES), ("ulr", ("ulr",)))
        for rule in rules
    ),
    *(
        Target(f"{g.upper()}: epoch of {rule} over its steps", _epoch(g, rule), _step(g, rule), 1.10, times=STEPS)
        for g, rules in (("mlp", ("bp", "dp_dfa", "dp_sgd")), ("cnn", ("bp", "dp_sgd", "dp_dfa")))
        for rule in rules
    ),
    *(
        Target(f"{g.upper()}: epoch of {rule} over Opacus ghost's", _epoch(g, rule), _epoch(g, "opacus ghost"), 0.6)
        for g, rules in (("mlp", ("dp_dfa", "dp_sgd")), ("cnn", ("dp_sgd", "dp_dfa")))
        for rule in rules
    ),
    Target("ULR: epoch of MNIST, K = 100, seconds", ("ulr", "ulr epoch", "epoch"), None, 3.0),
    Target("ULR: 120 steps of 500 records, seconds", ("ulr", "ulr", "step"), None, 3.0, "3.8", times=120),
    Target("import nfa, seconds", ("start", "import nfa", "once"), None, 0.3),
    Target("nfa eq, seconds", ("start", "nfa eq", "once"), None, 1.0),
    *(
        Target(
            f"first use, {rule} on the {what}, seconds",
            ("start", f"first use, {group} {rule}", "once"),
            None,
            3.0,
            before,
        )
        for what, group, rule, before in (
            ("MLP", "mlp", "dp_dfa", ""),
            ("CNN", "cnn", "dp_sgd", ""),
            ("CNN", "cnn", "dp_hybrid", "3.7"),
            ("dense network of ULR", "ulr", "ulr", ""),
        )
    ),
]


def find(groups: Groups, place: Place, core: str) -> tuple[dict[str, Any], list[float]] | None:
    """A contender's report, and the seconds of one of its labels, with a core type; None if they were not measured."""
    group, name, label = place
    by_core = groups.get(group, {}).get("contenders", {}).get(name, {})
    about = by_core.get(core) or by_core.get(ANY)
    wall = ((about or {}).get("times") or {}).get(label, {}).get("wall")
    return (about, wall) if wall else None


def seconds_of(groups: Groups, place: Place, core: str) -> float | None:
    """The median seconds of a label; None if they were not measured."""
    found = find(groups, place, core)
    return statistics.median(found[1]) if found else None


def judge(groups: Groups, cores: list[str]) -> list[dict[str, Any]]:
    """Value and spread of each target for each core type, and whether it is reached; None if it was not measured."""
    rows = []
    for target in TARGETS:
        for core in cores:
            if core != cores[0] and _the_same(groups, target, cores[0], core):
                continue  # the time does not depend on the core type
            row: dict[str, Any] = {
                "what": target.what,
                "core": core,
                target.side: target.bound,
                "before": target.before,
            }
            found = _found(groups, target, core)
            row |= {"found": None, "q1": None, "q3": None, "reached": None}
            if found:
                row |= {"found": found["median"], "q1": found["q1"], "q3": found["q3"]}
                least = target.side == "at_least"
                row["reached"] = found["median"] >= target.bound if least else found["median"] <= target.bound
            rows.append(row)
    return rows


def _the_same(groups: Groups, target: Target, first: str, core: str) -> bool:
    here, there = (find(groups, target.ours, one) for one in (first, core))
    return there is None or (here is not None and here[1] is there[1])


def _found(groups: Groups, target: Target, core: str) -> dict[str, float] | None:
    ours = find(groups, target.ours, core)
    other = find(groups, target.other, core) if target.other else None
    if ours is None or (target.other and other is None):
        return None
    about, wall = ours
    if target.measured == MEGABYTES:
        taken = about.get("bytes", {}).get(target.ours[2])
        return None if taken is None else timing.summary([taken / 1e6])
    if target.measured == BUSY:
        return timing.busy(about["times"][target.ours[2]], about.get("threads", 1))
    if other is None:
        return timing.summary([int(target.times) * t for t in wall])
    if target.times == STEPS:  # the two contenders were not in the same race
        return timing.ratio(wall, [about["steps"] * statistics.median(other[1])])
    return timing.ratio(wall, other[1])


def over_floor(groups: Groups, cores: list[str]) -> list[dict[str, Any]]:
    """The time of our steps divided by the time of the matrix products that they need, for each core type."""
    rows = []
    for group in ("mlp", "cnn"):
        for name, by_core in groups.get(group, {}).get("contenders", {}).items():
            alone = "DFA" if name.startswith(("dfa", "dp_dfa", "photonic")) else "BP"
            for core in cores:
                floor = find(groups, (group, "floor", f"products of {alone}"), core)
                ours = find(groups, (group, name, "step"), core) if core in by_core else None
                if floor and ours:
                    found = timing.ratio(ours[1], floor[1])
                    rows.append({"group": group, "name": name, "core": core, "floor": alone, **found})
    return rows
