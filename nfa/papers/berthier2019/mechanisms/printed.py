"""The report's numbers about the classic mechanisms (from numbers.toml), and explanations of our tables in Markdown."""

import tomllib
from importlib.resources import files
from typing import Any

PRINTED: dict[str, Any] = tomllib.loads(
    files("nfa.papers.berthier2019.mechanisms").joinpath("numbers.toml").read_text(encoding="utf-8")
)
TRANSCRIPTION: str = PRINTED["transcription"]
DELTA: float = PRINTED["delta"]
REPORT = '"Differential Privacy for Machine Learning" (Berthier, 2019)'


def notes(entry: dict[str, Any], more: list[str] | None = None) -> list[str]:
    """Sections that explain how to read and check the table and the picture, as lines of Markdown."""
    lines = ["## How to read it", "", *entry["guide"].strip().splitlines(), "", *(more or [])]
    return [*lines, "## How to check", "", *entry["check_guide"].strip("\n").splitlines(), ""]
