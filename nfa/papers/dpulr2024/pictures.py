"""Pictures of learning by forward passes, as PNG files: the effect of rejection on a bound, and accuracies."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from nfa.experiments.experiment import Trained
from nfa.experiments.plots import BANDS, captioned, new_figure, save_figure, seeds_curve, spread_labels, tidy

POWERS = [-10, -6, -3, -1, 0, 1, 2]
CLAIM, MEAN = "#D55E00", "black"


def ratio_figure(path: Path, grids: dict[str, tuple], lines: dict[str, list[tuple[int, int]]]) -> None:
    """Draw to a PNG file contours of the ratio for N and N_B, and for N and N_B / (q N), with a column for each rate.

    Parameters
    ----------
    path : file to write
    grids : {rate: (sizes, shares, ratios (shares, sizes))}
    lines : {rate: list of (N, largest N_B with a ratio below 10^-3, or 0 if there is none)}
    """
    figure = new_figure(
        r"What rejection adds to the bound, over $2 q^2 \alpha / \sigma_0^2$ ($\alpha$ = 1.1, $\sigma_0$ = 4)", 13
    )
    figure.set_size_inches(13, 9)
    panels = figure.subplots(2, len(grids))
    for column, (rate, (sizes, shares, values)) in enumerate(grids.items()):
        q = float(Fraction(rate))
        N = np.broadcast_to(sizes, values.shape)
        share = np.maximum(shares[:, None], 1 / (q * N))
        powers = np.log10(np.maximum(values, 1e-30))
        most = np.array([(n, m) for n, m in lines[rate] if m > 0], float)
        for axes, height in ((panels[0, column], share * q * N), (panels[1, column], share)):
            filled = axes.contourf(N, height, powers, [-30, *POWERS, 3], cmap="Blues", extend="both", vmin=-12, vmax=4)
            scale = q * most[:, 0] if axes is panels[1, column] else 1.0
            axes.plot(most[:, 0], most[:, 1] / scale, color=CLAIM, linewidth=2.4, label=r"ratio = $10^{-3}$")
            axes.set_xscale("log")
            axes.set_xlim(sizes[0], sizes[-1])
            axes.set_xlabel("N", fontsize=12)
            tidy(axes)
        panels[0, column].plot(sizes, q * sizes, color=MEAN, linewidth=1.6, linestyle="--", label=r"$N_B = q N$")
        panels[0, column].set_yscale("log")
        panels[0, column].set_ylim(1, 1.15 * q * sizes[-1])
        panels[0, column].set_title(rf"$N_B$, q = {rate}", loc="left", fontsize=12)
        panels[0, column].legend(frameon=False, fontsize=11, loc="upper left")
        panels[1, column].set_ylim(0.1, 1)
        panels[1, column].set_title(rf"$N_B / (q N)$, q = {rate}", loc="left", fontsize=12)
    bar = figure.colorbar(filled, ax=panels, shrink=0.7, ticks=POWERS)
    bar.ax.set_yticklabels([rf"$10^{{{power}}}$" for power in POWERS], fontsize=11)
    save_figure(figure, path)


LINES: dict[str, dict[str, Any]] = {  # a fixed style for each method
    "ULR": {"color": "0.45"},
    "DP-ULR printed": {"color": "#CC79A7"},
    "corrected DP-ULR": {"color": "#009E73"},
    "DP-SGD": {"color": "#0072B2"},
}


def dots_figure(
    path: Path,
    rows: list[dict[str, Any]],
    runs: Trained,
    *,
    by: str,
    places: Sequence[str],
    below: str,
    title: str,
    caption: Sequence[str],
) -> None:
    """Draw to a PNG file the accuracy by sigma_0 or model: our values as dots, the paper's as hollow diamonds.

    There is a panel for each batch size.

    Parameters
    ----------
    path : file to write
    rows : rows of one reading, with batch, rule, paper, ours, sd, n, verdict and the entry that `by` names
    runs : list of (Cell, record), the runs of the rows
    by : "sigma_0" or "model"
    places : every value of this entry in the paper, in order
    below, title : text below the axes, and title above the figure
    caption : sentences below the figure
    """
    batches = list(dict.fromkeys(row["batch"] for row in rows))
    figure = new_figure(title, max(7.5, 2.6 + 3.4 * len(batches)), runs)  # at least as wide as its title
    several = ["Bars are one standard deviation over our seeds."]
    part = captioned(figure, [*caption, *(several if any(row["n"] > 1 for row in rows) else [])])
    panels = part.subplots(1, len(batches), sharey=True, squeeze=False)[0]
    for axes, batch in zip(panels, batches, strict=True):
        for rule, style in LINES.items():
            own = [row for row in rows if (row["batch"], row["rule"]) == (batch, rule)]
            if rule == "ULR":
                for row in own:
                    axes.axhline(row["ours"], **style, linewidth=1.8, linestyle="--", label="ULR, no privacy")
                continue
            if not own:
                continue
            x = [places.index(row[by]) for row in own]
            axes.plot(x, [row["ours"] for row in own], "o-", **style, markersize=7, linewidth=1.8, label=rule)
            spread = [row["sd"] or 0.0 for row in own]
            axes.errorbar(x, [row["ours"] for row in own], spread, fmt="none", ecolor=style["color"], capsize=4)
            if rule != "corrected DP-ULR":  # the row of the printed rule has the paper's numbers
                told = [row["paper"] for row in own]
                axes.plot(x, told, "D:", **style, markersize=7, markerfacecolor="white", linewidth=1.0)
        axes.set_xticks(range(len(places)), places)
        axes.set_xlim(-0.4, len(places) - 0.6)
        axes.set_ylim(0, 100)
        axes.set_xlabel(below, fontsize=12)
        axes.set_title(f"batches of {batch}", loc="left", fontsize=12)
        axes.tick_params(labelleft=True)
        tidy(axes)
    panels[0].set_ylabel("validation accuracy (%)", fontsize=12)
    panels[-1].plot([], [], "D:", color="0.3", markerfacecolor="white", label="the paper: MNIST, 25 epochs")
    panels[-1].legend(frameon=False, fontsize=11, loc="center left", bbox_to_anchor=(1.0, 0.5))
    save_figure(figure, path)


# Accountants of one figure, in the order of the legend.
ACCOUNTED: dict[str, dict[str, Any]] = {
    "shuffled epochs": {"color": "0.6", "linestyle": "-"},
    "Theorem 2, N_B = q N": {"color": "#CC79A7", "linestyle": "-"},
    "Theorem 2, N_B = 0.8 q N": {"color": "#CC79A7", "linestyle": "--"},
    "closed form, any order": {"color": "#E69F00", "linestyle": ":"},
    "Renyi": {"color": "#56B4E9", "linestyle": "-"},
    "exact": {"color": "black", "linestyle": "-", "marker": "o", "markersize": 4},
}


def dynamics_figure(
    path: Path,
    runs: Trained,
    epsilons: dict[tuple[str, str], dict[str, list]],
    *,
    title: str,
    caption: Sequence[str],
) -> None:
    """Draw to a PNG file the accuracy by epoch, and below it epsilon by accountant, with a column for each sigma_0.

    Parameters
    ----------
    path : file to write
    runs : list of (Cell, record), keys with batch, rule and sigma_0
    epsilons : {(batch, sigma_0): {accountant: list of (epoch, epsilon)}}
    title : title of the figure
    caption : sentences below the figure
    """
    batches = list(dict.fromkeys(cell.key["batch"] for cell, _ in runs))
    sigmas = list(dict.fromkeys(cell.key["sigma_0"] for cell, _ in runs))
    figure = new_figure(title, 1.2 + 3.5 * max(2, len(sigmas)), runs)
    figure.set_figheight(1.6 + 4.6 * len(batches))
    part = captioned(figure, [*caption, *([BANDS] if len({record["seed"] for _, record in runs}) > 1 else [])])
    panels = part.subplots(
        2 * len(batches), len(sigmas), sharey="row", squeeze=False, height_ratios=[1.35, 1] * len(batches)
    )
    for i, batch in enumerate(batches):
        for axes, below, sigma_0 in zip(panels[2 * i], panels[2 * i + 1], sigmas, strict=True):
            own = [
                (cell, record) for cell, record in runs if (cell.key["batch"], cell.key["sigma_0"]) == (batch, sigma_0)
            ]
            if not own:
                axes.set_visible(False)
                below.set_visible(False)
                continue
            accuracy_curves(axes, {c.key["rule"]: [r for k, r in own if k.key == c.key] for c, _ in own})
            axes.set_title(rf"accuracy, batches of {batch}, $\sigma_0$ = {sigma_0}", loc="left", fontsize=11)
            for name, points in epsilons[batch, sigma_0].items():
                below.plot(*zip(*points, strict=True), **ACCOUNTED[name], linewidth=1.8, label=name)
            below.set_yscale("log")
            below.set_xlim(0, max(epoch for points in epsilons[batch, sigma_0].values() for epoch, _ in points))
            below.set_xlabel("epoch", fontsize=11)
            below.set_title(r"$\epsilon$, if a step were Gaussian", loc="left", fontsize=11)
            below.tick_params(labelleft=True)
            tidy(below)
    handles: dict[str, Any] = {}
    for axes in panels.flat:
        handles |= {line.get_label(): line for line in axes.get_lines() if not line.get_label().startswith("_")}
    order = [name for name in (*LINES, *ACCOUNTED) if name in handles]
    names = [name.replace("N_B", "$N_B$") for name in order]
    part.legend([handles[name] for name in order], names, loc="outside lower center", ncols=5, frameon=False)
    save_figure(figure, path)


def setting_figure(path: Path, runs: Trained, *, title: str, data: str, caption: Sequence[str]) -> None:
    """Draw to a PNG file the accuracy of every method by epoch, with a panel for each batch size.

    Parameters
    ----------
    path : file to write
    runs : list of (Cell, record) of one reading, keys with batch, rule and sigma_0
    title : title of the figure
    data : name and size of the data
    caption : sentences below the figure
    """
    batches = list(dict.fromkeys(cell.key["batch"] for cell, _ in runs))
    figure = new_figure(title, 1.2 + 3.6 * max(2, len(batches)), runs)
    part = captioned(figure, [*caption, *([BANDS] if len({record["seed"] for _, record in runs}) > 1 else [])])
    panels = part.subplots(1, len(batches), sharey=True, squeeze=False)[0]
    for axes, batch in zip(panels, batches, strict=True):
        own = [(cell, record) for cell, record in runs if cell.key["batch"] == batch]
        sigmas = {cell.key["sigma_0"] for cell, _ in own} - {"none"}
        accuracy_curves(axes, {c.key["rule"]: [r for k, r in own if k.key == c.key] for c, _ in own})
        axes.axhline(10, color="0.7", linewidth=1, linestyle=":")
        noise = rf", $\sigma_0$ = {', '.join(sorted(sigmas))}" if sigmas else ""
        axes.set_title(f"batches of {batch}{noise}", loc="left", fontsize=11)
        axes.set_xlabel(f"epoch\n{data}; dotted: chance", fontsize=11)
    handles: dict[str, Any] = {}
    for axes in panels.flat:
        handles |= {line.get_label(): line for line in axes.get_lines() if not line.get_label().startswith("_")}
    panels[0].set_ylabel("test accuracy (%)", fontsize=12)
    order = [name for name in LINES if name in handles]
    part.legend([handles[name] for name in order], order, loc="outside lower center", ncols=4, frameon=False)
    save_figure(figure, path)


def accuracy_curves(axes, groups: dict[str, list[dict[str, Any]]]) -> None:
    """Draw a line for each method, the mean over its seeds, with its last value. Several seeds also have a band."""
    ends, last = [], 1
    for rule, style in LINES.items():
        if rule in groups:
            longest, end = seeds_curve(axes, groups[rule], lambda entry: 100 * entry["test_accuracy"], style, rule)
            last = max(last, longest)
            ends.append((end, style["color"]))
    places = spread_labels([end for end, _ in ends], gap=6.0)
    for (end, colour), place in zip(ends, places, strict=True):
        at = {"xycoords": ("axes fraction", "data"), "va": "center", "fontsize": 10, "annotation_clip": False}
        axes.annotate(f"{end:.1f}", (1.01, place), color=colour, **at)
    axes.set_ylim(0, 100)
    axes.set_xlim(0, last)
    axes.set_xlabel("epoch", fontsize=11)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.tick_params(labelleft=True)
    tidy(axes)
