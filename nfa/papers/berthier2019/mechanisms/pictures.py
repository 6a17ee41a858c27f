"""Pictures of the classic mechanisms, as PNG files: densities that overlap, and claimed and true privacy."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nfa.experiments.plots import new_figure, save_figure, tidy

FIRST, SECOND, RIGHT, PRINTED, PLAIN = "#0072B2", "#D55E00", "#009E73", "#D55E00", "0.35"


def masking_figure(path: Path, drawn: Sequence[float], curve: tuple, points: list[tuple[float, float]]) -> None:
    """Draw to a PNG file two densities at several amounts of noise, and the total variation as a function of the noise.

    Parameters
    ----------
    path : file to write
    drawn : values of sigma over the sensitivity, one for each panel
    curve : (noise, total variation)
    points : (noise, total variation) of the table
    """
    figure = new_figure("Masking a query's value by Gaussian noise", 4.0 * len(drawn) + 5)
    *panels, right = figure.subplots(1, len(drawn) + 1, width_ratios=(*[1.0] * len(drawn), 1.35))
    known = dict(points)
    for axes, noise in zip(panels, drawn, strict=True):
        reach = max(1.0, 3.2 * noise)
        x = np.linspace(-reach, 1 + reach, 500)
        densities = [np.exp(-(((x - at) / noise) ** 2) / 2) / (noise * math.sqrt(2 * math.pi)) for at in (0, 1)]
        axes.fill_between(x, np.minimum(*densities), color="0.88", label="shared: 1 - TV")
        labels = ("f(x) = 0", r"f(y) = $\Delta$")
        for density, colour, label in zip(densities, (FIRST, SECOND), labels, strict=True):
            axes.plot(x, density, color=colour, linewidth=2, label=label)
        axes.set_ylim(0, 1.45 * densities[0].max())
        told = "" if noise == 1 else f"{noise:g} "
        axes.set_yticks([])
        axes.set_xlabel(r"output / $\Delta$", fontsize=12)
        axes.set_title(rf"densities, $\sigma$ = {told}$\Delta$: TV = {known[noise]:.3f}", loc="left", fontsize=12)
        axes.legend(frameon=False, fontsize=10, loc="upper left", ncols=2)
        tidy(axes)
    right.plot(*curve, color=PLAIN, linewidth=2.2, label=r"erf($\Delta$ / (2$\sqrt{2}\,\sigma$))")
    far = np.array([0.35, curve[0][-1]])
    right.plot(
        far,
        1 / (far * math.sqrt(2 * math.pi)),
        color=PLAIN,
        linewidth=1.2,
        linestyle=":",
        label=r"0.399 $\Delta / \sigma$",
    )
    right.plot(*zip(*points, strict=True), "o", color=SECOND, markersize=7, label="the table")
    right.set_xscale("log", base=2)
    right.set_yscale("log")
    right.set_xlabel(r"noise $\sigma / \Delta$", fontsize=12)
    right.set_title("total variation of the two outputs", loc="left", fontsize=12)
    right.legend(frameon=False, fontsize=11, loc="lower left")
    tidy(right)
    save_figure(figure, path)


def laplace_figure(path: Path, deltas, tv: dict[str, list], scales: dict[str, list], gaussian: list[float]) -> None:
    """Draw to a PNG file the true total variation of Laplace noise for each claimed delta, and the necessary noise.

    Parameters
    ----------
    path : file to write
    deltas : (k,) array of claimed deltas; the sensitivity is 1
    tv, scales : {"printed": ..., "right": ...}, true total variations and scales b
    gaussian : standard deviations of the least Gaussian noise
    """
    figure = new_figure(r"Laplace noise and total variation, $\Delta$ = 1", 12)
    left, right = figure.subplots(1, 2)
    left.plot(
        deltas, tv["printed"], color=PRINTED, linewidth=2.2, label=r"at the printed $b = \sqrt{\Delta / (2 \delta)}$"
    )
    left.plot(deltas, tv["right"], color=RIGHT, linewidth=2.2, label=r"at $b = -\Delta / (2 \log(1 - \delta))$")
    left.plot(deltas, deltas, color="black", linewidth=1.2, linestyle="--", label=r"claimed: $\delta$")
    left.set_title("true total variation", loc="left", fontsize=12)
    styles: dict[str, Any] = {"printed": {"color": PRINTED}, "right": {"color": RIGHT}}
    for name, values in scales.items():
        told = "printed" if name == "printed" else "right (both: Laplace)"
        right.plot(deltas, math.sqrt(2) * np.array(values), **styles[name], linewidth=2.2, label=told)
    right.plot(deltas, gaussian, color=FIRST, linewidth=1.8, linestyle="-.", label="least Gaussian noise")
    right.set_title(r"standard deviation of the noise / $\Delta$", loc="left", fontsize=12)
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel(r"$\delta$ that is asked for", fontsize=12)
        axes.legend(frameon=False, fontsize=11)
        tidy(axes)
    save_figure(figure, path)


def textbook_figure(
    path: Path, epsilons, ratios: dict[float, list], crossings: dict[float, float], noise: tuple[float, list, list]
) -> None:
    """Draw the exact delta divided by the claimed delta for the textbook's Gaussian noise, and the sufficient noise.

    Parameters
    ----------
    path : file to write
    epsilons : (k,) array
    ratios : {delta: exact delta / claimed delta}
    crossings : {delta: epsilon above which the claim fails}
    noise : (delta, printed, least); printed and least are lists of noise multipliers
    """
    figure = new_figure(
        r"The textbook's Gaussian noise, $\sigma = \sqrt{2 \log(1.25 / \delta)}\; \Delta / \epsilon$", 12
    )
    left, right = figure.subplots(1, 2)
    colours = ("#CC79A7", "#009E73", "#0072B2", "#D55E00")
    for (delta, values), colour in zip(ratios.items(), colours, strict=True):
        left.plot(
            epsilons, values, color=colour, linewidth=2, label=rf"$\delta$ = {delta:g}: from {crossings[delta]:.2f} on"
        )
        left.plot(crossings[delta], 1, "o", color=colour, markersize=7)
    left.axhline(1, color="black", linewidth=1.2, linestyle="--")
    left.axvspan(epsilons[0], 1, color="0.94", zorder=0)
    left.annotate("textbook: $\\epsilon$ < 1", (epsilons[0], 1), xytext=(8, 6), textcoords="offset points", fontsize=11)
    left.set_yscale("log")
    left.set_ylim(3e-5, 1e6)
    left.set_title(r"exact $\delta$ / claimed $\delta$", loc="left", fontsize=12)
    left.legend(frameon=False, fontsize=11, loc="upper left", title="too little noise", alignment="left")
    delta, printed, least = noise
    right.plot(epsilons, printed, color=PRINTED, linewidth=2.2, label="printed")
    right.plot(epsilons, least, color=RIGHT, linewidth=2.2, label="least")
    right.plot(
        epsilons,
        1 / np.sqrt(2 * np.asarray(epsilons)),
        color=PLAIN,
        linewidth=1.2,
        linestyle=":",
        label=r"$1 / \sqrt{2 \epsilon}$",
    )
    right.set_yscale("log")
    right.set_title(rf"noise $\sigma / \Delta$ for $\delta$ = {delta:g}", loc="left", fontsize=12)
    right.legend(frameon=False, fontsize=11)
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_xlim(epsilons[0], epsilons[-1])
        axes.set_xlabel(r"$\epsilon$", fontsize=12)
        tidy(axes)
    save_figure(figure, path)


def orders_figure(path: Path, epsilons, sizes, lines: dict[str, tuple], at: dict[str, float]) -> None:
    """Draw to a PNG file the orders of Table 1 as functions of epsilon and of n, with every constant set to 1.

    Parameters
    ----------
    path : file to write
    epsilons, sizes : (k,) and (j,) arrays
    lines : {row: (values for all epsilons, values for all sizes)}
    at : fixed values of d, n and epsilon
    """
    figure = new_figure("Orders of the excess loss, every constant set to 1: only slopes mean something", 13)
    figure.set_size_inches(13, 6.2)
    left, right = figure.subplots(1, 2)
    styles: tuple[dict[str, Any], ...] = (
        {"color": "#0072B2", "linewidth": 4, "alpha": 0.45},
        {"color": "#0072B2", "linewidth": 1.8, "linestyle": "--"},
        {"color": "#D55E00", "linewidth": 2},
        {"color": "#009E73", "linewidth": 2, "linestyle": "-."},
    )
    for (name, (over_epsilon, over_n)), style in zip(lines.items(), styles, strict=True):
        left.plot(epsilons, over_epsilon, **style)
        right.plot(sizes, over_n, **style, label=name)
    left.set_xlabel(rf"$\epsilon$ (n = {at['n']:g}, d = {at['d']:g})", fontsize=12)
    right.set_xlabel(rf"n ($\epsilon$ = {at['epsilon']:g}, d = {at['d']:g})", fontsize=12)
    for axes in (left, right):
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_title("order of the excess loss", loc="left", fontsize=12)
        tidy(axes)
    figure.legend(loc="outside lower left", frameon=False, fontsize=11, ncols=1)
    save_figure(figure, path)
