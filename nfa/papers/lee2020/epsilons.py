"""The experiments of Lee & Kifer (2020), Section 5. The paper's numbers and settings are in numbers.toml.

`EPSILONS` recomputes the 24 epsilons in the captions of Figures 2 and 4 under each reading of the text. A reading is a
possible meaning of the text.
"""

import math
import tomllib
import warnings
from collections.abc import Callable, Iterable, Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from nfa.experiments.experiment import Analytic
from nfa.experiments.report import compare, markdown_table
from nfa.mechanism import Mechanism
from nfa.privacy.accountant import privacy_losses
from nfa.privacy.rdp import OrderAtGridEnd, mironov2017, to_dp
from nfa.privacy.theorems import choose, one_step

_TOML = tomllib.loads(files("nfa.papers.lee2020").joinpath("numbers.toml").read_text(encoding="utf-8"))
_EPSILONS = _TOML["epsilons"]
DATA: dict[str, int] = _TOML["data"]
CAPTIONS: list[dict[str, Any]] = _EPSILONS["caption"]
READINGS: dict[str, dict[str, Any]] = {reading["name"]: reading for reading in _EPSILONS["reading"]}
NEAREST = next(iter(READINGS))
DELTA = _EPSILONS["delta"]
DECIMALS = 8  # decimals in the rows; the table prints four
TIGHT_DECIMALS = 4  # on two processors, Fourier transforms may differ from about the seventh digit on
ORDERS = np.arange(_EPSILONS["orders"][0], _EPSILONS["orders"][1] + 1)

# Number of steps in an epoch of n records with batches of m
STEPS: dict[str, Callable[[int, int], float]] = {
    "down": lambda n, m: n // m,
    "exact": lambda n, m: n / m,
    "up": lambda n, m: math.ceil(n / m),
}


def release(caption: Mapping[str, Any], reading: Mapping[str, Any], n: int) -> Mechanism:
    """The mechanism that one step of a caption's training releases under a reading, on n records.

    Source: [lee2020:exp-cnn] [lee2020:exp-fc]
    """
    network = _TOML["network"][caption["net"]]
    return Mechanism(
        law="gaussian",
        sensitivity=reading.get("sensitivity_factor", 1.0) * network["sensitivity"] / network["batch"],
        adjacency=reading.get("adjacency", "replace-one"),
        noise_std=float(caption["sigma"]),
        sampling=reading.get("sampling", "without-replacement"),
        sampling_rate=network["batch"] / n,
    )


def spent(caption: Mapping[str, Any], reading: Mapping[str, Any], n: int, epochs: int) -> np.ndarray:
    """The Renyi curve of a caption's training after a number of epochs, in nats at `ORDERS`: T times a step's bound."""
    mechanism = release(caption, reading, n)
    steps = epochs * STEPS[reading.get("steps", "down")](n, _TOML["network"][caption["net"]]["batch"])
    return steps * one_step(mechanism, ORDERS, choose(mechanism, reading["bound"]))


def epsilons(
    caption: Mapping[str, Any], reading: Mapping[str, Any], n: int, epochs: Iterable[int] | None = None
) -> list[tuple[float, float | None]]:
    """Epsilon at `DELTA`, and its order, after each number of epochs.

    Source: [lee2020:acct] [lee2020:fig2] [lee2020:fig3] [lee2020:fig4]

    Parameters
    ----------
    caption, reading : entries of `CAPTIONS` and `READINGS`
    n : int, number of training records
    epochs : the numbers of epochs; None for the caption's numbers

    Examples
    --------
    >>> [round(epsilon, 4) for epsilon, order in epsilons(CAPTIONS[0], READINGS[NEAREST], 60000)]
    [4.4387, 6.434, 8.0781, 9.4916]
    """
    one_epoch = spent(caption, reading, n, 1)
    conversion = reading.get("conversion", "mironov2017")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OrderAtGridEnd)  # order 2 is the smallest order of the theorems
        return [
            to_dp(ORDERS, count * one_epoch, delta=DELTA, conversion=conversion)
            for count in (caption["epochs"] if epochs is None else epochs)
        ]


def tight(caption: Mapping[str, Any], n: int) -> list[float]:
    """A nearly exact epsilon for each value of a caption, by composed privacy losses under the reading `NEAREST`.

    Each value is at least the true epsilon, and exceeds the true epsilon by at most 0.2 %.
    """
    step = release(caption, READINGS[NEAREST], n)
    steps = [n // _TOML["network"][caption["net"]]["batch"] * epochs for epochs in caption["epochs"]]
    return [privacy_losses([(step, count)], delta=DELTA).epsilon for count in steps]


def epsilon_rows() -> list[dict[str, Any]]:
    """A row for each printed epsilon and data set: paper, ours (nearest reading), verdict, and every other reading.

    Source: [lee2020:fig2] [lee2020:fig3] [lee2020:fig4]
    """
    rows = []
    for data, n in DATA.items():
        for caption in CAPTIONS:
            found = {name: epsilons(caption, reading, n) for name, reading in READINGS.items()}
            bests = tight(caption, n)
            printed_at = zip(caption["epochs"], caption["epsilon"], bests, strict=True)
            for i, (epochs, printed, best) in enumerate(printed_at):
                ours, order = found[NEAREST][i]
                row = {"figure": caption["figures"][data], "data": data, "net": caption["net"]}
                row |= {"sigma": caption["sigma"], "epochs": epochs}
                row |= compare(printed, [ours], _EPSILONS["tolerance"], digits=DECIMALS)
                row |= {"order": int(order or 0)}
                row |= {name: round(found[name][i][0], DECIMALS) for name in READINGS if name != NEAREST}
                rows.append(row | {"tight": round(best, TIGHT_DECIMALS)})
    return rows


def agreement(rows: list[dict[str, Any]], column: str) -> tuple[int, int, float]:
    """The agreement of the printed values with a column.

    The first number counts the printed values that equal the column truncated to two decimals. The second number counts
    the printed values that equal the rounded column. The third number is the largest relative error.

    Source: [lee2020:fig2] [lee2020:fig4]

    Examples
    --------
    >>> agreement([{"paper": 0.5, "ours": 0.5078125}], "ours")
    (1, 0, 0.015625)
    """
    pairs = [(row["paper"], row[column]) for row in rows]
    cut = sum(math.floor(100 * value) == round(100 * printed) for printed, value in pairs)
    rounded = sum(round(100 * value) == round(100 * printed) for printed, value in pairs)
    return cut, rounded, max(abs(value / printed - 1) for printed, value in pairs)


def _of(rows: list[dict[str, Any]], data: str) -> list[dict[str, Any]]:
    return [row for row in rows if row["data"] == data]


def _range(values: Iterable[float], digits: int = 0, unit: str = "") -> str:
    numbers = sorted(values)
    return f"{numbers[0]:.{digits}f} to {numbers[-1]:.{digits}f}{unit}"


def epsilon_summary(rows: list[dict[str, Any]]) -> list[str]:
    """Sentences that summarise the rows."""
    first, second = (_of(rows, data) for data in DATA)
    (misprint,) = [row for row in first if row["verdict"] != "inside"]
    cut, rounded, _ = agreement(first, "ours")
    above = _range([100 * (row["ours"] / row["paper"] - 1) for row in second], unit=" %")
    lemma = [100 * (row["lemma 3"] / row["ours"] - 1) for row in first]
    equal, more = sum(d < 0.05 for d in lemma), [d for d in lemma if d >= 0.05]
    told = [
        f"Fashion-MNIST: {cut} of the {len(first)} printed values are our values truncated to two decimals ({rounded}"
        f" if rounded). The printed {misprint['paper']:.2f} for our {misprint['ours']:.4f} is most likely a misprint"
        " for 13.78.",
        "The printed values come from a stronger bound (Theorem 27) in the paper's own reference, which the text does"
        f" not state. Lemma 3 as printed gives the same value {equal} times and {_range(more, 1, ' %')} more"
        " otherwise.",
        f"CIFAR-10 has 50,000 training images, not 60,000. The same computation gives {above} more than the printed"
        " values.",
    ]
    margins = [_range([row["paper"] / row["tight"] for row in some], 2, " times") for some in (first, second)]
    told.append(
        "Every printed value is still a true upper bound for the stated sensitivity. The printed value is"
        f" {margins[0]} a nearly exact epsilon for Fashion-MNIST, and {margins[1]} for CIFAR-10."
    )
    return told


def epsilon_notes(rows: list[dict[str, Any]]) -> list[str]:
    """Explanations of the table and the picture, the agreement of each reading, and checks, as lines of Markdown."""
    table = []
    for data in DATA:
        for name, reading in READINGS.items():
            if data == next(iter(DATA)) or name == NEAREST:
                cut, rounded, most = agreement(_of(rows, data), "ours" if name == NEAREST else name)
                far = f"{100 * most:.2g} %" if most < 9.995 else f"{1 + most:,.0f} times"
                why = " ".join(reading["why"].split())
                entry = {"reading": name, "n": f"{DATA[data]:,}", "cut": cut, "rounded": rounded}
                table.append(entry | {"farthest": far, "what it is": why if data == next(iter(DATA)) else "the same"})
    return [
        "## How to read it",
        "",
        *_EPSILONS["guide"].strip().splitlines(),
        "",
        "## The readings, and how many of the 24 printed values each gives",
        "",
        *_EPSILONS["readings_guide"].strip().splitlines(),
        "",
        markdown_table(table),
        "",
        "## If 3 and 2 were norms of clipping",
        "",
        *_EPSILONS["clip_guide"].strip().splitlines(),
        "",
        *_clip_table(rows),
        "",
        "## How to check",
        "",
        *_EPSILONS["check_guide"].strip().splitlines(),
        "",
    ]


def _clip_table(rows: list[dict[str, Any]]) -> list[str]:
    """A table of the printed epsilons and the epsilons for a clip of 3 or 2, with a line for each caption."""
    lines = []
    for caption in CAPTIONS:
        own = [row for row in rows if row["figure"] == caption["figures"][next(iter(DATA))]]
        entry = {"figure": own[0]["figure"], "net": caption["net"], "sigma": caption["sigma"]}
        entry["printed"] = ", ".join(f"{row['paper']:.2f}" for row in own)
        lines.append(entry | {"clip 3 / 2": ", ".join(f"{row['clip 3 / 2']:,.2f}" for row in own)})
    return [markdown_table(lines)]


def _draw_epsilons(path: Path, rows: list[dict[str, Any]]) -> None:
    from nfa.papers.lee2020.pictures import epsilon_figure

    (_, n), (_, other) = DATA.items()
    nearest, lemma = READINGS[NEAREST], READINGS["lemma 3"]
    by_epochs: dict[str, list] = {"convolutional (CNN)": [], "fully connected (FC)": []}
    for caption in CAPTIONS:
        epochs = range(5, caption["epochs"][-1] + 1, 5)
        lines = {
            "Theorem 27": epsilons(caption, nearest, n, epochs),
            "Lemma 3": epsilons(caption, lemma, n, epochs),
            f"Theorem 27, {other:,} records": epsilons(caption, nearest, other, epochs),
        }
        values = {name: [epsilon for epsilon, _ in line] for name, line in lines.items()}
        (panel,) = [panel for panel in by_epochs if caption["net"] in panel]
        printed = (caption["epochs"], caption["epsilon"])
        by_epochs[panel].append((rf"$\sigma$ = {caption['sigma']}", epochs, values, printed))
    by_order = []
    for caption in (CAPTIONS[0], CAPTIONS[2]):
        epochs = caption["epochs"][0]
        each = {
            name: mironov2017(ORDERS, spent(caption, READINGS[reading], n, epochs), delta=DELTA)
            for name, reading in (("Theorem 27", NEAREST), ("Lemma 3", "lemma 3"), ("Poisson", "Poisson"))
        }
        label = rf"{caption['net']}, $\sigma$ = {caption['sigma']}, {epochs} epochs"
        by_order.append((label, each, caption["epsilon"][0]))
    epsilon_figure(path, by_epochs, ORDERS, by_order)


EPSILONS = Analytic.from_toml(
    _EPSILONS,
    id="lee2020:epsilons",
    title="The epsilons in the captions of Figures 2 to 4 of Lee & Kifer (2020), recomputed",
    rows=epsilon_rows,
    columns=("figure", "data", "net", "sigma", "epochs", "paper", "ours", "difference", "verdict"),
    measures=f"epsilon at delta = {DELTA:g} under the nearest reading ({NEAREST})",
    digits=4,
    summary=epsilon_summary,
    notes=epsilon_notes,
    picture=_draw_epsilons,
)
