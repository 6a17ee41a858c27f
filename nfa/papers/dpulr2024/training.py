"""The training accuracy that Table 1 and Table C1 print next to the validation accuracy: the paper's values and ours.

The paper does not state how it measures training accuracy. We measure the network without noise on all training
examples, at the end of a run and after epochs 1, 2, 4, 8, ... (`nfa.experiments.run`).
"""

import statistics
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from nfa.experiments.experiment import TableCell, Trained
from nfa.experiments.report import markdown_table, proved_epsilon

Printed = Callable[[Mapping[str, str]], tuple[float, float] | None]  # a cell's key -> mean and standard deviation


def columns(printed: Printed) -> Callable[[Trained], dict[str, Any]]:
    """Additional columns of a row: the proved epsilon, and the training accuracy, printed and ours, in percent.

    Our value is the mean over the runs that measured it, after the last epoch. Both values are None if no run measured
    it.
    """

    def of(runs: Trained) -> dict[str, Any]:
        ours = _mean(100 * record["train_accuracy"] for _, record in runs if "train_accuracy" in record)
        theirs = None if ours is None else printed(runs[0][0].key)
        told = {"training, paper": theirs and theirs[0], "training, ours": ours}
        return proved_epsilon(runs) | {name: _cell(name, value) for name, value in told.items()}

    return of


def _cell(name: str, value: float | None) -> TableCell | None:
    return None if value is None else TableCell(f"{value:.2f}", {name: value})


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return statistics.fmean(found) if found else None


def gaps(record: Mapping[str, Any]) -> dict[int, float]:
    """Validation minus training accuracy in points, for the epochs at which a run measured both.

    Source: [dpulr2024:exp-gap]

    Examples
    --------
    >>> first = {"train_accuracy": 0.25, "test_accuracy": 0.5}
    >>> history = [first, {"test_accuracy": 0.5}, {"test_accuracy": 0.75}]
    >>> gaps({"history": history, "train_accuracy": 0.875})
    {1: 25.0, 3: -12.5}
    """
    *earlier, last = record["history"]
    every = enumerate([*earlier, {"train_accuracy": record.get("train_accuracy")} | last], start=1)
    return {
        epoch: 100 * (entry["test_accuracy"] - training)
        for epoch, entry in every
        if (training := entry.get("train_accuracy")) is not None
    }


def beside_validation(runs: Trained, training: Printed, validation: Printed) -> list[str]:
    """Validation minus training accuracy by epoch, and the paper's printed values at the end, as a Markdown table.

    Rows are means over the runs that measured the training accuracy. Without such runs, there is no table.
    """
    rows: dict[tuple[str, ...], list[dict[int, float]]] = {}
    keys: dict[tuple[str, ...], Mapping[str, str]] = {}
    for cell, record in runs:
        if found := gaps(record):
            rows.setdefault(tuple(cell.key.values()), []).append(found)
            keys[tuple(cell.key.values())] = cell.key
    epochs = sorted({epoch for found in rows.values() for one in found for epoch in one})
    table = []
    for name, measured in rows.items():
        row: dict[str, Any] = dict(keys[name]) | {"runs": len(measured)}
        for epoch in epochs:
            mean = _mean(one[epoch] for one in measured if epoch in one)
            row[f"epoch {epoch}"] = "-" if mean is None else f"{mean:+.2f}"
        t, v = training(keys[name]), validation(keys[name])
        table.append(row | {"printed": "-" if t is None or v is None else f"{v[0] - t[0]:+.2f}"})
    if not table:
        return []
    head = (
        "The table has the validation accuracy less the training accuracy, in points, for the runs that measured both"
        " accuracies. Here, the training accuracy is for all training images, by the network without noise. The paper"
        " does not describe how it measures its training accuracy."
    )
    return ["## Training accuracy", "", head, "", markdown_table(table), ""]
