"""Table 1 of "Forward Learning with Differential Privacy" (2024): ULR, DP-ULR as printed and corrected, and DP-SGD.

The file numbers.toml has the settings, the readings and the printed numbers. A reading is our choice where the paper
leaves a setting open.
"""

import statistics
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from nfa.experiments.experiment import Cell, Experiment, Rows, Trained
from nfa.experiments.report import markdown_table
from nfa.papers.dpulr2024.claims_in_words import BASE, adam_beside_sgd, beside_dp_sgd, caption
from nfa.papers.dpulr2024.runs import TOML, main_reading, not_comparable, readings, sound, trained_on
from nfa.papers.dpulr2024.runs import cells as cells_of
from nfa.papers.dpulr2024.training import beside_validation, columns
from nfa.privacy.rounding import up

_TABLE1 = TOML["table1"]
READINGS = readings("table1")
CHOSEN = next(iter(READINGS))
PRINTED_OF = {"DP-ULR printed": "DP-ULR", "corrected DP-ULR": "DP-ULR", "DP-SGD": "DP-SGD"}  # method: row of the paper
SIGMA_0 = tuple(_TABLE1["sigma_0"])
BATCHES = tuple(_TABLE1["batches"])


def cells(scale: str, seeds: list[int]) -> list[Cell]:
    """The runs at a scale.

    Source: [dpulr2024:table1] [dpulr2024:exp-mlp] [dpulr2024:exp-adam]
    """
    return cells_of("table1", scale, seeds)


def printed(key: Mapping[str, str], what: str = "printed") -> tuple[float, float] | None:
    """Mean and standard deviation of the validation accuracy that Table 1 prints for a cell, in percent; None for ULR.

    The sound rule is compared with the paper's DP-ULR. ``what`` is "printed_training" for the training accuracy.

    Source: [dpulr2024:exp-batch] [dpulr2024:exp-gap]
    """
    row = PRINTED_OF.get(key["rule"])
    if row is None:
        return None
    mean, sd = _TABLE1[what][row][key["batch"]][SIGMA_0.index(key["sigma_0"])]
    return mean, sd


printed_training = partial(printed, what="printed_training")


def paper(key: Mapping[str, str]) -> float | None:
    """The mean that Table 1 prints."""
    found = printed(key)
    return None if found is None else found[0]


# The claims of the text about the table


def ahead(batch: str) -> list[float]:
    """Points by which the printed validation accuracy of DP-ULR exceeds that of DP-SGD, in the order of `SIGMA_0`.

    Source: [dpulr2024:table1] [dpulr2024:claims]

    Examples
    --------
    >>> ahead("64")
    [-8.02, -8.47, 0.48, 3.41, 26.58]
    """
    ulr, sgd = (_TABLE1["printed"][row][batch] for row in ("DP-ULR", "DP-SGD"))
    return [round(a - b, 2) for (a, _), (b, _) in zip(ulr, sgd, strict=True)]


def spread(row: str, batch: str) -> float:
    """The printed validation accuracy at the best sigma_0 minus the accuracy at the worst sigma_0, in points.

    Source: [dpulr2024:table1]

    Examples
    --------
    >>> [spread("DP-ULR", batch) for batch in ("64", "200", "500")]
    [27.47, 11.93, 9.66]
    """
    means = [mean for mean, _ in _TABLE1["printed"][row][batch]]
    return round(max(means) - min(means), 2)


def notes(rows: Rows) -> list[str]:
    """The text's sentences compared with the printed numbers, and the guarantees, as Markdown."""
    outside = len(BATCHES) * sum(float(s) < _TABLE1["covered"] for s in SIGMA_0)
    gaps = []
    for m in map(str, BATCHES):
        entry = {"batch": m} | {f"sigma_0 = {s}": f"{gap:+.2f}" for s, gap in zip(SIGMA_0, ahead(m), strict=True)}
        gaps.append(entry | {"spread of DP-ULR": spread("DP-ULR", m), "of DP-SGD": spread("DP-SGD", m)})
    exact = []
    for m in map(str, BATCHES):
        told = {f"sigma_0 = {s}": up(e, decimals=2) for s, e in zip(SIGMA_0, _TABLE1["exact"][m], strict=True)}
        exact.append({"batch": m} | told)
    return (
        _TABLE1["notes"]
        .format(
            printed=markdown_table(_as_printed()),
            gaps=markdown_table(gaps),
            outside=outside,
            cells=len(BATCHES) * len(SIGMA_0),
            covered=_TABLE1["covered"],
            exact=markdown_table(exact),
        )
        .splitlines()
    )


def best_less_last(record: Mapping[str, Any]) -> float:
    """Points by which the best epoch of a run exceeds its last epoch: the gain from choosing an epoch.

    Source: [dpulr2024:exp-select]

    Examples
    --------
    >>> best_less_last({"history": [{"test_accuracy": 0.5}, {"test_accuracy": 0.75}, {"test_accuracy": 0.625}]})
    12.5
    """
    accuracies = [100 * entry["test_accuracy"] for entry in record["history"]]
    return max(accuracies) - accuracies[-1]


def best_of_dp_sgd(runs: Trained) -> list[str]:
    """The accuracy of DP-SGD at the last and the best epoch next to the printed accuracy, as Markdown.

    The printed accuracy may be from either epoch. Runs with fewer epochs than the paper's runs are omitted.

    Source: [dpulr2024:exp-select]
    """
    places: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for cell, record in runs:
        whole = len(record["history"]) == _TABLE1["setting"]["epochs"]
        if not whole or (cell.key["rule"], cell.key["reading"]) != (BASE, CHOSEN):
            continue
        last = 100 * record["test_accuracy"]
        places.setdefault((cell.key["batch"], cell.key["sigma_0"]), []).append((last, last + best_less_last(record)))
    table = []
    for (batch, sigma_0), found in places.items():
        last, best = (f"{statistics.fmean(values):.2f}" for values in zip(*found, strict=True))
        mean, sd = _TABLE1["printed"][BASE][batch][SIGMA_0.index(sigma_0)]
        row = {"batch": batch, "sigma_0": sigma_0, "runs": len(found), "last epoch": last, "best epoch": best}
        table.append(row | {"printed": f"{mean:.2f} ± {sd:.2f}"})
    if not table:
        return []
    return [
        "DP-SGD at the last epoch and at the best epoch, next to the printed value, which may be from either epoch:",
        "",
        markdown_table(table),
        "",
    ]


def runs_notes(runs: Trained) -> list[str]:
    """Differences of the rules, the gain from choosing the best epoch, and the effect of rejection, as Markdown."""
    gains: dict[tuple[str, ...], list[float]] = {}
    for cell, record in runs:
        gains.setdefault(tuple(cell.key[name] for name in ("rule", "reading")), []).append(best_less_last(record))
    table = [
        {"method": rule, "reading": reading, "runs": len(found)}
        | {"mean": f"{statistics.fmean(found):.2f}", "largest": f"{max(found):.2f}"}
        for (rule, reading), found in gains.items()
    ]
    lines = ["## What these runs show", ""] if (ours := beside_dp_sgd(runs, CHOSEN)) else []
    lines += [
        *ours,
        *adam_beside_sgd(runs, CHOSEN),
        *_TABLE1["last_and_best"].format(table=markdown_table(table)).splitlines(),
        *best_of_dp_sgd(runs),
        *beside_validation(runs, printed_training, printed),
    ]
    for cell, record in runs:
        if told := record.get("rejection"):
            known = {"sigma_0": cell.key["sigma_0"], "seed": record["seed"], "steps": record["steps"]}
            lines += _TABLE1["rejection"].format(**told, **known).splitlines()
    return lines


def _as_printed() -> list[dict[str, str]]:
    """The printed table, with a line for each batch size and method."""
    lines = []
    for m in map(str, BATCHES):
        for row, table in _TABLE1["printed"].items():
            told = {f"sigma_0 = {s}": f"{a:.2f} ± {sd:.2f}" for s, (a, sd) in zip(SIGMA_0, table[m], strict=True)}
            lines.append({"batch": m, "method": row} | told)
    return lines


def _draw(path: Path, rows: Rows, runs: Trained) -> None:
    from nfa.papers.dpulr2024.pictures import dots_figure

    reading, theirs = main_reading(runs, CHOSEN)
    own = [row for row in rows if row["reading"] == reading]
    words = {"below": rf"$\sigma_0$ ({trained_on(theirs)})", "title": "Forward learning and DP-SGD under noise"}
    dots_figure(path, own, theirs, by="sigma_0", places=SIGMA_0, caption=_caption(runs), **words)


def _caption(runs: Trained) -> list[str]:
    return caption("table1", main_reading(runs, CHOSEN)[1])


TABLE1 = Experiment.from_toml(
    _TABLE1,
    id="dpulr2024:table1",
    title='Table 1 of "Forward Learning with Differential Privacy" (2024): validation accuracy on MNIST, in percent',
    paper=paper,
    cells=cells,
    not_comparable=partial(not_comparable, "table1"),
    extra_columns=columns(printed_training),
    notes=notes,
    runs_notes=runs_notes,
    caption=_caption,
    picture=_draw,
)
TABLE1_REPAIRED = TABLE1.repaired(sound)
