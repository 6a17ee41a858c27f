"""Figures 3, 4 and 6 of Berthier (2019): the distance of two passes of SGD after a step with different records.

The report's figures are drawings without numbers. Here we run the passes and compare their distances with the bounds
in the report's text.
"""

import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from nfa.clip import clip_l2
from nfa.experiments.experiment import Analytic
from nfa.papers.berthier2019.perturbation.gradient import Gradients, contraction, simulate_pair
from nfa.papers.berthier2019.perturbation.iteration import rdp_iteration
from nfa.papers.berthier2019.perturbation.output import output_gaps
from nfa.papers.berthier2019.perturbation.problem import Problem

_GAPS = tomllib.loads(
    files("nfa.papers.berthier2019.perturbation").joinpath("numbers.toml").read_text(encoding="utf-8")
)["gaps"]
N = 40  # steps of a pass
PLACES = (1, 10, 20, 30, 40)  # steps at which the records differ
PAIRS = 100  # simulated pairs of data sets for each place
L = 1.0  # bound on the norms of gradients
ROUNDING = 1e-9


@dataclass(frozen=True)
class DescentCase:
    """The setting of a drawing: learning rate, noise on the gradient, and range of the curvature of a record's loss."""

    gamma: float
    sigma: float
    mu: float
    beta: float


CASES = {
    "strongly convex": DescentCase(gamma=1.0, sigma=0.0, mu=0.05, beta=0.3),
    "convex": DescentCase(gamma=2.0, sigma=1.0, mu=0.0, beta=0.25),
    "non-convex": DescentCase(gamma=0.2, sigma=1.0, mu=-0.25, beta=0.25),
}


def stretch(case: str) -> float:
    """The largest factor by which a step can multiply distances: rho, 1 (convex), or 1 + gamma beta (non-convex)."""
    gamma, mu, beta = CASES[case].gamma, CASES[case].mu, CASES[case].beta
    return 1 + gamma * beta if mu < 0 else contraction(gamma=gamma, mu=mu, beta=beta)


def gap_bound(case: str, t: int, k: int) -> float:
    """The report's bound on the gap of two passes after step k, if their records differ at step t; 0 for k < t."""
    if k < t:
        return 0.0
    return float(output_gaps(k, gamma=CASES[case].gamma, L=L, rho=stretch(case))[t - 1])


def random_pair(case: str, t: int, rng: np.random.Generator) -> tuple[Gradients, Gradients]:
    """Gradients of a pass over random records of norm 1 in the plane, and gradients with another record at step t."""
    angles = rng.uniform(0, 2 * np.pi, N + 1)
    x, y = np.array([np.cos(angles), np.sin(angles)]).T, rng.integers(0, 2, N + 1).astype(float)
    if case == "non-convex":
        gradients = bent(x, y)
    else:
        gradients = Problem(loss="logistic", x=x, y=y, lam=CASES[case].mu, x_bound=1.0).steps(range(N + 1))
    return gradients[:N], [*gradients[: t - 1], gradients[N], *gradients[t:N]]


def bent(x: np.ndarray, y: np.ndarray) -> Gradients:
    """Gradients of non-convex losses with norms of at most L and curvatures from -beta to beta.

    The losses are (L^2 / beta) cos(beta x^T theta / L +- pi / 4).
    """
    beta = CASES["non-convex"].beta

    def gradient_of(record: np.ndarray, label: float) -> Callable[[np.ndarray], np.ndarray]:
        return lambda theta: -L * np.sin(beta / L * (record @ theta) + np.pi / 2 * (label - 0.5)) * record

    return [gradient_of(*each) for each in zip(x, y, strict=True)]


def worst_pair(case: str, t: int) -> tuple[Gradients, Gradients]:
    """A pair of passes on a line with the largest possible gap: at step t, the gradients are opposite, of norm L.

    At all other steps, the two passes have equal losses. Their curvature is mu in the strongly convex case, 0 in the
    convex case, and -beta in the non-convex case.
    """
    curvature = CASES[case].mu

    def common(theta: np.ndarray) -> np.ndarray:
        return clip_l2(curvature * theta[None], L)[0]

    def pulled(sign: float) -> Callable[[np.ndarray], np.ndarray]:
        return lambda theta: curvature * theta + np.array([sign * L])

    before, after = [common] * (t - 1), [common] * (N - t)
    return [*before, pulled(1.0), *after], [*before, pulled(-1.0), *after]


def simulated(case: str, t: int) -> Iterator[np.ndarray]:
    """Pairs of passes, (2, N + 1, 2) each. Both passes have the same noise. The seeds are 0 .. PAIRS - 1."""
    for seed in range(PAIRS):
        rng = np.random.default_rng((seed, t))
        gradients, others = random_pair(case, t, rng)
        noise = CASES[case].sigma * rng.standard_normal((N, 2))
        yield simulate_pair(gradients, others, theta0=rng.standard_normal(2), gamma=CASES[case].gamma, noise=noise)


def gaps_of(pair: np.ndarray) -> np.ndarray:
    """Distance between the two passes after every step.   (N + 1,)"""
    return np.linalg.norm(pair[0] - pair[1], axis=1)


@cache
def largest_gaps(case: str, t: int) -> np.ndarray:
    """The largest distance after every step over all simulated pairs.   (N + 1,)"""
    return np.max([gaps_of(pair) for pair in simulated(case, t)], axis=0)


def worst_gaps(case: str, t: int) -> np.ndarray:
    """The distance between the two passes of the worst pair after every step.   (N + 1,)"""
    gradients, others = worst_pair(case, t)
    return gaps_of(simulate_pair(gradients, others, theta0=np.zeros(1), gamma=CASES[case].gamma))


def gap_rows(case: str) -> list[dict[str, Any]]:
    """For each place t: the bound on the last iterates' gap, the largest simulated gap, and the worst pair's gap."""
    rows = []
    for t in PLACES:
        bounds = np.array([gap_bound(case, t, k) for k in range(N + 1)])
        found, worst = largest_gaps(case, t), worst_gaps(case, t)
        exceeded = (np.maximum(found, worst) > bounds + ROUNDING).any()
        verdict = "outside: a gap above the bound" if exceeded else "inside"
        row = {"t": t, "paper": float(bounds[-1]), "ours": float(found[-1]), "worst": float(worst[-1])}
        rows.append(row | {"at step t": float(found[t]), "verdict": verdict})
    return rows


def gap_summary(case: str) -> Callable[[list[dict[str, Any]]], list[str]]:
    """A function that summarises the rows of a case in sentences."""
    factor, gamma = stretch(case), CASES[case].gamma
    after = {
        "strongly convex": f"Each later step shrinks the gap at least by the factor rho = {factor:g}",
        "convex": "No later step makes the gap larger, with noise or without",
        "non-convex": f"Each later step can stretch the gap by the factor C = 1 + gamma beta = {factor:g}",
    }[case]

    def summary(rows: list[dict[str, Any]]) -> list[str]:
        inside = sum(row["verdict"] == "inside" for row in rows)
        exact = sum(abs(row["worst"] - row["paper"]) < ROUNDING for row in rows)
        return [
            "Two passes are the same until the step t at which their records differ. After this step, the passes are"
            f" at most 2 gamma L = {2 * gamma * L:g} apart. {after}.",
            f"The bound holds at every step in {inside} of {len(rows)} places, for {PAIRS} random pairs each. The"
            f" worst pair attains the bound in {exact} places.",
        ]

    return summary


def gap_notes(case: str) -> Callable[[list[dict[str, Any]]], list[str]]:
    """A function that returns an explanation of the table and the picture, as lines of Markdown."""
    text = _GAPS["guide"].format(**_GAPS["case"][case])
    return lambda rows: ["## How to read it", "", *text.splitlines(), ""]


def privacy_curves(case: str) -> dict[str, np.ndarray]:
    """Renyi epsilons of order 2 for every place t = 1 .. N of the record: the curves of the right panel, by name."""
    places = range(1, N + 1)
    if case == "strongly convex":
        gaps = output_gaps(N, gamma=CASES[case].gamma, L=L, rho=stretch(case))
        return {"noise N(0, 1) on the output": gaps**2, "without contraction": np.full(N, gaps[-1] ** 2)}
    factors = (1.0,) if case == "convex" else (1.01, stretch(case), 1.2)
    curves = {f"C = {C:g}": np.array([rdp_iteration(2, L, 1.0, C, N, t) for t in places]) for C in factors}
    return curves | {"all iterates released": np.full(N, 4 * L**2)}


def _draw_gaps(case: str, title: str) -> Callable[[Path, list[dict[str, Any]]], None]:
    def draw(path: Path, rows: list[dict[str, Any]]) -> None:
        from nfa.papers.berthier2019.perturbation.pictures import gap_figure

        t = PLACES[1]
        pair = max(simulated(case, t), key=lambda each: gaps_of(each)[t])
        apart = pair[0, t] - pair[1, t]
        lines = pair @ (apart / np.linalg.norm(apart))  # (2, N + 1)
        curves = {
            place: (largest_gaps(case, place), np.array([gap_bound(case, place, k) for k in range(N + 1)]))
            for place in PLACES[::2]
        }
        gap_figure(path, title, lines, t, curves, privacy_curves(case), noisy=CASES[case].sigma > 0)

    return draw


def _gap_experiment(id: str, case: str, where: str, title: str) -> Analytic:
    return Analytic.from_toml(
        _GAPS,
        id=id,
        title=f"Figure {id[-1]} of Berthier (2019), run: {title}",
        where=where,
        rows=lambda: gap_rows(case),
        columns=("t", "paper", "ours", "worst", "at step t", "verdict"),
        measures=f"the largest distance of the last iterates in {PAIRS} simulated pairs",
        digits=4,
        tolerance=ROUNDING,
        within="no distance, simulated or of the worst pair, is above the bound at any step",
        made=f"simulated: pairs of passes of {N} steps, always the same pairs; the bounds are formulas",
        summary=gap_summary(case),
        notes=gap_notes(case),
        picture=_draw_gaps(case, f"{title[0].upper()}{title[1:]}"),
    )


FIG3 = _gap_experiment(
    "berthier2019:fig3",
    "strongly convex",
    "Section 3.2.2, Figure 3",
    "the gap of two passes shrinks under strong convexity",
)
FIG4 = _gap_experiment(
    "berthier2019:fig4",
    "convex",
    "Section 3.2.3, Figure 4",
    "the gap of two noisy passes does not grow under convexity",
)
FIG6 = _gap_experiment(
    "berthier2019:fig6",
    "non-convex",
    "Section 3.3.2, Figure 6",
    "the gap of two noisy passes can grow without convexity",
)
