"""Training runs of "Forward Learning with Differential Privacy" (2024): the common part of its tables and figures.

The file numbers.toml has the settings, the readings and the printed numbers. A reading is our choice where the paper
leaves a setting open.
"""

import tomllib
from collections.abc import Sequence
from importlib.resources import files
from itertools import product
from typing import Any

from nfa.experiments.experiment import Cell, Trained
from nfa.experiments.settings import Settings

TOML = tomllib.loads(files("nfa.papers.dpulr2024").joinpath("numbers.toml").read_text(encoding="utf-8"))
METHODS = tuple(TOML["method"])
PRIVATE_AS_PRINTED = "DP-ULR printed"  # its guarantee fails


def readings(item: str) -> dict[str, dict[str, Any]]:
    """The readings of "table1", "tableC1" or "fig4" by name. All methods are run in the first reading."""
    return {reading["name"]: reading for reading in TOML[item]["reading"]}


def cells(item: str, scale: str, seeds: list[int], runs: Sequence[dict[str, Any]] | None = None) -> list[Cell]:
    """The runs of an item at a scale: every reading, batch size, method, sigma_0 and seed.

    ULR has no noise, so it has no sigma_0. If the scale has the entry "beyond_first_seed", only the runs with the
    values in this entry are repeated with the seeds after the first seed.

    Parameters
    ----------
    item : "table1", "tableC1" or "fig4"
    scale : "demo", "small" or "paper"
    seeds : list of ints >= 0
    runs : the runs, as in numbers.toml; None for the runs of the scale
    """
    found, beyond = [], TOML[item]["scale"][scale].get("beyond_first_seed", {})
    for run in TOML[item]["scale"][scale]["runs"] if runs is None else runs:
        read = readings(item)[run["reading"]]
        methods = run.get("methods", read.get("methods", METHODS))
        for batch, model, method in product(run["batch"], run.get("model", [""]), methods):
            for sigma_0 in ["none"] if method == "ULR" else run["sigma_0"]:
                key = {"batch": str(batch)} | ({"model": model} if model else {})
                key |= {"rule": method, "sigma_0": sigma_0, "reading": run["reading"]}
                for seed in seeds:
                    named = key | {"rule": TOML["method"][method].get("in_names", method)}
                    name = "-".join(["-".join(named.values()).lower().replace(" ", "-"), f"seed{seed}"])
                    cell = Cell(name, settings(item, **key, scale=scale, seed=seed), key)
                    found += [cell] if seed == seeds[0] or cell.fits(beyond) else []
    return found


def settings(
    item: str, *, batch: str, rule: str, sigma_0: str, reading: str, scale: str, seed: int, model: str = ""
) -> Settings:
    """One run of an item.

    Source: [dpulr2024:exp-poisson]

    Parameters
    ----------
    item : "table1", "tableC1" or "fig4"
    batch : the batch size; the expected batch size if batches are Poisson
    rule : one of `METHODS`
    sigma_0 : as in the paper; "none" for ULR
    reading : one of `readings`
    scale : "demo", "small" or "paper"
    seed : int >= 0; runs with the same seed share initialisation. Runs with the same sampling also share batches
    model : "small", "medium" or "large" in Table C1
    """
    method, chosen, every = TOML["method"][rule], TOML[item]["scale"][scale], readings(item)
    first, read = next(iter(every.values())), every[reading]
    m = int(batch)
    values = TOML[item]["setting"] | TOML["unstated"] | method["run"] | chosen["run"] | read.get("run", {})
    values |= {"batch": m, "seed": seed, "conversion": "mironov2017"}
    if model:
        values |= {"architecture": (first["model"] | read.get("model", {}))[model], "activation": "gelu"}
    if values["optimizer"] == "adam":
        values.pop("momentum", None)
    own: dict[str, Any] = dict(method.get("rule_settings", {}))
    if rule == "DP-SGD":
        own["sigma"] = float(sigma_0) * own["C"] / m
    else:
        own |= TOML["estimate"][rule] | chosen["estimate"]
        own |= {} if rule == "ULR" else {"sigma_0": float(sigma_0)}
        own |= {"N_B": m} if rule == PRIVATE_AS_PRINTED else {}
    if values["sampling"] == "poisson-rejection":  # by line 195, the rate is N_B / N
        values["N_B"] = m
    return Settings.from_json(values | {"rule": method["rule"], "rule_settings": own})


def not_comparable(item: str, run: Settings, record: dict[str, Any]) -> str:
    """The reasons why the accuracy of a run cannot be compared with the paper, or an empty text."""
    stated, data = TOML[item]["setting"], record["data"]
    why = list(TOML[item].get("why_not", []))
    if run.rule == "ulr" and not why:
        why.append("the paper prints no number")
    if run.rule == "dp_ulr_sound":
        why.append("the paper's DP-ULR has other noise")
    if run.dataset != stated["dataset"]:
        why.append(f"{data['name']}, {data['train']:,} training images")
    elif data["note"]:
        why.append(data["note"])
    if run.dataset == stated["dataset"] and run.train_examples is not None:
        why.append(f"{data['train']:,} training images")
    if run.epochs != stated.get("epochs", run.epochs):
        why.append(f"{run.epochs} of {stated['epochs']} epochs")
    K = run.rule_settings.get("K")
    if K is not None and K != (full := TOML["estimate"][PRIVATE_AS_PRINTED]["K"]):
        why.append(f"K = {K}, not the {full} of the reading")
    return "; ".join(dict.fromkeys(why))


def main_reading(runs: Trained, first: str) -> tuple[str, Trained]:
    """The reading that a picture shows, and its runs: the first reading or, if it was not run, another reading."""
    reading = min((cell.key["reading"] for cell, _ in runs), key=lambda name: name != first)
    return reading, [(cell, record) for cell, record in runs if cell.key["reading"] == reading]


def trained_on(runs: Trained) -> str:
    """The data and length of a reading's runs, for the text below a picture, such as "ours: mnist, 5 epochs"."""
    _, record = runs[0]
    return f"ours: {record['data']['name']}, {len(record['history'])} epochs"


def sound(cell: Cell) -> bool:
    """Whether a run has another rule than DP-ULR as printed. DP-ULR as printed has no guarantee."""
    return cell.key["rule"] != PRIVATE_AS_PRINTED
