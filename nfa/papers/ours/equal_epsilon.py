"""The table that none of the papers has: every rule at the same proved epsilon, tuned equally, on the same data.

How the settings were found: `nfa.papers.ours.tuning`. What is compared: `nfa.papers.ours.contenders`.
"""

import math
import statistics
from functools import cache
from pathlib import Path
from typing import Any

from scipy import stats

from nfa.experiments.experiment import Cell, Claims, Comparison, Experiment, Numbers, Rows, Runs, Trained
from nfa.experiments.report import markdown_table
from nfa.mechanism import Mechanism
from nfa.papers.ours.contenders import BUDGET, RULES, TOML, draw, settings
from nfa.papers.ours.tuning import CHOSEN, no_paper
from nfa.privacy.tight import tight

SCALES = TOML["scale"]


def cells(scale: str, seeds: list[int]) -> list[Cell]:
    """Every rule at every epsilon of the scale on each data set, with the values that were chosen for that epsilon.

    Source: [ours:equal-epsilon]
    """
    known = SCALES[scale]
    found = []
    for dataset in known["datasets"]:
        for rule in known.get("rules", RULES):
            for epsilon in known["epsilons"]:
                values = draw(rule, CHOSEN["chosen"][rule][BUDGET["epsilons"].index(epsilon)])
                for seed in seeds:
                    run = settings(rule, values, epsilon=epsilon, dataset=dataset, epochs=known["epochs"], seed=seed)
                    key = {"data": dataset, "rule": RULES[rule]["name"], "epsilon": str(epsilon)}
                    found.append(Cell(name=f"{dataset}-{rule}-epsilon{epsilon}-seed{seed}", settings=run, key=key))
    return found


def beside(runs: Trained) -> dict[str, str]:
    """Half of Student's 95 % interval over a row's seeds, what is proved, and the number of loss distributions."""
    accuracies = [100 * record["test_accuracy"] for _, record in runs]
    privacy = runs[0][1]["privacy"]
    guarantee = privacy["guarantee"]
    found = _tight(Mechanism(**privacy["mechanism"]), guarantee["steps"], guarantee["delta"])
    return {
        "interval": f"± {half_width(accuracies):.2f}" if len(runs) > 1 else "-",
        "proved": f"{guarantee['epsilon']:.4f}",
        "PLD": "-" if found is None else f"{found:.3f}",
    }


def half_width(values: list[float]) -> float:
    """Half the width of Student's 95 % interval for the mean of two values or more.

    Examples
    --------
    >>> round(half_width([1.0, 2.0, 3.0]), 3)  # 4.303 / sqrt(3)
    2.484
    """
    spread = statistics.stdev(values) / math.sqrt(len(values))
    return float(stats.t.ppf(0.975, len(values) - 1)) * spread


@cache
def _tight(mechanism: Mechanism, steps: int, delta: float) -> float | None:
    return tight([(mechanism, steps)], delta=delta).epsilon


def notes(rows: Rows) -> list[str]:
    """A table a data set, rules by epsilons, with intervals and with what each rule needs."""
    needs = {known["name"]: known["needs"] for known in RULES.values()}
    lines: list[str] = []
    for dataset in dict.fromkeys(row["data"] for row in rows):
        own = [row for row in rows if row["data"] == dataset]
        lines += [f"## {dataset}", ""]
        table = []
        for rule in dict.fromkeys(row["rule"] for row in own):
            entries = {f"epsilon {row['epsilon']}": _in_words(row) for row in own if row["rule"] == rule}
            table.append({"rule": rule} | entries | {"needs": needs[rule]})
        lines += [markdown_table(table), ""]
    if any(row["n"] > 1 for row in rows):
        lines += ["Mean test accuracy in percent and Student's 95 % interval over the seeds.", ""]
    gaps = _gaps(rows)
    return lines + gaps + ([""] if gaps else [])


def _in_words(row: dict[str, Any]) -> str:
    return f"{row['ours']:.2f}" + (f" {row['interval']}" if row["n"] > 1 else "")


def _gaps(rows: Rows) -> list[str]:
    """How far each rule is behind DP-SGD, as lines of Markdown."""
    base = {(row["data"], row["epsilon"]): row["ours"] for row in rows if row["rule"] == RULES["dp-sgd"]["name"]}
    lines = []
    for rule in dict.fromkeys(row["rule"] for row in rows if row["rule"] != RULES["dp-sgd"]["name"]):
        behind = [base[row["data"], row["epsilon"]] - row["ours"] for row in rows if row["rule"] == rule]
        mean = statistics.fmean(behind)
        lines.append(
            f"- {rule}: {abs(mean):.1f} points {'behind' if mean >= 0 else 'ahead of'} DP-SGD in the mean of its"
            f" {len(behind)} rows, from {min(behind):.1f} to {max(behind):.1f}."
        )
    return lines


def _draw(path: Path, rows: Rows, runs: Trained) -> None:
    from nfa.papers.ours.pictures import equal_epsilon_figure

    equal_epsilon_figure(path, rows, BUDGET["delta"])


EQUAL_EPSILON = Experiment(
    id="ours:equal-epsilon",
    title="Every rule at equal, proved epsilon: test accuracy in percent",
    numbers=Numbers(where="none: ours", transcription="none of the papers compares its rules at equal epsilon"),
    runs=Runs(
        cells=cells,
        scales={scale: known["what"] for scale, known in SCALES.items()},
        seeds={scale: known["seeds"] for scale, known in SCALES.items()},
        readings={},
    ),
    comparison=Comparison(tolerance=0.0, not_comparable=no_paper, more=beside),
    claims=Claims(notes=notes),
    picture=_draw,
)
