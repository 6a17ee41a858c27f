"""Table 1 of Ohana et al. (2021) with guarantees: DFA, TDFA and PDFA as proved mechanisms, at stated epsilons.

The paper reports no epsilon for its table, and its theorem gives no epsilon for whole records (`nfa errata ohana2021`).
Here the accountant sets the noise for the steps of the run, so each accuracy has a guarantee.
"""

import math
import tomllib
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from nfa.experiments.experiment import Cell, Rows, Trained
from nfa.experiments.report import markdown_table
from nfa.experiments.settings import Settings
from nfa.network.ops import tanh
from nfa.papers.ohana2021 import table1
from nfa.privacy.accountant import calibrate
from nfa.privacy.rounding import up
from nfa.sampling import SAMPLERS
from nfa.sensitivity.pdfa import label_sensitivity, repaired_pdfa_sensitivity

_TOML = tomllib.loads(files("nfa.papers.ohana2021").joinpath("repaired.toml").read_text(encoding="utf-8"))
_REPAIRED = _TOML["repaired"]
RULES = ("DFA", "TDFA", "PDFA")
PROTECTED = ("records", "labels")
EPSILONS = tuple(_REPAIRED["epsilons"])
DELTA = _REPAIRED["delta"]
READ = (784, 512, 512)  # number of inputs of layers 1, 2 and 3
WHY_NONE = "the paper reports no epsilon"


def cells(scale: str, seeds: list[int]) -> list[Cell]:
    """The runs at a scale: for every rule, the published run without privacy, then every protection and epsilon.

    Source: [ohana2021:table1]
    """
    found = []
    for rule in RULES:
        for seed in seeds:
            key = {"rule": rule, "epsilon": "non-private", "reading": table1.NEAREST}
            plain = table1.table1_settings(rule, "non-private", reading=table1.NEAREST, scale=scale, seed=seed)
            name = table1.cell_name(rule, "non-private", table1.NEAREST, seed)
            found.append(Cell(name=name, settings=plain, key=key))
        for protected in PROTECTED:
            for epsilon in EPSILONS:
                for seed in seeds:
                    found.append(
                        Cell(
                            name=f"{rule.lower()}-{protected}-epsilon{epsilon}-seed{seed}",
                            settings=settings(rule, protected, epsilon, scale=scale, seed=seed),
                            key={"rule": rule, "epsilon": epsilon, "reading": protected},
                        )
                    )
    return found


def settings(rule: str, protected: str, epsilon: str, *, scale: str, seed: int) -> Settings:
    """The run of one rule under one guarantee.

    Parameters
    ----------
    rule : one of `RULES`
    protected : one of `PROTECTED`
    epsilon : one of `EPSILONS`
    scale : "demo", "small" or "paper"
    seed : int >= 0
    """
    read = _TOML[protected]
    run = table1.scale_settings(scale) | read["run"] | read.get("scale", {}).get(scale, {})
    own = dict(read["rule_settings"])
    if rule in ("TDFA", "PDFA"):
        own |= table1.TERNARY
    if rule == "PDFA":
        run["opu"] = table1.OPU
    own["s" if protected == "records" else "sigma"] = noise(protected, epsilon, scale)
    given = {
        "rule": read["rule"],
        "rule_settings": own,
        "adjacency": read["adjacency"],
        "sampling": read["sampling"],
        "delta": DELTA,
        "conversion": "mironov2017",
        "seed": seed,
    }
    return Settings.from_json(run | given)


@cache
def noise(protected: str, epsilon: str, scale: str) -> float:
    """The least noise, rounded up to four digits, at which a run of this scale stays within (epsilon, delta)."""
    read, run = _TOML[protected], table1.scale_settings(scale)
    n, m = _REPAIRED["examples"][scale], run["batch"]
    sampler = SAMPLERS[read["sampling"]]
    steps_per_epoch = sampler.steps_of_epoch(m, n)
    multiplier = calibrate(
        target_epsilon=float(epsilon),
        delta=DELTA,
        steps=run["epochs"] * steps_per_epoch,
        adjacency=read["adjacency"],
        sampling=read["sampling"],
        sampling_rate=m / n,
        conversion="mironov2017",
        steps_per_epoch=steps_per_epoch if sampler.once_an_epoch else None,
    ).noise_multiplier
    assert multiplier is not None
    return float(up(multiplier * _sensitivity(protected, m), 4))


def _sensitivity(protected: str, m: int) -> float:
    """The sensitivity for the paper's network, in the units of the rule's noise."""
    own = _TOML[protected]["rule_settings"]
    if protected == "labels":
        return label_sensitivity(tau_B=own["tau_B"], hidden=len(READ) - 1, top="softmax")
    corners = [(own["tau_h_max"] / math.sqrt(n), 1 + own["tau_h_min"] / math.sqrt(n)) for n in READ]
    return repaired_pdfa_sensitivity(
        m=m,
        tau_B=own["tau_B"],
        tau_h_max=own["tau_h_max"],
        gamma_max=[tanh.gamma_max] * (len(READ) - 1),
        bias=[min(corner) if own["bias"] == "clipped" else 1.0 for corner in corners],
        adjacency="replace-one",
    )


def paper(key: dict[str, str]) -> float | None:
    """The number of Table 1 for a rule without privacy; None under a guarantee, because the paper has no epsilon."""
    if key["epsilon"] != "non-private":
        return None
    return table1.table1_paper({"rule": key["rule"], "sigma": "non-private"})


def not_comparable(settings: Settings, record: dict[str, Any]) -> str:
    """The reason why the accuracy of a run cannot be compared with the paper's accuracy, or an empty text."""
    return WHY_NONE if settings.delta is not None else table1.table1_not_comparable(settings, record)


def costs(rows: list[dict[str, Any]]) -> dict[tuple[str, str, str], float]:
    """Points of accuracy lost to a guarantee, by (rule, what is protected, epsilon): non-private minus private."""
    plain = {row["rule"]: row["ours"] for row in rows if row["epsilon"] == "non-private"}
    return {
        (row["rule"], row["reading"], row["epsilon"]): round(plain[row["rule"]] - row["ours"], 2)
        for row in rows
        if row["epsilon"] != "non-private"
    }


def notes(rows: Rows) -> list[str]:
    """The loss of accuracy from privacy, as lines of Markdown. If the table is incomplete, there are no lines."""
    columns = [(protected, epsilon) for protected in PROTECTED for epsilon in EPSILONS]
    ours = {(row["rule"], row["reading"], row["epsilon"]): row["ours"] for row in rows}
    if not all((rule, *place) in ours for rule in RULES for place in ((table1.NEAREST, "non-private"), *columns)):
        return []
    lost = costs(rows)
    lines = [
        "## Loss of accuracy from the guarantee",
        "",
        f"Test accuracy in percent, and in brackets the points lost to the guarantee. Delta is {DELTA:g} in all"
        " columns.",
        "",
    ]
    table = []
    for rule in RULES:
        row = {"rule": rule, "non-private": f"{ours[rule, table1.NEAREST, 'non-private']:.2f}"}
        for protected, epsilon in columns:
            place = (rule, protected, epsilon)
            row[f"{protected}, epsilon {epsilon}"] = f"{ours[place]:.2f} (-{lost[place]:.2f})"
        table.append(row)
    lines += [markdown_table(table), ""]
    for protected, epsilon in columns:
        points = [lost[rule, protected, epsilon] for rule in RULES]
        told = f"{min(points):.1f} to {max(points):.1f} points"
        lines.append(f"- The loss of accuracy from ({epsilon}, {DELTA:g}) for {protected} is {told}.")
    alike = [rule for rule in RULES if abs(lost[rule, "records", "8"] - lost[rule, "records", "3"]) < 0.5]
    if alike:
        lines.append(_REPAIRED["alike"].format(rules=" and ".join(alike)))
    if all(lost[rule, "labels", epsilon] > lost[rule, "records", epsilon] for rule in RULES for epsilon in EPSILONS):
        lines.append(_REPAIRED["labels_cost_more"])
    return lines + _REPAIRED["noise"].splitlines()


def _draw(path: Path, rows: Rows, runs: Trained) -> None:
    from nfa.papers.ohana2021.pictures import budget_figure

    budget_figure(
        path, rows, runs, title="Loss of accuracy from a guarantee: photonic DFA on Fashion-MNIST", delta=DELTA
    )


PUBLISHED = table1.TABLE1
TABLE1_REPAIRED = replace(
    PUBLISHED,
    variant="repaired",
    title="Table 1 of Ohana et al. (2021), repaired: test accuracy on Fashion-MNIST under a guarantee, in percent",
    paper=paper,
    cells=cells,
    seeds=_REPAIRED["seeds"],
    readings={table1.NEAREST: PUBLISHED.readings[table1.NEAREST]}
    | {protected: _TOML[protected]["why"] for protected in PROTECTED},
    tried=_TOML["tried"],
    not_comparable=not_comparable,
    notes=notes,
    picture=_draw,
)
