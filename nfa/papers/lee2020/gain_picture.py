"""The picture of the screen of readings: what DP-DFA gains over DP-BP under each. To files only."""

from pathlib import Path
from typing import Any

from nfa.experiments.experiment import Rows, Trained
from nfa.experiments.plots import new_figure, save_figure, tidy

COLOURS = {"0.01": "#0072B2", "0.05": "#D55E00"}  # a noise


def gain_figure(path: Path, gains: Rows, runs: Trained, band: tuple[float, float]) -> None:
    """A line a reading, the largest gain above, and a dot a noise; hollow where DP-DFA proves less; a PNG.

    Parameters
    ----------
    path : file to write
    gains : as `nfa.papers.lee2020.gain.gains` has them
    runs : that they are of, to tell where they stopped
    band : from and to, in points, of the gain that the paper states
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
            inside = COLOURS[sigma] if of["fair"] else "white"
            axes.plot(of["gain"], height, "o", color=COLOURS[sigma], markerfacecolor=inside, markersize=6)
    for sigma, colour in COLOURS.items():
        axes.plot([], [], "o", color=colour, label=rf"$\sigma$ = {sigma}")
    axes.plot([], [], "o", color="0.3", markerfacecolor="white", label="DP-DFA proves less than DP-BP")
    axes.set_yticks(range(len(gains)), [one["reading"] for one in reversed(gains)], fontsize=9)
    axes.set_ylim(-0.8, len(gains) - 0.2)
    axes.set_xlabel("accuracy of DP-DFA less that of DP-BP, in points, on images held out", fontsize=11)
    axes.grid(axis="x", color="0.92")
    tidy(axes)
    axes.legend(frameon=False, fontsize=10, loc="upper left", bbox_to_anchor=(1, 1))
    save_figure(figure, path)
