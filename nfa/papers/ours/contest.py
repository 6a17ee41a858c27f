"""The comparison at equal epsilon by protocol.md: searches on public data, and runs of their winners on other data.

contest.toml contains the rules that we compare, the laws from which a search draws, and the order of the runs.
"""

import statistics
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from nfa.experiments.experiment import Cell, Experiment, Records, Rows, TableCell, Trained
from nfa.experiments.settings import Settings
from nfa.papers.ours.contenders import Contest, Values, drawn, toml
from nfa.papers.ours.equal_epsilon import BASE
from nfa.papers.ours.tuning import HELD_OUT, held_out_accuracy, no_paper
from nfa.papers.paired import Difference, paired

FILE = toml("contest.toml")
CONTEST = Contest.of(FILE)
SEEDS_APART = 100  # distance between the seeds of two searches
OF_WINNERS = 10  # added to the seeds of a search for the runs of its winner


@dataclass(frozen=True)
class Search:
    """One search for a rule at an epsilon, and the runs of its winner.

    A search has two rungs: all trials with one seed, and then the best trials with further seeds.

    Parameters
    ----------
    scale : the scale, which sets the sizes of the search
    target : data set on which the winner is trained and tested
    rule : name in contest.toml
    epsilon : the epsilon of every run
    number : 1, 2, ...; searches with the same number have the same seeds. At the same target and epsilon, these
        searches also draw the same values for settings that their rules share
    """

    scale: str
    target: str
    rule: str
    epsilon: int
    number: int

    @property
    def size(self) -> dict[str, Any]:
        """The numbers of trials and seeds, by their names in contest.toml."""
        return CONTEST.scales[self.scale]

    @property
    def key(self) -> dict[str, str]:
        """The key of the winner's row."""
        return {"data": self.target, "rule": CONTEST.rules[self.rule]["name"], "epsilon": str(self.epsilon)}

    def name(self, part: str, seed: int) -> str:
        """The name of a run."""
        return f"{self.target}-{self.rule}-epsilon{self.epsilon}-search{self.number}-{part}-seed{self.seed(seed)}"

    def seed(self, place: int) -> int:
        """The seed at place 1, 2, ... of the search."""
        return SEEDS_APART * self.number + place

    def values(self, trial: int) -> Values:
        """The values that a trial draws.

        Each setting has its own generator. So two rules draw equal values for their shared settings at the same target,
        epsilon and number.

        Source: [ours:search]
        """
        laws, where = CONTEST.laws(self.rule) | self.size.get("search", {}), f"{self.target} {self.epsilon}"
        return {
            name: drawn(law, np.random.default_rng((zlib.crc32(f"{where} {name}".encode()), self.number, trial)))
            for name, law in laws.items()
        }

    def settings(self, trial: int, seed: int, *, winner: bool = False) -> Settings:
        """The run of a trial with the seed at place `seed` of the search.

        A run of the search uses the public data that contest.toml gives for the target, without a test set. A run of
        the winner uses the target.
        """
        data: dict[str, Any] = {"dataset": self.target}
        if not winner:
            data = {"dataset": FILE["public"][self.target], "validation": HELD_OUT, "tested": False}
        return CONTEST.settings(
            self.rule,
            self.values(trial),
            epsilon=self.epsilon,
            epochs=self.size["epochs"],
            seed=self.seed(seed),
            **data,
        )

    # The next functions need the records of the rungs.

    def ranked(self, done: Records) -> list[int] | None:
        """The best trials of the first rung, the best first; None as long as a record of the first rung is missing.

        Source: [ours:contest]
        """
        accuracies = _held_out(done, [[self.name(f"trial{trial}", 1)] for trial in range(self.size["trials"])])
        if accuracies is None:
            return None
        order = sorted(range(len(accuracies)), key=lambda trial: (-accuracies[trial], trial))
        return order[: self.size["best"]]

    def won(self, done: Records) -> int | None:
        """The trial with the best mean over the seeds of both rungs; None as long as a record is missing.

        Source: [ours:contest]
        """
        if (ranked := self.ranked(done)) is None:
            return None
        names = [
            [self.name(f"trial{trial}", 1), *(self.name(f"best{place}", seed) for seed in self.further)]
            for place, trial in enumerate(ranked, start=1)
        ]
        if (means := _held_out(done, names)) is None:
            return None
        return max(zip(means, ranked, strict=True), key=lambda one: (one[0], -one[1]))[1]

    @property
    def further(self) -> range:
        """The places of the seeds of the second rung."""
        return range(2, 2 + self.size["further"])

    # The next functions build the runs.

    def first_rung(self) -> list[Cell]:
        """Every trial with the first seed."""
        trials = range(self.size["trials"])
        return [Cell(self.name(f"trial{trial}", 1), self.settings(trial, 1), self.key) for trial in trials]

    def second_rung(self) -> list[Cell]:
        """The best trials with further seeds. Until these trials are known, the cells have the settings of trial 0."""
        return [
            Cell(
                self.name(f"best{place}", seed),
                self.settings(0, seed),
                self.key,
                follow=partial(_of_best, self, place, seed),
            )
            for place in range(1, 1 + self.size["best"])
            for seed in self.further
        ]

    def winner(self, seeds: list[int]) -> list[Cell]:
        """The winner on the target with these seeds. Until it is known, the cells have the settings of trial 0."""
        return [
            Cell(
                self.name("winner", seed),
                self.settings(0, seed, winner=True),
                self.key,
                follow=partial(_of_winner, self, seed),
            )
            for seed in (OF_WINNERS + number for number in seeds)
        ]


def _of_best(search: Search, place: int, seed: int, done: Records) -> Settings | None:
    ranked = search.ranked(done)
    return None if ranked is None else search.settings(ranked[place - 1], seed)


def _of_winner(search: Search, seed: int, done: Records) -> Settings | None:
    trial = search.won(done)
    return None if trial is None else search.settings(trial, seed, winner=True)


def _held_out(done: Records, groups: list[list[str]]) -> list[float] | None:
    """The mean accuracy of each group of runs on the held-out images; None as long as a record is missing."""
    if any(name not in done for group in groups for name in group):
        return None
    return [statistics.fmean(done[name]["history"][-1]["validation_accuracy"] for name in group) for group in groups]


def blocks(scale: str) -> Iterator[list[Search]]:
    """Groups of searches that run together, in the order of the protocol: by rank, then by the number of the search."""
    known, earlier = CONTEST.scales[scale], set[tuple]()
    for rank in known["rank"]:
        every = [(t, e, r) for t in rank["targets"] for e in rank["epsilons"] for r in rank["rules"]]
        new = [place for place in every if place not in earlier]
        earlier |= set(new)
        for number in range(1, 1 + known["searches"]):
            yield [Search(scale, target, rule, epsilon, number) for target, epsilon, rule in new]


def cells(scale: str, seeds: list[int]) -> list[Cell]:
    """All runs: for each block the first rungs, the second rungs, and the winners.

    Source: [ours:contest]
    """
    found: list[Cell] = []
    for block in blocks(scale):
        for part in (Search.first_rung, Search.second_rung, partial(Search.winner, seeds=seeds)):
            found += [cell for search in block for cell in part(search)]
    return found


def search_cells(scale: str, seeds: list[int]) -> list[Cell]:
    """The runs of both rungs. Each run has its own row.

    Source: [ours:search]
    """
    found = []
    for search in (search for block in blocks(scale) for search in block):
        for cell in search.first_rung() + search.second_rung():
            key = search.key | {"run": cell.name.partition(f"-epsilon{search.epsilon}-")[2]}
            found.append(Cell(cell.name, cell.settings, key, follow=cell.follow))
    return found


def is_winner(cell: Cell) -> bool:
    """Whether a run is a run of a search's winner on the target."""
    return "-winner-" in cell.name


def extra_columns(runs: Trained) -> dict[str, TableCell]:
    """The mean accuracy of each search, the time of a run on one core, and the memory of a step."""
    by_search: dict[int, list[float]] = {}
    for _, record in runs:
        by_search.setdefault(record["seed"] // SEEDS_APART, []).append(100 * record["test_accuracy"])
    means = {number: statistics.fmean(own) for number, own in by_search.items()}
    seconds = statistics.median(r["timing"]["cpu_seconds_per_step"] * r["steps"] for _, r in runs)
    megabytes = statistics.median(r["timing"]["step_bytes"] for _, r in runs) / 1e6
    return {
        "searches": TableCell(str(len(means)), {f"search {number}": mean for number, mean in means.items()}),
        "s a run": TableCell(f"{seconds:.0f}", {"s a run": seconds}),
        "MB a step": TableCell(f"{megabytes:.0f}", {"MB a step": megabytes}),
    }


def values_tried(runs: Trained) -> dict[str, TableCell]:
    """The values that a run of a search had drawn, with the learning rate in place of the step."""
    cell, record = runs[0]
    rule = next(name for name, known in CONTEST.rules.items() if known["name"] == cell.key["rule"])
    every = record["settings"] | record["settings"]["rule_settings"]
    values = {name: every[name] for name in ("lr", *CONTEST.laws(rule)) if name != "step"}
    return {"values": TableCell(", ".join(f"{name} {value}" for name, value in values.items()), values)}


def means_of(row: dict[str, Any]) -> dict[int, float]:
    """The mean accuracy of each search of a row, in percent."""
    return {int(name.removeprefix("search ")): mean for name, mean in row["searches"].columns.items()}


def accuracy_of(row: dict[str, Any]) -> Difference:
    """The mean over the searches, with Student's 95 % interval.

    The sample consists of the searches, because they are independent. The seeds of one search are not independent.
    """
    means = means_of(row)
    return paired(means, dict.fromkeys(means, 0.0)) or Difference(row["ours"])


def gap_of(row: dict[str, Any], rows: Rows) -> Difference | None:
    """The difference to DP-SGD on the same data at the same epsilon, paired by the number of the search."""
    same = {name: row[name] for name in ("data", "epsilon")} | {"rule": BASE}
    base = [other for other in rows if same.items() <= other.items()]
    return paired(means_of(row), means_of(base[0])) if base and row["rule"] != BASE else None


def table(rows: Rows) -> Rows:
    """A row for each data set and rule: accuracy and difference to DP-SGD at each epsilon, and the rule's needs."""
    needs = {known["name"]: known["needs"] for known in CONTEST.rules.values()}
    found = []
    for data, rule in dict.fromkeys((row["data"], row["rule"]) for row in rows):
        own = {row["epsilon"]: row for row in rows if (row["data"], row["rule"]) == (data, rule)}
        entry = {"data": data, "rule": rule}
        for epsilon in dict.fromkeys(row["epsilon"] for row in rows):
            row = own.get(epsilon)
            entry[f"epsilon {epsilon}"] = str(accuracy_of(row)).lstrip("+") if row else "-"
            entry[f"to {BASE} at {epsilon}"] = str((row and gap_of(row, rows)) or "-")
        last = list(own.values())[-1]
        found.append(entry | {"needs": needs[rule]} | {name: last[name] for name in ("s a run", "MB a step")})
    return found


def notes(rows: Rows) -> list[str]:
    """The number of searches of the rows, and the rows with fewer searches than other rows."""
    most = max((len(means_of(row)) for row in rows), default=0)
    fewer = [
        f"{len(means_of(row))} for {row['data']}, {row['rule']}, epsilon {row['epsilon']}"
        for row in rows
        if len(means_of(row)) < most
    ]
    counts = f"Searches in each row: {most}{', but only ' if fewer else ''}{'; '.join(fewer)}."
    alone = any(len(means_of(row)) == 1 for row in rows)
    return [counts + " With one search, there is no interval." * alone, ""] if rows else []


def accountants(runs: Trained) -> list[str]:
    """The theorems that count the epsilons of the runs, as a line for the report."""
    bounds = sorted({record["privacy"]["guarantee"]["bound"] for _, record in runs})
    return [f"Epsilon is counted by {' and '.join(bounds)}.", ""]


def _draw(path: Path, rows: Rows, runs: Trained) -> None:
    from nfa.papers.ours.pictures import equal_epsilon_figure

    shown = [row | {"interval": f"± {accuracy_of(row).half or 0.0:.2f}"} for row in rows]
    equal_epsilon_figure(path, shown, runs, CONTEST.budget["delta"])


def _draw_search(path: Path, rows: Rows, runs: Trained) -> None:
    from nfa.papers.ours.pictures import trials_figure

    trials_figure(path, rows, runs)


EXPERIMENT = Experiment.from_toml(
    FILE,
    id="ours:contest",
    title="Rules at equal epsilon by the protocol: searches on other data, winners on test images",
    where="nfa/papers/ours/protocol.md",
    transcription="No paper compares its rules at equal epsilon.",
    cells=cells,
    reported=is_winner,
    shown=table,
    legend=(
        "Accuracy on the test images in percent: mean over the searches of the mean over the seeds of each winner. The"
        " number after ± is half of Student's 95 % interval over the searches. A difference is paired by the number of"
        " the search. s a run: seconds of one core, and MB a step: arrays of a step, both at the last epsilon."
    ),
    not_comparable=no_paper,
    extra_columns=extra_columns,
    notes=notes,
    runs_notes=accountants,
    picture=_draw,
)

SEARCH = Experiment.from_toml(
    FILE,
    id="ours:search",
    of=EXPERIMENT.id,
    title="The searches of the comparison at equal epsilon: every trial on the other data set",
    where="nfa/papers/ours/protocol.md",
    transcription="No paper compares its rules at equal epsilon.",
    cells=search_cells,
    value=held_out_accuracy,
    measures="accuracy on the images held out, in percent",
    not_comparable=no_paper,
    extra_columns=values_tried,
    runs_notes=accountants,
    picture=_draw_search,
)
