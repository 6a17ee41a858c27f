"""Records in results/ beside the cells that the code describes: with kernels, or by plain NumPy, as each was run.

What they took is told by `nfa reproduce --list`, from nfa/papers/recorded.toml. After a change of results/ write that
anew::

    python -m tests.project.committed
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

from nfa.experiments import records
from nfa.experiments.experiment import Experiment
from nfa.experiments.settings import Settings
from nfa.papers import index
from tests.project.tree import ROOT

TIMES = ROOT / "nfa" / "papers" / "recorded.toml"
Folder = dict[tuple[str, str], dict[str, Any]]  # a folder's records by experiment and cell
HEAD = "# What the whole runs in results/ took: written by python -m tests.project.committed, and not by hand.\n"


def as_run(settings: Settings, record: dict[str, Any]) -> Settings:
    """The settings with the record's own choice of kernels; one that names none is of plain NumPy."""
    return replace(settings, kernels=record["settings"].get("kernels", False))


def described(record: dict[str, Any], settings: Settings) -> bool:
    """Whether the record is of a run with these settings, kernels aside, and the noise if that followed."""
    found, asked = {"kernels": False} | record["settings"], as_run(settings, record).to_json()
    if asked.pop("target_epsilon", None):
        own = found["rule_settings"].items()
        found["rule_settings"] = {name: value for name, value in own if name in asked["rule_settings"]}
    return found == asked


def recorded_times(results: Path = ROOT / "results") -> dict[str, dict[str, dict[str, Any]]]:
    """By variant, item and scale: the time of all runs of seeds 1 to k, for the largest k of which all are recorded."""
    kept: list[Folder] = []
    for folder in sorted(results.iterdir()):
        whole = [record for record in records.in_folder(folder) if "stopped" not in record]
        kept.append({(record["experiment"], record["cell"]): record for record in whole})
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for id in index.EXPERIMENTS:
        for variant in index.variants(id):
            experiment = index.find(id, variant)
            for scale in experiment.runs.scales if isinstance(experiment, Experiment) else ():
                if told := _time(experiment, scale, kept):
                    found.setdefault(variant, {}).setdefault(id, {})[scale] = told
    return found


def _time(experiment: Experiment, scale: str, kept: list[Folder]) -> dict[str, Any]:
    """Of a folder with all runs of seed 1 at least; one that has some of them (`--only`) or stopped ones tells none."""
    for seeds in range(experiment.runs.seeds[scale], 0, -1):
        cells = experiment.runs.cells(scale, list(range(1, 1 + seeds)))
        for folder in kept:
            own = [folder[experiment.home, cell.name] for cell in cells if (experiment.home, cell.name) in folder]
            if len(own) == len(cells) and all(described(r, cell.settings) for r, cell in zip(own, cells, strict=True)):
                seconds = round(sum(record["timing"]["seconds"] for record in own))
                kernels = all(record["settings"].get("kernels", False) for record in own)
                return {"seeds": seeds, "runs": len(own), "seconds": seconds, "kernels": kernels}
    return {}


if __name__ == "__main__":
    text = HEAD
    for variant, items in recorded_times().items():
        for id, scales in items.items():
            for scale, told in scales.items():
                values = "".join(f"{name} = {str(value).lower()}\n" for name, value in told.items())
                text += f'\n[{variant}."{id}".{scale}]\n{values}'
    TIMES.write_text(text, encoding="utf-8")
