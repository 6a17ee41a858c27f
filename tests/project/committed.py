"""Records in results/ beside the cells that the code describes: with kernels, or by plain NumPy, as each was run."""

from dataclasses import replace
from typing import Any

from nfa.experiments.settings import Settings


def as_run(settings: Settings, record: dict[str, Any]) -> Settings:
    """The settings with the record's own choice of kernels; one that names none is of plain NumPy."""
    return replace(settings, kernels=record["settings"].get("kernels", False))


def described(record: dict[str, Any], settings: Settings) -> bool:
    """Whether the record is of a run with these settings, the choice of kernels aside."""
    return {"kernels": False} | record["settings"] == as_run(settings, record).to_json()
