"""What an experiment is: numbers of a paper, runs or formulas, a comparison of the two, claims, a picture."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

from nfa.experiments.settings import Settings

SCALES = ("demo", "small", "paper")
VARIANTS = ("published", "repaired")
Chosen = Mapping[str, Sequence[str]]  # values in a cell's key, any of them for each name
Records = Mapping[str, Mapping[str, Any]]  # of finished runs, by the cells' names


@dataclass(frozen=True)
class Cell:
    """One run of an experiment.

    Parameters
    ----------
    name : of the record's file, unique within the experiment
    settings : of the run
    key : what the run's row in the table is called, such as {"rule": "DFA", "sigma": "non-private", "reading": ...}
    until : epochs after which it stops, fewer than its settings have; None for all of them
    follow : function of the records of earlier cells -> the settings, None as long as a record is missing that they
        depend on. Until then, ``settings`` are those of a run that takes about as long. None if nothing is to follow
    """

    name: str
    settings: Settings
    key: dict[str, str]
    until: int | None = None
    follow: Callable[[Records], Settings | None] | None = None

    @property
    def epochs(self) -> int:
        """How many it is run for."""
        return self.settings.epochs if self.until is None else self.until

    def known(self, done: Records) -> "Cell":
        """The cell with the settings that follow from these records, or itself if they do not follow yet.

        The folder of the data and the choice of kernels, of which no paper says anything, stay.
        """
        if self.follow is None or (settings := self.follow(done)) is None:
            return self
        settings = replace(settings, data_dir=self.settings.data_dir, kernels=self.settings.kernels)
        return replace(self, settings=settings, follow=None)

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
class Rerunnable:
    """A table or figure of a paper: what is said of it, whether networks are trained for it or formulas computed.

    Parameters
    ----------
    id : an id or alias of the ledger
    title : one line, for the head of the table
    where : place in the paper
    transcription : how the paper's numbers were taken over, and what could not be checked
    measures : what the column "ours" is, in words
    digits : decimals of the numbers in the table
    tolerance : largest difference from the paper with which a row is "inside", in the unit of its numbers
    notes : function of the rows -> lines of Markdown for the report
    """

    id: str
    title: str
    where: str
    transcription: str
    measures: str = "test accuracy in percent"
    digits: int = 2
    tolerance: float = 0.0
    notes: Callable[[Rows], list[str]] = lambda rows: []

    @classmethod
    def from_toml(cls, table: Mapping[str, Any], **others: Any) -> Self:
        """The item of a table in a paper's toml, which has where, transcription and tolerance; others come first.

        Raises
        ------
        ValueError : if a field without a default is missing, or the tolerance of an `Analytic` without `within`
        """
        given = {name: table[name] for name in ("where", "transcription", "tolerance") if name in table} | others
        needed = {one.name for one in fields(cls) if one.default is one.default_factory is MISSING}
        if issubclass(cls, Analytic) and "within" not in given:
            needed.add("tolerance")
        if absent := sorted(needed - set(given)):
            raise ValueError(f"{given.get('id', cls.__name__)}: the field {absent[0]!r} is missing")
        return cls(**given)


@dataclass(frozen=True, kw_only=True)
class Experiment(Rerunnable):
    """A table or figure for which networks are trained: its runs, and how they are compared with the paper.

    Parameters
    ----------
    cells : function (scale, seeds) -> list of Cell, in the order of the runs: those that others follow come first
    scales : {scale: one line that says what is run}
    seeds : {scale: default number of seeds}
    readings : {name: what it fixes that the paper leaves open, and why}
    tried : what was measured before a reading was chosen: tables, each a dict with what, columns and rows of texts
    of : id of the experiment whose runs these are, or some of them, if not its own; then the folder is that one's
    examples : what the data sets hold, in words
    paper : function of a cell's key -> the paper's number, None where it prints none
    band : where the tolerance comes from
    value : function (cell, record) -> what a row compares, None for a run without a row; the final test accuracy
    not_comparable : function of a cell's settings and record -> why its number is not the paper's, or ""
    extra_columns : function of the runs of a row -> more entries of the row, such as the epsilon that they prove; where
        one is numbers in words, it is `TableCell`
    runs_notes : function of the runs -> more lines of Markdown for the report
    caption : function of the runs -> what stands below their picture, sentences of plain text: what the paper says of
        it, and what is seen here
    picture : function (path, rows, runs), draws it
    reported : function of a cell -> whether its run is in rows, report and picture; all are, if not given
    shown : function of the rows -> the table that is shown, where that is another one
    legend : what the columns of that table are
    variant : "published", or "repaired" where sound mechanisms take the place of the published ones
    chosen : what its cells have in common where they are some of the item's (`nfa.papers.run_selection.only`)
    """

    cells: Callable[[str, list[int]], list[Cell]]
    scales: Mapping[str, str]
    seeds: Mapping[str, int]
    readings: Mapping[str, str] = field(default_factory=dict)
    tried: Sequence[dict[str, Any]] = ()
    of: str | None = None
    examples: str = "images"
    paper: Callable[[dict[str, str]], float | None] = lambda key: None
    band: str = "the paper prints no error bars, so this band is ours"
    value: Callable[[Cell, dict[str, Any]], float | None] = final_accuracy
    not_comparable: Callable[[Settings, dict[str, Any]], str]
    extra_columns: Callable[[Trained], dict[str, Any]] = lambda runs: {}
    runs_notes: Callable[[Trained], list[str]] = lambda runs: []
    caption: Callable[[Trained], list[str]] = lambda runs: []
    picture: Callable[[Path, Rows, Trained], None]
    reported: Callable[[Cell], bool] = lambda cell: True
    shown: Callable[[Rows], Rows] = lambda rows: rows
    legend: str = ""
    variant: str = "published"
    chosen: Chosen = field(default_factory=dict)

    @classmethod
    def from_toml(cls, table: Mapping[str, Any], **others: Any) -> Self:
        """The item of a table in a paper's toml, with what only code can say; others come before the table.

        Parameters
        ----------
        table : besides what `Rerunnable.from_toml` reads: band and tried; [scale.NAME] with what is run, and seeds if
            more than one; [[reading]] with name and why
        others : the other fields

        Raises
        ------
        ValueError : if a scale or a reading lacks a field, and what `Rerunnable.from_toml` raises
        """
        found = {name: table[name] for name in ("band", "tried") if name in table}
        try:
            if scales := table.get("scale"):
                found["scales"] = {name: " ".join(scale["what"].split()) for name, scale in scales.items()}
                found["seeds"] = {name: scale.get("seeds", 1) for name, scale in scales.items()}
            if "reading" in table:
                found["readings"] = {reading["name"]: reading["why"] for reading in table["reading"]}
        except KeyError as absent:
            raise ValueError(f"{others.get('id')}: the field {absent} of a scale or reading is missing") from absent
        return super().from_toml(table, **found | others)

    @property
    def home(self) -> str:
        """The id under which the runs are kept."""
        return self.of or self.id

    @property
    def prefix(self) -> str:
        """What its files' names begin with, where they lie beside those of the experiment whose runs it shows."""
        beside = "" if self.home == self.id else self.id.partition(":")[2] + "-"
        return beside if self.variant == "published" else f"{self.variant}-{beside}"

    def repaired(self, sound: Callable[[Cell], bool]) -> Self:
        """The same without the runs whose mechanism nothing guarantees anything of."""
        return replace(
            self,
            title=self.title.replace(":", ", repaired:", 1),
            cells=lambda scale, seeds: [cell for cell in self.cells(scale, seeds) if sound(cell)],
            of=self.home,
            variant="repaired",
        )


@dataclass(frozen=True, kw_only=True)
class Analytic(Rerunnable):
    """A table or figure that follows from formulas: a `Rerunnable` without training, data or seeds.

    Parameters
    ----------
    rows : function -> rows, each a dict with paper, ours and verdict among its entries, as `report.compare` makes it
    columns : names of the rows' entries that the table shows; the JSON document has them all
    within : when a row is "inside", in words, where that is not a matter of the tolerance
    made : how the rows come about, in words
    summary : function of the rows -> a sentence each, for the report's head and the terminal
    picture : function (path, rows), draws it
    """

    rows: Callable[[], Rows]
    columns: tuple[str, ...]
    within: str = ""
    made: str = "computed from formulas: nothing is trained"
    summary: Callable[[Rows], list[str]] = lambda rows: []
    picture: Callable[[Path, Rows], None]

    def shown(self, rows: Rows) -> Rows:
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
    stopped : where the runs stopped before their last epoch, such as "25 of 200 epochs"; empty where all are whole
    """

    experiment: str
    scale: str
    rows: Rows = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    text: str = ""
    stopped: str = ""
