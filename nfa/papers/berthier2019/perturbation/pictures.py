"""Pictures of two passes of SGD side by side, and of the variance under noise feedback, as PNG files."""

from pathlib import Path

import numpy as np

from nfa.experiments.plots import new_figure, save_figure, tidy

FIRST, SECOND, STEP = "#0072B2", "#D55E00", "#CC0000"
PLACES = ("#009E73", "#CC79A7", "#E69F00")  # colours for the step at which the records differ
CURVES = {"without feedback": "#0072B2", "with feedback": "#009E73", "with feedback, as printed": "#D55E00"}


def gap_figure(path: Path, title: str, pair: np.ndarray, t: int, gaps: dict, privacy: dict, *, noisy: bool) -> None:
    """Draw to a PNG file a pair of passes, their distances for several places of the record, and epsilon by place.

    Parameters
    ----------
    path : file to write
    pair : (2, n + 1) array, the iterates of the two passes along one direction
    t : step at which the records of the two passes differ
    gaps : {step: ((n + 1,) largest distances, (n + 1,) bounds)}
    privacy : {name: (n,) array of epsilons for the places 1 .. n}
    noisy : whether noise is added at every step, for the title of the left panel
    """
    figure = new_figure(f"{title} (Berthier, 2019)", 15)
    left, middle, right = figure.subplots(1, 3)
    steps = np.arange(pair.shape[1])
    for line, colour, name in zip(pair, (FIRST, SECOND), ("D", "D'"), strict=True):
        left.plot(steps, line, color=colour, linewidth=1.8, marker="o", markersize=3, label=f"trained on {name}")
        left.plot(steps[t - 1 : t + 1], line[t - 1 : t + 1], color=STEP, linewidth=2.6)
    left.plot([], [], color=STEP, linewidth=2.6, label="the records differ")
    left.set_xlabel("step", fontsize=12)
    left.legend(frameon=False, fontsize=11)
    left.set_title(f"one pair, noise {'on every gradient' if noisy else 'not yet added'}", loc="left", fontsize=12)
    for colour, (place, (found, bounds)) in zip(PLACES, gaps.items(), strict=True):
        middle.plot(steps[place:], bounds[place:], color=colour, linewidth=1.6, linestyle="--")
        found_line = middle.plot(steps[place:], found[place:], "o-", color=colour, label=f"records differ at {place}")
        found_line[0].set(markersize=3.5, linewidth=1.6)
        if place == steps[-1]:
            middle.plot(place, bounds[-1], "_", color=colour, markersize=12)
    middle.plot([], [], color="0.3", linewidth=1.6, linestyle="--", label="bound")
    _log_with_room(middle)
    middle.set_xlabel("step", fontsize=12)
    middle.legend(frameon=False, fontsize=10, loc="upper left")
    middle.set_title("distance of the two passes, largest of 100 pairs", loc="left", fontsize=12)
    places = np.arange(1, len(steps))
    styles = ("-", "-.", ":", "--")
    for style, (name, curve) in zip(styles, privacy.items(), strict=False):
        right.plot(places, curve, color="black", linewidth=1.8, linestyle=style, label=name)
    _log_with_room(right)
    right.set_xlabel("step at which the records differ", fontsize=12)
    right.legend(frameon=False, fontsize=10, loc="upper left")
    right.set_title("Rényi $\\epsilon$ of order 2 of the last iterate, nats", loc="left", fontsize=12)
    for axes in (left, middle, right):
        tidy(axes)
    save_figure(figure, path)


def _log_with_room(axes) -> None:
    """Set a logarithmic axis with plain numbers, and room for the legend above the curves."""
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    wide = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10) if high > 30 * low else (0.1, 0.2, 0.5, 1, 2, 5, 10)
    ticks = [v for v in wide if low < v < high]
    axes.set_yticks(ticks, [f"{v:g}" for v in ticks])
    axes.set_yticks([], minor=True)
    axes.set_ylim(low, high * (high / low) ** 0.45)


def feedback_figure(path: Path, title: str, laws: dict, dots: dict) -> None:
    """Draw the variance of the iterate by three recursions, and the resulting privacy of the last iterate, to a PNG.

    Parameters
    ----------
    path : file to write
    laws : {name of a curve: (T,) array of variances}
    dots : {name of a curve: (T,) array of simulated variances}
    """
    figure = new_figure(f"{title} (Berthier, 2019)", 12)
    left, right = figure.subplots(1, 2)
    left.set_yscale("log")
    right.set_yscale("log")
    for name, law in laws.items():
        steps, colour = np.arange(1, len(law) + 1), CURVES[name]
        dashed = "--" if "printed" in name else "-"
        left.plot(steps, law, color=colour, linewidth=2.0, linestyle=dashed, label=name)
        right.plot(steps, 1 / law, color=colour, linewidth=2.0, linestyle=dashed)  # alpha gap^2 / (2 S), alpha = 2
        if name in dots:
            left.plot(steps, dots[name], "o", color=colour, markersize=4)
    left.axhline(1, color="0.4", linewidth=1.2, linestyle=":", label="$\\sigma^2$, noise of one step")
    left.set_ylim(0.01, 60)
    left.set_yticks(ticks := [0.01, 0.1, 1, 10], [f"{v:g}" for v in ticks])
    right.set_yticks(ticks := [0.2, 0.5, 1, 2, 5, 10, 20, 50], [f"{v:g}" for v in ticks])
    left.legend(frameon=False, fontsize=11, ncols=2, loc="upper left")
    left.set_title("variance of the iterate; dots: simulated", loc="left", fontsize=12)
    right.set_title("Rényi $\\epsilon$ of order 2 of the last iterate, nats, for a gap of 1", loc="left", fontsize=12)
    for axes in (left, right):
        axes.set_yticks([], minor=True)
        axes.set_xlabel("step", fontsize=12)
        tidy(axes)
    save_figure(figure, path)
