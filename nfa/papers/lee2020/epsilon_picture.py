"""The picture of recomputed epsilons: over the epochs, and against the Renyi order. Drawn to a file only."""

from pathlib import Path
from typing import Any

from nfa.experiments.plots import new_figure, save_figure, tidy

READINGS: dict[str, dict[str, Any]] = {  # a fixed style each
    "Theorem 27": {"color": "#0072B2", "linewidth": 2.2},
    "Lemma 3": {"color": "#D55E00", "linewidth": 1.6, "linestyle": "--"},
    "Poisson": {"color": "#009E73", "linewidth": 1.8, "linestyle": "-."},
    "Theorem 27, 50,000 records": {"color": "#CC79A7", "linewidth": 1.8, "linestyle": ":"},
}
PRINTED: dict[str, Any] = {"color": "black", "markerfacecolor": "white", "markersize": 7, "zorder": 3}


def epsilon_figure(path: Path, by_epochs: dict[str, list], orders, by_order: list) -> None:
    """Printed epsilons over the epochs among recomputed ones, and epsilon against the Renyi order; a PNG.

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
            axes.plot(*printed, "D", **PRINTED)
            end = (epochs[-1], lines["Theorem 27"][-1])
            axes.annotate(label, end, xytext=(12, 0), textcoords="offset points", va="center", fontsize=12)
        for name in lines:
            axes.plot([], [], **READINGS[name], label=name)
        axes.plot([], [], "D", **PRINTED, label="printed")
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
