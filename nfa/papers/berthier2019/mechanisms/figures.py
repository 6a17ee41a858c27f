"""Figure 2, Table 1, Propositions 2.2 and 2.4 of Berthier (2019): what the classic mechanisms give away, in rows.

Everything is computed from closed forms; what the report says and leaves open is in numbers.toml.
"""

import math
import tomllib
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from nfa.experiments.experiment import Analytic, Claims, Formulas, Numbers
from nfa.experiments.report import compare, markdown_table
from nfa.papers.berthier2019.mechanisms.classic import claimed_gaussian_scale, classical_gaussian_scale, gaussian_scale
from nfa.papers.berthier2019.mechanisms.gaussian_delta import log_delta_gaussian
from nfa.papers.berthier2019.mechanisms.testing import success
from nfa.papers.berthier2019.mechanisms.total_variation import (
    claimed_laplace_tv_scale,
    corrected_laplace_tv_scale,
    gaussian_tv,
    laplace_tv,
    least_gaussian_tv_scale,
)
from nfa.privacy.gaussians import epsilon_gaussian

_TOML = tomllib.loads(files("nfa.papers.berthier2019.mechanisms").joinpath("numbers.toml").read_text(encoding="utf-8"))
_FIG2, _LAPLACE, _GAUSSIAN, _TABLE1 = (_TOML[name] for name in ("fig2", "prop2.4", "prop2.2", "table1"))
DELTA: float = _TOML["delta"]
REPORT = '"Differential Privacy for Machine Learning" (Berthier, 2019)'


# --- Figure 2


def fig2_rows() -> list[dict[str, Any]]:
    """A row for each amount of noise: total variation, how often the best guess is right, exact epsilon.

    Source: [berthier2019:fig2]
    """
    rows = []
    for noise in _FIG2["noise"]:
        tv = gaussian_tv(l2_sensitivity=1, noise_std=noise)
        row = {"sigma / Delta": f"{noise:g}"} | compare(None, [tv], 0.0, "the figure has no scale", digits=9)
        row |= {"best guess": f"{100 * success(tv):.2f} %"}
        rows.append(row | {"epsilon": round(epsilon_gaussian(delta=DELTA, noise_multiplier=noise), 6)})
    return rows


def fig2_summary(rows: list[dict[str, Any]]) -> list[str]:
    """What the rows say, a sentence each."""
    first, last = rows[0], rows[-1]
    falls = all(later["ours"] < row["ours"] for row, later in pairwise(rows))
    return [
        f"The total variation {'falls with every doubling' if falls else 'does not always fall with a doubling'} of the"
        f" noise, from {first['ours']:.4f} at sigma = {first['sigma / Delta']} Delta to {last['ours']:.4f} at"
        f" {last['sigma / Delta']} Delta; no amount of noise makes it 0.",
        f"The best guess of the data set is right in {first['best guess']} and {last['best guess']} of the cases.",
    ]


def _draw_fig2(path: Path, rows: list[dict[str, Any]]) -> None:
    from nfa.papers.berthier2019.mechanisms.pictures import masking_figure

    noise = np.geomspace(0.1, 32, 200)
    curve = [gaussian_tv(l2_sensitivity=1, noise_std=s) for s in noise]
    points = [(float(row["sigma / Delta"]), row["ours"]) for row in rows]
    masking_figure(path, _FIG2["drawn"], (noise, curve), points)


# --- Proposition 2.4


def laplace_rows() -> list[dict[str, Any]]:
    """A row for each sensitivity and delta: the true total variation at the printed scale, and the scale that it takes.

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


def _verdict(times: float) -> str:
    if times <= 1:
        return "inside"
    return f"outside: {_times(times)} times the claim"


def _times(times: float) -> str:
    return f"{times:.3g}" if times < 1000 else f"{times:,.0f}"


def laplace_summary(rows: list[dict[str, Any]]) -> list[str]:
    """What the rows say, a sentence each."""
    held = [row for row in rows if row["verdict"] == "inside"]
    worst = max(rows, key=lambda row: row["ours"] / row["paper"])
    told = ", ".join(f"Delta = {row['Delta']} at delta = {row['claimed']}" for row in held)
    return [
        f"The printed scale keeps the total variation within the claim in {len(held)} of {len(rows)} rows ({told});"
        f" at worst it is {worst['ours'] / worst['paper']:,.0f} times the claim (Delta = {worst['Delta']}, delta ="
        f" {worst['claimed']}).",
        "Right is b = -Delta / (2 log(1 - delta)), in any dimension.",
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


# --- Proposition 2.2


def exact_over_claimed(epsilon: float, delta: float) -> float:
    """The exact delta over the claimed one at the printed noise; inf where that is beyond floats.

    Source: [berthier2019:prop2.2]

    Examples
    --------
    >>> round(exact_over_claimed(10, 1e-5), 3)
    2.265
    """
    z = claimed_gaussian_scale(epsilon=epsilon, delta=delta, l2_sensitivity=1)
    return math.exp(log_delta_gaussian(epsilon=epsilon, noise_multiplier=z) - math.log(delta))


def critical_epsilon(delta: float) -> float:
    """The epsilon from which on the printed noise is too little.

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
    """A row for each delta and epsilon: the exact delta at the printed noise, and the least noise.

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
    """What the rows say, a sentence each."""
    small = [row["ours"] / row["paper"] for row in rows if float(row["epsilon"]) <= 1]
    from_on = ", ".join(f"{critical_epsilon(delta):.4f} at delta = {delta:g}" for delta in _GAUSSIAN["deltas"])
    return [
        f"The printed noise is too little in {sum(row['verdict'] != 'inside' for row in rows)} of {len(rows)} rows:"
        f" from epsilon = {from_on} on.",
        f"For epsilon up to 1 it is enough: the exact delta is at most {max(small):.3f} of the claimed one here.",
    ]


def _draw_gaussian(path: Path, rows: list[dict[str, Any]]) -> None:
    from nfa.papers.berthier2019.mechanisms.pictures import textbook_figure

    epsilons = np.geomspace(0.1, 60, 160)
    ratios = {delta: [exact_over_claimed(e, delta) for e in epsilons] for delta in _GAUSSIAN["deltas"]}
    crossings = {delta: critical_epsilon(delta) for delta in _GAUSSIAN["deltas"]}
    printed = [claimed_gaussian_scale(epsilon=e, delta=DELTA, l2_sensitivity=1) for e in epsilons]
    least = [gaussian_scale(epsilon=e, delta=DELTA, l2_sensitivity=1) for e in epsilons]
    textbook_figure(path, epsilons, ratios, crossings, (DELTA, printed, least))


# --- Table 1


def excess_loss_of_mean(*, d: int, n: int, epsilon: float, delta: float) -> float:
    r"""The excess loss of the mean of n records of the unit ball, released with the textbook's noise: exact.

    .. math:: E\, \frac{1}{2n} \sum_i \|\bar x + \eta - x_i\|^2 - \frac{1}{2n} \sum_i \|\bar x - x_i\|^2
              = \frac{d \sigma^2}{2}, \qquad \sigma = \sqrt{2 \log(1.25/\delta)}\, \frac{2}{n \epsilon}

    Source: [berthier2019:table1]

    Parameters
    ----------
    d, n : ints >= 1, dimension and records
    epsilon : float in (0, 1]
    delta : float in (0, 1)

    Notes
    -----
    Replacing a record moves the mean by at most 2/n. The loss is strongly convex with the constant 1. Adding eta^T
    theta to the objective moves its minimum by -eta: objective and output perturbation are the same here.

    Examples
    --------
    >>> round(excess_loss_of_mean(d=10, n=1000, epsilon=1, delta=1.25 * math.exp(-0.5)), 12)  # sigma = 2 / n
    2e-05
    """
    if d < 1 or n < 1:
        raise ValueError(f"d and n must be at least 1, got {d} and {n}")
    sigma = classical_gaussian_scale(epsilon=epsilon, delta=delta, l2_sensitivity=2 / n)
    return d * sigma * sigma / 2


def powers_of_mean() -> tuple[float, float, float]:
    """The powers of d, n and epsilon in `excess_loss_of_mean`, from doubling each.

    Source: [berthier2019:table1]

    Examples
    --------
    >>> [round(power, 12) for power in powers_of_mean()]
    [1.0, -2.0, -2.0]
    """
    once, of_d, of_n, of_epsilon = (
        excess_loss_of_mean(d=d, n=n, epsilon=epsilon, delta=DELTA)
        for d, n, epsilon in ((20, 1000, 0.25), (40, 1000, 0.25), (20, 2000, 0.25), (20, 1000, 0.5))
    )
    return math.log2(of_d / once), math.log2(of_n / once), math.log2(of_epsilon / once)


def order(row: dict[str, Any], *, d: float, n: float, epsilon: float) -> float:
    """What a row of Table 1 says of d, n and epsilon with its constant set to 1.

    Source: [berthier2019:table1]
    """
    of_d, of_n, of_epsilon = row["powers"]
    return d**of_d * n**of_n * epsilon**of_epsilon


def table1_rows() -> list[dict[str, Any]]:
    """The table as printed, and beside a row the powers that an example has.

    Source: [berthier2019:table1]
    """
    found = "d^{:.2f} n^{:.2f} epsilon^{:.2f}".format(*powers_of_mean())
    rows = []
    for printed in _TABLE1["rows"]:
        row = {"method": printed["method"], "assumptions": printed["assumptions"], "paper": f"O({printed['printed']})"}
        row |= {"ours": found if printed["example"] else None}
        row |= {"constant 1": f"{order(printed, **_TABLE1['reference']):.3g}"}
        rows.append(row | {"verdict": "not comparable: an order, with all below left open"})
    return rows


def table1_summary(rows: list[dict[str, Any]]) -> list[str]:
    """What the rows say, a sentence each."""
    at = ", ".join(f"{name} = {value:g}" for name, value in _TABLE1["reference"].items())
    return [
        "Four orders, quoted from [29]; constants, logarithms, norms and the exact assumptions are not given, so no row"
        " can be held against a number.",
        f"The mean of n records has the powers of the first two rows: {rows[0]['ours']}.",
        f"The column `constant 1` is the order at {at}, nothing more.",
    ]


def _draw_table1(path: Path, rows: list[dict[str, Any]]) -> None:
    from nfa.papers.berthier2019.mechanisms.pictures import orders_figure

    at = _TABLE1["reference"]
    epsilons, sizes = np.geomspace(0.1, 10, 30), np.geomspace(100, 1e5, 30)
    lines = {
        f"{row['method']}, {row['assumptions']}: {row['printed']}": (
            [order(row, **at | {"epsilon": e}) for e in epsilons],
            [order(row, **at | {"n": n}) for n in sizes],
        )
        for row in _TABLE1["rows"]
    }
    orders_figure(path, epsilons, sizes, lines, at)


# --- the items


def _notes(entry: dict[str, Any], more: list[str] | None = None) -> list[str]:
    """How to read the table and the picture, and how to check, as lines of Markdown."""
    lines = ["## How to read it", "", *entry["guide"].strip().splitlines(), "", *(more or [])]
    return [*lines, "## How to check", "", *entry["check_guide"].strip("\n").splitlines(), ""]


def _table1_notes(rows: list[dict[str, Any]]) -> list[str]:
    return _notes(_TABLE1, ["## What is left open", "", *(f"- {line}" for line in _TABLE1["open"]), ""])


def _gaussian_notes(rows: list[dict[str, Any]]) -> list[str]:
    table = [{"delta": f"{d:g}", "fails from epsilon": f"{critical_epsilon(d):.8f}"} for d in _GAUSSIAN["deltas"]]
    return _notes(_GAUSSIAN, ["## From which epsilon on it fails", "", markdown_table(table), ""])


FIG2 = Analytic(
    id="berthier2019:fig2",
    title=f"Figure 2 of {REPORT}: masking a query's value by Gaussian noise",
    numbers=Numbers(where=_FIG2["where"], transcription=_TOML["transcription"]),
    formulas=Formulas(
        rows=fig2_rows,
        columns=("sigma / Delta", "paper", "ours", "best guess", "epsilon", "verdict"),
        measures="the total variation between the outputs on two neighbours",
        digits=4,
        within="the report prints a number and ours is equal to it; here it prints none",
    ),
    claims=Claims(summary=fig2_summary, notes=lambda rows: _notes(_FIG2)),
    picture=_draw_fig2,
)
LAPLACE = Analytic(
    id="berthier2019:prop2.4",
    title=f"Proposition 2.4 of {REPORT}: the total variation of Laplace noise",
    numbers=Numbers(where=_LAPLACE["where"], transcription=_TOML["transcription"]),
    formulas=Formulas(
        rows=laplace_rows,
        columns=("Delta", "claimed", "printed b", "total variation", "times", "right b", "verdict"),
        measures="the true total variation at the printed scale, in the column total variation",
        within="the total variation at the printed scale is at most the delta claimed",
    ),
    claims=Claims(summary=laplace_summary, notes=lambda rows: _notes(_LAPLACE)),
    picture=_draw_laplace,
)
GAUSSIAN = Analytic(
    id="berthier2019:prop2.2",
    title=f"Proposition 2.2 of {REPORT}: the delta of the textbook's Gaussian noise",
    numbers=Numbers(where=_GAUSSIAN["where"], transcription=_TOML["transcription"]),
    formulas=Formulas(
        rows=gaussian_rows,
        columns=("claimed", "epsilon", "printed sigma", "exact", "times", "least sigma", "verdict"),
        measures="the exact delta at the printed noise, in the column exact",
        within="the exact delta at the printed noise is at most the delta claimed",
    ),
    claims=Claims(summary=gaussian_summary, notes=_gaussian_notes),
    picture=_draw_gaussian,
)
TABLE1 = Analytic(
    id="berthier2019:table1",
    title=f"Table 1 of {REPORT}: orders of the excess loss",
    numbers=Numbers(where=_TABLE1["where"], transcription=_TABLE1["transcription"]),
    formulas=Formulas(
        rows=table1_rows,
        columns=("method", "assumptions", "paper", "ours", "constant 1", "verdict"),
        measures="the powers that the mean of n records has, an example",
        within="the report prints a number and ours is equal to it; here it prints none",
    ),
    claims=Claims(summary=table1_summary, notes=_table1_notes),
    picture=_draw_table1,
)
