"""Figure 2 of "Forward Learning with Differential Privacy" (2024): the term that rejection adds to Theorem 1's bound.

`FIG2` computes this term for several rates, because the paper does not state the rate of the figure. numbers.toml has
the paper's numbers.
"""

import math
import tomllib
from fractions import Fraction
from functools import cache
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from nfa.experiments.experiment import Analytic
from nfa.experiments.report import markdown_table
from nfa.papers.dpulr2024.theorems import impairment_ratio

_FIG2 = tomllib.loads(files("nfa.papers.dpulr2024").joinpath("numbers.toml").read_text(encoding="utf-8"))["fig2"]
CLAIMED = _FIG2["claimed"]
MLP = ("4/3750", "1/300", "1/120")  # rates of batches of 64, 200 and 500 of 60,000 records
DRAWN = {"1/120": 100_000, "1/10": 100_000, "1/5": 100_000}  # rates in the picture, each with its largest N


@cache
def ratio(rate: str, N: int, N_B: int) -> float:
    """The value of Figure 2 at a rate such as "1/100"."""
    q = float(Fraction(rate))
    return impairment_ratio(alpha=_FIG2["alpha"], q=q, sigma_0=_FIG2["sigma_0"], N_B=N_B, N=N)


def largest_threshold(rate: str, N: int) -> int:
    """The largest N_B, at most q N, with a ratio below 10^-3; 0 if there is none. The ratio grows with N_B.

    Examples
    --------
    >>> largest_threshold("1/5", 1000), largest_threshold("1/100", 1000)
    (154, 0)
    """
    low, high = 0, int(Fraction(rate) * N) + 1  # the ratio is below 10^-3 at low, but not at high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if ratio(rate, N, middle) < CLAIMED else (low, middle)
    return low


def row(rate: str, N: int, N_B: int) -> dict[str, Any]:
    """A value and the text's claim: the ratio is below 10^-3 if N >= 1,000 and N_B is slightly less than q N."""
    mean = Fraction(rate) * N
    ours, share = ratio(rate, N, N_B), float(N_B / mean)
    if N_B >= mean:
        verdict = "not comparable: N_B is not less than q N"
    elif share < _FIG2["slightly"]:
        verdict = f"not comparable: N_B is {share:.2f} q N"
    else:
        times = ours / CLAIMED
        verdict = "inside" if times < 1 else f"outside: {times:{'.2f' if times < 10 else ',.0f'}} times {CLAIMED:g}"
    known = {"q": rate, "N": N, "q N": f"{float(mean):.4g}" if mean < 1000 else str(int(mean)), "N_B": N_B}
    entry = {"N_B / q N": share, "paper": CLAIMED, "ours": float(f"{ours:.10g}"), "ratio": f"{ours:.4g}"}
    return known | entry | {"largest N_B": largest_threshold(rate, N), "verdict": verdict}


def threshold(rate: str, N: int, share: float) -> int:
    """The least N_B that is at least a share of q N, but below q N."""
    mean = Fraction(rate) * N
    return min(math.ceil(Fraction(str(share)) * mean), math.ceil(mean) - 1)


def falling(share: float) -> bool:
    """Whether the ratio falls with N, at every rate, if N_B is this share of q N."""
    for rate in _FIG2["rates"]:
        values = [ratio(rate, N, threshold(rate, N, share)) for N in _FIG2["sizes"] if Fraction(rate) * N >= 10]
        if any(later >= earlier for earlier, later in pairwise(values)):
            return False
    return True


def fig2_rows() -> list[dict[str, Any]]:
    """A row for every rate, size and share of q N in order, and for the values that we also computed independently."""
    places = {(rate, N, N_B) for rate, N, N_B, _ in _FIG2["vectors"]}
    for rate in _FIG2["rates"]:
        for N in _FIG2["sizes"]:
            mean = Fraction(rate) * N
            if mean >= 10:
                places |= {(rate, N, threshold(rate, N, share)) for share in _FIG2["shares"]}
    return [row(*place) for place in sorted(places, key=lambda place: (-Fraction(place[0]), *place[1:]))]


def judged(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that the claim of the text covers."""
    return [row for row in rows if not row["verdict"].startswith("not comparable")]


def fig2_summary(rows: list[dict[str, Any]]) -> list[str]:
    """Sentences that summarise the rows."""
    told, held = judged(rows), [row for row in judged(rows) if row["verdict"] == "inside"]
    least = min(float(row["q N"]) for row in held)
    worst = max(told, key=lambda row: row["ours"])
    shares = _FIG2["shares"]
    mlp = ", ".join(f"{largest_threshold(q, 60_000)} of {60_000 * Fraction(q)}" for q in MLP)
    return [
        f'"Below 10^-3 where N >= 1,000 and N_B is slightly less than q N" holds in {len(held)} of {len(told)} rows'
        f" with N_B from {_FIG2['slightly']:g} q N up to q N. The rows in which the claim holds have q N >="
        f" {least:,.0f}. The largest ratio is {worst['ratio']} (q = {worst['q']}, N = {worst['N']:,}, N_B ="
        f" {worst['N_B']}).",
        f"At the sizes of the paper's own training (N = 60,000), the largest N_B below 10^-3 is {mlp} records of the"
        " mean batch. With N_B = q N, as in line 195 of Algorithm 1, the ratio is"
        f" {', '.join(f'{ratio(q, 60_000, int(60_000 * Fraction(q))):.3g}' for q in MLP)} in turn.",
        f"The ratio falls as N grows at {sum(map(falling, shares))} of {len(shares)} fixed shares of q N, for every q"
        " here.",
    ]


def fig2_notes(rows: list[dict[str, Any]]) -> list[str]:
    """Sections that explain how to read and check the table, and where the claim holds, as lines of Markdown."""
    table = []
    for rate in _FIG2["rates"]:
        entry = {"q": rate}
        for N in _FIG2["sizes"]:
            most, mean = largest_threshold(rate, N), Fraction(rate) * N
            entry[f"N = {N:,}"] = (
                f"{most:,} of {float(mean):.6g} ({float(100 * most / mean):.0f} %)" if most else "none"
            )
        table.append(entry)
    return [
        "## How to read it",
        "",
        *_FIG2["guide"].strip().splitlines(),
        "",
        "## The largest N_B with a ratio below 10^-3",
        "",
        markdown_table(table),
        "",
        "## How to check",
        "",
        *_FIG2["check_guide"].rstrip().splitlines(),
        "",
    ]


def grid(rate: str, most: int, points: int = 40) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sizes N, shares of q N in (0, 1], and the array (shares, sizes) of the ratios at the nearest whole N_B >= 1."""
    q = float(Fraction(rate))
    sizes = np.unique(np.geomspace(max(100, 4 / q), most, points).round().astype(int))
    shares = np.linspace(0.02, 1, points)
    values = [[ratio(rate, int(N), max(1, round(share * q * N))) for N in sizes] for share in shares]
    return sizes, shares, np.array(values)


def _draw(path: Path, rows: list[dict[str, Any]]) -> None:
    from nfa.papers.dpulr2024.pictures import ratio_figure

    lines = {rate: [(N, largest_threshold(rate, N)) for N in _sizes(rate, most)] for rate, most in DRAWN.items()}
    ratio_figure(path, {rate: grid(rate, most) for rate, most in DRAWN.items()}, lines)


def _sizes(rate: str, most: int) -> list[int]:
    return [int(N) for N in np.geomspace(max(100, float(4 / Fraction(rate))), most, 60)]


FIG2 = Analytic.from_toml(
    _FIG2,
    id="dpulr2024:fig2",
    title='Figure 2 of "Forward Learning with Differential Privacy" (2024): what rejection adds to the bound',
    rows=fig2_rows,
    columns=("q", "N", "q N", "N_B", "N_B / q N", "paper", "ratio", "verdict"),
    measures="the column ratio, four digits",
    digits=3,
    tolerance=CLAIMED,
    within=f"the ratio is below {CLAIMED:g}, as in the text (we read `slightly less than q N` as at least"
    f" {_FIG2['slightly']:g} q N, and every q is a reading)",
    summary=fig2_summary,
    notes=fig2_notes,
    picture=_draw,
)
