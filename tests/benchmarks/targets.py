"""What the times are held against, as data: ratios of two contenders of one run, and a few seconds."""

from typing import Any, NamedTuple

from . import timing


class Target(NamedTuple):
    """``ours`` may take at most ``at_most`` times what ``other`` takes, both contenders of ``group``.

    Without ``other``, at most ``at_most`` seconds; ``times`` then says how many calls they are for.
    """

    what: str
    group: str
    ours: str
    other: str | None
    at_most: float
    times: int = 1


TARGETS = [
    Target("DP-DFA step beside torch's step without privacy", "mlp", "dp_dfa", "torch bp", 1.0),
    Target("DP-DFA step, 3 x faster than Opacus ghost", "mlp", "dp_dfa", "opacus ghost", 1 / 3),
    Target("DP-DFA step, 80 x faster than Opacus per-sample", "mlp", "dp_dfa", "opacus per-sample", 1 / 80),
    Target("DP-DFA step, 80 x faster than JAX per-sample", "mlp", "dp_dfa", "jax vmap", 1 / 80),
    Target("DP-SGD step, 2 x faster than Opacus ghost", "mlp", "dp_sgd", "opacus ghost", 1 / 2),
    Target("photonic step beside our DFA step", "mlp", "photonic", "dfa", 1.1),
    Target("DP-SGD step, 1.4 x faster than Opacus ghost", "cnn", "dp_sgd", "opacus ghost", 1 / 1.4),
    Target("hybrid step, no slower than our DP-SGD step", "cnn", "dp_hybrid", "dp_sgd", 1.0),
    Target("hybrid step, 1.5 x faster than Opacus ghost", "cnn", "dp_hybrid", "opacus ghost", 1 / 1.5),
    Target("ULR epoch of 60,000 records, K = 100", "ulr", "step of 500", None, 10.0, times=120),
    Target("import nfa", "start", "import nfa", None, 0.3),
    Target("nfa eq", "start", "nfa eq", None, 1.0),
    Target("first use of the noise kernel", "start", "first noise", None, 3.0),
    Target("first use of the convolution kernels", "start", "first convolution", None, 3.0),
    Target("first use of the projection kernels", "start", "first projection", None, 3.0),
]


def judge(groups: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Each target with what was found: the value, its spread, and whether it is reached; None where not measured."""
    rows = []
    for target in TARGETS:
        group = groups.get(target.group, {})
        row: dict[str, Any] = {**target._asdict(), "found": None, "q1": None, "q3": None, "reached": None}
        if target.ours in group and (target.other is None or target.other in group):
            wall = group[target.ours]["wall"]
            if target.other is None:
                found = {key: target.times * value for key, value in timing.summary(wall).items()}
                row |= {"found": found["median"], "q1": found["q1"], "q3": found["q3"]}
            else:
                other = timing.ratio(wall, group[target.other]["wall"])
                row |= {"found": other["of_medians"], "q1": other["q1"], "q3": other["q3"]}
            row["reached"] = row["found"] <= target.at_most
        rows.append(row)
    return rows
