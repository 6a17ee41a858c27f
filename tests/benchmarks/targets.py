"""What the times are held against, as data: ratios of two contenders of one run, and a few seconds."""

import statistics
from collections.abc import Mapping
from typing import Any, NamedTuple

from . import timing
from .contenders import ANY

STEPS = "steps"
Place = tuple[str, str, str]  # group, contender, label
Groups = Mapping[str, Mapping[str, Any]]


class Target(NamedTuple):
    """``ours`` may take at most ``at_most`` times what ``other`` takes; without ``other``, so many seconds.

    Parameters
    ----------
    what : in words
    ours, other : group, contender and label
    at_most : one number, or one for each core type
    before : what was found, timed fairly, before the kernels were bound; "" where it was not
    times : how many calls of ours are meant; STEPS for as many calls of the other as ours tells that it has steps
    """

    what: str
    ours: Place
    other: Place | None
    at_most: float | dict[str, float]
    before: str = ""
    times: int | str = 1

    def bound(self, core: str) -> float:
        """What is wanted with a core type."""
        if isinstance(self.at_most, dict):
            return self.at_most.get(core, min(self.at_most.values()))
        return self.at_most


def _step(group: str, name: str) -> Place:
    return group, name, "step"


def _epoch(group: str, name: str) -> Place:
    return f"{group} epoch", name, "epoch"


def _beside(what: str, group: str, ours: str, other: str, at_most: float | dict[str, float], before: str) -> Target:
    return Target(f"{group.upper()}: {what}", _step(group, ours), _step(group, other), at_most, before)


def _both(avx2: float, avx512: float) -> dict[str, float]:
    return {"AVX2": avx2, "AVX-512": avx512}


PRODUCTS = ("mlp", "floor", "products of DFA")
DP_DFA = _step("mlp", "dp_dfa")
TARGETS = [
    _beside("DP-DFA over torch's BP without privacy", "mlp", "dp_dfa", "torch bp", _both(0.72, 0.45), "1.07"),
    Target("MLP: DP-DFA over the floor of its products", DP_DFA, PRODUCTS, _both(1.35, 1.45), "1.85"),
    _beside("photonic over DFA", "mlp", "photonic", "dfa", _both(1.15, 1.25), "1.28"),
    _beside("DP-SGD over Opacus ghost", "mlp", "dp_sgd", "opacus ghost", _both(0.35, 0.22), ".49"),
    _beside("BP over JAX, compiled", "mlp", "bp", "jax bp", 0.85, ".86 to 1.03"),
    _beside("BP over torch's BP", "cnn", "bp", "torch bp", 0.85, "1.4 to 2.1"),
    _beside("DP-SGD over torch's BP without privacy", "cnn", "dp_sgd", "torch bp", 1.2, "1.8"),
    _beside("DP-SGD over Opacus ghost", "cnn", "dp_sgd", "opacus ghost", 0.48, ".72"),
    _beside("hybrid over DP-SGD", "cnn", "dp_hybrid", "dp_sgd", 1.0, ".99 to 1.24"),
    _beside("DP-DFA over torch's BP without privacy", "cnn", "dp_dfa", "torch bp", 0.75, "1.3"),
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
    Target("ULR: epoch of MNIST, K = 100, seconds", ("ulr", "ulr epoch", "epoch"), None, 3.0, "4.5 to 5.0"),
    Target("ULR: 120 steps of 500 records, seconds", ("ulr", "ulr", "step"), None, 3.0, "4.5 to 5.0", times=120),
    Target("import nfa, seconds", ("start", "import nfa", "once"), None, 0.3),
    Target("nfa eq, seconds", ("start", "nfa eq", "once"), None, 1.0),
    *(
        Target(f"first use, {rule} on the {what}, seconds", ("start", f"first use, {group} {rule}", "once"), None, 3.0)
        for what, group, rule in (
            ("MLP", "mlp", "dp_dfa"),
            ("CNN", "cnn", "dp_sgd"),
            ("CNN", "cnn", "dp_hybrid"),
            ("dense network of ULR", "ulr", "ulr"),
        )
    ),
]


def find(groups: Groups, place: Place, core: str) -> tuple[dict[str, Any], list[float]] | None:
    """What is told of a contender and the seconds of one of its labels, with a core type; None if not measured."""
    group, name, label = place
    by_core = groups.get(group, {}).get("contenders", {}).get(name, {})
    about = by_core.get(core) or by_core.get(ANY)
    wall = ((about or {}).get("times") or {}).get(label, {}).get("wall")
    return (about, wall) if wall else None


def seconds_of(groups: Groups, place: Place, core: str) -> float | None:
    """The median seconds of a label; None if not measured."""
    found = find(groups, place, core)
    return statistics.median(found[1]) if found else None


def judge(groups: Groups, cores: list[str]) -> list[dict[str, Any]]:
    """Each target for each core type: what was found, its spread, and whether it is reached; None if not measured."""
    rows = []
    for target in TARGETS:
        for core in cores:
            if core != cores[0] and _the_same(groups, target, cores[0], core):
                continue  # the core type makes no difference
            bound = target.bound(core)
            row: dict[str, Any] = {"what": target.what, "core": core, "at_most": bound, "before": target.before}
            found = _found(groups, target, core)
            row |= {"found": None, "q1": None, "q3": None, "reached": None}
            if found:
                row |= {"found": found["median"], "q1": found["q1"], "q3": found["q3"]}
                row["reached"] = found["median"] <= bound
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
    if other is None:
        return timing.summary([int(target.times) * t for t in wall])
    if target.times == STEPS:  # not raced together
        return timing.ratio(wall, [about["steps"] * statistics.median(other[1])])
    return timing.ratio(wall, other[1])


def over_floor(groups: Groups, cores: list[str]) -> list[dict[str, Any]]:
    """Steps of ours over the matrix products that they cannot do without, with each core type."""
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
