"""BP under noise: which reading of the noise reproduces the fall from 75.2 to 66.8 % in Table 1 of Ohana et al. (2021)?

The paper has one sentence about this noise: noise "on the derivative of the loss once at the top of the network". A
reading is one way to interpret this sentence, or one choice that the paper leaves open. The file bp_noise.toml lists
the readings.
"""

import math
import statistics
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from nfa.experiments.experiment import Cell, Experiment, Rows, Trained
from nfa.experiments.plots import new_figure, save_figure, tidy
from nfa.experiments.report import markdown_table
from nfa.experiments.settings import Settings
from nfa.papers.ohana2021 import table1

BP_NOISE = tomllib.loads(files("nfa.papers.ohana2021").joinpath("bp_noise.toml").read_text(encoding="utf-8"))
READINGS: dict[str, dict[str, Any]] = {reading["name"]: reading for reading in BP_NOISE["reading"]}
BASE = next(iter(READINGS))
PRINTED = {sigma: accuracy for sigma, accuracy in table1.PRINTED["BP"].items() if sigma != "non-private"}
NEAREST = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")  # colours of the nearest readings; others are grey
BAND = table1.TABLE1.tolerance  # points


def cells(scale: str, seeds: list[int]) -> list[Cell]:
    """Every reading in the columns of the scale, without the columns in which it shares its run with another reading.

    Source: [ohana2021:exp-bp]
    """
    chosen = BP_NOISE["scale"][scale]
    return [
        Cell(
            name=f"bp-{sigma}-{_slug(reading)}-seed{seed}",
            settings=settings(sigma, reading=reading, scale=scale, seed=seed),
            key={"rule": "BP", "sigma": sigma, "reading": reading},
        )
        for reading in chosen.get("readings", READINGS)
        for sigma in _columns(reading, chosen)
        if "columns" in READINGS[reading] or "shares" not in READINGS[reading] or sigma != "0"
        for seed in seeds
    ]


def _columns(reading: str, chosen: Mapping[str, Any]) -> list[str]:
    own = READINGS[reading].get("columns") or chosen["columns"] + chosen.get("more", {}).get(reading, [])
    return [sigma for sigma in PRINTED if sigma in own]


def settings(sigma: str, *, reading: str, scale: str, seed: int) -> Settings:
    """The run of BP in one column under a reading.

    Parameters
    ----------
    sigma : one of `PRINTED`
    reading : one of `READINGS`
    scale : "demo", "small" or "paper"
    seed : int >= 0; runs with the same seed share first weights, batches and noise if their settings allow it
    """
    read = READINGS[reading]
    base = table1.table1_settings("BP", sigma, reading=table1.NEAREST, scale=scale, seed=seed)
    changed = replace(base, align_every=None, **read.get("run", {}))
    if "rule" in read:
        return replace(changed, rule=read["rule"], rule_settings={})
    times = read.get("times", 1.0)
    named = {"m": float(changed.batch), "root m": math.sqrt(changed.batch)}
    noise = {"sigma": float(sigma) * named.get(times, times)}
    return replace(changed, rule_settings=changed.rule_settings | read.get("bp", {}) | noise)


def _slug(name: str) -> str:
    return "-".join("".join(c if c.isalnum() or c == "." else " " for c in name.lower()).split())


def paper(key: Mapping[str, str]) -> float:
    """The accuracy that Table 1 prints for BP at a sigma, in percent."""
    return PRINTED[key["sigma"]]


def not_comparable(settings: Settings, record: dict[str, Any]) -> str:
    """The reason why the accuracy of a run cannot be compared with Table 1's row of BP, or an empty text."""
    return table1.table1_not_comparable(replace(settings, rule="noisy_bp"), record)


def falls(rows: Rows) -> Rows:
    """A row for each reading: its accuracies, their fall, and their distance to the paper. Rows are sorted by distance.

    Source: [ohana2021:exp-bp]

    Parameters
    ----------
    rows : of the table, with reading, sigma and ours

    Returns
    -------
    rows : each with reading, accuracies, fall, noise and distance. accuracies is {sigma: percent}. fall is the fall
        from sigma = 0 to the largest sigma. noise is the fall from the smallest noise to the largest noise. distance is
        the mean absolute difference to the paper's accuracies over the columns with noise

    Examples
    --------
    >>> ours = {"0": 75.0, "0.01": 71.0, "0.2": 67.0}
    >>> found = falls([{"reading": BASE, "sigma": sigma, "ours": ours[sigma]} for sigma in ours])
    >>> {name: value for name, value in found[0].items() if name != "accuracies"}
    {'reading': 'as Table 1 here', 'fall': 8.0, 'noise': 4.0, 'distance': 0.26}
    """
    known = {(row["reading"], row["sigma"]): row["ours"] for row in rows}
    columns = [sigma for sigma in PRINTED if any(row["sigma"] == sigma for row in rows)]
    found = []
    for reading in dict.fromkeys(row["reading"] for row in rows):
        other = READINGS[reading].get("shares", reading)  # the run of `other` fills columns that this reading lacks
        own = {s: known[name, s] for s in columns for name in (other, reading) if (name, s) in known}
        if own.keys() > {"0"}:  # a fall needs a column without noise and a column with noise
            found.append({"reading": reading, "accuracies": own} | _fall(own))
    return sorted(found, key=lambda one: one["distance"])


def _fall(row: Mapping[str, float]) -> dict[str, float]:
    noisy = [sigma for sigma in row if sigma != "0"]
    return {
        "fall": round(row["0"] - row[noisy[-1]], 2),
        "noise": round(row[noisy[0]] - row[noisy[-1]], 2),
        "distance": round(statistics.fmean(abs(row[sigma] - PRINTED[sigma]) for sigma in noisy), 2),
    }


def notes(rows: Rows) -> list[str]:
    """The readings next to the paper's row, and the readings with the same fall as the paper, as lines of Markdown."""
    found = falls(rows)
    if not found:
        return []
    columns = [sigma for sigma in PRINTED if any(sigma in one["accuracies"] for one in found)]
    own = {sigma: PRINTED[sigma] for sigma in columns}
    printed = {"reading": "the paper's", "accuracies": own} | _fall(own) | {"distance": None}
    table = [
        {"reading": one["reading"]}
        | {sigma: one["accuracies"].get(sigma) for sigma in columns}
        | {"lost from 0": one["fall"], "of it to noise": one["noise"], "distance": one["distance"]}
        for one in [printed, *found]
    ]
    near = [
        one["reading"]
        for one in found
        if all(abs(a - PRINTED[s]) <= BAND for s, a in one["accuracies"].items() if s != "0")
    ]
    without = [one["reading"] for one in found if abs(one["accuracies"]["0"] - PRINTED["0"]) <= BAND]
    alike = [one["reading"] for one in found if abs(one["noise"] - printed["noise"]) <= BAND]
    return (
        BP_NOISE["notes"]
        .format(
            table=markdown_table(table),
            band=BAND,
            near=", ".join(near) or "none",
            without=", ".join(without) or "none",
            first=columns[1],
            lost=printed["noise"],
            alike=", ".join(alike) or "none",
        )
        .splitlines()
    )


def extra_columns(runs: Trained) -> dict[str, Any]:
    """Additional columns of a row: the accuracy on the held-out images."""
    held_out = [record["history"][-1].get("validation_accuracy") for _, record in runs]
    return {"held out": None if None in held_out else round(statistics.fmean(100 * value for value in held_out), 2)}


def falls_figure(path: Path, falls: Rows, printed: Mapping[str, float], runs: Trained) -> None:
    """Draw to a PNG file the accuracies of each reading: the paper in black, the readings nearest to it in colour.

    Parameters
    ----------
    path : file to write
    falls : the result of `falls`, the nearest reading first
    printed : {sigma: accuracy} of the paper
    runs : the runs of the table; the title reports where unfinished runs stopped
    """
    figure = new_figure("BP under noise: the paper's row, and readings of how the noise enters", 10, runs)
    axes = figure.subplots()
    columns = [sigma for sigma in printed if any(sigma in one["accuracies"] for one in falls)]
    for i, one in reversed(list(enumerate(falls))):
        style = {"color": NEAREST[i], "linewidth": 1.8} if i < len(NEAREST) else {"color": "0.8", "linewidth": 1.0}
        label = one["reading"] if i < len(NEAREST) else "_"
        found = one["accuracies"]
        axes.plot([columns.index(s) for s in found], list(found.values()), "o-", markersize=4, label=label, **style)
    values = [printed[sigma] for sigma in columns]
    axes.plot(range(len(columns)), values, "D-", color="black", linewidth=2.4, label="the paper's", zorder=5)
    axes.plot([], [], color="0.8", label="other readings")
    shown = [value for one in falls[: len(NEAREST)] for value in one["accuracies"].values()] + values
    axes.set_ylim(min(shown, default=0.0) - 5, max(shown, default=100.0) + 5)  # other readings may be outside
    axes.set_xticks(range(len(columns)), columns)
    axes.set_xlabel(r"$\sigma$", fontsize=12)
    axes.set_title("final test accuracy (%)", loc="left", fontsize=12)
    tidy(axes)
    handles, labels = axes.get_legend_handles_labels()
    named = sorted(zip(labels, handles, strict=True), key=lambda pair: _place(pair[0], falls))
    axes.legend(
        [handle for _, handle in named],
        [label for label, _ in named],
        frameon=False,
        fontsize=10,
        loc="upper left",
        bbox_to_anchor=(1, 1),
    )
    save_figure(figure, path)


def _place(label: str, falls: Rows) -> int:
    order = ["the paper's", *(one["reading"] for one in falls)]
    return order.index(label) if label in order else len(order)


def _draw(path: Path, rows: Rows, runs: Trained) -> None:
    falls_figure(path, falls(rows), PRINTED, runs)


EXP_BP = Experiment.from_toml(
    BP_NOISE,
    id="ohana2021:exp-bp",
    title="BP under noise: readings of its noise beside BP's row of Table 1 of Ohana et al. (2021), in percent",
    where="Section 4, BP baseline; Table 1",
    transcription=table1.TABLE1.transcription,
    paper=paper,
    cells=cells,
    tolerance=BAND,
    not_comparable=not_comparable,
    extra_columns=extra_columns,
    notes=notes,
    picture=_draw,
)
