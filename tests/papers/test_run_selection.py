"""The option `--only` of `nfa reproduce` trains and reports only the chosen runs of an item.

All other runs stay unchanged.
"""

import json
import re
import shlex
import warnings
from dataclasses import replace

import pytest

from nfa.cli import main
from nfa.experiments import records, report
from nfa.experiments import reproduce as engine
from nfa.papers import index, reproduce
from nfa.papers.ours import equal_epsilon
from nfa.papers.run_selection import NoSuchRun, only, options
from tests.experiments.test_experiments import in_folder, tiny_experiment
from tests.experiments.test_stopped_runs import DONORS, TRAINED
from tests.experiments.tiny_runs import write_data
from tests.project.committed import as_run
from tests.project.tree import ROOT


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """With this fixture, `nfa reproduce ohana2021:table1` trains a tiny experiment with the rules BP and DFA."""
    experiment = tiny_experiment(write_data(tmp_path / "tiny.npz"))
    monkeypatch.setattr(index, "find", lambda item, variant="published": experiment)
    return experiment


# The chosen runs


@pytest.mark.parametrize(
    "item, scale, wanted, count",
    [  # counted by hand from the tables in numbers.toml
        ("lee2020:fig4", "paper", {"sigma": "0.01"}, 2 * 3),
        ("lee2020:fig4", "paper", {"sigma": "0.01,non-private", "data": "CIFAR-10"}, 4),
        ("lee2020:fig2", "paper", {"reading": "sound", "rule": "DP-BP,DP-DFA,hybrid"}, 3 * 4),
        ("dpulr2024:table1", "paper", {"batch": "64,500", "sigma_0": "1, 8", "reading": "chosen"}, 2 * 2 * 3),
        ("dpulr2024:tableC1", "paper", {"model": ["large"]}, 3 * 3),
        ("ohana2021:table1", "paper", {"rule": "DRTP"}, 1),
        ("ours:equal-epsilon", "paper", {"rule": "DP-DFA, corrected (lee2020),joint DFA", "epsilon": "3"}, 2 * 2),
        ("ours:screen", "paper", {"changed": "no momentum, steps ten times"}, 2),
        # the comma is part of the reading's name
        ("berthier2019:fig11", "paper", {"reading": "L = 0.5, regulariser unclipped"}, 3),
        ("ours:screen", "paper", {"changed": "as chosen,Adam, 0.001"}, 4),
    ],
)
def test_the_runs_that_have_the_values_are_chosen_and_are_those_of_the_whole(item, scale, wanted, count):
    whole = index.find(item)
    chosen = only(whole, scale, wanted)
    assert [c for c in whole.cells(scale, [1]) if c in (own := chosen.cells(scale, [1]))] == own
    assert len(own) == count
    for name, values in chosen.chosen.items():
        assert {cell.key[name] for cell in own} == set(values)
    assert (chosen.home, chosen.prefix, chosen.of) == (whole.home, whole.prefix, whole.of)
    assert chosen.title.startswith(f"{whole.title}; only ")


def test_the_repaired_variant_keeps_to_its_own_runs():
    chosen = only(index.find("lee2020:fig4", "repaired"), "paper", {"sigma": "0.01"})
    assert {cell.key["reading"] for cell in chosen.cells("paper", [1])} == {"sound"}
    with pytest.raises(NoSuchRun, match="has reading 'printed': choose from sound"):
        only(index.find("lee2020:fig4", "repaired"), "paper", {"reading": "printed"})


def test_nothing_named_is_the_whole():
    assert only(index.find("lee2020:fig4"), "paper", {}) is index.find("lee2020:fig4")
    assert only(index.find("lee2020:epsilons"), "demo", {}) is index.find("lee2020:epsilons")


@pytest.mark.parametrize(
    "wanted, sentence",
    [
        (
            {"colour": "red"},
            "no run of lee2020:fig4 at scale demo has a key 'colour': choose from data, rule, sigma, reading",
        ),
        (
            {"sigma": "0.07"},
            "no run of lee2020:fig4 at scale demo has sigma '0.07': choose from non-private, 0.01, 0.05",
        ),
        ({"sigma": "0.01,0.07"}, "has sigma '0.07': choose from"),
        ({"sigma": "0.01,"}, "has sigma '': choose from"),
        ({"data": ["CIFAR-10"]}, "has data 'CIFAR-10': choose from Fashion-MNIST"),
        ({"rule": "BP", "sigma": "0.05"}, "no run of lee2020:fig4 at scale demo has rule BP, sigma 0.05 at once"),
    ],
)
def test_what_no_run_has_is_refused_with_what_there_is(wanted, sentence):
    with pytest.raises(NoSuchRun, match=re.escape(sentence)):
        only(index.find("lee2020:fig4"), "demo", wanted)


def test_a_scale_that_is_not_there_and_what_is_computed_are_refused():
    with pytest.raises(ValueError, match=r"ours:trials has no scale small\. Its scales are demo, paper"):
        only(index.find("ours:trials"), "small", {"epsilon": "3"})
    sentence = "lee2020:epsilons is computed from formulas, so --only has no effect: leave out --only"
    with pytest.raises(ValueError, match=sentence):
        reproduce("lee2020:epsilons", only={"sigma": "0.01"})


@pytest.mark.parametrize("text", ["sigma", "sigma=", "=0.01", "", " = "])
def test_what_is_no_option_is_one_sentence(text):
    with pytest.raises(ValueError, match=re.escape(f"only must be KEY=V or KEY=V,V, got {text!r}")):
        options(["reading=sound", text])


def test_a_key_that_comes_twice_has_the_values_of_both():
    assert options(["sigma = 0", "rule=DP-BP", "sigma=0.01, 0.05"]) == {"sigma": "0,0.01, 0.05", "rule": "DP-BP"}


# The runs that are trained, and the texts about them


def test_only_the_chosen_runs_are_made_and_spoken_of(tiny, tmp_path):
    out = tmp_path / "out"
    found = reproduce("ohana2021:table1", seeds=2, out=out, only={"rule": "DFA"})
    assert sorted(in_folder(out)) == ["dfa-seed1", "dfa-seed2"]
    assert [row["rule"] for row in found.rows] == ["DFA"]
    written = (out / "REPORT.md").read_text()
    assert written.startswith("# A tiny table; only rule DFA\n")
    assert "\n**Only rule DFA**: the command selected these runs, and this report leaves out all others.\n" in written
    assert "bp-seed1" not in written
    assert "\n    nfa reproduce ohana2021:table1 --scale demo --seeds 2 --only rule=DFA\n" in written
    assert found.text.startswith("A tiny table; only rule DFA\n")
    assert found.text == (out / "table.txt").read_text()


def test_the_rest_is_made_later_and_finished_runs_stay(tiny, tmp_path):
    out, whole = tmp_path / "out", tmp_path / "whole"
    engine.reproduce(tiny, seeds=1, out=whole)
    reproduce("ohana2021:table1", seeds=1, out=out, only={"rule": "DFA"})
    made = (out / "dfa-seed1.json").stat().st_mtime_ns
    rest = engine.look(tiny, scale="demo", seeds=1, out=out)
    assert [cell.name for cell in rest.missing] == ["bp-seed1"]
    reproduce("ohana2021:table1", seeds=1, out=out)
    assert in_folder(out) == in_folder(whole)
    assert (out / "dfa-seed1.json").stat().st_mtime_ns == made
    assert (out / "REPORT.md").read_text().startswith("# A tiny table\n")
    again = reproduce("ohana2021:table1", seeds=1, out=out, only={"rule": "BP"}, resume=False)  # the runs of DFA stay
    assert (len(again.rows), (out / "dfa-seed1.json").stat().st_mtime_ns) == (1, made)


@pytest.mark.parametrize("value", ["DFA", "name, with 'all' that $is hard"])
def test_the_command_of_a_report_trains_nothing_in_its_folder(value, tiny, tmp_path, monkeypatch, capsys):
    every = tiny.cells

    def cells(scale, seeds):
        return [
            replace(c, key=c.key | {"rule": value if c.key["rule"] == "DFA" else "BP"}) for c in every(scale, seeds)
        ]

    hard = replace(tiny, cells=cells, paper=lambda key: None)
    monkeypatch.setattr(index, "find", lambda item, variant="published": hard)
    out = tmp_path / "out"
    reproduce("ohana2021:table1", seeds=1, epochs=2, out=out, only={"rule": [value]})
    (command,) = re.findall(r"^    nfa (reproduce .*)$", (out / "REPORT.md").read_text(), re.MULTILINE)
    assert main.main([*shlex.split(command), "--out", str(out), "--dry-run"]) == 0
    assert "\n0 of 1 runs to do, 1 at a time: nothing.\n" in capsys.readouterr().out


def test_seeds_that_no_command_names_are_a_line_of_python(tiny, tmp_path):
    reproduce("ohana2021:table1", seeds=[2], out=tmp_path / "out", only={"rule": "DFA"})
    (line,) = re.findall(r"^    (nfa\.papers\..*)$", (tmp_path / "out/REPORT.md").read_text(), re.MULTILINE)
    asked = {}
    eval(line.replace("nfa.papers.reproduce", "asked"), {"asked": lambda item, **how: asked.update(how, item=item)})
    assert asked == {"item": "ohana2021:table1", "scale": "demo", "seeds": [2], "only": {"rule": ("DFA",)}}
    todo = engine.look(only(tiny, "demo", asked["only"]), scale="demo", seeds=[2], out=tmp_path / "out")
    assert (len(todo.cells), todo.missing) == (1, [])


# On the command line


def nfa(capsys, *arguments):
    code = main.main(["reproduce", *map(str, arguments)])
    return code, *capsys.readouterr()


def test_the_command_counts_shows_and_plans_the_chosen_runs(tiny, tmp_path, capsys):
    choice = (
        "ohana2021:table1",
        "--seeds",
        2,
        "--out",
        tmp_path / "out",
        "--only",
        "rule=DFA",
        "--only",
        "reading=first",
    )
    code, out, _ = nfa(capsys, *choice, "--dry-run")
    assert (code, "\n2 of 2 runs to do, 1 at a time: " in out, "bp-seed" in out) == (0, True, False)
    assert out.startswith("A tiny table; only rule DFA, reading first\n")
    assert not (tmp_path / "out").exists()
    code, out, err = nfa(capsys, *choice)
    assert (code, "dfa-seed2: finished (2 of 2 runs)" in err, "bp-seed" in err) == (0, True, False)
    assert out.startswith("A tiny table; only rule DFA, reading first\n")
    code, out, _ = nfa(capsys, *choice, "--json")
    assert [row["rule"] for row in json.loads(out)["rows"]] == ["DFA"]


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (("--only", "rule=PDFA"), "no run of ohana2021:table1 at scale demo has rule 'PDFA': choose from BP, DFA"),
        (("--only", "batch=10"), "has a key 'batch': choose from rule, sigma, reading"),
        (("--only", "rule"), "only must be KEY=V or KEY=V,V, got 'rule'"),
        (("--only", "rule=BP", "--scale", "large"), "has no scale large. Its scales are demo, small, paper"),
        (("--only", "rule=BP", "--seeds", "0"), "seeds must be at least 1"),
    ],
)
def test_bad_choices_are_one_sentence_and_write_nothing(arguments, sentence, tiny, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    before = set(tmp_path.iterdir())
    code, out, err = nfa(capsys, "ohana2021:table1", *arguments)
    assert (code, out, err.count("nfa: "), sentence in " ".join(err.split())) == (2, "", 1, True)
    assert set(tmp_path.iterdir()) == before


def test_without_an_item_a_choice_is_refused(capsys):
    code, out, err = nfa(capsys, "--only", "rule=BP")
    assert (code, out) == (2, "")
    assert "give an item, a paper or the word all" in " ".join(err.split())


# Reports and pictures of every item with some of its runs


def of_committed(experiment, scale, folder):
    """Cells of an item with their committed records.

    If the item has no committed records, we take a record of a different item for every cell.
    """
    other, one = DONORS[experiment.id.startswith("ours:")]
    found = {record["cell"]: record for record in records.in_folder(ROOT / "results" / (folder or other))}
    trained = []
    for cell in experiment.cells(scale, [1, 2, 3] if folder else [1]):
        record = found.get(cell.name) if folder else found[one] | {"settings": cell.settings.to_json()}
        if record:
            trained.append((replace(cell, settings=as_run(cell.settings, record)), record))
    return trained


@pytest.mark.slow
@pytest.mark.parametrize(
    "item, variant, scale, folder", [*TRAINED, ("ours:cnn-trials", "published", "paper", "ours-cnn-trials")]
)
def test_report_and_picture_hold_with_one_value_of_a_key_alone(item, variant, scale, folder, tmp_path, monkeypatch):
    """The report and the picture work if we choose a single value of a key.

    We test the first and the last value of every key. A warning from the drawing code also fails the test.
    """
    # this epsilon takes long to compute and does not depend on the rows
    monkeypatch.setattr(equal_epsilon, "_tight", lambda *_: None)
    experiment = index.find(item, variant)
    trained = of_committed(experiment, scale, folder)
    assert trained
    for name in dict.fromkeys(name for cell, _ in trained for name in cell.key):
        values = list(dict.fromkeys(cell.key[name] for cell, _ in trained if name in cell.key))
        for value in dict.fromkeys((values[0], values[-1])):
            chosen = only(experiment, scale, {name: [value]})
            own = [(cell, record) for cell, record in trained if cell.fits(chosen.chosen)]
            rows = report.rows(chosen, own)
            assert all(row.get(name) == value or name == "data" for row in rows)
            text = report.report(chosen, scale, [1], rows, own)
            assert f"only {name} {value}" in text.splitlines()[0]
            assert report.plain_table(rows)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                chosen.picture(tmp_path / "figure.png", rows, own)
            assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
            (tmp_path / "figure.png").unlink()
