"""Table C1 of "Forward Learning with Differential Privacy" (2024): three sizes of the MLP at sigma_0 = 8.

The file numbers.toml has the settings, the readings and the printed numbers. A reading is our choice where the paper
leaves a setting open.
"""

import math
from collections.abc import Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path

from nfa.experiments.experiment import Cell, Experiment, Rows, Trained
from nfa.experiments.report import markdown_table
from nfa.network.own import sizes_of
from nfa.papers.dpulr2024.claims_in_words import by_size, caption
from nfa.papers.dpulr2024.runs import TOML, main_reading, not_comparable, readings, sound, trained_on
from nfa.papers.dpulr2024.runs import cells as cells_of
from nfa.papers.dpulr2024.table1 import PRINTED_OF
from nfa.papers.dpulr2024.training import beside_validation, columns

_TABLE = TOML["tableC1"]
MODELS = tuple(_TABLE["models"])
READINGS = readings("tableC1")
CHOSEN = next(iter(READINGS))


def cells(scale: str, seeds: list[int]) -> list[Cell]:
    """The runs at a scale.

    Source: [dpulr2024:tableC1]
    """
    return cells_of("tableC1", scale, seeds)


def printed(key: Mapping[str, str], what: str = "printed") -> tuple[float, float]:
    """Mean and standard deviation of the validation accuracy that Table C1 prints for a cell, in percent.

    The sound rule is compared with the paper's DP-ULR. ``what`` is "printed_training" for the training accuracy.
    """
    mean, sd = _TABLE[what][PRINTED_OF[key["rule"]]][key["batch"]][MODELS.index(key["model"])]
    return mean, sd


printed_training = partial(printed, what="printed_training")


def ahead(batch: str) -> list[float]:
    """Points by which the printed validation accuracy of DP-ULR exceeds that of DP-SGD, in the order of `MODELS`.

    Source: [dpulr2024:tableC1]

    Examples
    --------
    >>> ahead("256")
    [-5.09, -6.48, -6.85]
    """
    ulr, sgd = (_TABLE["printed"][row][batch] for row in ("DP-ULR", "DP-SGD"))
    return [round(a - b, 2) for (a, _), (b, _) in zip(ulr, sgd, strict=True)]


def parameters(sizes: str) -> int:
    """Number of weights and biases of a fully connected network with these sizes.

    Examples
    --------
    >>> parameters("784-128-64-32-10")
    111146
    """
    return sum((below + 1) * above for below, above in pairwise(sizes_of(sizes)))


def notes(rows: Rows) -> list[str]:
    """The text's sentences compared with the printed numbers, and the sizes of the networks, as Markdown."""
    lines = []
    for m in map(str, _TABLE["batches"]):
        for row, table in _TABLE["printed"].items():
            told = {name: f"{a:.2f} ± {sd:.2f}" for name, (a, sd) in zip(MODELS, table[m], strict=True)}
            lines.append({"batch": m, "method": row} | told)
    gaps = []
    for m in map(str, _TABLE["batches"]):
        table = _TABLE["printed"]
        gap = {name: f"{value:+.2f}" for name, value in zip(MODELS, ahead(m), strict=True)}
        both = zip(table["DP-ULR"][m], table["DP-SGD"][m], strict=True)
        wide = [f"{math.hypot(a[1], b[1]):.2f}" for a, b in both]
        gaps.append({"batch": m} | gap | {"sd of the difference of two runs": ", ".join(wide)})
    first = READINGS[CHOSEN]["model"]
    sizes = [
        {"model": name, "taken as": first[name], "parameters": f"{parameters(first[name]):,}"}
        | {"times the small one": f"{parameters(first[name]) / parameters(first['small']):.2f}"}
        | {"stated": f"about {_TABLE['share'][name]:g}" if name in _TABLE["share"] else "-"}
        for name in MODELS
    ]
    tables = {"printed": lines, "gaps": gaps, "sizes": sizes}
    return _TABLE["notes"].format(**{name: markdown_table(table) for name, table in tables.items()}).splitlines()


def _draw(path: Path, rows: Rows, runs: Trained) -> None:
    from nfa.papers.dpulr2024.pictures import dots_figure

    reading, theirs = main_reading(runs, CHOSEN)
    own = [row for row in rows if row["reading"] == reading]
    title = r"Forward learning and DP-SGD by size of the MLP, $\sigma_0$ = 8"
    below = f"size ({trained_on(theirs)})"
    dots_figure(path, own, theirs, by="model", places=MODELS, below=below, title=title, caption=_caption(runs))


def _caption(runs: Trained) -> list[str]:
    return caption("tableC1", main_reading(runs, CHOSEN)[1])


TABLE_C1 = Experiment.from_toml(
    _TABLE,
    id="dpulr2024:tableC1",
    title='Table C1 of "Forward Learning with Differential Privacy" (2024): MLPs of three sizes on MNIST, in percent',
    paper=lambda key: printed(key)[0],
    cells=cells,
    not_comparable=partial(not_comparable, "tableC1"),
    extra_columns=columns(printed_training),
    notes=notes,
    runs_notes=lambda runs: [*by_size(runs), *beside_validation(runs, printed_training, printed)],
    caption=_caption,
    picture=_draw,
)
TABLE_C1_REPAIRED = TABLE_C1.repaired(sound)
