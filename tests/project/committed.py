"""The records in results/, and the settings with which the present code would make them again.

`nfa reproduce --list` prints the times of the runs from nfa/papers/recorded.toml. After a change of results/ or of the
text of a report, write recorded.toml, the reports and the tables again::

    python -m tests.project.committed
"""

import json
import math
import re
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any

from nfa.data.registry import DATASETS
from nfa.experiments import records, report
from nfa.experiments.experiment import Cell, Experiment
from nfa.experiments.settings import Settings
from nfa.papers import index, run_selection
from tests.project.tree import ROOT

TIMES = ROOT / "nfa" / "papers" / "recorded.toml"
Folder = dict[tuple[str, str], dict[str, Any]]  # {(experiment, cell): record} for a folder
HEAD = "# What the whole runs in results/ took, and others should: by python -m tests.project.committed, not by hand.\n"


def as_run(settings: Settings, record: dict[str, Any]) -> Settings:
    """The settings with the record's choice of kernels.

    A record without this entry comes from a run with plain NumPy.
    """
    return replace(settings, kernels=record["settings"].get("kernels", False))


def described(record: dict[str, Any], settings: Settings) -> bool:
    """Whether the record is of a run with these settings.

    The kernels may differ. The noise may also differ if it follows from a target epsilon.
    """
    found, asked = records.settings_of(record), as_run(settings, record).to_json()
    if asked.pop("target_epsilon", None):
        asked.pop("accountant", None)  # the record has the accountant's epsilon
        own = found["rule_settings"].items()
        found["rule_settings"] = {name: value for name, value in own if name in asked["rule_settings"]}
    return found == asked


def recorded_times(results: Path = ROOT / "results") -> dict[str, dict[str, dict[str, Any]]]:
    """{variant: {item: {scale: time}}} of all runs of seeds 1 to k, for the largest k with complete records."""
    kept: list[Folder] = []
    for folder in sorted(results.iterdir()):
        whole = [record for record in records.in_folder(folder) if "stopped" not in record]
        kept.append({(record["experiment"], record["cell"]): record for record in whole})
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for id in index.EXPERIMENTS:
        for variant in index.variants(id):
            experiment = index.find(id, variant)
            for scale in experiment.scales if isinstance(experiment, Experiment) else ():
                if told := _time(experiment, scale, kept):
                    found.setdefault(variant, {}).setdefault(id, {})[scale] = told
    return found


TYPED = r"^    nfa reproduce (\S+)(?: --variant (\w+))?(?: --scale (\w+) --seeds (\d+)(.*))?$"
# numbers of training examples in the published data sets
EXAMPLES = {name: info.variants[0].n_train for name, info in DATASETS.items()}
ONLY = re.compile(r"--only ('[^']*'|\S+)")


def reports(results: Path = ROOT / "results") -> list[Path]:
    """The files REPORT.md of tables and figures that contain the command that makes them again."""
    return [path for path in sorted(results.glob("*/*REPORT.md")) if re.search(TYPED, path.read_text("utf-8"), re.M)]


def texts(place: Path) -> dict[Path, str]:
    """The contents of a REPORT.md and of its tables, made again from the records or rows in its folder."""
    text = place.read_text(encoding="utf-8")
    told = re.search(TYPED, text, re.MULTILINE)
    assert told, place
    id, variant, scale, seeds, rest = told.groups()
    if scale is None:
        rows = json.loads((place.parent / "rows.json").read_text(encoding="utf-8"))["rows"]
        found = report.texts_of_rows(index.find(id), rows)
        # the software that made the rows, not the software of this environment
        (software,) = re.findall(r"^Software: .*", text, re.MULTILINE)
        found["REPORT.md"] = re.sub(r"(?m)^Software: .*", software, found["REPORT.md"])
        return {place.with_name(name): text for name, text in found.items()}
    wanted = run_selection.options(text.strip("'") for text in ONLY.findall(rest))
    experiment, kept = run_selection.only(index.find(id, variant or "published"), scale, wanted), {}
    for record in records.in_folder(place.parent):
        kept[record["cell"]] = record
    numbers = list(range(1, 1 + int(seeds)))
    cells = [cell.known(kept) for cell in experiment.cells(scale, numbers) if experiment.reported(cell)]
    runs = [(cell, kept[cell.name]) for cell in cells if cell.name in kept]
    found = report.texts_of_runs(experiment, scale, numbers, report.rows(experiment, runs), runs)
    return {place.with_name(experiment.prefix + name): text for name, text in found.items()}


def estimated_times(results: Path = ROOT / "results") -> dict[str, dict[str, dict[str, int]]]:
    """{variant: {item: {scale: seconds}}}: estimates from recorded runs of the same rules and networks.

    We assume that the time of a run of one rule and network is proportional to epochs times examples times pixels. For
    a rule with K repetitions, it is also proportional to K. A scale has no estimate if it has a rule and network
    without a recorded run.
    """
    rates: dict[tuple[str, str], list[float]] = {}
    examples = dict(EXAMPLES)
    for record in (record for folder in sorted(results.iterdir()) for record in records.in_folder(folder)):
        asked, found = record["settings"], record["data"]
        if not asked.get("train_examples") and not asked.get("validation"):
            examples.setdefault(asked["dataset"], found["train"])
        epochs = record["stopped"]["epochs"] if "stopped" in record else asked["epochs"]
        work = epochs * found["train"] * _each(asked["dataset"], asked["rule_settings"])
        rates.setdefault((asked["rule"], asked["architecture"]), []).append(record["timing"]["seconds"] / work)
    told: dict[str, dict[str, dict[str, int]]] = {}
    for id in index.EXPERIMENTS:
        for variant in index.variants(id):
            experiment = index.find(id, variant)
            for scale in experiment.scales if isinstance(experiment, Experiment) else ():
                cells = experiment.cells(scale, list(range(1, 1 + experiment.seeds[scale])))
                known = all((cell.settings.rule, cell.settings.architecture) in rates for cell in cells)
                if known:
                    seconds = sum(_estimate(cell, rates, examples) for cell in cells)
                    told.setdefault(variant, {}).setdefault(id, {})[scale] = max(1, round(seconds))
    return told


def _estimate(cell: Cell, rates: dict[tuple[str, str], list[float]], examples: dict[str, int]) -> float:
    asked = cell.settings
    n = asked.train_examples or examples[asked.dataset] * (1 - (asked.validation or 0))
    rate = statistics.median(rates[asked.rule, asked.architecture])
    return rate * cell.epochs * n * _each(asked.dataset, asked.rule_settings)


def _each(dataset: str, rule_settings: dict[str, Any]) -> float:
    """The relative time for an example: its number of pixels times the number of repetitions."""
    pixels = math.prod(DATASETS[dataset].shape[1:]) if dataset in DATASETS else 1
    return pixels * rule_settings.get("K", 1)


def _time(experiment: Experiment, scale: str, kept: list[Folder]) -> dict[str, Any]:
    """The time of the runs in a folder that has at least all runs of seed 1.

    The result is empty if the folder has only some runs (`--only`) or stopped runs.
    """
    for seeds in range(experiment.seeds[scale], 0, -1):
        cells = experiment.cells(scale, list(range(1, 1 + seeds)))
        for folder in kept:
            here = {cell: record for (id, cell), record in folder.items() if id == experiment.home}
            own = [here[cell.name] for cell in cells if cell.name in here]
            cells = [cell.known(here) for cell in cells]
            if len(own) == len(cells) and all(described(r, cell.settings) for r, cell in zip(own, cells, strict=True)):
                seconds = round(sum(record["timing"]["seconds"] for record in own))
                kernels = all(record["settings"].get("kernels", False) for record in own)
                return {"seeds": seeds, "runs": len(own), "seconds": seconds, "kernels": kernels}
    return {}


def write_times() -> None:
    """Write recorded.toml again. The recorded times come first, because they need no estimate."""
    text = HEAD
    for variant, items in recorded_times().items():
        for id, scales in items.items():
            for scale, told in scales.items():
                values = "".join(f"{name} = {str(value).lower()}\n" for name, value in told.items())
                text += f'\n[{variant}."{id}".{scale}]\n{values}'
    TIMES.write_text(text, encoding="utf-8")
    index._recorded.cache_clear()  # recorded times need no estimate
    for variant, items in estimated_times().items():
        for id, scales in items.items():
            new = {scale: seconds for scale, seconds in scales.items() if not index.recorded(id, variant, scale)}
            values = "".join(f"{scale} = {seconds}\n" for scale, seconds in new.items())
            if new:
                text += f'\n[estimated.{variant}."{id}"]\n{values}'
    TIMES.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_times()
    for path, text in (found for place in reports() for found in texts(place).items()):
        path.write_text(text, encoding="utf-8")
