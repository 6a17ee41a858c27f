"""The scope of runs of Figures 2 to 4 of Lee & Kifer (2020): images, length, and differences from the paper."""

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from nfa.experiments.experiment import Trained
from nfa.experiments.settings import Settings

_TOML = tomllib.loads(files("nfa.papers.lee2020").joinpath("numbers.toml").read_text(encoding="utf-8"))


def images(data: str, record: Mapping[str, Any]) -> str:
    """The name of a data set of the paper, or name and number of the images if they are not the published data set.

    Parameters
    ----------
    data : "Fashion-MNIST" or "CIFAR-10"
    record : record of a run on this data set, or on a data set that replaces it

    Examples
    --------
    >>> images("CIFAR-10", {"data": {"name": "cifar-10", "note": "JPEG copies", "train": 20000}})
    'CIFAR-10, 20,000 images'
    >>> images("Fashion-MNIST", {"data": {"name": "fashion-mnist", "note": "", "train": 60000}})
    'Fashion-MNIST'
    """
    there, name = record["data"], _TOML["fig4"]["data"][data]["dataset"]
    if there["name"] == name and there["train"] == _TOML["data"][data] and not there["note"]:
        return data
    return f"{data if there['name'] == name else there['name']}, {there['train']:,} images"


def of_data(figure: str, runs: Trained) -> dict[str, Trained]:
    """The runs of each data set, by its name from `images`, in the order of the runs."""
    (*_, only) = _TOML[figure]["data"]
    found: dict[str, Trained] = {}
    for cell, record in runs:
        found.setdefault(images(cell.key.get("data", only), record), []).append((cell, record))
    return found


def differs(figure: str, settings: Settings, record: Mapping[str, Any]) -> list[str]:
    """The differences between a run and the paper in the images and the planned epochs, each as text."""
    fig, data = _TOML[figure], record["data"]
    why = []
    if settings.dataset not in [entry["dataset"] for entry in fig["data"].values()]:
        why.append(f"{data['name']}, {data['train']:,} training images")
    elif data["note"]:
        why.append(data["note"])
    elif settings.train_examples is not None:
        why.append(f"{data['train']:,} training images")
    if settings.epochs != fig["epochs"]:
        why.append(f"{settings.epochs} of {fig['epochs']} epochs")
    return why


def shortfalls(figure: str, runs: Trained) -> list[str]:
    """The differences of runs from the paper, each once, and the epochs at which runs stopped; empty for complete runs.

    The list does not include the settings that the paper leaves open, because the readings cover them.
    """
    every = [why for cell, record in runs for why in differs(figure, cell.settings, record)]
    stopped = [record["stopped"] for _, record in runs if "stopped" in record]
    return list(dict.fromkeys([*every, *(f"stopped at {stop['epochs']} of {stop['of']} epochs" for stop in stopped)]))


def as_long(figure: str, runs: Trained) -> bool:
    """Whether every run has all epochs of the paper."""
    return all(len(record["history"]) == _TOML[figure]["epochs"] for _, record in runs)


def length(figure: str, runs: Trained) -> str:
    """The length of the runs and the number of seeds, as text.

    Examples
    --------
    >>> length("fig4", [(None, {"history": [0] * 25, "seed": seed}) for seed in (1, 2)])
    '25 of 300 epochs, 2 seeds'
    >>> length("fig4", [(None, {"history": [0] * 300, "seed": 1})])
    '300 epochs, 1 seed'
    """
    of, done = _TOML[figure]["epochs"], sorted({len(record["history"]) for _, record in runs})
    told = "" if done == [of] else f"{' and '.join(map(str, done))} of "
    seeds = len({record["seed"] for _, record in runs})
    return f"{told}{of} epochs, {seeds} seed{'s' if seeds > 1 else ''}"
