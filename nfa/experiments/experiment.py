"""What an experiment is: numbers of a paper, runs or formulas, a comparison of the two, claims, a picture."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from nfa.experiments.settings import Settings

SCALES = ("demo", "small", "paper")
VARIANTS = ("published", "repaired")
Chosen = Mapping[str, Sequence[str]]  # values in a cell's key, any of them for each name


@dataclass(frozen=True)
class Cell:
    """One run of an experiment.

    Parameters
    ----------
    name : of the record's file, unique within the experiment
    settings : of the run
    key : what the run's row in the table is called, such as {"rule": "DFA", "sigma": "non-private", "reading": ...}
    until : epochs after which it stops, fewer than its settings have; None for all of them
    """

    name: str
    settings: Settings
    key: dict[str, str]
    until: int | None = None

    @property
    def epochs(self) -> int:
        """How many it is run for."""
        return self.settings.epochs if self.until is None else self.until

    def fits(self, chosen: Chosen) -> bool:
        """Whether its key has one of the values of every name."""
        return all(self.key.get(name) in values for name, values in chosen.items())


def in_words(chosen: Chosen) -> str:
    """What cells have in common, in words.

    Examples
    --------
    >>> in_words({"sigma": ("0.01", "0.05"), "reading": ("sound",)})
    'sigma 0.01 or 0.05, reading sound'
    """
    return ", ".join(f"{name} {' or '.join(values)}" for name, values in chosen.items())


class TableCell(str):
    """What a cell of a table shows, and the numbers that it is made of: in table.csv each has a column, all digits.

    Examples
    --------
    >>> cell = TableCell("25.7, batch 512", {"ms a step": 25.681, "records a step": 512})
    >>> print(cell), cell.columns["ms a step"]
    25.7, batch 512
    (None, 25.681)
    """

    columns: dict[str, Any]

    def __new__(cls, text: str, columns: dict[str, Any]) -> Self:
        shown = super().__new__(cls, text)
        shown.columns = columns
        return shown


Rows = list[dict[str, Any]]  # of a table
Trained = list[tuple[Cell, dict[str, Any]]]  # runs that are finished: cell and record


def final_accuracy(cell: Cell, record: dict[str, Any]) -> float:
    """The test accuracy after the last epoch, in percent."""
    return 100 * record["test_accuracy"]


def unfinished(runs: Iterable[tuple[int, int]]) -> str:
    """Where runs stop before their last epoch, in words; empty where all are whole.

    Parameters
    ----------
    runs : (epochs done, epochs of the whole run) each

    Examples
    --------
    >>> unfinished([(25, 200), (25, 200)]), unfinished([(5, 5), (9, 25)]), unfinished([(5, 5)])
    ('25 of 200 epochs', '9 of 25 epochs (in 1 of 2 runs)', '')
    """
    every = list(runs)
    short = [(done, of) for done, of in every if done < of]
    words = " and ".join(f"{done} of {of} epochs" for done, of in sorted(set(short)))
    return words if len(short) in (0, len(every)) else f"{words} (in {len(short)} of {len(every)} runs)"


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """What the paper prints.

    Parameters
    ----------
    where : place in the paper
    transcription : how the paper's numbers were taken over, and what could not be checked
    paper : function of a cell's key -> the paper's number, None where it prints none; computed rows bring their own
    """

    where: str
    transcription: str
    paper: Callable[[dict[str, str]], float | None] = lambda key: None


@dataclass(frozen=True, kw_only=True)
class Runs:
    """What is trained.

    Parameters
    ----------
    cells : function (scale, seeds) -> list of Cell
    scales : {scale: one line that says what is run}
    seeds : {scale: default number of seeds}
    readings : {name: what it fixes that the paper leaves open, and why}
    tried : what was measured before a reading was chosen: tables, each a dict with what, columns and rows of texts
    of : id of the experiment whose runs these are, or some of them, if not its own; then the folder is that one's
    examples : what the data sets hold, in words
    """

    cells: Callable[[str, list[int]], list[Cell]]
    scales: dict[str, str]
    seeds: dict[str, int]
    readings: dict[str, str]
    tried: Sequence[dict[str, Any]] = ()
    of: str | None = None
    examples: str = "images"


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """How the runs of a row are held against the paper.

    Parameters
    ----------
    tolerance : points of accuracy within which a verdict is "inside"
    band : where the tolerance comes from
    value : function (cell, record) -> what a row compares, None for a run without a row; the final test accuracy
    measures : what value is, in words
    digits : decimals of the numbers in the table
    not_comparable : function of a cell's settings and record -> why its number is not the paper's, or ""
    extra_columns : function of the runs of a row -> entries that it has besides, such as the epsilon that they
        prove; where one is numbers in words, it is `TableCell`
    """

    tolerance: float
    band: str = "the paper prints no error bars, so this band is ours"
    value: Callable[[Cell, dict[str, Any]], float | None] = final_accuracy
    measures: str = "test accuracy in percent"
    digits: int = 2
    not_comparable: Callable[[Settings, dict[str, Any]], str]
    extra_columns: Callable[[Trained], dict[str, Any]] = lambda runs: {}


@dataclass(frozen=True, kw_only=True)
class Claims:
    """What is said of the rows beside the table: the sentences of the paper, and how they stand.

    Parameters
    ----------
    summary : function of the rows -> a sentence each, for the report's head and the terminal; of computed rows alone
    notes : function of the rows -> lines of Markdown for the report
    runs_notes : function of the runs -> more lines of Markdown for the report; none where nothing is trained
    caption : function of the runs -> what stands below their picture, sentences of plain text: what the paper says of
        it, and what is seen here
    """

    summary: Callable[[Rows], list[str]] = lambda rows: []
    notes: Callable[[Rows], list[str]] = lambda rows: []
    runs_notes: Callable[[Trained], list[str]] = lambda runs: []
    caption: Callable[[Trained], list[str]] = lambda runs: []


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A table or figure of a paper for which networks are trained.

    Parameters
    ----------
    id : of the ledger
    title : one line, for the head of the table
    numbers, runs, comparison, claims : see there
    picture : function (path, rows, runs), draws it
    variant : "published", or "repaired" where sound mechanisms take the place of the published ones
    chosen : what its cells have in common where they are some of the item's (`nfa.papers.run_selection.only`)
    """

    id: str
    title: str
    numbers: Numbers
    runs: Runs
    comparison: Comparison
    claims: Claims = Claims()
    picture: Callable[[Path, Rows, Trained], None]
    variant: str = "published"
    chosen: Chosen = field(default_factory=dict)

    @property
    def home(self) -> str:
        """The id under which the runs are kept."""
        return self.runs.of or self.id

    @property
    def prefix(self) -> str:
        """What its files' names begin with, where they lie beside those of the experiment whose runs it shows."""
        beside = "" if self.home == self.id else self.id.partition(":")[2] + "-"
        return beside if self.variant == "published" else f"{self.variant}-{beside}"

    def repaired(self, sound: Callable[[Cell], bool]) -> Self:
        """The same without the runs whose mechanism nothing guarantees anything of."""
        published = self.runs.cells
        return replace(
            self,
            title=self.title.replace(":", ", repaired:", 1),
            runs=replace(
                self.runs,
                cells=lambda scale, seeds: [cell for cell in published(scale, seeds) if sound(cell)],
                of=self.home,
            ),
            variant="repaired",
        )


@dataclass(frozen=True, kw_only=True)
class Formulas:
    """What is computed, and when it agrees with the paper.

    Parameters
    ----------
    rows : function -> rows, each a dict with paper, ours and verdict among its entries, as `report.compare` makes it
    columns : names of the rows' entries that the table shows; the JSON document has them all
    measures : what the column "ours" is, in words
    digits : decimals of the numbers in the table
    tolerance : largest difference of a row that is "inside"
    within : when a row is "inside", in words, where that is not a matter of the tolerance
    made : how the rows come about, in words
    """

    rows: Callable[[], Rows]
    columns: tuple[str, ...]
    measures: str
    digits: int = 2
    tolerance: float = 0.0
    within: str = ""
    made: str = "computed from formulas: nothing is trained"


@dataclass(frozen=True, kw_only=True)
class Analytic:
    """A table or figure of a paper that follows from formulas: nothing is trained, there are no data and no seeds.

    Parameters
    ----------
    id : an id or alias of the ledger
    title : one line, for the head of the table
    numbers, formulas, claims : see there
    picture : function (path, rows), draws it
    """

    id: str
    title: str
    numbers: Numbers
    formulas: Formulas
    claims: Claims
    picture: Callable[[Path, Rows], None]

    def shown(self, rows: Rows) -> Rows:
        """The rows with the entries of the table only."""
        return [{name: row[name] for name in self.formulas.columns} for row in rows]


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
    stopped : where the runs stopped before their last epoch, such as "25 of 200 epochs"; empty where all are whole
    """

    experiment: str
    scale: str
    rows: Rows = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    text: str = ""
    stopped: str = ""
