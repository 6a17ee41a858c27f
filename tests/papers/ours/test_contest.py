"""The comparison that protocol.md describes: search, choice, runs and report. No trial uses a test image."""

import math
import re
from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from nfa import ledger
from nfa.experiments import records as of_files
from nfa.experiments.experiment import TableCell
from nfa.experiments.reproduce import reproduce
from nfa.papers.ours import contest
from nfa.papers.ours.contest import CONTEST, FILE, Search
from tests.experiments.tiny_runs import Killed, untimed
from tests.project.committed import described
from tests.project.tree import ROOT

PROTOCOL = (ROOT / "nfa" / "papers" / "ours" / "protocol.md").read_text(encoding="utf-8")
PAPER, SEEDS = CONTEST.scales["paper"], [1, 2, 3, 4, 5]
SCALES = list(CONTEST.scales)


def cells(scale):
    return contest.cells(scale, list(range(1, 1 + CONTEST.scales[scale]["seeds"])))


# --- The search


@pytest.mark.verifies("ours:search")
@pytest.mark.parametrize("scale", SCALES)
def test_no_run_of_a_search_computes_anything_from_the_target_or_from_test_images(scale):
    for cell in cells(scale):
        if contest.is_winner(cell):
            assert (cell.settings.dataset, cell.settings.tested) == (cell.key["data"], True)
            assert cell.settings.validation == 0
        else:
            assert (cell.settings.dataset, cell.settings.tested) == (FILE["public"][cell.key["data"]], False)
            assert round(cell.settings.validation * 60_000) == 10_000
    assert all(FILE["public"][name] != name for rank in PAPER["rank"] for name in rank["targets"])


@pytest.mark.verifies("ours:search")
def test_every_rule_has_four_free_settings_and_shares_the_laws_of_three():
    for rule in CONTEST.rules:
        laws = CONTEST.laws(rule)
        assert len(laws) == 4
        assert set(CONTEST.search) < set(laws)
        own = {name: laws[name] for name in CONTEST.search}
        assert own | {"step": CONTEST.search["step"]} == CONTEST.search
        assert (own["step"] != CONTEST.search["step"]) == (CONTEST.rules[rule]["run"].get("optimizer") == "adam")


@pytest.mark.verifies("ours:search")
@pytest.mark.parametrize("scale", SCALES)
def test_every_search_has_as_many_trials_seeds_and_epochs(scale):
    known, of = CONTEST.scales[scale], {}
    for cell in cells(scale):
        search, _, part = cell.name.partition("-search")
        of.setdefault((search, part.partition("-")[0]), []).append(re.sub(r"\d+", "", part.partition("-")[2]))
        assert cell.settings.epochs == known["epochs"]
    second = known["best"] * known["further"]
    counts = {"trial-seed": known["trials"], "best-seed": second, "winner-seed": known["seeds"]}
    assert all({part: own.count(part) for part in own} == counts for own in of.values())
    assert len({cell.name for cell in cells(scale)}) == len(cells(scale)) == len(of) * sum(counts.values())


@pytest.mark.verifies("ours:search")
def test_values_are_drawn_by_their_laws_and_shared_by_the_rules():
    """The values of trials follow their laws, and DP-SGD and joint DFA try the same values of the shared settings.

    For each of seven laws, we test 600 samples. We use a Kolmogorov-Smirnov test for continuous values, and a
    chi-square test for discrete values. A false alarm of one test has probability 1e-6. If a distribution function is
    off by 1/5 at some point, the test misses this with probability below 1/50.
    """
    every = [(number, trial) for number in range(1, 76) for trial in range(8)]

    def tried(rule):
        return [Search("paper", "mnist", rule, 3, number).values(trial) for number, trial in every]

    for rule in ("dp-sgd", "joint-dfa", "joint-dfa-adam", "dp-sgd-activation"):
        for name, law in CONTEST.laws(rule).items():
            found = [values[name] for values in tried(rule)]
            if "log" in law:
                low, high = np.log(law["log"])
                assert stats.kstest(np.log(found), stats.uniform(low, high - low).cdf).pvalue > 1e-6
            else:
                assert stats.chisquare([found.count(value) for value in law["of"]]).pvalue > 1e-6
    shared = [{name: values[name] for name in CONTEST.search} for values in tried("dp-sgd")]
    assert shared == [{name: values[name] for name in CONTEST.search} for values in tried("joint-dfa")]
    assert tried("dp-sgd") != [Search("paper", "mnist", "dp-sgd", 1, *one[:1]).values(one[1]) for one in every]


def test_searches_share_no_seed_and_rules_share_all():
    of = {}
    for cell in cells("paper"):
        rule, number = cell.key["rule"], re.search(r"-search(\d+)-", cell.name)[1]
        of.setdefault((rule, number), set()).add(cell.settings.seed)
    numbers = {number for _, number in of}
    assert all(of[rule, number] == of["DP-SGD", number] for rule, number in of)
    assert sum(len(of["DP-SGD", number]) for number in numbers) == len(set.union(*of.values()))


# --- What follows from records


def records(accuracies):
    """Records of runs by name, from {name: accuracy on the held-out images}."""
    last = {name: {"validation_accuracy": accuracy} for name, accuracy in accuracies.items()}
    return {name: {"history": [{"validation_accuracy": 1.0}, entry]} for name, entry in last.items()}


@pytest.mark.verifies("ours:search", "ours:contest")
def test_the_best_of_the_first_rung_go_on_and_the_best_mean_wins():
    search = Search("paper", "mnist", "dp-sgd", 3, 2)
    first = [0.5, 0.7, 0.1, 0.8, 0.7, 0.2, 0.3, 0.4]
    done = records({search.name(f"trial{trial}", 1): accuracy for trial, accuracy in enumerate(first)})
    assert search.ranked(done) == [3, 1]  # of trials 1 and 4 with the accuracy 0.7, trial 1 has the smaller number
    second = {("best1", 2): 0.6, ("best1", 3): 0.6, ("best2", 2): 0.7, ("best2", 3): 0.71}
    for cell in search.second_rung():
        assert cell.known({}) is cell
        trial = search.ranked(done)[int(cell.name.partition("-best")[2][0]) - 1]
        seed = int(cell.name[-3:])
        assert cell.known(done).settings == search.settings(trial, seed - 200)
    for winner in search.winner(SEEDS):
        assert winner.known(done) is winner
    done |= records({search.name(*one): accuracy for one, accuracy in second.items()})
    assert search.won(done) == 1  # the mean accuracies are .667 and .703
    for number, winner in enumerate(search.winner(SEEDS), start=1):
        assert winner.known(done).settings == search.settings(1, 10 + number, winner=True)
        assert winner.known(done).settings.seed == 210 + number
    done |= records({search.name("best1", 3): 0.7 + 0.01})
    assert search.won(done) == 1  # both mean accuracies are .7033 up to rounding
    done |= records({search.name("best1", 3): 0.8})
    assert search.won(done) == 3


def test_a_tie_goes_to_the_smaller_trial():
    search = Search("demo", "fashion-mnist-small", "dp-sgd", 3, 1)
    done = records({search.name(f"trial{trial}", 1): [0.25, 0.5, 0.5][trial] for trial in range(3)})
    done |= records({search.name("best1", 2): 0.5, search.name("best2", 2): 0.5})
    assert (search.ranked(done), search.won(done)) == ([1, 2], 1)


def test_a_run_that_follows_keeps_its_folder_of_data_and_its_choice_of_kernels():
    search = Search("demo", "fashion-mnist-small", "dp-sgd", 3, 1)
    done = records({search.name(f"trial{trial}", 1): 0.1 * trial for trial in range(3)})
    cell = search.second_rung()[0]
    plain = replace(cell, settings=replace(cell.settings, data_dir="here", kernels=False)).known(done)
    assert plain.settings == replace(search.settings(2, 2), data_dir="here", kernels=False)
    assert plain.follow is None


@pytest.fixture
def short(monkeypatch):
    """The demo with only one search of one rule. This demo has six runs."""
    known = CONTEST.scales["demo"]
    few = {"searches": 1, "rank": [{"rules": ["dp-sgd"], "targets": ["fashion-mnist-small"], "epsilons": [3]}]}
    monkeypatch.setitem(CONTEST.scales, "demo", known | few | {"trials": 2, "best": 2})


@pytest.mark.slow
@pytest.mark.verifies("ours:contest", "ours:search")
def test_a_search_that_is_stopped_and_continued_gives_the_same_records(short, tmp_path):
    """A search that we stop and continue gives the same records as an uninterrupted search.

    We stop the search once in each of its three parts: trials, best trials and winner. Only records of the winner
    contain results on test images.
    """
    whole = reproduce(contest.EXPERIMENT, seeds=2, out=tmp_path / "whole")
    for after in (1, 3, 5):
        seen = []

        def stop(cell, step, steps, record, seen=seen, after=after):
            seen.extend([cell] if record is not None else [])
            if len(set(seen)) > after:
                raise Killed

        with pytest.raises(Killed):
            reproduce(contest.EXPERIMENT, seeds=2, out=tmp_path / "parts", progress=stop)
    parts = reproduce(contest.EXPERIMENT, seeds=2, out=tmp_path / "parts", jobs=2)
    files = sorted((tmp_path / "whole").glob("*.json"))
    assert len(files) == 6
    for path in files:
        one, other = (of_files.read(folder / path.name) for folder in (tmp_path / "whole", tmp_path / "parts"))
        assert untimed(one) == untimed(other)
        if "-winner-" not in path.name:
            assert (one["test_accuracy"], one["data"]["test"]) == (None, 0)
            assert all("test_accuracy" not in entry for entry in one["history"])
    assert [row["ours"] for row in parts.rows] == [row["ours"] for row in whole.rows]
    rows = reproduce(contest.SEARCH, out=tmp_path / "parts").rows
    assert [row["n"] for row in rows] == [1] * 4


@pytest.mark.verifies("ours:contest", "ours:search")
@pytest.mark.parametrize("scale", SCALES)
def test_the_committed_records_are_of_these_runs_and_those_of_a_search_have_no_test_image(scale):
    """Each committed record belongs to a run of the contest, and records of a search have no results on test images.

    Each run has the settings that follow from the earlier records.
    """
    found = {record["cell"]: record for record in of_files.in_folder(ROOT / "results" / f"ours-contest-{scale}")}
    every = {cell.name: cell.known(found) for cell in cells(scale)}
    assert found.keys() <= every.keys()
    for name, record in found.items():
        assert every[name].follow is None
        assert described(record, every[name].settings)
        assert record["privacy"]["guarantee"]["epsilon"] <= float(every[name].key["epsilon"])
        if not contest.is_winner(every[name]):
            assert (record["test_accuracy"], record["data"]["test"]) == (None, 0)


def mean_and_half(values):
    """The mean and half of Student's 95 % interval of values in percent, as text."""
    values = 100 * np.array(values)
    half = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values))
    return f"{values.mean():.2f} ± {half:.2f}".replace("-", "\N{MINUS SIGN}")


def of_complete_searches(folder):
    """The number of complete searches at epsilon 3 on Fashion-MNIST, and two dicts of the accuracies of their winners.

    The accuracies are means over seeds on the held-out images of MNIST, and on the test images of Fashion-MNIST. Each
    dict has one accuracy for each search, by the name of the rule.
    """
    kept = {record["cell"]: record for record in of_files.in_folder(folder)}
    done = [
        block
        for block in list(contest.blocks("paper"))[: PAPER["searches"]]
        if all(cell.name in kept for search in block for cell in search.winner(SEEDS))
    ]
    held_out, tested = defaultdict(list), defaultdict(list)
    for search in (search for block in done for search in block):
        won, name = search.won(kept), CONTEST.rules[search.rule]["name"]
        place = 1 + search.ranked(kept).index(won)
        names = [search.name(f"trial{won}", 1), *(search.name(f"best{place}", seed) for seed in search.further)]
        held_out[name].append(np.mean([kept[one]["history"][-1]["validation_accuracy"] for one in names]))
        tested[name].append(np.mean([kept[cell.name]["test_accuracy"] for cell in search.winner(SEEDS)]))
    return len(done), held_out, tested


@pytest.mark.verifies("ours:contest", "ours:search")
def test_the_told_accuracies_are_those_of_the_committed_records():
    """The ledger has means and intervals over the complete searches at epsilon 3 on Fashion-MNIST.

    results/README.md and tutorial 15 have two of the differences to DP-SGD. A test of the numbers of pages holds those
    of README.md.
    """
    folder = ROOT / "results" / "ours-contest-paper"
    done, held_out, tested = of_complete_searches(folder)
    apart = {name: np.subtract(values, tested["DP-SGD"]) for name, values in tested.items() if name != "DP-SGD"}
    learnt = mean_and_half(np.subtract(tested["joint DFA"], tested["frozen random layers"]))
    light = mean_and_half(np.subtract(tested["optical features"], tested["joint DFA"]))
    count = f"{('one', 'two', 'three', 'four', 'five')[done - 1]} of five searches"

    def untold(text, parts):
        return [part for part in (count, *parts) if part not in text.replace("\n", " ")]

    held = [f"{100 * np.mean(values):.2f} for {name}" for name, values in held_out.items()]
    differences = {name: f"{mean_and_half(values)} points for {name}" for name, values in apart.items()}
    means = [f"{mean_and_half(values)} for {name}" for name, values in tested.items()]
    pairs = [f"joint DFA minus frozen random layers is {learnt}", f"optical features minus joint DFA is {light}"]
    assert untold(ledger.find("ours:search").number, held) == []
    assert untold(ledger.find("ours:contest").number, [*means, *differences.values(), *pairs]) == []
    (line,) = [x for x in (ROOT / "results" / "README.md").read_text("utf-8").splitlines() if f"`{folder.name}`" in x]
    assert untold(line, [differences["joint DFA"], differences["scattering"]]) == []
    tutorial = (ROOT / "tutorials" / "15_which_rule.py").read_text("utf-8").replace("\n#  ", "")
    less = mean_and_half(np.negative(apart["joint DFA"]))
    more = mean_and_half(apart["scattering"])
    sizes = [f"{less} points less accurate than DP-SGD", f"{more} points more accurate than DP-SGD"]
    assert untold(tutorial, sizes) == []


def test_a_part_of_a_search_and_fewer_epochs_are_refused(short, tmp_path):
    from nfa.papers.run_selection import only

    part = only(contest.SEARCH, "demo", {"run": "search1-best1-seed102"})
    with pytest.raises(ValueError, match="follow from runs that are left out: run the whole experiment"):
        reproduce(part, out=tmp_path)
    with pytest.raises(
        ValueError, match="compares whole runs to choose settings, so epochs has no effect: leave out epochs"
    ):
        reproduce(contest.EXPERIMENT, epochs=1, out=tmp_path)


# --- The report


def row(rule, means, epsilon="3"):
    searches = TableCell(str(len(means)), {f"search {number}": mean for number, mean in means.items()})
    last = {"s a run": TableCell("50", {}), "MB a step": TableCell("20", {})}
    return {"data": "mnist", "rule": rule, "epsilon": epsilon, "searches": searches, "ours": 0.0} | last


@pytest.mark.verifies("ours:contest")
def test_the_intervals_are_over_searches_and_the_differences_are_paired():
    """The intervals of the report are over searches, and its differences are paired by search.

    We compare them with SciPy's intervals of Student for one sample and for related samples.
    """
    ours, base = [83.0, 84.5, 82.0, 83.5, 84.0], [85.0, 85.5, 84.0, 85.5, 85.0]
    rows = [row(contest.BASE, dict(enumerate(base, 1))), row("joint DFA", dict(enumerate(ours, 1)))]
    found = contest.accuracy_of(rows[1])
    low, high = stats.ttest_1samp(ours, 0).confidence_interval()
    assert (found.mean - found.half, found.mean + found.half) == pytest.approx((low, high), abs=1e-8)
    gap = contest.gap_of(rows[1], rows)
    low, high = stats.ttest_rel(ours, base).confidence_interval()
    assert (gap.mean - gap.half, gap.mean + gap.half) == pytest.approx((low, high), abs=1e-8)
    assert contest.gap_of(rows[0], rows) is None
    shown = contest.table(rows)
    assert shown[1]["epsilon 3"] == "83.40 ± 1.19"  # 2.776 x 0.9618 / sqrt(5)
    assert shown[1][f"to {contest.BASE} at 3"] == "-1.60 ± 0.68"  # 2.776 x 0.5477 / sqrt(5)
    assert shown[0][f"to {contest.BASE} at 3"] == "-"


@pytest.mark.verifies("ours:contest")
def test_the_report_has_the_number_of_searches_of_each_row():
    two, one = row("DP-SGD", {1: 85.0, 2: 86.0}), row("joint DFA", {1: 84.0})
    (text, _) = contest.notes([two, two])
    assert "row: 2." in text
    assert "interval" not in text
    (text, _) = contest.notes([two, one])
    assert "2, but only 1 for mnist, joint DFA, epsilon 3." in text
    assert "no interval" in text
    assert contest.notes([]) == []


@pytest.mark.verifies("ours:contest")
def test_a_searchs_mean_is_that_of_its_seeds():
    timing = {"cpu_seconds_per_step": 0.1, "step_bytes": 2e7}
    seeds = {111: 0.8, 112: 0.9, 211: 0.7}
    runs = [(None, {"seed": s, "test_accuracy": a, "timing": timing, "steps": 480}) for s, a in seeds.items()]
    found = contest.extra_columns(runs)
    assert found["searches"].columns == pytest.approx({"search 1": 85.0, "search 2": 70.0})
    assert (found["s a run"], found["MB a step"]) == ("48", "20")


# --- The protocol


@pytest.mark.verifies("ours:contest")
def test_the_protocol_has_the_numbers_of_the_file():
    one = PAPER["trials"] + PAPER["best"] * PAPER["further"] + PAPER["seeds"]
    epsilons = {epsilon for rank in PAPER["rank"] for epsilon in rank["epsilons"]}
    told = {
        f"| first rung: {PAPER['trials']} trials, one seed | {PAPER['trials']} |",
        f"| second rung: the best {PAPER['best']} trials, {PAPER['further']} further seeds each |"
        f" {PAPER['best'] * PAPER['further']} |",
        f"| one search | {one} |",
        f"| one target and rule: {len(epsilons)} epsilons, 5 searches | {len(epsilons) * PAPER['searches'] * one} |",
        f"{PAPER['epochs']} epochs, in the search too",
        "log-uniform from {} to {}".format(*CONTEST.search["step"]["log"]),
        "log-uniform from {} to {}".format(*CONTEST.search["C"]["log"]),
        "512, 1024, 2048, 4096 or 8192",
    }
    assert [words for words in told if words not in PROTOCOL] == []
    assert (PAPER["searches"], CONTEST.search["batch"]["of"]) == (5, [512, 1024, 2048, 4096, 8192])


@pytest.mark.verifies("ours:contest")
def test_the_protocol_has_the_ranks_of_the_file_with_their_runs():
    """For each rank in contest.toml, the table in protocol.md states the correct number of runs."""
    lines = re.findall(r"(?m)^\| (\d) \| .* \| (\d+) \| ([\d.]+) \| ([\d.]+) \|$", PROTOCOL)
    earlier, total, one = set(), 0, PAPER["trials"] + PAPER["best"] * PAPER["further"] + PAPER["seeds"]
    for (number, runs, _, _), rank in zip(lines, PAPER["rank"], strict=True):
        every = {(t, r, e) for t in rank["targets"] for r in rank["rules"] for e in rank["epsilons"]}
        assert int(runs) == len(every - earlier) * PAPER["searches"] * one, number
        earlier |= every
        total += int(runs)
    assert {rule for _, rule, _ in earlier} == set(CONTEST.rules)
    assert total == sum(int(runs) for _, runs, _, _ in lines)


def test_the_first_search_of_a_rank_comes_before_its_second():
    order = [[search.number for search in block] for block in contest.blocks("paper")]
    assert all(len(set(block)) == 1 for block in order)
    assert [block[0] for block in order] == [1, 2, 3, 4, 5] * len(PAPER["rank"])
    names = [cell.name for cell in cells("paper")]
    place = {part: names.index(next(n for n in names if part in n)) for part in ("search1-winner", "search2-trial")}
    assert place["search1-winner"] < place["search2-trial"]


def test_the_hours_of_the_protocol_add_up():
    """In the protocol's table of hours, each running total is the sum of the hours up to its row.

    Each of the six values is rounded to a tenth of an hour, so a sum can differ from the total by up to 0.3 hours.
    """
    lines = re.findall(r"(?m)^\| \d \| .* \| \d+ \| ([\d.]+) \| ([\d.]+) \|$", PROTOCOL)
    sums = np.cumsum([float(hours) for hours, _ in lines])
    assert sums == pytest.approx([float(told) for _, told in lines], abs=0.3)
