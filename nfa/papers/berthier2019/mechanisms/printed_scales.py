"""Propositions 2.2 and 2.4 of Berthier (2019): the printed scales of Gaussian and Laplace noise, and their privacy.

All values come from formulas or from bisection on a formula, so nothing is trained. The file numbers.toml lists the
report's statements and the questions that the report leaves open.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np

from nfa.experiments.experiment import Analytic
from nfa.experiments.report import markdown_table
from nfa.papers.berthier2019.mechanisms.classic import claimed_gaussian_scale, gaussian_scale
from nfa.papers.berthier2019.mechanisms.gaussian_delta import log_delta_gaussian
from nfa.papers.berthier2019.mechanisms.printed import DELTA, PRINTED, REPORT, TRANSCRIPTION, notes
from nfa.papers.berthier2019.mechanisms.total_variation import (
    claimed_laplace_tv_scale,
    corrected_laplace_tv_scale,
    laplace_tv,
    least_gaussian_tv_scale,
)

_LAPLACE, _GAUSSIAN = PRINTED["prop2.4"], PRINTED["prop2.2"]


def _verdict(times: float) -> str:
    if times <= 1:
        return "inside"
    return f"outside: {_times(times)} times the claim"


def _times(times: float) -> str:
    return f"{times:.3g}" if times < 1000 else f"{times:,.0f}"


# --- Proposition 2.4


def laplace_rows() -> list[dict[str, Any]]:
    """A row for each sensitivity and delta: the true total variation at the printed scale, and the necessary scale.

    Source: [berthier2019:prop2.4]
    """
    rows = []
    for shift in _LAPLACE["sensitivities"]:
        for delta in _LAPLACE["deltas"]:
            b = claimed_laplace_tv_scale(l1_sensitivity=shift, delta=delta)
            right = corrected_laplace_tv_scale(l1_sensitivity=shift, delta=delta)
            tv = laplace_tv(l1_sensitivity=shift, scale=b)
            row = {"Delta": f"{shift:g}", "claimed": f"{delta:g}", "printed b": f"{b:.6g}"}
            row |= {"total variation": f"{tv:.6g}", "times": _times(tv / delta), "right b": f"{right:.6g}"}
            rows.append(row | {"paper": delta, "ours": tv, "verdict": _verdict(tv / delta)})
    return rows


def laplace_summary(rows: list[dict[str, Any]]) -> list[str]:
    """Sentences that summarise the rows."""
    held = [row for row in rows if row["verdict"] == "inside"]
    worst = max(rows, key=lambda row: row["ours"] / row["paper"])
    told = ", ".join(f"Delta = {row['Delta']} at delta = {row['claimed']}" for row in held)
    return [
        f"The printed scale keeps the total variation within the claim in {len(held)} of {len(rows)} rows ({told})."
        f" At worst, the total variation is {worst['ours'] / worst['paper']:,.0f} times the claim (Delta ="
        f" {worst['Delta']}, delta = {worst['claimed']}).",
        "The correct scale is b = -Delta / (2 log(1 - delta)), in any dimension.",
    ]


def _draw_laplace(path: Path, rows: list[dict[str, Any]]) -> None:
    from nfa.papers.berthier2019.mechanisms.pictures import laplace_figure

    deltas = np.geomspace(1e-6, 0.6, 120)
    printed = [claimed_laplace_tv_scale(l1_sensitivity=1, delta=d) for d in deltas]
    right = [corrected_laplace_tv_scale(l1_sensitivity=1, delta=d) for d in deltas]
    gaussian = [least_gaussian_tv_scale(l2_sensitivity=1, delta=d) for d in deltas]
    tv = {
        name: [laplace_tv(l1_sensitivity=1, scale=b) for b in scales]
        for name, scales in (("printed", printed), ("right", right))
    }
    laplace_figure(path, deltas, tv, {"printed": printed, "right": right}, gaussian)


LAPLACE = Analytic.from_toml(
    _LAPLACE,
    id="berthier2019:prop2.4",
    title=f"Proposition 2.4 of {REPORT}: the total variation of Laplace noise",
    transcription=TRANSCRIPTION,
    rows=laplace_rows,
    columns=("Delta", "claimed", "printed b", "total variation", "times", "right b", "verdict"),
    measures="the true total variation at the printed scale, in the column total variation",
    within="the total variation at the printed scale is at most the delta claimed",
    summary=laplace_summary,
    notes=lambda rows: notes(_LAPLACE),
    picture=_draw_laplace,
)


# --- Proposition 2.2


def exact_over_claimed(epsilon: float, delta: float) -> float:
    """The exact delta at the printed noise divided by the claimed delta. This ratio is at most 1 / delta.

    Source: [berthier2019:prop2.2]

    Examples
    --------
    >>> round(exact_over_claimed(10, 1e-5), 3)
    2.265
    """
    z = claimed_gaussian_scale(epsilon=epsilon, delta=delta, l2_sensitivity=1)
    return math.exp(log_delta_gaussian(epsilon=epsilon, noise_multiplier=z) - math.log(delta))


def critical_epsilon(delta: float) -> float:
    """The epsilon above which the printed noise is too little.

    Source: [berthier2019:prop2.2]

    Examples
    --------
    >>> round(critical_epsilon(1e-5), 4)
    8.4198
    """
    low, high = 1.0, 1000.0
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if exact_over_claimed(middle, delta) > 1 else (middle, high)
    return high


def gaussian_rows() -> list[dict[str, Any]]:
    """A row for each delta and epsilon: the exact delta at the printed noise, and the least sufficient noise.

    Source: [berthier2019:prop2.2]
    """
    rows = []
    for delta in _GAUSSIAN["deltas"]:
        for epsilon in _GAUSSIAN["epsilons"]:
            times = exact_over_claimed(epsilon, delta)
            printed = claimed_gaussian_scale(epsilon=epsilon, delta=delta, l2_sensitivity=1)
            least = gaussian_scale(epsilon=epsilon, delta=delta, l2_sensitivity=1)
            row = {"claimed": f"{delta:g}", "epsilon": f"{epsilon:g}", "printed sigma": f"{printed:.6g}"}
            row |= {"exact": f"{times * delta:.4g}", "times": _times(times), "least sigma": f"{least:.6g}"}
            rows.append(row | {"paper": delta, "ours": times * delta, "verdict": _verdict(times)})
    return rows


def gaussian_summary(rows: list[dict[str, Any]]) -> list[str]:
    """Sentences that summarise the rows."""
    small = [row["ours"] / row["paper"] for row in rows if float(row["epsilon"]) <= 1]
    from_on = ", ".join(f"{critical_epsilon(delta):.4f} at delta = {delta:g}" for delta in _GAUSSIAN["deltas"])
    return [
        f"The printed noise is too little in {sum(row['verdict'] != 'inside' for row in rows)} of {len(rows)} rows:"
        f" from epsilon = {from_on} on.",
        f"For epsilon up to 1, the printed noise is enough: the exact delta is at most {max(small):.3f} times the"
        " claimed delta here.",
    ]


def _draw_gaussian(path: Path, rows: list[dict[str, Any]]) -> None:
    from nfa.papers.berthier2019.mechanisms.pictures import textbook_figure

    epsilons = np.geomspace(0.1, 60, 160)
    ratios = {delta: [exact_over_claimed(e, delta) for e in epsilons] for delta in _GAUSSIAN["deltas"]}
    crossings = {delta: critical_epsilon(delta) for delta in _GAUSSIAN["deltas"]}
    printed = [claimed_gaussian_scale(epsilon=e, delta=DELTA, l2_sensitivity=1) for e in epsilons]
    least = [gaussian_scale(epsilon=e, delta=DELTA, l2_sensitivity=1) for e in epsilons]
    textbook_figure(path, epsilons, ratios, crossings, (DELTA, printed, least))


def _gaussian_notes(rows: list[dict[str, Any]]) -> list[str]:
    table = [{"delta": f"{d:g}", "fails from epsilon": f"{critical_epsilon(d):.8f}"} for d in _GAUSSIAN["deltas"]]
    return notes(_GAUSSIAN, ["## From which epsilon on the printed noise fails", "", markdown_table(table), ""])


GAUSSIAN = Analytic.from_toml(
    _GAUSSIAN,
    id="berthier2019:prop2.2",
    title=f"Proposition 2.2 of {REPORT}: the delta of the textbook's Gaussian noise",
    transcription=TRANSCRIPTION,
    rows=gaussian_rows,
    columns=("claimed", "epsilon", "printed sigma", "exact", "times", "least sigma", "verdict"),
    measures="the exact delta at the printed noise, in the column exact",
    within="the exact delta at the printed noise is at most the delta claimed",
    summary=gaussian_summary,
    notes=_gaussian_notes,
    picture=_draw_gaussian,
)
