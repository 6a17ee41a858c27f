"""Pictures of learning by forward passes: what rejection adds to a bound, and accuracy against noise. To files only."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from nfa.experiments.plots import _bare, _figure, _save

POWERS = [-10, -6, -3, -1, 0, 1, 2]
CLAIM, MEAN = "#D55E00", "black"


def ratio_figure(path: Path, grids: dict[str, tuple], lines: dict[str, list[tuple[int, int]]]) -> None:
    """Contours of the ratio over N and N_B, and over N and the share of q N, a column a rate; a PNG.

    Parameters
    ----------
    path : file to write
    grids : {rate: (sizes, shares, ratios (shares, sizes))}
    lines : {rate: list of (N, largest N_B with a ratio below 10^-3, 0 for none)}
    """
    figure = _figure(
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
            _bare(axes)
        panels[0, column].plot(sizes, q * sizes, color=MEAN, linewidth=1.6, linestyle="--", label=r"$N_B = q N$")
        panels[0, column].set_yscale("log")
        panels[0, column].set_ylim(1, 1.15 * q * sizes[-1])
        panels[0, column].set_title(rf"$N_B$, q = {rate}", loc="left", fontsize=12)
        panels[0, column].legend(frameon=False, fontsize=11, loc="upper left")
        panels[1, column].set_ylim(0.1, 1)
        panels[1, column].set_title(rf"$N_B / (q N)$, q = {rate}", loc="left", fontsize=12)
    bar = figure.colorbar(filled, ax=panels, shrink=0.7, ticks=POWERS)
    bar.ax.set_yticklabels([rf"$10^{{{power}}}$" for power in POWERS], fontsize=11)
    _save(figure, path)


LINES: dict[str, dict[str, Any]] = {  # a fixed style a method
    "ULR": {"color": "0.45"},
    "DP-ULR printed": {"color": "#CC79A7"},
    "DP-ULR sound": {"color": "#009E73"},
    "DP-SGD": {"color": "#0072B2"},
}


def noise_figure(path: Path, rows: list[dict[str, Any]], sigmas: Sequence[str]) -> None:
    """Accuracy against sigma_0, a panel a batch size: ours as dots, the paper's as hollow diamonds; a PNG.

    Parameters
    ----------
    path : file to write
    rows : of Table 1, one reading: batch, rule, sigma_0, paper, ours, verdict
    sigmas : every sigma_0 of the paper, in order
    """
    batches = list(dict.fromkeys(row["batch"] for row in rows))
    figure = _figure("Forward learning and DP-SGD under noise", 2.5 + 4.6 * len(batches))
    panels = figure.subplots(1, len(batches), sharey=True, squeeze=False)[0]
    for axes, batch in zip(panels, batches, strict=True):
        for rule, style in LINES.items():
            own = [row for row in rows if (row["batch"], row["rule"]) == (batch, rule)]
            if rule == "ULR":
                for row in own:
                    axes.axhline(row["ours"], **style, linewidth=1.8, linestyle="--", label="ULR, no privacy")
                continue
            places = [sigmas.index(row["sigma_0"]) for row in own]
            axes.plot(places, [row["ours"] for row in own], "o-", **style, markersize=7, linewidth=1.8, label=rule)
            if rule != "DP-ULR sound":  # its paper numbers are those of the printed rule
                told = [row["paper"] for row in own]
                axes.plot(places, told, "D:", **style, markersize=7, markerfacecolor="white", linewidth=1.0)
        axes.set_xticks(range(len(sigmas)), sigmas)
        axes.set_xlim(-0.4, len(sigmas) - 0.6)
        axes.set_ylim(0, 100)
        axes.set_xlabel(r"$\sigma_0$", fontsize=12)
        axes.set_title(f"validation accuracy (%), batches of {batch}", loc="left", fontsize=12)
        axes.tick_params(labelleft=True)
        _bare(axes)
    panels[-1].plot([], [], "D:", color="0.3", markerfacecolor="white", label="the paper: MNIST, 25 epochs")
    panels[-1].legend(frameon=False, fontsize=11, loc="center left", bbox_to_anchor=(1.0, 0.5))
    _save(figure, path)
