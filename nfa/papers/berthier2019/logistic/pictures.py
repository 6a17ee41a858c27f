"""The pictures of Figures 10 to 12 of Berthier (2019), as PNG files."""

import math
import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nfa.experiments.experiment import Cell, Trained
from nfa.experiments.plots import new_figure, save_figure, tidy

COLOURS = {"1/n": "#D55E00", "0.1": "#CC79A7", "0.5": "#0072B2", "0.9": "#7F7F7F", "1": "#009E73"}  # for each tau
WIDTHS = {"1/n": 5.0, "0.1": 3.0, "0.5": 1.2}  # for lines that overlap


def suboptimality_figure(path: Path, trained: Trained, least: Callable[[Cell], float], title: str, log: bool) -> None:
    """Draw the suboptimality by epoch, as mean and standard deviation: a panel for each reading, a line for each tau.

    Parameters
    ----------
    path : file to write
    trained : list of (Cell, record). The key of each cell has the entries tau and reading
    least : function of a run -> minimum of its objective
    log : True for logarithmic axes without epoch 0; False for linear axes with epoch 0. A dotted line marks the loss at
        theta = 0
    """
    runs = [(cell.key, record, least(cell)) for cell, record in trained]
    readings = list(dict.fromkeys(key["reading"] for key, _, _ in runs))
    columns = min(len(readings), 3)
    figure = new_figure(title, 1.0 + 4.6 * max(columns, 2 if len(title) > 50 else 1), trained)
    rows = -(-len(readings) // columns)
    figure.set_figheight(0.9 + 3.9 * rows)
    panels = figure.subplots(rows, columns, squeeze=False, sharey=log).ravel()
    for axes, reading in zip(panels, readings, strict=False):
        own = [run for run in runs if run[0]["reading"] == reading]
        for tau in dict.fromkeys(key["tau"] for key, _, _ in own):
            _band(axes, tau, [run for run in own if run[0]["tau"] == tau], log)
        low = own[0][2]
        axes.axhline(math.log(2) - low, color="0.4", linewidth=1, linestyle=":")
        if log:
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.tick_params(labelleft=True)
        else:
            axes.ticklabel_format(axis="y", useOffset=False)
        seeds = len({record["seed"] for _, record, _ in own})
        lr = "" if reading.startswith("lr") else f", lr {own[0][1]['settings']['lr']:g}"
        axes.set_title(f"{reading}{lr}; {seeds} run{'s' if seeds > 1 else ''}", loc="left", fontsize=12)
        axes.set_xlabel("epochs", fontsize=12)
        tidy(axes)
    for axes in panels[len(readings) :]:
        axes.set_visible(False)
    for axes in panels[::columns]:
        axes.set_ylabel("training loss less its minimum", fontsize=12)
    handles, labels = panels[0].get_legend_handles_labels()
    handles.append(panels[0].plot([], [], color="0.4", linewidth=1, linestyle=":")[0])
    labels.append(r"at $\theta$ = 0")
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=12)
    save_figure(figure, path)


def epsilon_panels(path: Path, epochs: range, panels: dict[str, dict[str, list[float]]], delta: float) -> None:
    """Draw epsilon by epoch: a panel for each reading, a line for each tau, dotted for tau = 1/n as in the report.

    Parameters
    ----------
    path : file to write
    epochs : x values of the curves
    panels : {title of a panel: {tau: epsilons}}
    delta : the delta of all epsilons
    """
    figure = new_figure(rf"DP-SGD on partial passes, $\sigma$ = 2L, n = 1,000: $\epsilon$ at $\delta$ = {delta:g}", 14)
    axes_of = dict(zip(panels, figure.subplots(1, len(panels), sharey=True), strict=True))
    for title, curves in panels.items():
        axes = axes_of[title]
        for tau, values in curves.items():
            style = {"linestyle": ":", "linewidth": 2.6} if tau == "1/n" else {"linewidth": 2.0}
            axes.plot(epochs, values, color=COLOURS[tau], label=rf"$\tau$ = {tau}", **style)
        axes.set_yscale("log")
        axes.set_yticks(ticks := [0.5, 1, 2, 5, 10, 20, 50, 100, 200], [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        axes.set_title(title, loc="left", fontsize=12)
        axes.set_xlabel("epochs", fontsize=12)
        axes.tick_params(labelleft=True)
        tidy(axes)
    next(iter(axes_of.values())).set_ylabel(r"$\epsilon$", fontsize=13)
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=12)
    save_figure(figure, path)


def _band(axes, tau: str, runs: list[tuple[dict[str, Any], dict[str, Any], float]], log: bool) -> None:
    """Draw the mean over the runs as a line, and one standard deviation on each side as a band."""
    start = [] if log else [math.log(2)]
    curves = [[v - low for v in (*start, *(e["objective"] for e in r["history"]))] for _, r, low in runs]
    epochs = range(1 if log else 0, len(curves[0]) + (1 if log else 0))
    mean = [statistics.fmean(values) for values in zip(*curves, strict=True)]
    width = 2.0 if log else WIDTHS[tau]
    axes.plot(epochs, mean, color=COLOURS[tau], linewidth=width, label=rf"$\tau$ = {tau}")
    if len(curves) > 1:
        sd = [statistics.stdev(values) for values in zip(*curves, strict=True)]
        low = [max(m - s, m / 10) if log else m - s for m, s in zip(mean, sd, strict=True)]
        high = [m + s for m, s in zip(mean, sd, strict=True)]
        axes.fill_between(epochs, low, high, color=COLOURS[tau], alpha=0.18, linewidth=0)
