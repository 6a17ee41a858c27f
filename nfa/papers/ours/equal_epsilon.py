"""A table of every rule at the same proved epsilon, with equal tuning, on the same data. No paper has such a table.

`nfa.papers.ours.tuning` searches the settings, and `nfa.papers.ours.contenders` describes the rules.
"""

import statistics
from functools import cache, partial
from pathlib import Path
from typing import Any

from nfa.experiments.experiment import Cell, Experiment, Rows, TableCell, Trained
from nfa.experiments.report import markdown_table
from nfa.mechanism import Mechanism
from nfa.papers.ours.contenders import CNN, DENSE, Contest
from nfa.papers.ours.tuning import no_paper
from nfa.papers.paired import half_width
from nfa.privacy.rounding import up
from nfa.privacy.tight import tight
from nfa.rules.objective_perturbation import SoftmaxObjective
from nfa.sampling import ALL_RECORDS

BASE = "DP-SGD"  # the rule with which we compare the other rules


def cells(scale: str, seeds: list[int], contest: Contest = DENSE) -> list[Cell]:
    """Every rule at every epsilon of the scale on each data set, with the values chosen for runs of this size.

    Source: [ours:equal-epsilon] [ours:cnn]
    """
    known = contest.scales[scale]
    found = []
    for dataset in known["datasets"]:
        for rule in known.get("rules", contest.rules):
            for epsilon in known["epsilons"]:
                values = contest.values_chosen(rule, epsilon, known["epochs"])
                key = {"data": dataset, "rule": contest.rules[rule]["name"], "epsilon": str(epsilon)}
                what = {"epsilon": epsilon, "dataset": dataset, "epochs": known["epochs"]}
                for seed in seeds:
                    name = f"{dataset}-{rule}-epsilon{epsilon}-seed{seed}"
                    found.append(Cell(name=name, settings=contest.settings(rule, values, seed=seed, **what), key=key))
    return found


def extra_columns(runs: Trained) -> dict[str, TableCell]:
    """Five columns of a row: interval, proved epsilon, epsilon by loss distributions, time and memory of a step.

    The interval is half of Student's 95 % interval over the row's seeds. The time of a step is the time on one core,
    measured while other runs used the machine. If a record lacks this time, we use the elapsed time. The column has
    the median over the runs. The memory of a step is the size of the arrays that a step holds at once, including its
    batch. It does not include network, optimizer and data.
    """
    accuracies = [100 * record["test_accuracy"] for _, record in runs]
    privacy = runs[0][1]["privacy"]
    guarantee = privacy["guarantee"]
    seconds = statistics.median(_seconds(record["timing"]) for _, record in runs)
    found = _tight(privacy["mechanism"], guarantee["steps"], guarantee["delta"])
    half = half_width(accuracies) if len(runs) > 1 else None
    megabytes = _megabytes([record["timing"].get("step_bytes") for _, record in runs])
    settings, everyone = runs[0][0].settings, runs[0][1]["data"]["train"]
    of, size = f"batch {settings.batch}", settings.batch
    if settings.sampling in ALL_RECORDS:
        of, size = "all records", everyone
    time = f"{1000 * seconds:,.{1 if seconds < 0.1 else 0}f}, {of}"
    return {
        "interval": TableCell("-" if half is None else f"± {half:.2f}", {"interval": half}),
        "proved": TableCell(up(guarantee["epsilon"], decimals=4), {"proved": guarantee["epsilon"]}),
        "PLD": TableCell("-" if found is None else up(found, decimals=3), {"PLD": found}),
        "ms a step": TableCell(time, {"ms a step": 1000 * seconds, "records a step": size}),
        "MB a step": TableCell("-" if megabytes is None else f"{megabytes:,.0f}", {"MB a step": megabytes}),
    }


def _seconds(timing: dict[str, float]) -> float:
    return timing.get("cpu_seconds_per_step", timing["seconds_per_step"])  # some records have only the elapsed time


def _megabytes(of_runs: list[int | None]) -> float | None:
    # Some records lack this number, for example the records of secure runs.
    known = [number for number in of_runs if number is not None]
    return statistics.median(known) / 1e6 if known else None


def _tight(mechanism: dict[str, Any], steps: int, delta: float) -> float | None:
    """The epsilon of a recorded mechanism by the loss distributions of all steps; None if they prove no epsilon."""
    if "curve" in mechanism:
        return SoftmaxObjective(**mechanism["curve"]).epsilon(delta)
    return _of_steps(Mechanism(**mechanism), steps, delta)


@cache
def _of_steps(mechanism: Mechanism, steps: int, delta: float) -> float | None:
    return tight([(mechanism, steps)], delta=delta).epsilon


def notes(rows: Rows, contest: Contest = DENSE) -> list[str]:
    """A table for each data set, rules by epsilons, with intervals and the needs of each rule."""
    needs = {known["name"]: known["needs"] for known in contest.rules.values()}
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
    """The points by which each rule is less accurate than DP-SGD, as lines of Markdown."""
    base = {(row["data"], row["epsilon"]): row["ours"] for row in rows if row["rule"] == BASE}
    lines = []
    for rule in dict.fromkeys(row["rule"] for row in rows if row["rule"] != BASE):
        own = {(row["data"], row["epsilon"]): row["ours"] for row in rows if row["rule"] == rule}
        if not (behind := [base[place] - ours for place, ours in own.items() if place in base]):
            continue
        mean = statistics.fmean(behind)
        told = f"- {rule}: {abs(mean):.1f} points {'less' if mean >= 0 else 'more'} accurate than {BASE}"
        rest = f" in the mean of its {len(behind)} rows, from {min(behind):.1f} to {max(behind):.1f}"
        lines.append(f"{told}{rest if behind[1:] else ''}.")
    return lines


def _draw(path: Path, rows: Rows, runs: Trained, contest: Contest) -> None:
    from nfa.papers.ours.pictures import equal_epsilon_figure

    equal_epsilon_figure(path, rows, runs, contest.budget["delta"])


def _experiment(contest: Contest, id: str, title: str) -> Experiment:
    return Experiment.from_toml(
        {"scale": contest.scales},
        id=id,
        title=title,
        where="an experiment of ours",
        transcription="No paper compares its rules at equal epsilon.",
        cells=partial(cells, contest=contest),
        not_comparable=no_paper,
        extra_columns=extra_columns,
        notes=partial(notes, contest=contest),
        picture=partial(_draw, contest=contest),
    )


EQUAL_EPSILON = _experiment(
    DENSE, "ours:equal-epsilon", "Every rule at equal, proved epsilon: test accuracy in percent"
)

EQUAL_EPSILON_CNN = _experiment(
    CNN, "ours:cnn", "lee2020's convolutional network at equal, proved epsilon: test accuracy in percent"
)
