"""What an experiment is: cells to run or a formula to compute, rows to compare with the paper, a picture."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nfa.experiments.settings import Settings

SCALES = ("demo", "small", "paper")
VARIANTS = ("published", "repaired")


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


def final_accuracy(cell: Cell, record: dict[str, Any]) -> float:
    """The test accuracy after the last epoch, in percent."""
    return 100 * record["test_accuracy"]


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
    paper : function of a cell's key -> the paper's number, None where it prints none
    not_comparable : function of a cell's settings and record -> why its number is not the paper's, or ""
    draw : function (path, rows, runs), draws the picture; runs is a list of (Cell, record)
    value : function (cell, record) -> what a row compares, None for a run without a row; the final test accuracy
    measures : what value is, in words
    digits : decimals of the numbers in the table
    notes : function of the rows -> lines of Markdown for the report
    tried : function -> lines of Markdown on the readings that were measured before one was chosen
    runs_of : id of the experiment whose runs these are, or some of them, if not its own; then the folder is that one's
    variant : "published", or "repaired" where sound mechanisms take the place of the published ones
    more : function (cell, record) -> entries that a row has besides, such as the epsilon of its runs
    band : where the tolerance comes from
    runs_notes : function of the runs, (Cell, record) each -> more lines of Markdown for the report
    means : function of the runs of a row -> entries that it has besides, such as the mean of another measurement
    examples : what the data sets hold, in words
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
    paper: Callable[[dict[str, str]], float | None]
    not_comparable: Callable[[Settings, dict[str, Any]], str]
    draw: Callable[[Path, list[dict[str, Any]], list[tuple[Cell, dict[str, Any]]]], None]
    value: Callable[[Cell, dict[str, Any]], float | None] = final_accuracy
    measures: str = "test accuracy in percent"
    digits: int = 2
    notes: Callable[[list[dict[str, Any]]], list[str]] | None = None
    tried: Callable[[], list[str]] | None = None
    runs_of: str | None = None
    variant: str = "published"
    more: Callable[[Cell, dict[str, Any]], dict[str, str]] | None = None
    band: str = "the paper prints no error bars, so this band is ours"
    runs_notes: Callable[[list[tuple[Cell, dict[str, Any]]]], list[str]] | None = None
    means: Callable[[list[tuple[Cell, dict[str, Any]]]], dict[str, Any]] | None = None
    examples: str = "images"

    @property
    def home(self) -> str:
        """The id under which the runs are kept."""
        return self.runs_of or self.id

    @property
    def prefix(self) -> str:
        """What its files' names begin with, where they lie beside those of the experiment whose runs it shows."""
        beside = "" if self.home == self.id else self.id.partition(":")[2] + "-"
        return beside if self.variant == "published" else f"{self.variant}-{beside}"


@dataclass(frozen=True)
class Analytic:
    """A table or figure of a paper that follows from formulas: nothing is trained, there are no data and no seeds.

    Parameters
    ----------
    id : an id or alias of the ledger
    title : one line, for the head of the table
    where : place in the paper
    transcription : how the paper's numbers were taken over, and what could not be checked
    tolerance : largest difference of a row that is "inside"
    measures : what the column "ours" is, in words
    columns : names of the rows' entries that the table shows; the JSON document has them all
    compute : function -> rows, each a dict with paper, ours and verdict among its entries, as `report.compare` makes it
    summary : function of the rows -> what they say, a sentence each
    notes : function of the rows -> lines of Markdown for the report
    draw : function (path, rows), draws the picture
    digits : decimals of the numbers in the table
    within : when a row is "inside", in words, where that is not a matter of the tolerance
    made : how the rows come about, in words
    """

    id: str
    title: str
    where: str
    transcription: str
    tolerance: float
    measures: str
    columns: tuple[str, ...]
    compute: Callable[[], list[dict[str, Any]]]
    summary: Callable[[list[dict[str, Any]]], list[str]]
    notes: Callable[[list[dict[str, Any]]], list[str]]
    draw: Callable[[Path, list[dict[str, Any]]], None]
    digits: int = 2
    within: str = ""
    made: str = "computed from formulas: nothing is trained"

    def shown(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """The rows with the entries of the table only."""
        return [{name: row[name] for name in self.columns} for row in rows]


@dataclass(frozen=True)
class Result:
    """What `reproduce` hands back.

    Parameters
    ----------
    experiment : str
    scale : of an item that is computed always "paper": nothing about it is made smaller
    rows : list of dicts with the row's key, paper, ours, sd (None for one run), n, difference, verdict
    files : paths of what was written
    text : the table, or for a dry run the plan, as plain text
    """

    experiment: str
    scale: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    text: str = ""
