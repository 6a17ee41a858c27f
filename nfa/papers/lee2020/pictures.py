"""The pictures of Lee & Kifer (2020): Figures 2 to 4, their recomputed captions, the sensitivity, and the gain."""

import math
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nfa.experiments.experiment import Rows, Trained
from nfa.experiments.plots import (
    BANDS,
    captioned,
    empty_figure,
    new_figure,
    save_figure,
    seeds_curve,
    spread_labels,
    tidy,
)
from nfa.mechanism import Mechanism
from nfa.papers.lee2020.run_scope import of_data
from nfa.privacy.accountant import epsilon
from nfa.privacy.rdp import OrderAtGridEnd
from nfa.privacy.rounding import up

READINGS: dict[str, dict[str, Any]] = {  # a fixed style for each reading
    "Theorem 27": {"color": "#0072B2", "linewidth": 2.2},
    "Lemma 3": {"color": "#D55E00", "linewidth": 1.6, "linestyle": "--"},
    "Poisson": {"color": "#009E73", "linewidth": 1.8, "linestyle": "-."},
    "Theorem 27, 50,000 records": {"color": "#CC79A7", "linewidth": 1.8, "linestyle": ":"},
}
GAIN_COLOURS = {"0.01": "#0072B2", "0.05": "#D55E00"}  # for each noise
CAPTION: dict[str, Any] = {"color": "black", "markerfacecolor": "white", "markersize": 7, "zorder": 3}  # as printed
FORMULA, CORRECTED, RULE = "#D55E00", "#0072B2", "black"  # colours: as printed, as corrected, attained by the rule

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


def private_figure(
    path: Path,
    figure: str,
    runs: Trained,
    title: str,
    delta: float,
    printed: Mapping[str, Mapping[int, float]],
    caption: Sequence[str],
) -> None:
    """Draw to a PNG file the test accuracy by epoch: a panel for each data set and sigma, a line for each method.

    Parameters
    ----------
    path : file to write
    figure : "fig2", "fig3" or "fig4"
    runs : list of (Cell, record), keys with rule, sigma and reading, and data if there are several data sets
    title : title of the whole picture
    delta : the delta of the epsilons above the panels. These are the epsilons of DP-BP and of all rules with the same
        sensitivity
    printed : {sigma: {epochs: epsilon in the caption of the figure}}
    caption : sentences below the picture
    """
    shown = [(cell, record) for cell, record in runs if (cell.key["rule"], cell.key["reading"]) in LINES]
    data = of_data(figure, shown)
    panels = [(name, sigma) for name, own in data.items() for sigma in _noises(own)]
    if not panels:
        return empty_figure(path, "None of these runs is of a reading that this picture shows.")
    columns = 3 if len(data) > 1 or len(panels) in (3, 5, 6) else min(2, len(panels))
    rows = -(-len(panels) // columns)
    whole = new_figure(title, 1.0 + 3.6 * max(2, columns), runs)
    whole.set_figheight(1.5 + 3.3 * rows)
    several = len({record["seed"] for _, record in shown}) > 1
    part = captioned(whole, [*caption, *_key(shown, printed, delta), *([BANDS] if several else [])])
    every = part.subplots(rows, columns, squeeze=False).ravel()
    for axes in every[len(panels) :]:
        axes.set_visible(False)
    for axes, (name, sigma) in zip(every, panels, strict=False):
        top = max(100 * entry["test_accuracy"] for _, record in data[name] for entry in record["history"])
        own = [(cell.key, record) for cell, record in data[name] if cell.key["sigma"] in (sigma, "non-private")]
        _panel(axes, own, min(100, 10 * math.ceil(top / 10 + 0.2)))
        what = {"0": "clips alone", "non-private": "no privacy"}.get(sigma, rf"$\sigma$ = {sigma}")
        axes.set_title(f"{name}: {what}", loc="left", fontsize=11)
        _epsilons(axes, own, delta, printed.get(sigma, {}))
    for axes in every[::columns]:
        axes.set_ylabel("test accuracy (%)", fontsize=11)
    handles: dict[str, Any] = {}
    for axes in every:
        handles |= {line.get_label(): line for line in axes.get_lines() if not line.get_label().startswith("_")}
    order = [label for label, _ in LINES.values() if label in handles]
    part.legend([handles[label] for label in order], order, loc="outside lower center", ncols=4, frameon=False)
    save_figure(whole, path)


def _noises(runs: Trained) -> list[str]:
    """The panels of one data set. The panel without privacy appears only if nothing else was run."""
    found = list(dict.fromkeys(cell.key["sigma"] for cell, _ in runs))
    return [sigma for sigma in found if sigma != "non-private"] or found


def _key(runs: Trained, printed: Mapping[str, Mapping[int, float]], delta: float) -> list[str]:
    """A sentence that describes the axes above the panels."""
    proved = [(cell, record) for cell, record in runs if "guarantee" in record["privacy"]]
    if not proved:
        return []
    but = r" except DP-DFA with printed $\tau_h$" if any(cell.key["reading"] == "printed" for cell, _ in proved) else ""
    both = any(epoch <= len(r["history"]) for cell, r in proved for epoch in printed.get(cell.key["sigma"], ()))
    beside = ", and in brackets that of the paper's captions, for 60,000 records" if both else ""
    at = f"{delta:g}".replace("e-0", "e-")
    return [f"Above the panels: the ε at δ = {at} that is proved for every private rule{but}{beside}."]


def _panel(axes, own: list[tuple[dict[str, str], dict[str, Any]]], top: float) -> None:
    """Draw a line for each method: its mean over the seeds with its last value. Several seeds also have a band."""
    ends, last = [], 1
    for (rule, reading), (label, style) in LINES.items():
        found = [record for key, record in own if (key["rule"], key["reading"]) == (rule, reading)]
        if found:
            longest, end = seeds_curve(axes, found, lambda entry: 100 * entry["test_accuracy"], style, label)
            last = max(last, longest)
            ends.append((end, style["color"]))
    axes.set_ylim(0, top)
    axes.yaxis.get_major_locator().set_params(steps=[1, 2, 10], nbins=6)
    places = spread_labels([end for end, _ in ends], gap=0.058 * top)
    above = max(0.0, max(places) - top)  # the axis of epsilons is above the panel
    for (end, colour), place in zip(ends, places, strict=True):
        at = {"xycoords": ("axes fraction", "data"), "va": "center", "fontsize": 9, "annotation_clip": False}
        axes.annotate(f"{end:.1f}", (1.015, place - above), color=colour, **at)
    axes.set_xlim(0, last)
    axes.set_xlabel("epoch", fontsize=11)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.tick_params(labelleft=True)
    tidy(axes)


def _epsilons(axes, own: list[tuple[dict[str, str], dict[str, Any]]], delta: float, printed: Mapping) -> None:
    """Draw a second axis above the panel: DP-BP's epsilon after some of the epochs, and the paper's printed epsilon."""
    records = [
        r for key, r in own if (key["rule"], key["reading"]) == ("DP-BP", "sound") and "guarantee" in r["privacy"]
    ]
    if not records:
        return
    longest = max(records, key=lambda record: len(record["history"]))
    mechanism, last = Mechanism(**longest["privacy"]["mechanism"]), len(longest["history"])
    steps_per_epoch = longest["steps"] // last
    epochs = _ticks(last, list(printed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OrderAtGridEnd)  # the record of the run already has this warning
        spent = [
            epsilon([(mechanism, epoch * steps_per_epoch)], delta=delta, conversion="mironov2017").epsilon
            for epoch in epochs
        ]
    told = [up(value, decimals=2) for value in spent]
    if any(epoch in printed for epoch in epochs):
        as_printed = [f"({printed[epoch]:.2f})" if epoch in printed else "" for epoch in epochs]
        told = [f"{ours}\n{paper}" for ours, paper in zip(told, as_printed, strict=True)]
    above = axes.secondary_xaxis("top")
    above.set_xticks(epochs, told)
    at = {"xycoords": "axes fraction", "textcoords": "offset points", "ha": "right", "color": "0.3"}
    axes.annotate(r"$\epsilon$", (0, 1), xytext=(-6, 10), **at)
    above.tick_params(labelsize=9, colors="0.3")
    above.spines["top"].set_color("0.7")


def _ticks(last: int, printed: Sequence[int]) -> list[int]:
    """The epochs of printed epsilons, and the quarters of the run that are not close to such an epoch.

    Examples
    --------
    >>> _ticks(300, [50, 100, 150, 200, 250, 300]), _ticks(50, [50, 100]), _ticks(25, [50, 100])
    ([50, 100, 150, 200, 250, 300], [12, 25, 38, 50], [6, 12, 19, 25])
    """
    told = [epoch for epoch in printed if epoch <= last]
    quarters = {round(last * share) for share in (0.25, 0.5, 0.75, 1)} - {0}
    return sorted([*told, *(t for t in quarters if all(abs(t - epoch) > 0.12 * last for epoch in told))])


def epsilon_figure(path: Path, by_epochs: dict[str, list], orders, by_order: list) -> None:
    """Draw to a PNG file printed and recomputed epsilons by epoch, and epsilon as a function of the Renyi order.

    Parameters
    ----------
    path : file to write
    by_epochs : {panel: list of (label, epochs, {reading: epsilons}, (epochs, epsilons) as printed)}, two panels
    orders : (k,) array
    by_order : two of (label, {reading: (k,) array of epsilons}, printed epsilon)
    """
    figure = new_figure("Where the epsilons of Lee & Kifer (2020) come from", 12)
    figure.set_size_inches(12, 9.6)
    above, below = figure.subplots(2, 2)
    for axes, (panel, families) in zip(above, by_epochs.items(), strict=True):
        for label, epochs, lines, printed in families:
            for name, values in lines.items():
                axes.plot(epochs, values, **READINGS[name])
            axes.plot(*printed, "D", **CAPTION)
            end = (epochs[-1], lines["Theorem 27"][-1])
            axes.annotate(label, end, xytext=(12, 0), textcoords="offset points", va="center", fontsize=12)
        for name in lines:
            axes.plot([], [], **READINGS[name], label=name)
        axes.plot([], [], "D", **CAPTION, label="printed")
        axes.set_yscale("log")
        axes.set_yticks(ticks := [0.5, 1, 2, 5, 10, 20], [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        axes.set_ylim(0.3, 40)
        axes.set_xlim(0, 1.3 * epochs[-1])
        axes.set_xticks(range(0, epochs[-1] + 1, 50))
        axes.set_xlabel("epochs", fontsize=12)
        axes.set_title(f"$\\epsilon$ at $\\delta$ = 1e-5 over the epochs: {panel}", loc="left", fontsize=12)
    for axes, (label, lines, printed) in zip(below, by_order, strict=True):
        bests = {name: int(values.argmin()) for name, values in lines.items()}
        for name, values in lines.items():
            best = (orders[bests[name]], values[bests[name]])
            told = f"{name}: {best[1]:.3f} at $\\alpha$ = {best[0]}"
            axes.plot(orders, values, **READINGS[name], label=told)
            axes.plot(*best, "o", color=READINGS[name]["color"], markersize=9, zorder=3)
        axes.axhline(printed, color="0.4", linewidth=1)
        right = min(orders[-1] + 2, 3 * orders[max(bests.values())])
        at = {"xytext": (0, 4), "textcoords": "offset points", "ha": "right"}
        axes.annotate(f"printed: {printed}", (right, printed), fontsize=11, **at)
        low = min(values.min() for values in lines.values())
        axes.set_ylim(0.6 * low, 5 * low)
        axes.set_xlim(0, right)
        axes.set_xlabel(r"Rényi order $\alpha$", fontsize=12)
        axes.set_title(rf"the least $\epsilon$ over all orders: {label}", loc="left", fontsize=12)
    for axes in (*above, *below):
        tidy(axes)
        axes.legend(frameon=False, fontsize=11, ncols=2, loc="upper left", bbox_to_anchor=(0, -0.13))
    save_figure(figure, path)


COLOURS = {"sigmoid": "#CC79A7", "tanh": "#009E73"}


DEPTHS = {2: "--", 3: "-", 5: ":"}


def sensitivity_figure(path: Path, curves: dict[str, tuple], ratios: dict[str, list], products, attained: dict) -> None:
    """Draw to a PNG file the effect of one label by bias, depth and gamma beta, and the printed and corrected bounds.

    Parameters
    ----------
    path : file to write
    curves : {units: (biases, distances, printed sensitivity, corrected sensitivity)}, two entries
    ratios : {activation: list of (L, corrected / printed, attained / printed)}
    products : (k,) array of gamma beta
    attained : {L: (k,) array, attained / printed}
    """
    figure = new_figure("What one label moves in DP-DFA, and the printed sensitivity of Lee & Kifer (2020)", 12)
    figure.set_size_inches(12, 8.8)
    above, (bars, lines) = figure.subplots(2, 2)
    for axes, (name, (biases, found, printed, corrected)) in zip(above, curves.items(), strict=True):
        axes.plot(biases, found, color=RULE, linewidth=2.2)
        for value, colour, told in ((corrected, CORRECTED, "corrected"), (printed, FORMULA, "printed")):
            axes.axhline(value, color=colour, linewidth=1.8, linestyle="--")
            at = {"xytext": (-4, 5), "textcoords": "offset points", "ha": "right", "fontsize": 12, "color": colour}
            axes.annotate(f"{told} {value:.4f}", (biases[-1], value), **at)
        at = {"xytext": (-6, -20), "textcoords": "offset points", "ha": "right", "fontsize": 12, "color": RULE}
        axes.annotate("the real rule", (biases[-1], found[-1]), **at)
        axes.set_xlim(biases[0], biases[-1])
        low, high = min(*found, printed), max(*found, corrected)
        axes.set_ylim(max(0, low - 0.25 * (high - low)), high + 0.15 * (high - low))
        axes.set_xlabel("bias of the hidden units", fontsize=12)
        axes.set_title(f"distance of the directions for two labels: {name}, L = 2", loc="left", fontsize=12)
    for i, (name, entries) in enumerate(ratios.items()):
        places = [j + 0.36 * (i - 0.5) for j in range(len(entries))]
        bars.bar(places, [entry[1] for entry in entries], 0.34, color=COLOURS[name], label=f"{name}, corrected")
        bars.plot(places, [entry[2] for entry in entries], "o", color=RULE, markersize=6)
        for place, (_, ratio, _) in zip(places, entries, strict=True):
            at = {"xytext": (0, 7), "textcoords": "offset points", "ha": "center", "fontsize": 11}
            bars.annotate(f"{ratio:.2f}", (place, ratio), **at)
    bars.plot([], [], "o", color=RULE, label="the real rule")
    bars.axhline(1, color=FORMULA, linewidth=1.8, linestyle="--", label="printed")
    bars.set_xticks(range(len(entries)), [f"L = {entry[0]}" for entry in entries])
    bars.set_ylim(0, 3.7)
    bars.legend(frameon=False, fontsize=11, ncols=2, loc="upper right")
    bars.set_title(r"times the printed value, $\beta$ = 0.9", loc="left", fontsize=12)
    for L, values in attained.items():
        lines.plot(products, values, color=RULE, linewidth=1.8, linestyle=DEPTHS[L], label=f"the real rule, L = {L}")
    lines.axhline(1, color=FORMULA, linewidth=1.8, linestyle="--", label="printed")
    lines.set_xscale("log")
    lines.set_yscale("log")
    for axis in (lines.xaxis, lines.yaxis):
        axis.set_ticks(ticks := [0.1, 0.25, 0.5, 1, 2, 5], [f"{tick:g}" for tick in ticks])
        axis.set_ticks([], minor=True)
    lines.set_xlim(products[0], products[-1])
    lines.set_ylim(0.4, 8)
    lines.set_xlabel(r"$\gamma\beta$", fontsize=12)
    lines.legend(frameon=False, fontsize=11, loc="upper right")
    lines.set_title(
        r"times the printed value, sigmoid units: a bound where $\gamma\beta \geq 1$", loc="left", fontsize=12
    )
    for axes in (*above, bars, lines):
        tidy(axes)
    save_figure(figure, path)


def gain_figure(path: Path, gains: Rows, runs: Trained, band: tuple[float, float]) -> None:
    """Draw to a PNG file a line for each reading, the largest gain at the top, with a dot for each sigma.

    A dot is hollow if the proved epsilon of DP-DFA is larger than the proved epsilon of DP-BP.

    Parameters
    ----------
    path : file to write
    gains : the result of `nfa.papers.lee2020.gain.gains`
    runs : the runs of the gains; the title reports where unfinished runs stopped
    band : lower and upper limit, in points, of the gain that the paper states
    """
    figure = new_figure("What DP-DFA gains over DP-BP, one choice changed at a time", 9, runs)
    figure.set_size_inches(9, 1.6 + 0.24 * len(gains))
    axes = figure.subplots()
    axes.axvspan(*band, color="#009E73", alpha=0.15, linewidth=0, label=f"the abstract's {band[0]}-{band[1]} %")
    axes.axvline(0, color="0.4", linewidth=0.8)
    for height, one in enumerate(reversed(gains)):
        found: dict[str, dict[str, Any]] = {sigma: one[sigma] for sigma in list(one)[1:]}
        axes.plot([of["gain"] for of in found.values()], [height] * len(found), color="0.85", linewidth=2, zorder=1)
        for sigma, of in found.items():
            inside = GAIN_COLOURS[sigma] if of["fair"] else "white"
            axes.plot(of["gain"], height, "o", color=GAIN_COLOURS[sigma], markerfacecolor=inside, markersize=6)
    for sigma, colour in GAIN_COLOURS.items():
        axes.plot([], [], "o", color=colour, label=rf"$\sigma$ = {sigma}")
    axes.plot([], [], "o", color="0.3", markerfacecolor="white", label="DP-DFA proves less than DP-BP")
    axes.set_yticks(range(len(gains)), [one["reading"] for one in reversed(gains)], fontsize=9)
    axes.set_ylim(-0.8, len(gains) - 0.2)
    axes.set_xlabel("accuracy of DP-DFA less that of DP-BP, in points, on images held out", fontsize=11)
    axes.grid(axis="x", color="0.92")
    tidy(axes)
    axes.legend(frameon=False, fontsize=10, loc="upper left", bbox_to_anchor=(1, 1))
    save_figure(figure, path)
