"""Figures 7 and 8 of Berthier (2019): the variance of SGD's iterates with and without noise feedback.

The report's figures are graphs of the dependence between variables. Here we run the update and compare the variance of
the iterates with the recursions of Propositions 3.2 and 3.3, which the report prints next to the figures.
"""

import tomllib
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from nfa.experiments.experiment import Analytic
from nfa.experiments.report import compare
from nfa.papers.berthier2019.perturbation.noise_feedback import (
    affine_covariances,
    claimed_feedback_covariances,
    corrected_feedback_covariances,
)

_FEEDBACK = tomllib.loads(
    files("nfa.papers.berthier2019.perturbation").joinpath("numbers.toml").read_text(encoding="utf-8")
)["feedback"]
ROUNDING = 1e-9
GAMMA, SIGMA = 0.5, 1.3
ALPHAS = (0.3, 0.7, 0.5, 0.9, 0.2, 0.6)  # the matrices alpha_t, in one dimension
LONG = 40  # steps of the picture, where gamma alpha = 0.1 and sigma = 1


def update(alphas: tuple[float, ...], noise: np.ndarray, *, gamma: float, feedback: bool) -> np.ndarray:
    """The iterates theta_1 .. theta_T of paths that start at 0, with gradients alpha_t theta.   (T, paths)

    Each path has its own noise.

    Parameters
    ----------
    alphas : T numbers
    noise : (T, paths) array of eta_1 .. eta_T
    """
    theta, before, path = np.zeros(noise.shape[1]), np.zeros(noise.shape[1]), []
    for a, eta in zip(alphas, noise, strict=True):
        theta = theta - gamma * a * theta - eta + (before if feedback else 0)
        before = eta
        path.append(theta)
    return np.array(path)


def variances(alphas: tuple[float, ...], *, gamma: float, sigma: float, feedback: bool) -> np.ndarray:
    """Variances of theta_1 .. theta_T.

    For each step, one run sets the noise of this step to sigma and the noise of all other steps to 0. The variance of
    an iterate is the sum of its squares over these runs.
    """
    impulses = update(alphas, sigma * np.eye(len(alphas)), gamma=gamma, feedback=feedback)
    return np.square(impulses).sum(axis=1)


def feedback_rows(feedback: bool) -> list[dict[str, Any]]:
    """A row for each of six steps: the variance from the printed recursion, and the variance of our iterates.

    Source: [berthier2019:prop3.2] [berthier2019:prop3.3]
    """
    recursion = claimed_feedback_covariances if feedback else affine_covariances
    printed = recursion(np.array(ALPHAS)[:, None, None], gamma=GAMMA, sigma=SIGMA)[1:, 0, 0]
    ours = variances(ALPHAS, gamma=GAMMA, sigma=SIGMA, feedback=feedback)
    rows = []
    for t, (paper, variance) in enumerate(zip(printed, ours, strict=True), start=1):
        row = compare(float(paper), [float(variance)], ROUNDING, digits=6)
        row["difference"] += 0.0  # turns -0 into 0
        rows.append({"t": t} | row)
    return rows


def feedback_summary(feedback: bool) -> Callable[[list[dict[str, Any]]], list[str]]:
    """A function that summarises the rows of one of the two figures in sentences."""

    def summary(rows: list[dict[str, Any]]) -> list[str]:
        inside = sum(row["verdict"] == "inside" for row in rows)
        said = [f"The printed recursion gives the variance of the update in {inside} of {len(rows)} steps."]
        if not feedback:
            return [
                *said,
                "This variance is for noise on the iterate. With noise on the gradient, the variance is gamma² times"
                " as large.",
            ]
        least, times = min(row["ours"] for row in rows), [row["ours"] / row["paper"] for row in rows]
        return [
            *said,
            f"The variance is {min(times):.1f} to {max(times):.1f} times the printed variance. The recursion gives"
            " this variance with 2 gamma sigma² alpha_t in place of 2 gamma² sigma² alpha_t², and with sigma² after"
            " the first step.",
            f"The variance is never below sigma² = {SIGMA**2:g}: the smallest is {least:g}. Section 3.4.3 concludes"
            " the opposite.",
        ]

    return summary


def _feedback_notes(rows: list[dict[str, Any]]) -> list[str]:
    return ["## How to read it", "", *_FEEDBACK["guide"].splitlines(), ""]


def _draw_feedback(path: Path, rows: list[dict[str, Any]]) -> None:
    from nfa.papers.berthier2019.perturbation.pictures import feedback_figure

    a = np.full((LONG, 1, 1), 0.1)
    laws = {
        "without feedback": affine_covariances(a, gamma=1.0, sigma=1.0)[1:, 0, 0],
        "with feedback": corrected_feedback_covariances(a, gamma=1.0, sigma=1.0)[1:, 0, 0],
        "with feedback, as printed": claimed_feedback_covariances(a, gamma=1.0, sigma=1.0)[1:, 0, 0],
    }
    noise = np.random.default_rng(0).standard_normal((LONG, 20_000))
    dots = {
        name: update((0.1,) * LONG, noise, gamma=1.0, feedback=name == "with feedback").var(axis=1)
        for name in list(laws)[:2]
    }
    feedback_figure(path, "The variance of SGD without noise feedback and with it", laws, dots)


def _feedback_experiment(id: str, feedback: bool, where: str, title: str) -> Analytic:
    return Analytic.from_toml(
        _FEEDBACK,
        id=id,
        title=f"Figure {id[-1]} of Berthier (2019), computed: {title}",
        where=where,
        rows=lambda: feedback_rows(feedback),
        columns=("t", "paper", "ours", "difference", "verdict"),
        measures="the variance of the update, by running it for each noise alone",
        digits=6,
        tolerance=ROUNDING,
        summary=feedback_summary(feedback),
        notes=_feedback_notes,
        picture=_draw_feedback,
    )


FIG7 = _feedback_experiment(
    "berthier2019:fig7",
    False,
    "Section 3.4.2, Figure 7 and Proposition 3.2",
    "the variance of SGD without noise feedback",
)
FIG8 = _feedback_experiment(
    "berthier2019:fig8", True, "Section 3.4.2, Figure 8 and Proposition 3.3", "the variance of SGD with noise feedback"
)
