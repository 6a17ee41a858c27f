"""The masked ring sum of Berthier (2019), Section 5.4, Figure 13: secrecy and accuracy of a mask on real numbers.

The report uses "arbitrarily large noise". With larger noise, the next node learns less, but the sum loses more digits.
Integers modulo m with a uniform mask have neither problem.
"""

from pathlib import Path
from typing import Any

import numpy as np

from nfa.experiments.experiment import Analytic
from nfa.experiments.report import compare
from nfa.papers.berthier2019.ring_sum.ring_sum import gaussian_mask_error, gaussian_mask_leak

SIZES = [1e1, 1e3, 1e6, 1e9, 1e12, 1e15]  # standard deviations of the mask
DELTA, VALUES = 1.0, 200  # distance of two values of x_1; number of values that are masked and unmasked

Rows = list[dict[str, Any]]


def lost(M: float) -> float:
    """The largest error of `VALUES` numbers in (0, 1] after a mask M is added and subtracted in 64-bit floats.

    Source: [berthier2019:ring]
    """
    return max(abs(gaussian_mask_error(float(value), M)) for value in np.linspace(0, 1, VALUES + 1)[1:])


def rows() -> Rows:
    """A row for each size of the mask.

    Source: [berthier2019:ring]
    """
    found = []
    for M in SIZES:
        leak, error = gaussian_mask_leak(DELTA, M), lost(M)
        row = {"M": f"{M:g}", "leak": f"{leak:.2e}", "error": f"{error:.1e}", "spacing": f"{np.spacing(M):.1e}"}
        row |= compare(None, [leak], 0.0, "the report prints no number", digits=20)
        found.append(row | {"lost": error})
    return found


def summary(found: Rows) -> list[str]:
    """Sentences that summarise the rows."""
    best = min(found, key=lambda row: max(row["ours"], row["lost"]))
    return [
        f"The next node distinguishes two values {DELTA:g} apart with the advantage erf(1 / (2 sqrt2 M)) over"
        f" guessing: from {found[0]['ours']:.2e} at M = {found[0]['M']} down to {found[-1]['ours']:.2e} at M ="
        f" {found[-1]['M']}.",
        f"A larger mask causes larger errors: the errors of values in (0, 1) are up to {found[0]['lost']:.1e} at M ="
        f" {found[0]['M']} and up to {found[-1]['lost']:.1e} at M = {found[-1]['M']}. For each M, take the larger of"
        f" advantage and error. This larger number is smallest at M = {best['M']}, and it is never 0.",
        "Integers modulo m with one uniform mask have no leak and no error (`ring_sum.ring_sum` in this folder).",
    ]


def notes(found: Rows) -> list[str]:
    """An explanation of the table, as lines of Markdown."""
    return [
        "## How to read it",
        "",
        "M is the standard deviation of the mask that node 1 adds to its value before it sends the sum on. leak: the",
        f"total variation between what node 2 receives for two values {DELTA:g} apart. The leak bounds the advantage"
        " of node",
        f"2 over guessing. error: the largest error of {VALUES} values in (0, 1] after adding M and subtracting M"
        " again.",
        "spacing: the distance of M from the next 64-bit float.",
        "",
    ]


def draw(path: Path, found: Rows) -> None:
    """Draw to a PNG file the leak and the error for each size of the mask."""
    from nfa.experiments.plots import new_figure, save_figure, tidy

    figure = new_figure("A larger mask on real numbers leaks less and causes larger errors", 9)
    axes = figure.subplots()
    sizes = [float(row["M"]) for row in found]
    axes.plot(sizes, [row["ours"] for row in found], "o-", color="#D55E00", label="leak to the next node, TV")
    axes.plot(sizes, [row["lost"] for row in found], "s-", color="#0072B2", label="error of the sum, 64-bit floats")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("standard deviation M of the mask; values in (0, 1)", fontsize=12)
    axes.legend(frameon=False, fontsize=12, loc="lower center")
    axes.set_title("integers modulo m with a uniform mask: no leak and no error", loc="left", fontsize=12)
    tidy(axes)
    save_figure(figure, path)


FIG13 = Analytic(
    id="berthier2019:fig13",
    title="Section 5.4 of Berthier (2019), Figure 13: leak and rounding error of a large mask in the ring sum",
    where="Section 5.4, with Figure 13",
    transcription="The report prints no number. We have not seen the picture of the report, a ring of nodes.",
    rows=rows,
    columns=("M", "leak", "error", "spacing", "verdict"),
    measures=f"total variation of what node 2 receives, for two values {DELTA:g} apart",
    within="no row, because the report prints no number",
    summary=summary,
    notes=notes,
    picture=draw,
)
