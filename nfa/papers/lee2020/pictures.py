"""Accuracy over epochs and epsilon, a panel a noise: Figures 2 to 4 of Lee & Kifer (2020) in their own form."""

import math
import warnings
from pathlib import Path
from typing import Any

from nfa.experiments.experiment import Trained
from nfa.experiments.plots import mean_curve, new_figure, save_figure, spread_labels, tidy
from nfa.mechanism import Mechanism
from nfa.privacy.accountant import epsilon
from nfa.privacy.rdp import OrderAtGridEnd

# (rule, reading): label, style; Okabe and Ito's colours
LINES: dict[tuple[str, str], tuple[str, dict[str, Any]]] = {
    ("BP", "sound"): ("BP, no privacy", {"color": "0.45", "linestyle": "--"}),
    ("BP", "same-activations"): ("BP, no privacy, tanh/sigmoid", {"color": "0.45", "linestyle": ":"}),
    ("DP-BP", "sound"): ("DP-BP", {"color": "#0072B2"}),
    ("DP-BP", "same-activations"): ("DP-BP, tanh/sigmoid", {"color": "#0072B2", "linestyle": ":"}),
    ("DP-DFA", "sound"): ("DP-DFA", {"color": "#D55E00"}),
    ("DP-DFA", "printed"): ("DP-DFA, printed $\\tau_h$", {"color": "#D55E00", "linestyle": ":"}),
    ("hybrid", "sound"): ("hybrid", {"color": "#009E73"}),
}


def private_figure(path: Path, runs: Trained, title: str, delta: float) -> None:
    """Test accuracy of every method over the epochs, a row of panels a data set, one panel a noise; a PNG.

    Parameters
    ----------
    path : file to write
    runs : list of (Cell, record), keys with rule, sigma and reading, and data where there are several
    title : of the whole
    delta : of the epsilons above the panels, those of DP-BP and of all rules with its sensitivity
    """
    shown = [(cell.key, record) for cell, record in runs if (cell.key["rule"], cell.key["reading"]) in LINES]
    names = list(dict.fromkeys(key.get("data", "") for key, _ in shown))
    sigmas = list(dict.fromkeys(key["sigma"] for key, _ in shown if key["sigma"] != "non-private"))
    figure = new_figure(title, 1.0 + 4.6 * len(sigmas))
    figure.set_figheight(0.9 + 4.1 * len(names))
    panels = figure.subplots(len(names), len(sigmas), sharey="row", squeeze=False)
    for row, data in zip(panels, names, strict=True):
        for axes, sigma in zip(row, sigmas, strict=True):
            own = [(k, r) for k, r in shown if k.get("data", "") == data and k["sigma"] in (sigma, "non-private")]
            if all(key["sigma"] != sigma for key, _ in own):  # not run on these data
                axes.set_visible(False)
                continue
            _panel(axes, own)
            what = "clips alone, no noise" if sigma == "0" else rf"$\sigma$ = {sigma}"
            axes.set_title(f"{data + ', ' if data else ''}{what}", loc="left", fontsize=12)
            _epsilons(axes, own, delta)
        next(axes for axes in row if axes.get_visible()).set_ylabel("test accuracy (%)", fontsize=12)
    handles: dict[str, Any] = {}
    for axes in panels.flat:
        handles |= {line.get_label(): line for line in axes.get_lines() if not line.get_label().startswith("_")}
    order = [label for label, _ in LINES.values() if label in handles]
    figure.legend([handles[label] for label in order], order, loc="outside lower center", ncols=4, frameon=False)
    save_figure(figure, path)


def _panel(axes, own: list[tuple[dict[str, str], dict[str, Any]]]) -> None:
    """A thin line a seed where there are several, a thick one their mean, its last value beside it."""
    ends = {}
    for (rule, reading), (label, style) in LINES.items():
        found = [record for key, record in own if (key["rule"], key["reading"]) == (rule, reading)]
        if not found:
            continue
        epochs, mean = mean_curve(found, lambda entry: 100 * entry["test_accuracy"])
        for record in found if len(found) > 1 else ():
            axes.plot(epochs, [100 * e["test_accuracy"] for e in record["history"]], **style, linewidth=0.7, alpha=0.4)
        axes.plot(epochs, mean, **style, linewidth=2.0, label=label)
        ends[label] = (mean[-1], style["color"])
    axes.set_ylim(0, 100)
    places = spread_labels([end for end, _ in ends.values()], gap=5.0)
    for (end, colour), place in zip(ends.values(), places, strict=True):
        axes.annotate(
            f"{end:.1f}", (1.01, place), xycoords=("axes fraction", "data"), color=colour, fontsize=10, va="center"
        )
    axes.set_xlim(0, epochs[-1])
    axes.set_xlabel("epoch", fontsize=11)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.tick_params(labelleft=True)
    tidy(axes)


def _epsilons(axes, own: list[tuple[dict[str, str], dict[str, Any]]], delta: float) -> None:
    """A second axis above the panel: what DP-BP has spent by some of the epochs."""
    records = [
        r for key, r in own if (key["rule"], key["reading"]) == ("DP-BP", "sound") and "guarantee" in r["privacy"]
    ]
    if not records:
        return
    mechanism = Mechanism(**records[0]["privacy"]["mechanism"])
    last = len(records[0]["history"])
    steps_per_epoch = records[0]["steps"] // last
    epochs = sorted({round(last * share) for share in (0.25, 0.5, 0.75, 1)} - {0})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OrderAtGridEnd)  # the record says it
        spent = [epsilon([(mechanism, epoch * steps_per_epoch)], delta=delta).epsilon for epoch in epochs]
    above = axes.secondary_xaxis("top")
    above.set_xticks(epochs, [f"{math.ceil(100 * value) / 100:.2f}" for value in spent])
    apart = ", not of printed $\\tau_h$" if any(key["reading"] == "printed" for key, _ in own) else ""
    above.set_xlabel(rf"$\epsilon$ at $\delta$ = {delta:g}{apart}", fontsize=10, color="0.3")
    above.tick_params(labelsize=10, colors="0.3")
    above.spines["top"].set_color("0.7")
