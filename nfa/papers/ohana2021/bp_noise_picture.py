"""The picture of the readings of BP's noise: accuracy over sigma under each, and the paper's. To files only."""

from collections.abc import Mapping
from pathlib import Path

from nfa.experiments.experiment import Rows, Trained
from nfa.experiments.plots import new_figure, save_figure, tidy

NEAREST = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")  # colours of so many readings; the others are grey


def falls_figure(path: Path, falls: Rows, printed: Mapping[str, float], runs: Trained) -> None:
    """A line a reading over the columns of the table, the paper's in black, the nearest in colour; a PNG.

    Parameters
    ----------
    path : file to write
    falls : as `nfa.papers.ohana2021.bp_noise.falls` has them, the nearest first
    printed : {sigma: accuracy} of the paper
    runs : that they are of, to tell where they stopped
    """
    figure = new_figure("BP under noise: the paper's row, and readings of how the noise enters", 10, runs)
    axes = figure.subplots()
    columns = [sigma for sigma in printed if any(sigma in one["accuracies"] for one in falls)]
    for i, one in reversed(list(enumerate(falls))):
        style = {"color": NEAREST[i], "linewidth": 1.8} if i < len(NEAREST) else {"color": "0.8", "linewidth": 1.0}
        label = one["reading"] if i < len(NEAREST) else "_"
        found = one["accuracies"]
        axes.plot([columns.index(s) for s in found], list(found.values()), "o-", markersize=4, label=label, **style)
    values = [printed[sigma] for sigma in columns]
    axes.plot(range(len(columns)), values, "D-", color="black", linewidth=2.4, label="the paper's", zorder=5)
    axes.plot([], [], color="0.8", label="other readings")
    shown = [value for one in falls[: len(NEAREST)] for value in one["accuracies"].values()] + values
    axes.set_ylim(min(shown, default=0.0) - 5, max(shown, default=100.0) + 5)  # other readings may leave the picture
    axes.set_xticks(range(len(columns)), columns)
    axes.set_xlabel(r"$\sigma$", fontsize=12)
    axes.set_title("final test accuracy (%)", loc="left", fontsize=12)
    tidy(axes)
    handles, labels = axes.get_legend_handles_labels()
    named = sorted(zip(labels, handles, strict=True), key=lambda pair: _place(pair[0], falls))
    axes.legend(
        [handle for _, handle in named],
        [label for label, _ in named],
        frameon=False,
        fontsize=10,
        loc="upper left",
        bbox_to_anchor=(1, 1),
    )
    save_figure(figure, path)


def _place(label: str, falls: Rows) -> int:
    order = ["the paper's", *(one["reading"] for one in falls)]
    return order.index(label) if label in order else len(order)
