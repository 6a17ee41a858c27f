"""The picture of `nfa epsilon --plot`: delta as a function of epsilon for one run, with a curve for each accountant."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from nfa.experiments.plots import FORMATS, captioned, new_figure, save_figure, tidy
from nfa.privacy.accountant import Guarantee, gaussian_limit
from nfa.privacy.counted_run import CountedRun
from nfa.privacy.rounding import up

SPAN = 1e3  # the deltas go from the run's delta / SPAN to the run's delta * SPAN
POINTS = 9


def check_picture(path: Path) -> None:
    """Raise ValueError for a file that cannot be written. This check comes before any computation."""
    if path.suffix.removeprefix(".") not in FORMATS:
        raise ValueError(f"--plot needs a file name that ends in .{', .'.join(FORMATS)}, got {path}")
    if path.is_dir():
        raise ValueError(f"--plot needs the name of a file, but {path} is a folder")
    if not path.parent.is_dir():
        raise ValueError(f"--plot cannot write {path}, because the folder {path.parent} does not exist")


def draw(path: Path, run: CountedRun, g: Guarantee) -> None:
    """Draw delta as a function of epsilon: a curve for each accountant, a lower bound on epsilon, and the Gaussian
    limit.

    Parameters
    ----------
    path : file to write. Its name ends in one of `FORMATS`
    g : guarantee of the run, marked by a circle in the picture
    """
    assert g.noise_multiplier is not None  # the run of a single mechanism has a noise multiplier
    step = run.release(g.noise_multiplier)
    deltas = np.geomspace(max(g.delta / SPAN, 1e-300), min(g.delta * SPAN, 0.5), POINTS)
    curves: dict[str, list[tuple[float, float]]] = {"Rényi divergences": [], "privacy losses": []}
    limits: list[tuple[float, float]] = []
    least: list[tuple[float, float]] = []
    for delta in map(float, deltas):
        at = replace(run, delta=delta)
        curves["Rényi divergences"].append((at.by_renyi(step).epsilon, delta))
        losses = at.by_losses(step)
        if isinstance(losses, str):
            continue
        curves["privacy losses"].append((losses.epsilon, delta))
        assert losses.at_least is not None
        least.append((losses.at_least, delta))
        limits.append((gaussian_limit([(step, run.steps)], delta=delta, steps_per_epoch=run.steps_per_epoch), delta))
    title = f"{g.steps} steps, {g.sampling}, {g.adjacency}, z = {up(g.noise_multiplier)}"
    figure = new_figure(title, 9)
    axes = captioned(
        figure,
        [
            "Each point of a solid line is a proved guarantee. The dashed line is a lower bound from privacy losses.",
            "The dotted line assumes that all losses add up to a Gaussian law. This assumption is not proved.",
            "The circle marks the printed epsilon.",
        ],
    ).subplots()
    for name, points in curves.items():
        if points := [point for point in points if math.isfinite(point[0])]:
            axes.semilogy(*zip(*points, strict=True), label=name)
    if least:
        axes.semilogy(*zip(*least, strict=True), "--", color="0.2", lw=1, label="privacy losses, lower bound")
        axes.semilogy(*zip(*limits, strict=True), ":", color="0.5", label="Gaussian limit, not counted")
    if math.isfinite(g.epsilon):
        axes.semilogy([g.epsilon], [g.delta], "o", mfc="none", mec="black", ms=9)
    axes.set(xlabel="epsilon", ylabel="delta", xlim=(0, None))
    axes.legend()
    tidy(axes)
    save_figure(figure, path)
