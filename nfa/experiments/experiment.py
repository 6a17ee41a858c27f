"""The classes of an experiment: the paper's numbers, the runs or formulas, the comparison, and a picture."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

from nfa.experiments.settings import Settings

SCALES = ("demo", "small", "paper")
VARIANTS = ("published", "repaired")
Chosen = Mapping[str, Sequence[str]]  # {name: allowed values of this name in a cell's key}
Records = Mapping[str, Mapping[str, Any]]  # {name of a cell: record of its finished run}


@dataclass(frozen=True)
class Cell:
    """One run of an experiment.

    Parameters
    ----------
    name : name of the record's file, unique within the experiment
    settings : settings of the run
    key : identifies the run's row in the table, such as {"rule": "DFA", "sigma": "non-private", "reading": ...}
    until : number of epochs after which the run stops; None if it runs all epochs of its settings
    follow : function (records of earlier cells) -> settings, or None while a necessary record is missing. As long as
        the function returns None, ``settings`` describe a run that takes about the same time. If the settings
        depend on no other run, follow is None
    """

    name: str
    settings: Settings
    key: dict[str, str]
    until: int | None = None
    follow: Callable[[Records], Settings | None] | None = None

    @property
    def epochs(self) -> int:
        """The number of epochs that the cell runs."""
        return self.settings.epochs if self.until is None else self.until

    def known(self, done: Records) -> "Cell":
        """The cell with the settings that follow from these records; the cell itself if a necessary record is missing.

        The folder of the data and the choice of kernels are not changed, because no paper specifies them.
        """
        if self.follow is None or (settings := self.follow(done)) is None:
            return self
        settings = replace(settings, data_dir=self.settings.data_dir, kernels=self.settings.kernels)
        return replace(self, settings=settings, follow=None)

    def fits(self, chosen: Chosen) -> bool:
        """Whether the key has an allowed value for every name."""
        return all(self.key.get(name) in values for name, values in chosen.items())


def in_words(chosen: Chosen) -> str:
    """Words for the values that the keys of the chosen cells have.

    Examples
    --------
    >>> in_words({"sigma": ("0.01", "0.05"), "reading": ("sound",)})
    'sigma 0.01 or 0.05, reading sound'
    """
    return ", ".join(f"{name} {' or '.join(values)}" for name, values in chosen.items())


class TableCell(str):
    """The text in a cell of a table, with its numbers. In table.csv, each number has its own column with all digits.

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


Rows = list[dict[str, Any]]  # rows of a table
Trained = list[tuple[Cell, dict[str, Any]]]  # pairs (cell, record) of finished runs


def final_accuracy(cell: Cell, record: dict[str, Any]) -> float:
    """The test accuracy after the last epoch, in percent."""
    return 100 * record["test_accuracy"]


def unfinished(runs: Iterable[tuple[int, int]]) -> str:
    """Words about the epochs after which runs stop early; "" if all runs are complete.

    Parameters
    ----------
    runs : pairs (epochs done, epochs of the whole run)

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
    """A table or figure of a paper. Its numbers come from trained networks or from formulas.

    Parameters
    ----------
    id : id or alias of the statement in the ledger
    title : one line, for the head of the table
    where : place in the paper
    transcription : words about how the paper's numbers were copied, and about parts that could not be checked
    measures : meaning of the column "ours", in words
    digits : decimals of the numbers in the table
    tolerance : largest difference from the paper for the verdict "inside", in the unit of the row's numbers
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
        """Make the object from a table in a paper's TOML file, which has where, transcription and tolerance.

        The values in ``others`` replace values of the table.

        Raises
        ------
        ValueError : if a field without a default is missing, or if an `Analytic` without `within` has no tolerance
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
    """A table or figure for which networks are trained: its runs, and their comparison with the paper.

    Parameters
    ----------
    cells : function (scale, seeds) -> list of Cell, in the order of the runs. A cell comes after the cells from
        whose records its settings follow
    scales : {scale: one line that describes the runs}
    seeds : {scale: default number of seeds}
    readings : {name: text}. Each text describes our choice for a detail that the paper leaves open, and gives the
        reason
    tried : tables of measurements that preceded the choice of a reading. Each table is a dict with what, columns and
        rows of texts
    of : id of the experiment to which the runs belong; None for this experiment. The runs are in the folder of the
        named experiment
    examples : content of the data sets, in words
    paper : function of a cell's key -> the paper's number, or None if the paper prints no number
    band : reason for the tolerance
    value : function (cell, record) -> the number to compare, by default the final test accuracy; None if the run has no
        row in the table
    not_comparable : function of a cell's settings and record -> reason why our number is not comparable with the
        paper's number, or ""
    extra_columns : function of the runs of a row -> more entries of the row, such as the proved epsilon. An entry with
        numbers and words is a `TableCell`
    runs_notes : function of the runs -> more lines of Markdown for the report
    caption : function of the runs -> sentences of plain text below the picture. The sentences describe the paper's
        result and our result
    picture : function (path, rows, runs) that draws the picture
    reported : function of a cell -> whether its run is in rows, report and picture; by default, always true
    shown : function of the rows -> the table to print; by default, the rows themselves
    legend : meaning of the columns of the printed table
    variant : "published", or "repaired" if sound mechanisms replace the published ones
    chosen : allowed values in the keys of the cells, if only some cells of the experiment were selected
        (`nfa.papers.run_selection.only`)
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
        """Make the experiment from a table in a paper's TOML file, with the fields that need code.

        Parameters
        ----------
        table : as in `Rerunnable.from_toml`, with three more parts: band and tried; [scale.NAME] with a description of
            the runs, and seeds if there are several; [[reading]] with name and why
        others : the other fields, which override fields of the table

        Raises
        ------
        ValueError : if a scale or a reading lacks a field, or as `Rerunnable.from_toml`
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
        """The id of the experiment in whose folder the runs are."""
        return self.of or self.id

    @property
    def prefix(self) -> str:
        """The prefix of the file names. It is empty for a published experiment in its own folder."""
        beside = "" if self.home == self.id else self.id.partition(":")[2] + "-"
        return beside if self.variant == "published" else f"{self.variant}-{beside}"

    def repaired(self, sound: Callable[[Cell], bool]) -> Self:
        """The experiment without the runs of mechanisms that have no guarantee."""
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
    rows : function -> rows. Each row is a dict with the entries paper, ours and verdict, as `report.compare` makes them
    columns : names of the entries that the table contains. The JSON document has all entries
    within : condition for "inside", in words; empty if the tolerance is the condition
    made : how the rows are computed, in words
    summary : function of the rows -> sentences for the head of the report and for the terminal
    picture : function (path, rows) that draws the picture
    """

    rows: Callable[[], Rows]
    columns: tuple[str, ...]
    within: str = ""
    made: str = "computed from formulas: nothing is trained"
    summary: Callable[[Rows], list[str]] = lambda rows: []
    picture: Callable[[Path, Rows], None]

    def shown(self, rows: Rows) -> Rows:
        """The rows with only the entries of the table."""
        return [{name: row[name] for name in self.columns} for row in rows]


@dataclass(frozen=True)
class Result:
    """The result of `reproduce`.

    Parameters
    ----------
    experiment : str, id of the experiment
    scale : str; always "paper" for an `Analytic`, because its rows are the same at every scale
    rows : list of dicts with the row's key, paper, ours, sd (None for one run), n, difference, verdict
    files : paths of the files that were written
    text : the table, or for a dry run the plan, as plain text
    stopped : words about the epochs after which the runs stopped early, such as "25 of 200 epochs"; "" if all runs are
        complete
    """

    experiment: str
    scale: str
    rows: Rows = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    text: str = ""
    stopped: str = ""
