"""Pictures of the comparison at equal epsilon, as PNG files."""

from pathlib import Path
from typing import Any

from nfa.experiments.experiment import Rows, Trained
from nfa.experiments.plots import empty_figure, new_figure, save_figure, tidy

# The colours go from pale to dark as epsilon falls. Each epsilon also has a shape.
EPSILON = {"8": ("#9ecae1", "s"), "3": ("#4292c6", "o"), "1": ("#08306b", "D")}


def equal_epsilon_figure(path: Path, rows: Rows, runs: Trained, delta: float) -> None:
    """Draw to a PNG file a panel for each data set, a line for each rule, and a dot with interval for each epsilon.

    Parameters
    ----------
    path : file to write
    rows : of the table, with data, rule, epsilon, ours, n and interval
    runs : the runs of the rows; the title reports where unfinished runs stopped
    delta : the delta of every guarantee
    """
    datasets = list(dict.fromkeys(row["data"] for row in rows))
    rules = list(dict.fromkeys(row["rule"] for row in rows))
    order = sorted(rules, key=lambda rule: max(row["ours"] for row in rows if row["rule"] == rule))
    figure = new_figure(
        rf"Test accuracy at equal, proved $\epsilon$ ($\delta$ = {delta:g})", 3.2 + 4.4 * len(datasets), runs
    )
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
    _legend(axes, rows)
    save_figure(figure, path)


def _legend(axes, rows: Rows) -> None:
    for epsilon in sorted({row["epsilon"] for row in rows}, key=float):
        color, shape = EPSILON[epsilon]
        axes.plot([], [], shape, color=color, label=rf"$\epsilon$ = {epsilon}")
    axes.legend(frameon=False, fontsize=11, loc="upper left", bbox_to_anchor=(1, 1))


def _dot(axes, row: dict[str, Any], height: int) -> None:
    width = float(row["interval"].removeprefix("± ")) if row["n"] > 1 else None
    color, shape = EPSILON[row["epsilon"]]
    axes.errorbar(row["ours"], height, xerr=width, fmt=shape, color=color, markersize=7, capsize=3)


def trials_figure(path: Path, rows: Rows, runs: Trained) -> None:
    """Draw to a PNG file every trial of every rule as a dot. The best trials are at the right.

    Parameters
    ----------
    path : file to write
    rows : of the table, with rule, epsilon and ours
    runs : the runs of the rows; the title reports where unfinished runs stopped
    """
    rules = list(dict.fromkeys(row["rule"] for row in rows))
    figure = new_figure("What a search of equal length found: images held out that are missed (%)", 9, runs)
    figure.set_size_inches(9, 1.4 + 0.42 * len(rules))
    axes = figure.subplots()
    for height, rule in enumerate(reversed(rules)):
        for epsilon, (color, shape) in EPSILON.items():
            found = [100 - row["ours"] for row in rows if row["rule"] == rule and row["epsilon"] == epsilon]
            axes.plot(found, [height] * len(found), shape, color=color, markersize=5, alpha=0.7)
    axes.set_yticks(range(len(rules)), rules[::-1], fontsize=11)
    axes.set_xscale("log")
    axes.invert_xaxis()
    ticks = [5, 10, 20, 40, 80]
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("of 10,000 images of MNIST held out, missed (%, better to the right)", fontsize=11)
    _legend(axes, rows)
    tidy(axes)
    save_figure(figure, path)


def screen_figure(path: Path, rows: Rows, runs: Trained, base: str) -> None:
    """Draw to a PNG file a panel for each rule and a bar for each changed setting: the points gained or lost.

    Parameters
    ----------
    path : file to write
    rows : of the table, with rule, changed and ours
    runs : the runs of the rows; the title reports where unfinished runs stopped
    base : the row with which we compare the other rows
    """
    rules = list(dict.fromkeys(row["rule"] for row in rows if row["changed"] == base))
    if not rules:
        return empty_figure(path, f"The row {base!r}, which the others are held against, is not among these runs.")
    figure = new_figure("One thing changed at a time: points gained on images held out", 6.4 * len(rules), runs)
    figure.set_size_inches(
        6.4 * len(rules), 1.4 + 0.3 * max(sum(row["rule"] == rule for row in rows) for rule in rules)
    )
    for axes, rule in zip(figure.subplots(1, len(rules), squeeze=False)[0], rules, strict=True):
        own = {row["changed"]: row["ours"] for row in rows if row["rule"] == rule}
        gains = sorted((value - own[base], name) for name, value in own.items() if name != base)
        axes.barh([name for _, name in gains], [gain for gain, _ in gains], color="#4292c6")
        axes.axvline(0, color="0.4", linewidth=0.8)
        axes.set_title(f"{rule}: {own[base]:.1f} {base}", loc="left", fontsize=12)
        axes.set_xlabel("points", fontsize=11)
        tidy(axes)
    save_figure(figure, path)
