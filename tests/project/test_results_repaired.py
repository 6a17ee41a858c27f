"""Tests of our repaired Table 1: the code describes the recorded runs, and each record has its guarantee."""

import math

import pytest

from nfa.experiments import records, report
from nfa.papers.ohana2021 import table1, table1_repaired
from tests.project.committed import described
from tests.project.tree import ROOT

FOLDER = ROOT / "results" / "ohana2021-table1-repaired"
TABLE1, REPAIRED = table1.TABLE1, table1_repaired.TABLE1_REPAIRED


@pytest.fixture(scope="module")
def runs():
    found = {record["cell"]: record for record in records.in_folder(FOLDER)}
    cells = REPAIRED.cells("paper", [1, 2, 3])
    assert {cell.name for cell in cells if cell.settings.seed == 1} <= set(found) <= {cell.name for cell in cells}
    return [(cell, found[cell.name]) for cell in cells if cell.name in found]


def test_the_records_are_of_the_runs_that_the_code_describes_and_carry_their_guarantee(runs):
    for cell, record in runs:
        assert described(record, cell.settings)
        assert record["experiment"] == TABLE1.id
        assert record["private"] is False
        if cell.key["epsilon"] == "non-private":
            assert "guarantee" not in record["privacy"]
            continue
        guarantee = record["privacy"]["guarantee"]
        assert 0.998 * float(cell.key["epsilon"]) <= guarantee["epsilon"] <= float(cell.key["epsilon"])
        assert (guarantee["delta"], guarantee["steps"]) == (1e-5, record["steps"])
        assert guarantee["sampling"] == cell.settings.sampling
        assert guarantee["adjacency"] in record["privacy"]["statement"]
        n = {"without-replacement": 54000 // 256, "epoch-partition": math.ceil(54000 / 256)}[cell.settings.sampling]
        assert record["steps"] == 15 * n


def test_the_table_is_that_of_the_records(runs):
    text = (FOLDER / "repaired-table.txt").read_text()
    assert text.endswith("\n\n" + report.plain_table(report.rows(REPAIRED, runs)) + "\n")


def test_every_guarantee_costs_and_labels_cost_more_than_records(runs):
    lost = table1_repaired.costs(report.rows(REPAIRED, runs))
    for rule in table1_repaired.RULES:
        for epsilon in table1_repaired.EPSILONS:
            assert 0 < lost[rule, "records", epsilon] < lost[rule, "labels", epsilon]
