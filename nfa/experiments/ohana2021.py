"""The experiments of Ohana et al. (2021), Section 4; the paper's numbers and settings are in ohana2021.toml.

Source: [ohana2021:table1]
"""

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from nfa.experiments.experiment import SCALES, Cell, Experiment
from nfa.experiments.settings import Settings

_TOML = tomllib.loads(files("nfa.experiments").joinpath("ohana2021.toml").read_text(encoding="utf-8"))
_TABLE1 = _TOML["table1"]
_READINGS = {reading["name"]: reading for reading in _TOML["reading"]}

# The rows of Table 1 that nfa has a rule for, and the columns that these rules have: those of the plain rules.
RULES = {"BP": "bp", "DFA": "dfa"}
COLUMNS = ("non-private",)


def table1_cells(scale: str, seeds: list[int]) -> list[Cell]:
    """The runs of Table 1 at a scale: every rule, column, reading and seed."""
    choices = {k: v for k, v in _TABLE1["scale"][scale].items() if k not in ("what", "seeds")}
    cells = []
    for name, reading in _READINGS.items():
        open_settings = {k: v for k, v in reading.items() if k not in ("name", "why")}
        for label, rule in RULES.items():
            for sigma in COLUMNS:
                for seed in seeds:
                    values = _TABLE1["setting"] | choices | open_settings | {"rule": rule, "seed": seed}
                    cells.append(
                        Cell(
                            name=f"{rule}-{sigma}-{name}-seed{seed}",
                            settings=Settings.from_json(values),
                            key={"rule": label, "sigma": sigma, "reading": name},
                        )
                    )
    return cells


def table1_paper(key: dict[str, str]) -> float:
    """The number that Table 1 prints for a rule and a sigma, in percent."""
    return _TABLE1["accuracy"][key["rule"]][_TABLE1["sigma"].index(key["sigma"])]


def table1_not_comparable(settings: Settings, record: dict[str, Any]) -> str:
    """Why a run's accuracy cannot be held against Table 1, or an empty text."""
    stated = _TABLE1["setting"]
    data = record["data"]
    if settings.dataset == "fashion-mnist-small":
        return f"embedded subset of {data['train'] + data['validation']:,} images"
    if settings.epochs != stated["epochs"]:
        return f"{settings.epochs} of the paper's {stated['epochs']} epochs"
    for name, value in stated.items():
        if getattr(settings, name) != value:
            return f"{name} is {getattr(settings, name)}, the paper has {value}"
    return data["note"]


def _draw_table1(path: Path, rows: list[dict[str, Any]], runs: list[tuple[Cell, dict[str, Any]]]) -> None:
    from nfa.experiments.plots import accuracy_figure

    accuracy_figure(path, rows, runs, title="Backpropagation and direct feedback alignment on Fashion-MNIST")


TABLE1 = Experiment(
    id="ohana2021:table1",
    title="Table 1 of Ohana et al. (2021): test accuracy on Fashion-MNIST, in percent",
    where=_TABLE1["where"],
    transcription=_TABLE1["transcription"],
    tolerance=_TABLE1["tolerance"],
    readings={name: reading["why"] for name, reading in _READINGS.items()},
    scales={scale: _TABLE1["scale"][scale]["what"] for scale in SCALES},
    seeds={scale: _TABLE1["scale"][scale]["seeds"] for scale in SCALES},
    cells=table1_cells,
    paper=table1_paper,
    not_comparable=table1_not_comparable,
    draw=_draw_table1,
)
