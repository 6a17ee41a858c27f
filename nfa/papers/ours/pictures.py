"""Pictures of the comparison at equal epsilon. To files only."""

from pathlib import Path
from typing import Any

from nfa.experiments.experiment import Rows
from nfa.experiments.plots import new_figure, save_figure, tidy

# From pale to dark, as epsilon falls.
EPSILON = {"8": "#9ecae1", "3": "#4292c6", "1": "#08306b"}


def equal_epsilon_figure(path: Path, rows: Rows, delta: float) -> None:
    """A panel a data set, a line a rule, a dot an epsilon with its interval over seeds; a PNG.

    Parameters
    ----------
    path : file to write
    rows : of the table, with data, rule, epsilon, ours, n and interval
    delta : of every guarantee
    """
    datasets = list(dict.fromkeys(row["data"] for row in rows))
    rules = list(dict.fromkeys(row["rule"] for row in rows))
    order = sorted(rules, key=lambda rule: max(row["ours"] for row in rows if row["rule"] == rule))
    figure = new_figure(rf"Test accuracy at equal, proved $\epsilon$ ($\delta$ = {delta:g})", 3.2 + 4.4 * len(datasets))
    figure.set_size_inches(3.2 + 4.4 * len(datasets), 1.4 + 0.42 * len(rules))
    for axes, dataset in zip(figure.subplots(1, len(datasets), sharey=True, squeeze=False)[0], datasets, strict=True):
        own = [row for row in rows if row["data"] == dataset]
        for height, rule in enumerate(order):
            line = [row for row in own if row["rule"] == rule]
            axes.plot([row["ours"] for row in line], [height] * len(line), color="0.85", linewidth=2, zorder=1)
            for row in line:
                _dot(axes, row, height)
        axes.set_yticks(range(len(order)), order, fontsize=11)
        axes.set_title(dataset, loc="left", fontsize=12)
        axes.set_xlabel("test accuracy (%)", fontsize=11)
        tidy(axes)
        axes.grid(axis="x", color="0.92")
    for epsilon in sorted({row["epsilon"] for row in rows}, key=float):
        axes.plot([], [], "o", color=EPSILON[epsilon], label=rf"$\epsilon$ = {epsilon}")
    axes.legend(frameon=False, fontsize=11, loc="lower left")
    save_figure(figure, path)


def _dot(axes, row: dict[str, Any], height: int) -> None:
    width = float(row["interval"].removeprefix("± ")) if row["n"] > 1 else None
    axes.errorbar(row["ours"], height, xerr=width, fmt="o", color=EPSILON[row["epsilon"]], markersize=7, capsize=3)


def trials_figure(path: Path, rows: Rows) -> None:
    """Every trial of every rule as a dot, the best of each rule to the right; a PNG.

    Parameters
    ----------
    path : file to write
    rows : of the table, with rule, epsilon and ours
    """
    rules = list(dict.fromkeys(row["rule"] for row in rows))
    figure = new_figure("What a search of equal length found: accuracy on images held out (%)", 9)
    figure.set_size_inches(9, 1.4 + 0.42 * len(rules))
    axes = figure.subplots()
    for height, rule in enumerate(reversed(rules)):
        for epsilon in EPSILON:
            found = [row["ours"] for row in rows if row["rule"] == rule and row["epsilon"] == epsilon]
            axes.plot(found, [height] * len(found), "o", color=EPSILON[epsilon], markersize=5, alpha=0.7)
    axes.set_yticks(range(len(rules)), rules[::-1], fontsize=11)
    axes.set_xlabel("accuracy on 10,000 images of MNIST held out (%)", fontsize=11)
    tidy(axes)
    save_figure(figure, path)
