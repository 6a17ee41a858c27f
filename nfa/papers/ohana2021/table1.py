"""The experiments of Ohana et al. (2021), Section 4. The paper's numbers and settings are in numbers.toml.

Table 1 has four rules in seven columns. Figure 2 uses runs of Table 1. A reading is our choice of the settings that the
paper leaves open.
"""

import math
import statistics
import tomllib
from collections.abc import Mapping
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

from nfa.experiments.experiment import Cell, Experiment, Rows, Trained
from nfa.experiments.report import markdown_table
from nfa.experiments.settings import Settings

_TOML = tomllib.loads(files("nfa.papers.ohana2021").joinpath("numbers.toml").read_text(encoding="utf-8"))
_TABLE1 = _TOML["table1"]
_READINGS = {reading["name"]: reading for reading in _TOML["reading"]}
NEAREST = next(iter(_READINGS))
OPU = _READINGS[NEAREST]["opu"]  # the device of PDFA
TERNARY = {"t": _TABLE1["stated"]["t"]}  # threshold of the ternary error that TDFA and PDFA project

COLUMNS = tuple(_TABLE1["sigma"])  # "non-private", and then sigma with clips
RULES = ("BP", "DFA", "TDFA", "PDFA", "DRTP")  # the paper's rows, and DRTP, which the paper only calls inferior
ALIGN_EVERY, LAYER = _TOML["fig2"]["every"], _TOML["fig2"]["layer"]


def table1_cells(scale: str, seeds: list[int]) -> list[Cell]:
    """The runs of Table 1 at a scale, for every reading, rule, column and seed. DRTP is run only without privacy.

    Source: [ohana2021:table1]
    """
    cells = []
    for reading, rule in product(_READINGS, RULES):
        columns = [sigma for sigma in _columns(reading, scale) if rule != "DRTP" or sigma == "non-private"]
        for sigma, seed in product(columns, seeds[: _most_seeds(reading, scale)]):
            settings = table1_settings(rule, sigma, reading=reading, scale=scale, seed=seed)
            key = {"rule": rule, "sigma": sigma, "reading": reading}
            cells.append(Cell(cell_name(rule, sigma, reading, seed), settings, key))
    return cells


def cell_name(rule: str, sigma: str, reading: str, seed: int) -> str:
    """The name of a run of Table 1."""
    return f"{rule.lower()}-{sigma}-{reading}-seed{seed}"


def scale_settings(scale: str) -> dict[str, Any]:
    """The settings that the paper states for all runs of Table 1, with the changes of a scale."""
    choices = {k: v for k, v in _TABLE1["scale"][scale].items() if k not in ("what", "seeds", "columns")}
    return _TABLE1["setting"] | choices


def table1_settings(rule: str, sigma: str, *, reading: str, scale: str, seed: int) -> Settings:
    """The run of one cell of Table 1.

    Parameters
    ----------
    rule : one of `RULES`
    sigma : one of `COLUMNS`
    reading, scale : names in numbers.toml
    seed : int >= 0; cells with the same seed share initialisation, feedback and batches
    """
    stated, read = _TABLE1["stated"], _READINGS[reading]
    values = scale_settings(scale) | read["run"] | {"seed": seed, "align_every": ALIGN_EVERY}
    ternary = TERNARY if rule in ("TDFA", "PDFA") else {}
    if rule == "PDFA":
        values["opu"] = read["opu"]
    if sigma == "non-private":
        plain = {"BP": "bp", "DFA": "dfa", "TDFA": "tdfa", "PDFA": "tdfa", "DRTP": "drtp"}
        return Settings.from_json(values | {"rule": plain[rule], "rule_settings": ternary})
    bounds = {"sigma": float(sigma), "tau_h_max": _TABLE1["clips"]["tau_h_max"]} | read["clips"]
    if rule == "BP":
        values |= {"lr": stated["bp_lr"]}
        return Settings.from_json(values | {"rule": "noisy_bp", "rule_settings": bounds | read.get("bp", {})})
    bounds |= {"tau_B": _TABLE1["clips"]["tau_B"]} | read["pdfa"] | ternary
    return Settings.from_json(values | {"rule": "pdfa", "rule_settings": bounds})


def _columns(reading: str, scale: str) -> list[str]:
    """The columns that are run. These are all columns, unless the reading or the scale lists its own columns."""
    return _READINGS[reading].get("columns", _TABLE1["scale"][scale].get("columns", COLUMNS))


def _most_seeds(reading: str, scale: str) -> int | None:
    """The largest number of seeds of a reading; None for all seeds. The demo has only the first reading."""
    if reading == NEAREST:
        return None
    return 0 if scale == "demo" else _READINGS[reading]["most_seeds"]


def table1_paper(key: Mapping[str, str]) -> float | None:
    """The number that Table 1 prints for a rule and a sigma, in percent; None for a rule that is not in Table 1."""
    row = _TABLE1["accuracy"].get(key["rule"])
    return None if row is None else row[COLUMNS.index(key["sigma"])]


def table1_not_comparable(settings: Settings, record: dict[str, Any]) -> str:
    """The reason why the accuracy of a run cannot be compared with Table 1, or an empty text."""
    stated = _TABLE1["setting"]
    if settings.rule == "noisy_bp":
        stated = stated | {"lr": _TABLE1["stated"]["bp_lr"]}
    data = record["data"]
    if settings.dataset == "fashion-mnist-small":
        return f"embedded subset of {data['train'] + data['validation']:,} images"
    if settings.epochs != stated["epochs"]:
        return f"{settings.epochs} of the paper's {stated['epochs']} epochs"
    for name, value in stated.items():
        if getattr(settings, name) != value:
            return f"{name} is {getattr(settings, name)}, the paper has {value}"
    return data["note"]


# The claims of the text about the table, as functions of a table {rule: {sigma: accuracy in percent}}

Accuracies = Mapping[str, Mapping[str, float]]
PRINTED: Accuracies = {rule: dict(zip(COLUMNS, row, strict=True)) for rule, row in _TABLE1["accuracy"].items()}


def gaps_to_dfa(table: Accuracies) -> dict[str, float]:
    """Points by which DFA is more accurate than PDFA in each column: "always within 1% of the corresponding DFA run".

    Source: [ohana2021:table1-c1] [ohana2021:exp-notuning]

    Examples
    --------
    >>> gaps_to_dfa(PRINTED)["non-private"]
    0.95
    """
    return {sigma: round(table["DFA"][sigma] - table["PDFA"][sigma], 2) for sigma in table["DFA"]}


def drops(table: Accuracies, sigma: str = "0.05") -> dict[str, float]:
    """Points that each rule loses at sigma from its non-private run: "contained within 3% of baseline for up to 0.05".

    Source: [ohana2021:table1-c2] [ohana2021:dp-utility]

    Examples
    --------
    >>> drops(PRINTED)["DFA"], drops(PRINTED)["PDFA"]
    (3.1, 2.49)
    """
    return {rule: round(row["non-private"] - row[sigma], 2) for rule, row in table.items() if sigma in row}


def clipping_and_noise(table: Accuracies, rule: str = "DFA", sigma: str = "0.05") -> tuple[float, float]:
    """Points lost to the clips alone, and the further points lost to noise: "most [...] attributed to the clipping".

    Source: [ohana2021:table1-c3] [ohana2021:table1-c4]

    Examples
    --------
    >>> clipping_and_noise(PRINTED, "DFA", "0.2")
    (2.6, 2.54)
    """
    row = table[rule]
    return round(row["non-private"] - row["0"], 2), round(row["0"] - row[sigma], 2)


def mean_distance(ours: Accuracies, theirs: Accuracies = PRINTED, rules=("DFA", "TDFA", "PDFA")) -> float:
    """Mean absolute difference over the columns of these rules, in points."""
    return statistics.fmean(abs(ours[rule][sigma] - theirs[rule][sigma]) for rule in rules for sigma in ours[rule])


def expected_noise_norm(sigma: float, n: int) -> float:
    r"""The mean l2 norm of n normals of standard deviation sigma.

    .. math:: E\|g\|_2 = \sigma \sqrt2 \, \Gamma((n + 1)/2) / \Gamma(n/2)

    Source: [ohana2021:exp-sigma] [ohana2021:exp-inline]

    The text gives about 10 sigma ("sigma = 0.1 implies |g| = |Be|"). This value fits n = 100, but the hidden layers
    have n = 512. The function raises ValueError if sigma is negative or if n is below 1.

    Examples
    --------
    >>> round(expected_noise_norm(0.1, 100), 3), round(expected_noise_norm(0.1, 512), 3)
    (0.998, 2.262)
    """
    if not 0 <= sigma < math.inf or n < 1:
        raise ValueError(f"sigma must be at least 0 and finite, and n at least 1, got sigma={sigma} and n={n}")
    return sigma * math.sqrt(2) * math.exp(math.lgamma((n + 1) / 2) - math.lgamma(n / 2))


def table1_notes(rows: Rows) -> list[str]:
    """The table in the paper's layout, its distance from the paper, and the claims of the text, as Markdown lines."""
    lines = []
    for reading in dict.fromkeys(row["reading"] for row in rows):
        ours: dict[str, dict[str, float]] = {}
        for row in (row for row in rows if row["reading"] == reading):
            ours.setdefault(row["rule"], {})[row["sigma"]] = row["ours"]
        columns, table = list(dict.fromkeys(sigma for row in ours.values() for sigma in row)), []
        for rule, row in ours.items():
            texts = {s: f"{row[s]:.2f}" + (f" ({PRINTED[rule][s]:.2f})" if rule in PRINTED else "") for s in row}
            table.append({"rule": rule} | dict.fromkeys(columns, "") | texts)
        lines += [f"## Reading {reading}: ours (the paper's)", "", markdown_table(table), ""]
        lines += [*_claims(ours, columns), ""]
    return lines


def _claims(ours: Accuracies, columns: list[str]) -> list[str]:
    if not all(ours.get(rule, {}).keys() == set(columns) for rule in PRINTED):  # only a part of the table
        return []
    printed = {rule: {sigma: row[sigma] for sigma in columns} for rule, row in PRINTED.items()}
    both = (("ours", ours), ("paper", printed))
    gaps = [(name, gaps_to_dfa(table).values()) for name, table in both]
    ahead = ", ".join(f"{min(gap):.2f} to {max(gap):.2f} points ({name})" for name, gap in gaps)
    told = [
        f"- Mean absolute difference to the paper over the {3 * len(columns)} cells of DFA, TDFA and PDFA:"
        f" {mean_distance(ours):.2f} points.",
        f'- "PDFA always within 1% of DFA" (`ohana2021:table1-c1`). DFA is more accurate by {ahead}.',
    ]
    if "non-private" not in columns:
        return told
    plain = max(abs(ours[rule]["non-private"] - row["non-private"]) for rule, row in printed.items())
    told.insert(1, f"- Largest difference to the paper in the non-private column: {plain:.2f} points.")
    for sigma in [sigma for sigma in ("0.05", "0.2") if {"0", sigma} <= set(columns)]:
        lost, parts = [], []
        for name, table in both:
            each = ", ".join(f"{rule} {drops(table, sigma)[rule]:.2f}" for rule in printed)
            lost.append(f"{name.capitalize()}: {each}.")
            clips, noise = clipping_and_noise(table, "DFA", sigma)
            parts.append(f"{clips:.2f} by the clips and {noise:.2f} by noise ({name})")
        told.append(
            f"- Points lost from the non-private run to sigma {sigma} (`ohana2021:table1-c2`). {' '.join(lost)}"
        )
        told.append(f"- Parts of this loss for DFA (`ohana2021:table1-c3`): {', '.join(parts)}.")
    return told


def _draw_table1(path: Path, rows: Rows, runs: Trained) -> None:
    from nfa.papers.ohana2021.pictures import accuracy_figure

    accuracy_figure(path, rows, runs, title="Backpropagation and feedback alignment on Fashion-MNIST")


TABLE1 = Experiment.from_toml(
    _TOML | _TABLE1,
    id="ohana2021:table1",
    title="Table 1 of Ohana et al. (2021): test accuracy on Fashion-MNIST, in percent",
    paper=table1_paper,
    cells=table1_cells,
    not_comparable=table1_not_comparable,
    notes=table1_notes,
    picture=_draw_table1,
)


# Figure 2


def fig2_cells(scale: str, seeds: list[int]) -> list[Cell]:
    """The runs of Table 1 that Figure 2 shows: BP, DFA and PDFA, in the reading that is nearest to the paper.

    Source: [ohana2021:fig2]
    """
    shown = ("BP", "DFA", "PDFA")
    return [c for c in table1_cells(scale, seeds) if c.key["rule"] in shown and c.key["reading"] == NEAREST]


def layer_2_alignment(cell: Cell, record: dict[str, Any]) -> float | None:
    """Mean over the run of the cosine between PDFA's direction and the gradient for layer 2; None for other rules."""
    if cell.key["rule"] != "PDFA":
        return None
    return statistics.fmean(entry["alignment"][LAYER - 1] for entry in record["history"])


def _draw_fig2(path: Path, rows: Rows, runs: Trained) -> None:
    from nfa.papers.ohana2021.pictures import alignment_figure

    alignment_figure(path, runs, layer=LAYER)


FIG2 = Experiment.from_toml(
    _TOML["fig2"],
    id="ohana2021:fig2",
    title="Figure 2 of Ohana et al. (2021): cosine between the directions of PDFA and BP, layer 2",
    cells=fig2_cells,
    scales=TABLE1.scales,
    seeds=TABLE1.seeds,
    readings={NEAREST: _TOML["fig2"]["why"]},
    of=TABLE1.id,
    value=layer_2_alignment,
    measures="mean cosine over the run",
    digits=3,
    not_comparable=lambda settings, record: "the figure's values are not printed",
    picture=_draw_fig2,
)
