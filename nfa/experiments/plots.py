"""Pictures of experiments. matplotlib is imported when one is drawn, and draws to files only."""

import statistics
from itertools import pairwise
from pathlib import Path
from typing import Any

# Okabe and Ito's palette, told apart by readers with colour blindness too; a fixed colour a rule.
COLOURS = {"BP": "#0072B2", "DFA": "#D55E00", "TDFA": "#009E73", "PDFA": "#CC79A7"}


def accuracy_figure(path: Path, rows: list[dict[str, Any]], runs: list, title: str) -> None:
    """Test accuracy against epoch, and the final one beside the paper's, for every rule; written to a PNG.

    Parameters
    ----------
    path : file to write
    rows : of the table, with rule, paper, ours and verdict
    runs : list of (Cell, record)
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.4), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, fontsize=15, x=0.01, ha="left", fontweight="bold")
    left, right = figure.subplots(1, 2, width_ratios=(1.35, 1))
    _curves(left, rows, runs)
    _dots(right, rows, runs)
    figure.savefig(path.with_name(path.name + ".part"), format="png")
    path.with_name(path.name + ".part").replace(path)


def _bare(axes) -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=11)


def _of(row: dict[str, Any], runs: list) -> list[dict[str, Any]]:
    """The records behind a row."""
    return [record for cell, record in runs if all(row[name] == value for name, value in cell.key.items())]


def _spread(heights: list[float], gap: float) -> list[float]:
    """Heights for labels, in the order given, moved apart until none overlap."""
    placed = list(heights)
    order = sorted(range(len(heights)), key=heights.__getitem__)
    for below, above in pairwise(order):
        placed[above] = max(placed[above], placed[below] + gap)
    return placed


def _curves(axes, rows: list[dict[str, Any]], runs: list) -> None:
    """A thin line a seed, a thick one their mean, each rule named at its end."""
    means = []
    for row in rows:
        colour = COLOURS[row["rule"]]
        curves = [[100 * entry["test_accuracy"] for entry in record["history"]] for record in _of(row, runs)]
        epochs = range(1, len(curves[0]) + 1)
        mean = [statistics.fmean(values) for values in zip(*curves, strict=True)]
        for curve in curves if len(curves) > 1 else ():
            axes.plot(epochs, curve, color=colour, linewidth=0.9, alpha=0.4)
        axes.plot(epochs, mean, color=colour, linewidth=2.4, marker="o", markersize=4)
        means.append(mean)
    low, high = axes.get_ylim()
    heights = _spread([mean[-1] for mean in means], gap=0.07 * (high - low))
    for row, mean, height in zip(rows, means, heights, strict=True):
        axes.annotate(
            row["rule"],
            (len(mean), height),
            xytext=(8, 0),
            textcoords="offset points",
            color=COLOURS[row["rule"]],
            fontsize=13,
            fontweight="bold",
            va="center",
        )
    last = len(means[0])
    axes.set_xlim(1 - 0.03 * last, 1.1 * last)
    axes.set_xticks(range(0, last + 1, 5) if last >= 10 else range(1, last + 1))
    axes.set_xlabel("epoch", fontsize=12)
    axes.set_title("test accuracy (%) while training", loc="left", fontsize=12)
    axes.grid(axis="y", color="0.92")
    axes.set_axisbelow(True)
    _bare(axes)


def _dots(axes, rows: list[dict[str, Any]], runs: list) -> None:
    """A line a row: the paper's number as a hollow diamond, ours as a dot, a small one for each seed."""
    for i, row in enumerate(rows):
        colour = COLOURS[row["rule"]]
        finals = [100 * record["test_accuracy"] for record in _of(row, runs)]
        axes.plot(finals, [i] * len(finals), "o", color=colour, markersize=5, alpha=0.4, clip_on=False)
        axes.plot(row["ours"], i, "o", color=colour, markersize=11)
        axes.plot(row["paper"], i, "D", color=colour, markersize=10, markerfacecolor="white", markeredgewidth=2)
        for name, above in (("ours", True), ("paper", False)):
            text = f"{name} {row[name]:.2f}" if i == 0 else f"{row[name]:.2f}"
            axes.annotate(
                text,
                (row[name], i),
                xytext=(0, 11 if above else -11),
                textcoords="offset points",
                ha="center",
                va="bottom" if above else "top",
                fontsize=11,
                color="0.2",
            )
    axes.set_yticks(range(len(rows)), [row["rule"] for row in rows], fontsize=13, fontweight="bold")
    for label, row in zip(axes.get_yticklabels(), rows, strict=True):
        label.set_color(COLOURS[row["rule"]])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.margins(x=0.18)
    axes.locator_params(axis="x", nbins=6)
    axes.set_title("final test accuracy (%), ours and the paper's", loc="left", fontsize=12)
    seeds = f" (small: each of {rows[0]['n']} seeds)" if rows[0]["n"] > 1 else ""
    why = {row["verdict"] for row in rows if row["verdict"].startswith("not comparable")}
    axes.set_xlabel("\n".join([f"dot: ours{seeds}, diamond: the paper", *sorted(why)]), fontsize=10, color="0.3")
    axes.grid(axis="x", color="0.92")
    axes.set_axisbelow(True)
    axes.tick_params(axis="y", length=0)
    _bare(axes)
