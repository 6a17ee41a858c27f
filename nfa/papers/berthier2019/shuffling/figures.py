"""Sections 4.3 to 4.5 of Berthier's report: the toy example in exact fractions, and exact numbers for Conjecture 1.

All numbers follow from formulas, so nothing is trained.
"""

import math
import tomllib
from fractions import Fraction
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from nfa.experiments.experiment import Analytic
from nfa.experiments.report import compare, markdown_table
from nfa.papers.berthier2019.shuffling.conjectures import conjectured_step_rdp
from nfa.papers.berthier2019.shuffling.exact import mixture_renyi, worst_pair
from nfa.papers.berthier2019.shuffling.our_bound import corrected_step_rdp
from nfa.papers.berthier2019.shuffling.toy import OUTPUTS, noisy_toy, toy, toy_ratio
from nfa.privacy.divergences import total_variation

_TOML = tomllib.loads(files("nfa.papers.berthier2019.shuffling").joinpath("numbers.toml").read_text(encoding="utf-8"))
REPLACEMENT = {"with": True, "without": False}
PRINTED = {"with": math.log(1.75), "without": math.log(4)}  # section 4.5, at p = 1/2
SHARES = [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), Fraction(9, 10)]  # probabilities that the output is theta

ORDERS = (2, 4, 8, 13, 14, 16, 64)
LEFT = (1000, 501, 101, 11, 5, 2)  # records not yet used, n - t + 1
L, SIGMA = 1.0, 2.0  # SIGMA is the least noise that the conjecture allows


# --- Figure 9 ------------------------------------------------------------------------------------------------


def fig9_rows() -> list[dict[str, Any]]:
    """A row for each p and sampling: the epsilon of pure differential privacy with and without replacement."""
    rows = []
    for p in SHARES:
        for sampling, replacement in REPLACEMENT.items():
            ratio = toy_ratio(p=p, replacement=replacement)
            found = compare(
                PRINTED[sampling] if p == Fraction(1, 2) else None,
                [math.log(ratio)],
                FIG9.tolerance,
                "" if p == Fraction(1, 2) else "the report has p = 1/2 only",
                12,
            )
            laws = {f"{{l1, l{other}}}": _told(toy((1, other), p=p, replacement=replacement)) for other in (1, 2)}
            known = {"p": str(p), "replacement": sampling, **laws, "e^epsilon": str(ratio)}
            rows.append(known | found)
    return rows


def _told(law: dict[int, Fraction]) -> str:
    return ", ".join(str(law[output]) for output in OUTPUTS)


def fig9_summary(rows: list[dict[str, Any]]) -> list[str]:
    """Sentences that summarise the rows."""
    half = {row["replacement"]: row for row in rows if row["p"] == "1/2"}
    inside = all(row["verdict"] == "inside" for row in half.values())
    return [
        f"At p = 1/2, the largest ratio of two probabilities is {half['with']['e^epsilon']} with replacement and"
        f" {half['without']['e^epsilon']} without replacement, in exact fractions. The logarithms of these ratios"
        f" {'are log(1.75) and log(4), as printed' if inside else 'differ from the printed numbers'}.",
        "Shuffling is less private in this example at every p > 0, because its ratio (1 + 2p)/(1 - p) is the larger"
        " ratio.",
        "This example is no argument against Conjecture 1, because n = 2, a pass uses all records, only the last"
        " iterate is released, and the output is discrete.",
    ]


def noisy_rows() -> list[dict[str, Any]]:
    """Rows for the example with quadratic losses and Gaussian noise: the divergence D_2 of the last iterate."""
    rows = []
    for sigma in (1.0, 2.0):
        for sampling, replacement in REPLACEMENT.items():
            both, one = (noisy_toy(losses, replacement=replacement) for losses in ((1, 2), (1, 1)))
            D = mixture_renyi(both, one, sigma=sigma * math.sqrt(2), alpha=2)
            rows.append({"sigma": f"{sigma:g}", "replacement": sampling, "D_2 of {l1, l2} from {l1, l1}": f"{D:.6f}"})
    return rows


def fig9_notes(rows: list[dict[str, Any]]) -> list[str]:
    """Sections of nfa's report that explain the table and show the example with noise and quadratic losses."""
    tv = {}
    for name, replacement in REPLACEMENT.items():
        p, q = (list(toy((1, other), p=0.5, replacement=replacement).values()) for other in (1, 2))
        tv[name] = total_variation(np.array(p, float), np.array(q, float))
    return _TOML["fig9"]["notes"].format(**tv, table=markdown_table(noisy_rows())).splitlines()


def _draw_fig9(path: Path, rows: list[dict[str, Any]]) -> None:
    from nfa.papers.berthier2019.shuffling.pictures import toy_figure

    half, shares = Fraction(1, 2), [Fraction(k, 100) for k in range(96)]
    laws, ratios, curves = {}, {}, {}
    for name, replacement in REPLACEMENT.items():
        laws[name] = {k: toy((1, k), p=half, replacement=replacement) for k in (1, 2)}
        ratios[name] = toy_ratio(p=half, replacement=replacement)
        curves[name] = [math.log(toy_ratio(p=p, replacement=replacement)) for p in shares]
    toy_figure(path, laws, ratios, [float(p) for p in shares], curves)


FIG9 = Analytic.from_toml(
    _TOML["fig9"],
    id="berthier2019:fig9",
    title="Section 4.5 of Berthier (2019), with Figure 9: shuffling can be less private",
    rows=fig9_rows,
    columns=("p", "replacement", "{l1, l1}", "{l1, l2}", "e^epsilon", "paper", "ours", "verdict"),
    measures="the log of the largest ratio of two probabilities, which is computed in exact fractions",
    digits=6,
    tolerance=1e-12,
    within="our number and the printed number agree to 10^-12",
    summary=fig9_summary,
    notes=fig9_notes,
    picture=_draw_fig9,
)


# --- Conjecture 1 ----------------------------------------------------------------------------------------------


def conj1_rows() -> list[dict[str, Any]]:
    """A row for each order and number of records left: leading term, exact divergence, and bound with every term."""
    return [_step(left, alpha) for left in LEFT for alpha in ORDERS]


def _step(left: int, alpha: int) -> dict[str, Any]:
    exact, bound, leading = (values[0] for values in _curves([alpha], left).values())
    verdict = "inside" if exact <= leading else f"outside: {exact / leading:.3g} times the leading term"
    told = {"leading term": f"{leading:.4g}", "exact": f"{exact:.4g}", "bound": f"{bound:.4g}"}
    return {"n - t + 1": left, "order": alpha, "paper": leading, "ours": exact} | told | {"verdict": verdict}


def conj1_summary(rows: list[dict[str, Any]]) -> list[str]:
    """Sentences that summarise the rows."""
    outside = [row for row in rows if row["verdict"] != "inside"]
    first = {left: min(row["order"] for row in outside if row["n - t + 1"] == left) for left in LEFT if left > 2}
    orders = range(2, 65)
    exact = worst_pair(orders, c=1 / 1000, x=1.0)
    cliff = next(a for a, D in zip(orders, exact, strict=True) if D > 4 * a * 1e-6)
    return [
        f"The leading term with C = 16, without the conjecture's O(...), is below an exact divergence in {len(outside)}"
        f" of {len(rows)} rows. The orders of these rows begin at"
        f" {', '.join(f'{order} at n - t + 1 = {left}' for left, order in first.items())}.",
        f"With 1000 records left, the leading term is a bound up to the order {cliff - 1}, but not from the order"
        f" {cliff} on. The first step of a pass is a draw with replacement, so this failure is not special to"
        " shuffling.",
        "The bound with every term is above the exact divergence in every row. The proof of this bound is ours and"
        " unreviewed.",
    ]


def conj1_notes(rows: list[dict[str, Any]]) -> list[str]:
    """Sections of nfa's report: the meaning of the columns, what is proved, and how to check the proof."""
    return _TOML["conj1"]["notes"].splitlines()


def _draw_conj1(path: Path, rows: list[dict[str, Any]]) -> None:
    from nfa.papers.berthier2019.shuffling.pictures import step_figure

    orders = list(range(2, 33))
    lefts = [1, 2, 3, 5, 7, 10, 14, 20, 30, 50, 70, 100, 200, 300, 500, 1000]
    by_order = _curves(orders, 1000)
    by_left = {
        alpha: {name: [_curves([alpha], left)[name][0] for left in lefts] for name in by_order} for alpha in (2, 8)
    }
    step_figure(path, orders, by_order, lefts, by_left)


def _curves(orders: list[int], left: int) -> dict[str, list[float]]:
    """One step's divergences at these orders, with this many records left."""
    return {
        "exact, worst pair known": worst_pair(orders, c=1 / left, x=4 * (L / SIGMA) ** 2).tolist(),
        "bound, every term": corrected_step_rdp(orders, c=1 / left, L=L, sigma=SIGMA).tolist(),
        "leading term, C = 16": conjectured_step_rdp(orders, n=left, t=1, L=L, sigma=SIGMA).tolist(),
    }


CONJ1 = Analytic.from_toml(
    _TOML["conj1"],
    id="berthier2019:conj1",
    title="Conjecture 1 of Berthier (2019): one step of a shuffled pass, exactly and by its leading term",
    rows=conj1_rows,
    columns=("n - t + 1", "order", "leading term", "exact", "bound", "verdict"),
    measures="the exact divergence, the column exact",
    digits=3,
    within="the exact divergence is at most the leading term, the column paper of `rows.json`",
    summary=conj1_summary,
    notes=conj1_notes,
    picture=_draw_conj1,
)
