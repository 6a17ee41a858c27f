"""What `nfa reproduce` can rerun: items, what they are, their scales, and the time that recorded runs of them took."""

from collections.abc import Iterable
from itertools import groupby
from typing import Any

from rich.console import Console
from rich.text import Text

from nfa.cli.layout import hanging
from nfa.experiments.duration import duration
from nfa.experiments.experiment import VARIANTS, Analytic
from nfa.papers import index

WIDTH = 23  # of the ids
NOTES = (
    "computed: nothing is trained, and it is the same at every scale. A time adds up what recorded runs took, each on"
    " one core of the machine where it was run; NumPy: without the kernels that runs have now. ~ is an estimate from"
    " recorded runs of the same rules and networks, by epochs and images, at times off by a factor of three. For this"
    " machine, and where no time is told: nfa reproduce ITEM --scale SCALE --dry-run"
)


def listed(names: Iterable[str] = ()) -> list[dict[str, Any]]:
    """The items of these names, as `nfa.papers.index.several` takes them, or all there are; an entry a variant.

    Raises
    ------
    nfa.papers.index.NotRerun : for a name that stands for nothing that can be rerun
    """
    chosen = [experiment.id for experiment in index.several(names or ["all"])]
    return [_entry(id, variant) for id in chosen for variant in VARIANTS if variant in index.variants(id)]


def _entry(id: str, variant: str) -> dict[str, Any]:
    experiment = index.find(id, variant)
    about = {"item": id, "variant": variant, "title": experiment.title, "where": experiment.where}
    if isinstance(experiment, Analytic):
        return about | {"computed": True, "runs_of": None, "scales": []}
    scales = []
    for scale, what in experiment.scales.items():
        seeds = experiment.seeds[scale]
        count = len(experiment.cells(scale, list(range(1, 1 + seeds))))
        recorded = index.recorded(id, variant, scale)
        told = {"scale": scale, "what": what, "seeds": seeds, "runs": count, "recorded": recorded}
        scales.append(told | {"estimated_seconds": index.estimated(id, variant, scale)})
    return about | {"computed": False, "runs_of": None if experiment.home == id else experiment.home, "scales": scales}


def show(console: Console, entries: Iterable[dict[str, Any]]) -> None:
    """Print the items, their variants below them, and what the times are."""
    for _, paper in groupby(entries, key=lambda entry: entry["item"].partition(":")[0]):
        for entry in paper:
            if entry["variant"] == VARIANTS[0]:
                console.print(hanging(Text(entry["item"], style="bold"), _what(entry), WIDTH))
            if not entry["computed"]:
                console.print(hanging("", _scales(entry), WIDTH))
        console.print()
    console.print(NOTES)


def _what(entry: dict[str, Any]) -> str:
    """The title without the number of the figure and the paper, which the id has."""
    title = entry["title"]
    return f"{title.partition(': ')[2] or title}{' (computed)' if entry['computed'] else ''}"


def _scales(entry: dict[str, Any]) -> str:
    repaired = "" if entry["variant"] == VARIANTS[0] else f"--variant {entry['variant']}: "
    shared = f" (runs of {entry['runs_of']})" if entry["runs_of"] else ""
    return repaired + "; ".join(_scale(scale) for scale in entry["scales"]) + shared


def _scale(scale: dict[str, Any]) -> str:
    """Such as "paper 99 runs, 90 min (NumPy)", how many of the runs a time is of, or "~90 min" of an estimate."""
    told, recorded = f"{scale['scale']} {scale['runs']} run{'s' if scale['runs'] > 1 else ''}", scale["recorded"]
    if recorded is None:
        estimated = scale["estimated_seconds"]
        return told if estimated is None else f"{told}, ~{duration(estimated)}"
    part = "" if recorded["runs"] == scale["runs"] else f"{recorded['runs']} of them "
    return f"{told}, {part}{duration(recorded['seconds'])}{'' if recorded['kernels'] else ' (NumPy)'}"
