"""Tests of our records of Table 1 of dpulr2024 on MNIST, and of the statements about these records."""

import numpy as np
import pytest

from nfa.experiments import records, report
from nfa.experiments.run import run
from nfa.papers.dpulr2024.fig3 import FIG3
from nfa.papers.dpulr2024.table1 import TABLE1
from nfa.papers.dpulr2024.table_c1 import TABLE_C1
from nfa.papers.run_selection import only
from tests.project.committed import as_run, described
from tests.project.tree import ROOT

BATCHES, SIGMA_0 = ("64", "200", "500"), ("0.5", "1", "2", "4", "8")
FOLDER = ROOT / "results" / "dpulr2024-table1-paper"


@pytest.fixture(scope="module")
def runs():
    found = {record["cell"]: record for record in records.in_folder(FOLDER)}
    cells = TABLE1.cells("paper", [1])
    assert {cell.name for cell in cells} == set(found)
    return [(cell, found[cell.name]) for cell in cells]


def one(runs, **key):
    """The only cell with these entries in its key, and the record of this cell."""
    (found,) = [(c, r) for c, r in runs if all(c.key[name] == value for name, value in key.items())]
    return found


def test_the_records_are_of_the_runs_that_the_code_describes(runs):
    for cell, record in runs:
        assert described(record, cell.settings)
        assert (record["experiment"], record["reading"]) == (TABLE1.id, cell.key["reading"])
        assert (record["data"]["train"], record["data"]["test"]) == (60000, 10000)
        m = cell.settings.batch
        per_epoch = round(60000 / m) if cell.settings.sampling.startswith("poisson") else -(-60000 // m)
        assert (len(record["history"]), record["steps"]) == (25, 25 * per_epoch)
        assert ("guarantee" in record["privacy"]) == (cell.key["rule"] in ("corrected DP-ULR", "DP-SGD"))


@pytest.mark.parametrize("experiment", [TABLE1, FIG3])
def test_the_table_is_that_of_the_records(experiment, runs):
    names = {cell.name for cell in experiment.cells("paper", [1])}
    rows = report.rows(experiment, [(cell, record) for cell, record in runs if cell.name in names])
    text = (FOLDER / f"{experiment.prefix}table.txt").read_text()
    assert text.endswith("\n\n" + report.plain_table(rows, experiment.digits) + "\n")
    assert (FOLDER / f"{experiment.prefix}figure.png").read_bytes().startswith(b"\x89PNG")


@pytest.fixture(scope="module")
def curves(runs):
    """(rule, batch, sigma_0, reading) -> test accuracy in percent by epoch."""
    names = ("rule", "batch", "sigma_0", "reading")
    return {
        tuple(cell.key[name] for name in names): [round(100 * e["test_accuracy"], 2) for e in record["history"]]
        for cell, record in runs
    }


def table_of(curves, rule):
    """The accuracies after the last epoch: a row for each batch size, a column for each sigma_0."""
    return [[curves[rule, m, s, "chosen"][-1] for s in SIGMA_0] for m in BATCHES]


OURS = {
    "DP-ULR printed": [
        [86.56, 80.82, 74.61, 68.53, 52.19],
        [92.30, 90.00, 87.26, 84.28, 78.69],
        [94.49, 92.92, 91.67, 89.72, 86.11],
    ],
    "DP-SGD": [
        [92.09, 89.19, 80.08, 27.91, 9.91],
        [88.33, 88.32, 88.57, 87.95, 78.14],
        [84.75, 84.86, 84.96, 85.17, 85.27],
    ],
    "corrected DP-ULR": [
        [77.06, 41.56, 17.76, 19.10, 11.38],
        [88.54, 83.27, 79.32, 57.35, 55.17],
        [92.37, 89.63, 87.43, 81.91, 74.05],
    ],
}
PRINTED = {
    "DP-ULR printed": [
        [86.12, 82.73, 78.80, 72.14, 58.65],
        [91.98, 90.11, 87.11, 84.45, 80.05],
        [94.19, 92.04, 90.31, 87.63, 84.53],
    ],
    "DP-SGD": [
        [94.14, 91.20, 78.32, 68.73, 32.07],
        [90.68, 90.77, 90.95, 89.63, 79.14],
        [87.98, 87.98, 88.00, 87.97, 88.16],
    ],
}


@pytest.mark.verifies("dpulr2024:table1", "dpulr2024:exp-batch")
def test_all_cells_after_25_epochs(curves, runs):
    """The differences of our accuracies from the paper's are those of the ledger.

    The paper's accuracies come from a second transcription.
    """
    assert {rule: table_of(curves, rule) for rule in OURS} == OURS
    rows = [row for row in report.rows(TABLE1, runs) if row["reading"] == "chosen" and row["rule"] in PRINTED]
    assert {(row["rule"], row["batch"], row["sigma_0"]): row["paper"] for row in rows} == {
        (rule, m, s): PRINTED[rule][i][k]
        for rule in PRINTED
        for i, m in enumerate(BATCHES)
        for k, s in enumerate(SIGMA_0)
    }
    ulr, sgd = (np.array(OURS[rule]) for rule in PRINTED)
    off = np.abs(ulr - PRINTED["DP-ULR printed"])
    assert (off.mean(), off[0].mean()) == (pytest.approx(1.66, abs=0.005), pytest.approx(3.3, abs=0.05))
    assert np.sum(off <= 2) == 11
    low = np.array(PRINTED["DP-SGD"]) - sgd
    assert (low[1:].min(), low[1:].max()) == (pytest.approx(1.0, abs=0.01), pytest.approx(3.3, abs=0.1))
    theirs = np.subtract(*PRINTED.values())
    assert np.sum((ulr > sgd) == (theirs > 0)) == 11
    assert np.all(np.diff(ulr, axis=0) > 0)
    assert np.argmax(sgd, axis=0).tolist() == np.argmax(PRINTED["DP-SGD"], axis=0).tolist() == [0, 0, 1, 1, 2]
    sound = np.array(OURS["corrected DP-ULR"])
    assert np.all(sound < ulr)
    assert np.all(sound[0, 2:] < 20)
    assert np.argwhere(sound > sgd).tolist() == [[0, 4], [1, 0], [2, 0], [2, 1], [2, 2]]
    at_one = {
        row["rule"]: row["epsilon"]
        for row in report.rows(TABLE1, runs)
        if row["batch"] == "500" and (row["sigma_0"], row["reading"]) == ("1", "chosen")
    }
    assert at_one["corrected DP-ULR"] == at_one["DP-SGD"] == "3.36"


@pytest.mark.verifies("dpulr2024:table1")
def test_standardised_pixels_bring_batches_of_500_nearer_and_others_not(curves):
    standard = {(rule, m, s): curve[-1] for (rule, m, s, reading), curve in curves.items() if "pixels" in reading}
    assert standard == {
        ("DP-ULR printed", "500", "1"): 91.59,
        ("DP-ULR printed", "500", "8"): 84.31,
        ("DP-SGD", "500", "1"): 89.07,
        ("DP-SGD", "500", "8"): 87.38,
        ("DP-SGD", "200", "1"): 91.82,
        ("DP-SGD", "200", "8"): 72.18,
        ("DP-SGD", "64", "1"): 88.43,
        ("DP-SGD", "64", "8"): 10.15,
    }
    off = {
        place: ours - PRINTED[place[0]][BATCHES.index(place[1])][SIGMA_0.index(place[2])]
        for place, ours in standard.items()
    }
    assert max(abs(gap) for place, gap in off.items() if place[1] == "500") < 1.1
    assert off["DP-SGD", "200", "8"] < -6
    assert off["DP-SGD", "64", "1"] < -2.7


@pytest.mark.verifies("dpulr2024:exp-select")
def test_under_much_noise_the_printed_numbers_of_dp_sgd_are_near_its_best_epochs(curves):
    best = {s: max(curves["DP-SGD", "64", s, "chosen"]) for s in SIGMA_0}
    assert (best["4"], best["8"]) == (65.70, 30.78)
    assert [curves["DP-SGD", "64", s, "chosen"].index(best[s]) + 1 for s in ("4", "8")] == [2, 1]
    for s, printed in (("4", 68.73), ("8", 32.07)):
        assert abs(best[s] - printed) < 3.1 < 20 < printed - curves["DP-SGD", "64", s, "chosen"][-1]
    added = {(rule, m, s): max(c) - c[-1] for (rule, m, s, reading), c in curves.items() if reading == "chosen"}
    of = {rule: [gain for (other, *_), gain in added.items() if other == rule] for rule in OURS}
    assert sorted(of["DP-SGD"])[-3] == pytest.approx(1.92, abs=0.005)
    assert np.mean(of["DP-ULR printed"]) == pytest.approx(0.57, abs=0.005)
    assert max(of["DP-ULR printed"]) == pytest.approx(2.71, abs=0.005)
    assert max(of["corrected DP-ULR"]) == pytest.approx(46.50, abs=0.005)
    assert "| 64 | 4 | 1 | 27.91 | 65.70 | 68.73 ± 1.74 |" in (FOLDER / "REPORT.md").read_text()


@pytest.mark.verifies("dpulr2024:table1", "dpulr2024:exp-gap")
def test_training_accuracy_of_dp_sgd_in_all_cells(runs):
    """DP-SGD's training accuracy minus the paper's, and the gap to validation accuracy, are as recorded.

    The gap is the validation minus the training accuracy after the first and after the last epoch.
    """
    found = {
        (cell.key["batch"], cell.key["sigma_0"]): record
        for cell, record in runs
        if (cell.key["rule"], cell.key["reading"]) == ("DP-SGD", "chosen")
    }
    first = [
        record["history"][0]["test_accuracy"] - record["history"][0]["train_accuracy"] for record in found.values()
    ]
    last = [record["test_accuracy"] - record["train_accuracy"] for record in found.values()]
    assert (len(found), sum(gap > 0 for gap in first), sum(gap > 0 for gap in last)) == (15, 15, 11)
    printed = {
        "64": (93.94, 90.90, 78.61),
        "200": (90.47, 90.54, 90.63, 89.07, 78.50),
        "500": (87.56, 87.56, 87.59, 87.66),
    }
    off = [
        100 * found[batch, s]["train_accuracy"] - mean
        for batch, means in printed.items()
        for s, mean in zip(SIGMA_0, means, strict=False)
    ]
    assert (round(min(off), 2), round(max(off), 2)) == (-3.3, 0.32)


@pytest.mark.verifies("dpulr2024:fig3")
def test_who_converges_and_who_degrades(curves):
    """The accuracies after 5, 13 and 25 epochs show which rules converge, and which rules lose accuracy."""

    def at(rule, m, s):
        return [curves[rule, m, s, "chosen"][epoch - 1] for epoch in (5, 13, 25)]

    assert (at("DP-SGD", "64", "4"), at("DP-SGD", "64", "8")) == ([59.35, 50.36, 27.91], [10.47, 9.79, 9.91])
    assert at("DP-ULR printed", "64", "4") == [64.56, 63.17, 68.53]
    assert at("DP-ULR printed", "64", "8") == [53.47, 53.28, 52.19]
    assert (at("DP-SGD", "200", "8"), at("DP-SGD", "500", "8")) == ([76.43, 77.71, 78.14], [66.59, 81.56, 85.27])
    degraded = [(m, s) for m in BATCHES for s in SIGMA_0 if np.ptp(at("corrected DP-ULR", m, s)) > 5]
    assert degraded == [("64", "1"), ("64", "2"), ("64", "4"), ("64", "8"), ("200", "4")]


@pytest.mark.verifies("dpulr2024:alg1.L195")
def test_rejection_takes_as_many_draws_as_it_should(runs):
    """The share of accepted batches agrees with the probability from the formula of TV2.

    By the normal law, correct code fails with probability 1e-6. If the share is wrong by 9.7 standard errors, the test
    misses this with probability 1e-6.
    """
    told = one(runs, reading="rejection", batch="500", sigma_0="1")[1]["rejection"]
    expected = 0.506021835767954
    assert told["acceptance"] == pytest.approx(expected, rel=1e-9)
    assert abs(told["accepted"] - expected) < 4.9 * (expected * (1 - expected) / told["draws"]) ** 0.5


@pytest.mark.verifies("dpulr2024:tableC1", "dpulr2024:C1-reasons")
def test_the_advantage_falls_as_the_model_grows():
    """DP-ULR's advantage in accuracy over DP-SGD decreases as the model grows, at sigma_0 = 8 with one seed.

    The expected values are the accuracies in percent after 25 epochs. For B = 64, we also compare DP-SGD's best
    accuracy.
    """
    found = {r["cell"]: r for r in records.in_folder(ROOT / "results" / "dpulr2024-tableC1-paper")}
    wanted = {"reading": "chosen", "rule": "DP-ULR printed,DP-SGD"}
    ends = {}
    for cell in only(TABLE_C1, "paper", wanted).cells("paper", [1]):
        record = found.pop(cell.name)
        assert described(record, cell.settings)
        accuracies = [round(100 * entry["test_accuracy"], 2) for entry in record["history"]]
        assert len(accuracies) == 25
        ends.setdefault((cell.key["batch"], cell.key["rule"]), []).append((accuracies[-1], max(accuracies)))
    assert not found
    assert [last for last, _ in ends["64", "DP-ULR printed"]] == [52.19, 38.05, 37.74]
    assert ends["64", "DP-SGD"] == [(9.91, 30.78), (10.13, 36.35), (54.69, 57.00)]
    gaps = {
        batch: [a - b for (a, _), (b, _) in zip(ends[batch, "DP-ULR printed"], ends[batch, "DP-SGD"], strict=True)]
        for batch in ("64", "128", "256")
    }
    told = {"64": [42.28, 27.92, -16.95], "128": [15.04, 8.81, -12.22], "256": [-1.26, -4.87, -8.01]}
    for batch, (small, medium, large) in gaps.items():
        assert [small, medium, large] == pytest.approx(told[batch], abs=1e-9)
        assert small > medium > large
        assert large < 0


# The cells with seeds 1 to 3, on which the paper's sentence about large and small batches depends

SEEDS = ROOT / "results" / "dpulr2024-table1-seeds"
FOUR = {"reading": "chosen", "batch": "64,500", "sigma_0": "1,8"}


@pytest.fixture(scope="module")
def three_seeds():
    found = {record["cell"]: record for record in records.in_folder(SEEDS)}
    cells = only(TABLE1, "paper", FOUR).cells("paper", [1, 2, 3])
    assert {cell.name for cell in cells} == set(found)
    assert all(described(found[cell.name], cell.settings) for cell in cells)
    return [(cell, found[cell.name]) for cell in cells]


@pytest.mark.verifies("dpulr2024:table1")
def test_three_seeds_decide_who_is_ahead_in_four_cells(three_seeds, runs):
    """With three seeds and Student's quantile, four cells show whether DP-ULR or DP-SGD is more accurate.

    The quantile of two degrees of freedom has a closed form. The first seed agrees with the other folder.
    """
    share = 0.95
    quantile = np.sqrt(2 * share**2 / (1 - share**2))
    by_cell = {tuple(cell.key.values()): {} for cell, _ in three_seeds}
    for cell, record in three_seeds:
        by_cell[tuple(cell.key.values())][record["seed"]] = 100 * record["test_accuracy"]
    told = {}
    for batch in ("64", "500"):
        for s in ("1", "8"):
            ulr, sgd = (by_cell[batch, rule, s, "chosen"] for rule in ("DP-ULR printed", "DP-SGD"))
            gaps = [ulr[seed] - sgd[seed] for seed in (1, 2, 3)]
            told[batch, s] = round(np.mean(gaps), 2), round(quantile * np.std(gaps, ddof=1) / np.sqrt(3), 2)
            for rule, found in (("DP-ULR printed", ulr), ("DP-SGD", sgd)):
                first = one(runs, batch=batch, sigma_0=s, rule=rule, reading="chosen")[1]["test_accuracy"]
                # the two runs used different kinds of cores, which round sums differently
                assert found[1] == pytest.approx(100 * first, abs=0.1)
    assert told == {
        ("64", "1"): (-8.0, 2.46),
        ("64", "8"): (42.94, 2.9),
        ("500", "1"): (8.38, 0.7),
        ("500", "8"): (0.79, 0.13),
    }


@pytest.mark.verifies("dpulr2024:exp-poisson", "dpulr2024:L249")
def test_fixed_batches_are_as_accurate_as_poisson_batches_and_prove_less(three_seeds):
    """Fixed batches are as accurate as Poisson batches for DP-SGD, but have a larger proved epsilon.

    We test the differences of three seeds, with Student's quantile of two degrees of freedom in closed form.
    """
    share = 0.95
    quantile = np.sqrt(2 * share**2 / (1 - share**2))
    fixed = {record["cell"]: record for record in records.in_folder(ROOT / "results" / "dpulr2024-table1-fixed")}
    cells = only(TABLE1, "paper", {"reading": "fixed-batches"}).cells("paper", [1, 2, 3])
    assert {cell.name for cell in cells} == set(fixed)
    assert all(described(fixed[cell.name], cell.settings) for cell in cells)
    poisson = {cell.name: record for cell, record in three_seeds}
    gaps, proved = {}, {}
    for cell in cells:
        batch, sigma = cell.key["batch"], cell.key["sigma_0"]
        ours, other = fixed[cell.name], poisson[cell.name.replace("fixed-batches", "chosen")]
        gaps.setdefault((batch, sigma), []).append(100 * (ours["test_accuracy"] - other["test_accuracy"]))
        epsilons = (record["privacy"]["guarantee"]["epsilon"] for record in (ours, other))
        proved[batch, sigma] = tuple(np.ceil(100 * np.array(list(epsilons))) / 100)
    told = {
        place: (round(np.mean(found), 2), round(quantile * np.std(found, ddof=1) / np.sqrt(3), 2))
        for place, found in gaps.items()
    }
    assert told == {
        ("64", "1"): (0.07, 0.22),
        ("64", "8"): (0.58, 2.42),
        ("500", "1"): (0.09, 0.17),
        ("500", "8"): (0.04, 0.17),
    }
    assert (proved["64", "1"], proved["500", "1"]) == ((97.99, 1.31), (97.99, 3.36))


@pytest.mark.verifies("dpulr2024:table1", "dpulr2024:exp-gap", "dpulr2024:exp-select")
def test_training_accuracy_in_these_four_cells(three_seeds):
    """The training accuracies are means over the seeds that measured them, with their gap to validation accuracy.

    The gap is the validation minus the training accuracy after the first and after the last epoch.
    """
    measured, first, last, ends, best = {}, {}, {}, [], []
    for cell, record in three_seeds:
        place = tuple(cell.key[name] for name in ("rule", "batch", "sigma_0"))
        if place == ("DP-SGD", "64", "8"):
            ends.append(100 * record["test_accuracy"])
            best.append(100 * max(entry["test_accuracy"] for entry in record["history"]))
        if "train_accuracy" in record:
            entry = record["history"][0]
            measured.setdefault(place, []).append(100 * record["train_accuracy"])
            if place[0] == "corrected DP-ULR":  # the paper does not have this rule
                continue
            first.setdefault(place, []).append(100 * (entry["test_accuracy"] - entry["train_accuracy"]))
            last.setdefault(place, []).append(100 * (record["test_accuracy"] - record["train_accuracy"]))
    assert {place: (round(np.mean(shares), 2), len(shares)) for place, shares in measured.items()} == {
        ("DP-ULR printed", "64", "1"): (80.86, 2),
        ("DP-ULR printed", "64", "8"): (52.81, 2),
        ("DP-SGD", "64", "1"): (89.28, 3),
        ("DP-SGD", "64", "8"): (10.51, 3),
        ("DP-ULR printed", "500", "1"): (93.52, 2),
        ("DP-ULR printed", "500", "8"): (86.15, 2),
        ("DP-SGD", "500", "1"): (84.53, 3),
        ("DP-SGD", "500", "8"): (85.28, 3),
        ("corrected DP-ULR", "64", "1"): (42.24, 2),
        ("corrected DP-ULR", "64", "8"): (10.93, 2),
        ("corrected DP-ULR", "500", "1"): (90.10, 2),
        ("corrected DP-ULR", "500", "8"): (71.98, 2),
    }
    early, late = (sorted(round(np.mean(gaps), 2) for gaps in found.values()) for found in (first, last))
    assert (early[0], early[-1], late[0], late[-1]) == (0.25, 1.07, -0.2, 1.25)
    assert sum(gap > 0 for gap in late) == 6
    assert (round(np.mean(ends), 2), round(np.mean(best), 2)) == (10.5, 34.02)


@pytest.mark.parametrize(
    "epochs", [pytest.param(5, marks=pytest.mark.slow), pytest.param(25, marks=pytest.mark.nightly)]
)
def test_a_cell_again(epochs, runs, data_home, tmp_path):
    """DP-SGD with the largest noise, on all of MNIST, has the recorded accuracy again.

    We allow a small difference, because another machine may round sums differently.
    """
    cell, record = one(runs, rule="DP-SGD", batch="500", sigma_0="8", reading="chosen")
    how = {"experiment": TABLE1.id, "cell": cell.name, "reading": cell.key["reading"]}
    again = run(as_run(cell.settings, record), tmp_path, **how, until=epochs)
    assert record["settings"]["epochs"] == 25
    assert again["test_accuracy"] == pytest.approx(record["history"][epochs - 1]["test_accuracy"], abs=0.01)
