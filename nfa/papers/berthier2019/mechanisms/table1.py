"""Table 1 of Berthier (2019): orders of the excess loss, and an example with the powers of the first two rows."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from nfa.experiments.experiment import Analytic
from nfa.papers.berthier2019.mechanisms.classic import classical_gaussian_scale
from nfa.papers.berthier2019.mechanisms.printed import DELTA, PRINTED, REPORT, notes

_TABLE1 = PRINTED["table1"]


def excess_loss_of_mean(*, d: int, n: int, epsilon: float, delta: float) -> float:
    r"""The exact excess loss of the mean of n records in the unit ball, released with the textbook's noise.

    .. math:: E\, \frac{1}{2n} \sum_i \|\bar x + \eta - x_i\|^2 - \frac{1}{2n} \sum_i \|\bar x - x_i\|^2
              = \frac{d \sigma^2}{2}, \qquad \sigma = \sqrt{2 \log(1.25/\delta)}\, \frac{2}{n \epsilon}

    Parameters
    ----------
    d, n : ints >= 1, dimension and number of records
    epsilon : float in (0, 1]
    delta : float in (0, 1)

    Notes
    -----
    Replacing a record moves the mean by at most 2/n. The loss is strongly convex with constant 1. Adding eta^T theta to
    the objective moves its minimum by -eta, so objective and output perturbation are the same here.

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
    """The powers of d, n and epsilon in `excess_loss_of_mean`, measured by doubling one of d, n and epsilon at a time.

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
    """The value of a row of Table 1 at d, n and epsilon, with its constant set to 1."""
    of_d, of_n, of_epsilon = row["powers"]
    return d**of_d * n**of_n * epsilon**of_epsilon


def table1_rows() -> list[dict[str, Any]]:
    """The rows of the printed table. Some rows also have the powers of our example, the mean of n records."""
    found = "d^{:.2f} n^{:.2f} epsilon^{:.2f}".format(*powers_of_mean())
    rows = []
    for printed in _TABLE1["rows"]:
        row = {"method": printed["method"], "assumptions": printed["assumptions"], "paper": f"O({printed['printed']})"}
        row |= {"ours": found if printed["example"] else None}
        row |= {"constant 1": f"{order(printed, **_TABLE1['reference']):.3g}"}
        rows.append(row | {"verdict": "not comparable: an order without the constants that are listed below"})
    return rows


def table1_summary(rows: list[dict[str, Any]]) -> list[str]:
    """Sentences that summarise the rows."""
    at = ", ".join(f"{name} = {value:g}" for name, value in _TABLE1["reference"].items())
    return [
        "The table quotes four orders from [29]. The report does not give constants, logarithms, norms and the exact"
        " assumptions, so we cannot compare a row with a number.",
        f"For the mean of n records, the excess loss has the powers of the first two rows: {rows[0]['ours']}.",
        f"The column `constant 1` is the order at {at} with every constant set to 1.",
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


def _table1_notes(rows: list[dict[str, Any]]) -> list[str]:
    return notes(_TABLE1, ["## What is left open", "", *(f"- {line}" for line in _TABLE1["open"]), ""])


TABLE1 = Analytic.from_toml(
    _TABLE1,
    id="berthier2019:table1",
    title=f"Table 1 of {REPORT}: orders of the excess loss",
    rows=table1_rows,
    columns=("method", "assumptions", "paper", "ours", "constant 1", "verdict"),
    measures="the powers of an example, the mean of n records",
    within="no row, because the report prints no number",
    summary=table1_summary,
    notes=_table1_notes,
    picture=_draw_table1,
)
