"""What an experiment is: cells to run, rows to compare with the paper, a picture."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nfa.experiments.settings import Settings

SCALES = ("demo", "small", "paper")


@dataclass(frozen=True)
class Cell:
    """One run of an experiment.

    Parameters
    ----------
    name : of the record's file, unique within the experiment
    settings : of the run
    key : what the run's row in the table is called, such as {"rule": "DFA", "sigma": "non-private", "reading": ...}
    """

    name: str
    settings: Settings
    key: dict[str, str]


@dataclass(frozen=True)
class Experiment:
    """A table or figure of a paper.

    Parameters
    ----------
    id : of the ledger
    title : one line, for the head of the table
    where : place in the paper
    transcription : how the paper's numbers were taken over, and what could not be checked
    tolerance : points of accuracy within which a verdict is "inside"
    readings : {name: what it fixes that the paper leaves open, and why}
    scales : {scale: one line that says what is run}
    seeds : {scale: default number of seeds}
    cells : function (scale, seeds) -> list of Cell
    paper : function of a cell's key -> the paper's number, in percent
    not_comparable : function of a cell's settings and record -> why its number is not the paper's, or ""
    draw : function (path, rows, runs), draws the picture; runs is a list of (Cell, record)
    """

    id: str
    title: str
    where: str
    transcription: str
    tolerance: float
    readings: dict[str, str]
    scales: dict[str, str]
    seeds: dict[str, int]
    cells: Callable[[str, list[int]], list[Cell]]
    paper: Callable[[dict[str, str]], float]
    not_comparable: Callable[[Settings, dict[str, Any]], str]
    draw: Callable[[Path, list[dict[str, Any]], list[tuple[Cell, dict[str, Any]]]], None]


@dataclass(frozen=True)
class Result:
    """What `reproduce` hands back.

    Parameters
    ----------
    experiment, scale : str
    rows : list of dicts with the row's key, paper, ours, sd (None for one run), n, difference, verdict; percent
    files : paths of what was written
    text : the table, or for a dry run the plan, as plain text
    """

    experiment: str
    scale: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    text: str = ""
