"""Tests of our published results: the code describes the recorded runs, and the reports agree with the records."""

import csv
import io
import math
import re
import shlex
import shutil
import statistics

import pytest

from nfa.cli import main
from nfa.experiments import records, report
from nfa.experiments.experiment import SCALES, VARIANTS
from nfa.experiments.reproduce import look
from nfa.experiments.run import run
from nfa.papers import index
from nfa.papers.ohana2021 import table1
from nfa.papers.ours import equal_epsilon
from tests.project.committed import TYPED, as_run, described, estimated_times, recorded_times, reports, texts
from tests.project.tree import ROOT

FOLDER = ROOT / "results" / "ohana2021-table1-paper"
TABLE1, FIG2 = table1.TABLE1, table1.FIG2
WORDS = ("verdict", "rule", "reading", "tau", "figure", "setting", "top")
COMMAND = re.compile(r"^    nfa (reproduce .* --seeds .*)$", re.MULTILINE)
REPORTS = [path for path in sorted(ROOT.glob("results/*/*REPORT.md")) if COMMAND.search(path.read_text())]


@pytest.fixture(scope="module")
def found():
    return {record["cell"]: record for record in records.in_folder(FOLDER)}


@pytest.fixture(scope="module")
def runs(found):
    """(cell, record) for all recorded cells of three seeds; all cells of seed 1 must be recorded."""
    cells = TABLE1.cells("paper", [1, 2, 3])
    missing = [cell.name for cell in cells if cell.settings.seed == 1 and cell.name not in found]
    assert not missing
    return [(cell, found[cell.name]) for cell in cells if cell.name in found]


def test_the_records_are_of_the_runs_that_the_code_describes(runs, found):
    assert len(runs) == len(found)
    for cell, record in runs:
        assert described(record, cell.settings)
        assert (record["experiment"], record["reading"]) == (TABLE1.id, cell.key["reading"])
        assert not TABLE1.not_comparable(cell.settings, record)
        assert (record["data"]["train"], record["data"]["validation"], record["data"]["test"]) == (54000, 6000, 10000)
        assert record["steps"] == 15 * math.ceil(54000 / 256) == 3165


@pytest.mark.slow
def test_the_times_that_are_told_are_those_of_the_records():
    """The recorded times are those of the records. If this fails, run `python -m tests.project.committed`."""
    found = recorded_times()
    for variant in VARIANTS:
        for id in index.EXPERIMENTS:
            for scale in SCALES:
                assert index.recorded(id, variant, scale) == found.get(variant, {}).get(id, {}).get(scale)


def test_the_times_that_are_estimated():
    """Estimated times follow from the records. For runs with a recorded time, the estimate is near this time.

    For most runs, the estimate and the time differ by at most a factor of 1.5. Some runs took three times as long as
    similar runs, because the machine ran other programs.
    """
    off = []
    for variant, items in estimated_times().items():
        for id, scales in items.items():
            for scale, seconds in scales.items():
                recorded = index.recorded(id, variant, scale)
                assert index.estimated(id, variant, scale) == (None if recorded else seconds)
                usual = index.find(id, variant).seeds[scale]
                whole = recorded and recorded["seeds"] == usual
                off += [math.log(seconds / recorded["seconds"])] if whole else []
    assert len(off) > 10
    assert statistics.median(map(abs, off)) < math.log(1.5)
    assert max(map(abs, off)) < math.log(4)


def test_a_time_with_a_stopped_run_in_it_is_none(tmp_path):
    shutil.copytree(ROOT / "results" / "lee2020-fig4-small", tmp_path / "kept")
    whole = recorded_times(tmp_path)
    assert whole["published"]["lee2020:fig4"]["small"] == index.recorded("lee2020:fig4", "published", "small")
    record = records.read(tmp_path / "kept" / "fashion-mnist-dp-dfa-0-printed-seed1.json")
    record |= {"history": record["history"][:3], "stopped": {"epochs": 3, "of": 25}}
    records.write(tmp_path / "kept" / f"{record['cell']}.json", record)
    assert recorded_times(tmp_path) == {"repaired": whole["repaired"]}  # the folder has no run of the published table


@pytest.mark.parametrize("experiment", [TABLE1, FIG2])
def test_the_table_is_that_of_the_records(experiment, runs):
    seeds = sorted({cell.settings.seed for cell, _ in runs})
    names = {cell.name for cell in experiment.cells("paper", seeds)}
    rows = report.rows(experiment, [(cell, record) for cell, record in runs if cell.name in names])
    text = (FOLDER / f"{experiment.prefix}table.txt").read_text()
    assert text.endswith("\n\n" + report.plain_table(rows, experiment.digits) + "\n")


@pytest.mark.verifies("ohana2021:table1")
def test_how_near_the_nearest_reading_comes(runs):
    """For DFA, TDFA and PDFA, the mean distance of the nearest reading from the printed accuracies is at most a point.

    Without privacy, the difference is at most a point for BP, DFA and PDFA, and at most 1.1 points for TDFA.
    """
    rows = [row for row in report.rows(TABLE1, runs) if row["reading"] == table1.NEAREST and row["paper"]]
    ours: dict[str, dict[str, float]] = {}
    for row in rows:
        ours.setdefault(row["rule"], {})[row["sigma"]] = row["ours"]
    assert {rule: list(row) for rule, row in ours.items()} == {
        rule: list(table1.COLUMNS) for rule in ("BP", "DFA", "TDFA", "PDFA")
    }
    assert table1.mean_distance(ours) <= 1.0
    plain = {row["rule"]: abs(row["difference"]) for row in rows if row["sigma"] == "non-private"}
    assert max(plain[rule] for rule in ("BP", "DFA", "PDFA")) <= 1.0
    assert plain["TDFA"] <= 1.1


@pytest.mark.parametrize(
    "epochs", [pytest.param(3, marks=pytest.mark.slow), pytest.param(15, marks=pytest.mark.nightly)]
)
@pytest.mark.verifies("ohana2021:table1")
def test_a_cell_of_table_1_again(epochs, found, data_home, tmp_path):
    """Photonic DFA with the largest noise, on the whole of Fashion-MNIST, has the recorded accuracy again.

    We allow a small difference, because another machine may round sums differently.
    """
    (cell,) = [c for c in TABLE1.cells("paper", [1]) if tuple(c.key.values()) == ("PDFA", "0.2", table1.NEAREST)]
    kept, name, reading = found[cell.name], cell.name, cell.key["reading"]
    record = run(as_run(cell.settings, kept), tmp_path, experiment=TABLE1.id, cell=name, reading=reading, until=epochs)
    assert kept["settings"]["epochs"] == 15
    assert record["test_accuracy"] == pytest.approx(kept["history"][epochs - 1]["test_accuracy"], abs=0.01)


def in_cells(text):
    """The rows of a table.csv, with a number for each cell that is a number."""
    rows = list(csv.DictReader(io.StringIO(text)))
    return [{name: _number(cell) for name, cell in row.items()} for row in rows]


def _number(cell):
    try:
        return float(cell)
    except ValueError:
        return cell


@pytest.mark.parametrize("place", reports(), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_a_table_for_programs_lies_beside_every_report_with_one_number_a_cell(place, data_home, monkeypatch):
    """Each report has a table.csv for programs, with one number in each cell.

    If this fails, run `python -m tests.project.committed`. The test does not compute the privacy loss distributions.
    """
    if place.parent.name.startswith("berthier2019"):
        monkeypatch.delenv("NFA_DATA_HOME")
    monkeypatch.setattr(equal_epsilon, "_of_steps", lambda *mechanism: None)
    table = place.with_name(place.name.replace("REPORT.md", "table.csv"))
    kept, found = in_cells(table.read_text(encoding="utf-8")), in_cells(texts(place)[table])
    for row in (*kept, *found):
        row.pop("PLD", None)
    assert [list(row) for row in kept] == [list(row) for row in found]
    for row, other in zip(kept, found, strict=True):
        for name, cell in row.items():
            same = pytest.approx(other[name], rel=1e-9) if isinstance(other[name], float) else other[name]
            assert cell == same, name
            # A number followed by words would be two values in one cell. Only names of rows and reasons may be like
            # this.
            assert name in WORDS or not re.match(r"[±<>~]|[\d.,]+ ?\D+$", str(cell)) or isinstance(cell, float), cell


@pytest.mark.slow
@pytest.mark.parametrize("report", REPORTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_the_command_in_a_report_trains_nothing_that_is_in_its_folder(report, data_home, monkeypatch, capsys):
    if report.parent.name.startswith("berthier2019"):
        # the data set epsilon may be available, but the records use another data set in its place
        monkeypatch.delenv("NFA_DATA_HOME")
    text = report.read_text()
    command = COMMAND.search(text)[1]
    id, variant, scale, seeds, _ = re.search(TYPED, text, re.MULTILINE).groups()
    experiment = index.find(id, variant or "published")
    if any(cell.follow for cell in experiment.cells(scale, [1])):  # a comparison whose searches may end one by one
        found = look(experiment, scale=scale, seeds=int(seeds), out=report.parent)
        assert found.done.keys() == {record["cell"] for record in records.in_folder(report.parent)}
        return
    assert main.main([*shlex.split(command), "--out", str(report.parent), "--dry-run"]) == 0
    assert re.search(r"^0 of [1-9]\d* runs to do, 1 at a time: nothing\.$", capsys.readouterr().out, re.MULTILINE)
