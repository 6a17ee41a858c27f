"""Tests of the list of items that `nfa reproduce` prints without an item, with --list, and for an unknown name."""

import json
import re

import pytest

from nfa.cli import main
from nfa.experiments.experiment import Experiment
from nfa.papers import index
from tests.cli.test_cli import one_sentence
from tests.project.tree import ROOT

PAPERS = list(dict.fromkeys(id.partition(":")[0] for id in index.EXPERIMENTS))


@pytest.fixture
def nfa(tmp_path, monkeypatch, capsys):
    """nfa(*arguments) -> (exit code, standard output, standard error), in an empty folder that stays empty."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NFA_DEBUG", raising=False)

    def call(*arguments):
        code = main.main([*arguments])
        assert not list(tmp_path.iterdir())
        return code, *capsys.readouterr()

    return call


def told(nfa, *arguments):
    code, out, err = nfa("reproduce", *arguments, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)["items"]


def test_every_item_is_listed_with_its_scales(nfa):
    """Every item is listed with the scales of its experiments, in the order of the index.

    The repaired experiments follow the published experiments.
    """
    found = told(nfa, "--list")
    assert [(entry["item"], entry["variant"]) for entry in found if entry["variant"] == "published"] == [
        (id, "published") for id in index.EXPERIMENTS
    ]
    assert {entry["item"] for entry in found if entry["variant"] == "repaired"} == index.REPAIRED.keys()
    for entry in found:
        experiment = index.find(entry["item"], entry["variant"])
        assert (entry["title"], entry["where"]) == (experiment.title, experiment.where)
        assert entry["computed"] == (not isinstance(experiment, Experiment))
        if entry["computed"]:
            assert entry["scales"] == []
            continue
        assert [scale["scale"] for scale in entry["scales"]] == list(experiment.scales)
        for scale in entry["scales"]:
            assert scale["seeds"] == experiment.seeds[scale["scale"]]
            cells = experiment.cells(scale["scale"], list(range(1, 1 + scale["seeds"])))
            assert (scale["runs"], scale["what"]) == (len(cells), experiment.scales[scale["scale"]])


def test_times_are_those_of_the_reports_and_no_others(nfa):
    """The recorded times are those of the reports. If a report has all runs of a scale, we use the sum in this report.

    A scale without records has no time.
    """
    times = {
        (entry["item"], entry["variant"], scale["scale"]): scale["recorded"]
        for entry in told(nfa, "--list")
        for scale in entry["scales"]
    }
    reports = {
        ("berthier2019:fig10", "published", "paper"): "berthier2019-fig10-paper/REPORT.md",
        ("berthier2019:fig11", "published", "paper"): "berthier2019-fig11-paper/REPORT.md",
        ("dpulr2024:table1", "published", "paper"): "dpulr2024-table1-paper/REPORT.md",
        ("dpulr2024:fig3", "published", "paper"): "dpulr2024-table1-paper/fig3-REPORT.md",
        ("lee2020:fig2", "published", "small"): "lee2020-fig2-small/REPORT.md",
        ("lee2020:fig4", "published", "small"): "lee2020-fig4-small/REPORT.md",
        ("ohana2021:table1", "published", "demo"): "ohana2021-table1-demo/REPORT.md",
        ("ohana2021:table1", "published", "paper"): "ohana2021-table1-paper/REPORT.md",
        ("ohana2021:fig2", "published", "paper"): "ohana2021-table1-paper/fig2-REPORT.md",
        ("ohana2021:table1", "repaired", "paper"): "ohana2021-table1-repaired/repaired-REPORT.md",
    }
    for place, report in reports.items():
        (seconds,) = re.findall(r"Training took (\d+) s", (ROOT / "results" / report).read_text())
        assert times[place]["seconds"] == int(seconds)
    recorded = {place[:2] for place in times if place[2] == "demo" and times[place] is not None}
    assert recorded == {("ohana2021:table1", "published"), ("ohana2021:fig2", "published")}  # the demo of README
    assert times["lee2020:fig3", "published", "small"] is None


def test_the_list_in_words(nfa):
    code, out, err = nfa("reproduce")
    assert (code, err) == (0, "")
    assert nfa("reproduce", "--list") == (code, out, err)
    words = re.sub(r"~[\d.]+ \w+", "~TIME", " ".join(out.split()))
    ids = [line.split()[0] for line in out.splitlines() if re.match(r"[a-z]+\d*:\w", line)]
    assert ids == list(index.EXPERIMENTS)
    assert (
        "lee2020:fig2 test accuracy of private CNNs on Fashion-MNIST, in percent demo 4 runs, ~TIME; small 16 runs,"
        " 9 min; paper 66 runs, ~TIME --variant repaired: demo 4 runs, ~TIME; "
    ) in words
    assert (
        "demo 8 runs, ~TIME; small 12 runs, 101 s (NumPy); paper 64 runs, 10 min (NumPy) berthier2019:fig11 " in words
    )
    assert "lee2020:sens-total as printed, corrected, and attained by the real rule (computed)" in words
    assert "paper 63 runs, 62 min (runs of ohana2021:table1)" in words
    assert max(map(len, out.splitlines())) <= 80


def test_a_papers_name_alone_is_a_question(nfa):
    for names in (["lee2020"], ["ours", "lee2020"]):
        assert nfa("reproduce", *names) == nfa("reproduce", "--list", *names)
        assert told(nfa, *names) == told(nfa, "--list", *names)
    code, out, err = nfa("reproduce", "lee2020", "--jobs", "2")
    assert (code, out) == (2, "")
    assert (
        one_sentence(err)
        == "without --scale, the command only lists lee2020: give --scale to run all items, or leave out --jobs"
    )


@pytest.mark.parametrize("option", [["--scale", "demo"], ["--format", "pdf"], ["--dry-run"], ["--only", "sigma=1"]])
def test_a_list_ignores_no_option(option, nfa):
    code, out, err = nfa("reproduce", "--list", "lee2020:fig2", *option)
    name = option[0]
    assert (code, out) == (2, "")
    assert one_sentence(err) == f"--list only lists the items, so {name} has no effect: leave out {name}"


def test_where_no_time_is_recorded_one_is_estimated(nfa):
    """If no time is recorded, it is estimated from records of the same rules and networks.

    Table C1's networks have no estimate, because no run of them is stored.
    """
    estimated = {
        (entry["item"], scale["scale"]): scale["estimated_seconds"]
        for entry in told(nfa, "--list")
        for scale in entry["scales"]
        if scale["recorded"] is None and entry["variant"] == "published"
    }
    assert estimated["lee2020:fig4", "demo"] < estimated["lee2020:fig4", "paper"]
    assert estimated["dpulr2024:tableC1", "small"] is None
    assert sum(seconds is not None for seconds in estimated.values()) > 0.6 * len(estimated)
    out = " ".join(nfa("reproduce", "lee2020")[1].split())
    assert re.search(
        r"lee2020:fig3 test .*? demo 4 runs, ~\d+ s; small 12 runs, ~\d+ min; paper 66 runs, ~[\d.]+ days", out
    )
    assert "~: the time is an estimate from recorded runs of the same rules and networks" in out


def test_a_part_of_the_list(nfa):
    code, out, _ = nfa("reproduce", "--list", "lee2020", "ohana2021:tab1")
    ids = [line.split()[0] for line in out.splitlines() if re.match(r"[a-z]+\d*:\w", line)]
    assert (code, ids) == (0, [*(id for id in index.EXPERIMENTS if id.startswith("lee2020")), "ohana2021:table1"])
    assert [entry["item"] for entry in told(nfa, "--list", "lee2020:fig4")] == ["lee2020:fig4"] * 2


@pytest.mark.parametrize(
    "items, sentence",
    [
        (["no-such"], "no item that can be rerun has the name 'no-such'; `nfa reproduce --list` lists the experiments"),
        (["wbk2019"], "no item that can be rerun has the name 'wbk2019'"),
        (["lee202"], "did you mean lee2020?"),
        (["table1"], "did you mean berthier2019:table1 or "),
        (["lee2020:" + "fgi2"], "did you mean lee2020:fig2"),
        (["lee2020:eq5"], "there is no experiment for lee2020:eq5. `nfa reproduce --list` lists the experiments"),
        (["lee2020:fig2", "lee2020:eq5", "--dry-run"], "there is no experiment for lee2020:eq5"),
    ],
)
def test_an_unknown_item_is_one_short_sentence_with_the_items_that_are_close(items, sentence, nfa):
    code, out, err = nfa("reproduce", *items)
    assert code == 2
    assert sentence in one_sentence(err)
    assert out == ""
    assert len(err) < 160
    assert nfa("reproduce", *items, "--json") == (2, "", err)
    code, out, again = nfa("reproduce", "--list", *items[:2])
    assert (code, out, sentence in again) == (2, "", True)


@pytest.mark.parametrize(
    "options", [["--scale", "paper"], ["--jobs", "2", "--json"], ["--no-resume"], ["--epochs", "2"]]
)
def test_options_without_an_item_are_no_question_for_the_list(options, nfa):
    code, out, err = nfa("reproduce", *options)
    assert (code, out) == (2, "")
    assert one_sentence(err) == "give an item, a paper or the word all: `nfa reproduce --list` lists the items"
