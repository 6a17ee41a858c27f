"""Figure 12 of Berthier (2019), Section 4.6: epsilon by epoch, for each reading (interpretation) of the accountant.

Most columns depend on a conjecture, or on our proof, which nobody else has reviewed. The column `proved` contains the
epsilons that the accountant counts.
"""

import math
import tomllib
import warnings
from importlib.resources import files
from pathlib import Path
from typing import Any

from nfa.experiments.experiment import Analytic
from nfa.experiments.report import compare
from nfa.mechanism import Mechanism
from nfa.papers.berthier2019.logistic.figures import TAUS
from nfa.papers.berthier2019.shuffling.conjectures import conjectured_epsilon
from nfa.papers.berthier2019.shuffling.our_bound import corrected_epsilon
from nfa.privacy.accountant import epsilon
from nfa.privacy.rdp import OrderAtGridEnd
from nfa.sampling import records_per_pass

_TOML = tomllib.loads(files("nfa.papers.berthier2019.logistic").joinpath("numbers.toml").read_text(encoding="utf-8"))
_FIG12 = _TOML["fig12"]
N: int = _FIG12["n"]
DELTA: float = _FIG12["delta"]
SIGMA: float = _FIG12["noise"]  # for L = 1, because epsilon depends only on sigma / L
DECIMALS = 8  # decimals in the rows; the table prints four

Rows = list[dict[str, Any]]


def leading(tau: float, e: float, **reading) -> float:
    """Epsilon by the leading term of the conjectures with C = 16. It is no guarantee.

    Source: [berthier2019:fig12]
    """
    return conjectured_epsilon(n=N, e=e, tau=tau, L=1.0, sigma=SIGMA, delta=DELTA, C=_FIG12["C"], **reading)[0]


def every_term(tau: float, e: float, sigma: float = SIGMA, cap: bool = True) -> float:
    """Epsilon by the bound with its remainder, which follows from our unreviewed proof.

    Source: [berthier2019:fig12]
    """
    orders = range(2, _FIG12["orders"] + 1)
    return corrected_epsilon(n=N, e=e, tau=tau, L=1.0, sigma=sigma, delta=DELTA, cap=cap, orders=orders).epsilon


def proved(tau: float, e: int) -> float:
    """Epsilon as the accountant counts it: with amplification for tau = 1/n, with one full release per pass otherwise.

    Source: [berthier2019:fig12]
    """
    k = records_per_pass(tau, N)
    if k == 1:
        sampling, steps, per = "without-replacement", e * N, None
    else:
        sampling, steps, per = "epoch-partition", math.ceil(e / tau - 1e-9) * k, k
    release = Mechanism(
        law="gaussian",
        sensitivity=2.0,
        adjacency="replace-one",
        noise_std=SIGMA,
        sampling=sampling,
        sampling_rate=1 / N,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OrderAtGridEnd)
        return epsilon([(release, steps)], delta=DELTA, conversion="mironov2017", steps_per_epoch=per).epsilon


def poisson(e: int) -> float:
    """Epsilon of Poisson batches with one expected record under add-remove, as Abadi et al. count it.

    Source: [berthier2019:fig12]
    """
    release = Mechanism(
        law="gaussian",
        sensitivity=1.0,
        adjacency="add-remove",
        noise_std=SIGMA,
        sampling="poisson",
        sampling_rate=1 / N,
    )
    return epsilon([(release, e * N)], delta=DELTA, conversion="mironov2017").epsilon


def rows() -> Rows:
    """A row for each tau and number of epochs, with the epsilon of every reading of the accountant.

    Source: [berthier2019:fig12]
    """
    return [_row(name, e) for name in _FIG12["taus"] for e in _FIG12["epochs"]]


def _row(name: str, e: int) -> dict[str, Any]:
    tau, row = TAUS[name], {"tau": name, "epochs": e}
    others: dict[str, float | None] = dict.fromkeys(("summed", "orders to 13", "every term", "uncapped", "sigma = 4L"))
    if tau < 1:
        why = "the report prints no epsilon, and this one rests on a conjecture"
        row |= compare(None, [leading(tau, e)], 0.0, why, digits=DECIMALS)
        others["summed"] = leading(tau, e, summed=True)
        others["orders to 13"] = leading(tau, e, largest_order=_FIG12["safe_order"])
        others["every term"] = every_term(tau, e)
        others["uncapped"] = every_term(tau, e, cap=False)
        others["sigma = 4L"] = every_term(tau, e, sigma=2 * SIGMA)
    else:
        why = "the report has no epsilon for tau = 1, and no conjecture"
        row |= {"paper": None, "ours": None, "sd": None, "n": 1, "difference": None}
        row |= {"verdict": f"not comparable: {why}"}
    others |= {"proved": proved(tau, e), "Poisson": poisson(e) if name == "1/n" else None}
    return row | {column: None if value is None else round(value, DECIMALS) for column, value in others.items()}


def of(found: Rows, tau: str) -> dict[int, dict[str, Any]]:
    """The rows with this tau, as a dictionary from the number of epochs to the row."""
    return {row["epochs"]: row for row in found if row["tau"] == tau}


def summary(found: Rows) -> list[str]:
    """Sentences that compare the report's statements about the figure with the rows.

    Source: [berthier2019:fig12]
    """
    first, half = of(found, "1/n"), of(found, "0.5")
    e, last = _FIG12["epochs"][0], _FIG12["epochs"][-1]
    power = math.log(first[last]["ours"] / first[e]["ours"]) / math.log(last / e)
    factors = [half[k]["ours"] / first[k]["ours"] for k in first]
    return [
        f"tau = 1/n: after {', '.join(map(str, first))} epochs, epsilon is {_three(first, 'ours')} by the leading"
        f" term alone and {_three(first, 'every term')} with every term. The theorem for this tau proves"
        f" {_three(first, 'proved')}.",
        f'"Epsilon roughly grows linearly": with every term, epsilon is nearly affine ({_three(half, "every term")} for'
        f" tau = 1/2). For tau = 1/n, the leading term alone grows as the power {power:.2f} of the epochs.",
        '"Only a constant factor away (1 / (1 - tau))": this is the factor of the Renyi epsilon. The epsilon of tau ='
        f" 1/2 is {min(factors):.2f} to {max(factors):.2f} times the epsilon of tau = 1/n, not twice.",
        '"Exactly the same accountant as the one proved by [1]": Poisson batches under add-remove give'
        f" {_three(first, 'Poisson')}.",
        f"Without a conjecture, a pass costs a full release. This gives {_three(of(found, '1'), 'proved')} for tau ="
        f" 1, and {_three(half, 'proved')} for tau = 1/2, because tau = 1/2 has twice as many passes.",
    ]


def _three(rows: dict[int, dict[str, Any]], column: str) -> str:
    return ", ".join(f"{row[column]:.3f}" for row in rows.values())


def notes(found: Rows) -> list[str]:
    """A description of each column, as lines of Markdown."""
    return ["## The readings", "", *_FIG12["guide"].strip().splitlines(), ""]


def draw(path: Path, found: Rows) -> None:
    """Draw epsilon by epoch to a PNG file, for three readings of the accountant."""
    from nfa.papers.berthier2019.logistic.pictures import epsilon_panels

    epochs = range(1, _FIG12["epochs"][-1] + 1)
    taus = {name: TAUS[name] for name in _FIG12["taus"]}
    partly = {name: tau for name, tau in taus.items() if tau < 1}
    panels = {
        "leading term of Conjecture 2: no guarantee": {n: [leading(t, e) for e in epochs] for n, t in partly.items()},
        "every term: our proof, unreviewed": {n: [every_term(t, e) for e in epochs] for n, t in partly.items()},
        "proved": {n: [proved(t, e) for e in epochs] for n, t in taus.items()},
    }
    epsilon_panels(path, epochs, panels, DELTA)


FIG12 = Analytic.from_toml(
    _FIG12,
    id="berthier2019:fig12",
    title="Figure 12 of Berthier (2019): epsilon of DP-SGD on partial passes, under each reading of its accountant",
    rows=rows,
    columns=(
        "tau",
        "epochs",
        "ours",
        "summed",
        "orders to 13",
        "every term",
        "uncapped",
        "sigma = 4L",
        "proved",
        "verdict",
    ),
    measures=f"epsilon by the leading term of Conjecture 2 (C = 16, delta = {DELTA:g}, sigma = 2L), no guarantee",
    digits=4,
    within="our number equals the report's number, but the report prints none",
    summary=summary,
    notes=notes,
    picture=draw,
)
