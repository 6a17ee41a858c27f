"""How the cost of a step grows with width, depth, batch and K: times in turn, fitted exponents, a figure."""

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from nfa import network
from nfa.network.ops import tanh
from nfa.rules.ulr import ulr

from . import ours, timing
from .ours import STREAMS, Problem

RULES = ("bp", "dfa", "dp_dfa", "dp_sgd")
# What changes, and its values. The rest stays at width 256, depth 3, batch 128.
AXES = {
    "width": [128, 256, 512, 1024],
    "depth": [2, 4, 8, 16],
    "batch": [32, 64, 128, 256, 512],
    "K": [10, 20, 40, 80],
}
TINY = {"width": [8, 16], "depth": [2, 3], "batch": [4, 8], "K": [2, 4]}


def _problem(tiny: bool, *, width=256, depth=3, batch=128) -> Problem:
    width, batch = (8 if tiny and width == 256 else width), (4 if tiny and batch == 128 else batch)
    return Problem("mlp", batch, (width, *[width] * (depth - 1), 10))


def _ulr_step(tiny: bool, K: int):
    net = network.mlp([16, 8, 10] if tiny else [256, 128, 10], tanh, rng=STREAMS("init"), dtype=np.float32)
    m = 4 if tiny else 64
    x, y = np.ones((m, net.shape_h[0][0]), np.float32), np.eye(10, dtype=np.float32)[np.arange(m) % 10]
    return partial(ulr, net, x, y, sigma=0.1, K=K, rng=STREAMS("noise"))


def exponent(values: list[float], seconds: list[float]) -> float:
    """The slope of log seconds over log values, by least squares: cost grows as value^exponent."""
    return float(np.polyfit(np.log(values), np.log(seconds), 1)[0])


def measure(tiny: bool, repeats: int) -> dict[str, Any]:
    """{axis: {"values": [...], "seconds": {rule: [...]}, "exponents": {rule: slope}}}, medians of rounds in turn."""
    found: dict[str, Any] = {}
    for axis, values in (TINY if tiny else AXES).items():
        steps = {}
        for value in values:
            if axis == "K":
                steps["ulr", value] = _ulr_step(tiny, value)
                continue
            problem = _problem(tiny, **{axis: value})
            steps |= {(name, value): ours.step(problem, ours.rules(problem)[name]) for name in RULES}
        times = timing.race(steps, repeats=repeats, least=0.0 if tiny else 0.02)
        seconds = {
            name: [timing.summary(times[name, value]["wall"])["median"] for value in values]
            for name in dict.fromkeys(name for name, _ in steps)
        }
        found[axis] = {
            "values": values,
            "seconds": seconds,
            "exponents": {name: exponent(values, column) for name, column in seconds.items()},
        }
    return found


def draw(found: dict[str, Any], path: Path) -> None:
    """The figure: seconds over each axis, both logarithmic, the fitted exponents in the legends."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt
    from matplotlib.ticker import FuncFormatter, LogLocator

    labels = {
        "width": "width n of every layer",
        "depth": "depth L",
        "batch": "batch size m",
        "K": "losses K an example (net 256-128-10, batch 64)",
    }
    figure, axes = plt.subplots(1, len(found), figsize=(4 * len(found), 3.6), constrained_layout=True)
    for ax, (axis, rows) in zip(axes, found.items(), strict=True):
        for name, seconds in rows["seconds"].items():
            label = f"{name}: exponent {rows['exponents'][name]:.2f}"
            ax.loglog(rows["values"], [1e3 * s for s in seconds], "o-", label=label)
        ax.set_xticks(rows["values"], [str(v) for v in rows["values"]])
        ax.minorticks_off()
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.set_xlabel(labels[axis])
        ax.legend(fontsize="small")
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("one training step (ms)")
    figure.suptitle("How the cost of a step grows; otherwise width 256, depth 3, batch 128")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def table(found: dict[str, Any]) -> list[str]:
    """The exponents as lines of text."""
    lines = []
    for axis, rows in found.items():
        for name, slope in rows["exponents"].items():
            low, high = (1e3 * rows["seconds"][name][i] for i in (0, -1))
            span = f"{rows['values'][0]} to {rows['values'][-1]}"
            lines.append(f"{axis:6s} {span:12s} {name:7s} {low:9.3f} to {high:9.3f} ms   exponent {slope:5.2f}")
    return lines
