"""Tests that `nfa reproduce` with several items does the same as with each item alone."""

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager, suppress

import numpy as np
import pytest

from nfa.cli import long_runs, main
from nfa.cli.long_runs import TRUSTED, Overall, run_name
from nfa.experiments import bind, records
from nfa.experiments.locks import locked
from nfa.papers import index
from tests.cli.test_cli import arrays, files, one_sentence
from tests.cli.tiny_items import ITEMS
from tests.experiments.tiny_runs import untimed
from tests.project.tree import ROOT

pytestmark = pytest.mark.slow  # the tests run whole items one after another


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty current folder with one small data set."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("MAIN", str(os.getpid()))
    monkeypatch.delenv("NFA_DEBUG", raising=False)
    np.savez(tmp_path / "tiny.npz", **arrays())
    return tmp_path


@pytest.fixture
def nfa(folder, monkeypatch, capsys):
    """The command line with the tiny items: nfa(*arguments) -> (exit code, standard output, standard error)."""
    monkeypatch.setattr(index, "EXPERIMENTS", ITEMS)
    monkeypatch.setattr(long_runs, "PLAN_BUDGET", 0.5)
    monkeypatch.setattr(long_runs, "BUDGET", 0.5)

    def call(*arguments):
        code = main.main([str(a) for a in arguments])
        return code, *capsys.readouterr()

    return call


@contextmanager
def started(folder, *arguments):
    """The command line with the tiny items, in a separate process group."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.cli.tiny_items", *arguments],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield child
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)


def results(folder):
    """All records below a folder, by their paths there."""
    return {
        f"{path.name}/{record['cell']}": untimed(record)
        for path in sorted(folder.iterdir())
        if path.is_dir()
        for record in records.in_folder(path)
    }


def finished(err):
    """The names of the runs that standard error reports as finished."""
    return re.findall(r"^(\S+): finished", err, re.MULTILINE)


def test_several_items_are_those_alone_the_shortest_first(nfa, folder):
    code, out, err = nfa("reproduce", "ohana2021", "lee2020:epsilons")
    assert code == 0
    assert "3 items: 3 done" in out
    lines = [line.split()[0] for line in out.splitlines() if " done " in line]
    assert lines == ["lee2020:epsilons", "ohana2021:fig2", "ohana2021:table1"]
    # the run that both items use is trained once
    assert finished(err) == ["ohana2021-table1-demo/bp-seed1", "ohana2021-table1-demo/dfa-seed1"]
    assert "finished (2 of 2 runs)" in err
    assert len(re.findall(r"; about \S+ s left for all runs$", err, re.MULTILINE)) == 2
    for path in (
        "ohana2021-table1-demo/REPORT.md",
        "ohana2021-table1-demo/fig2-REPORT.md",
        "lee2020-epsilons/REPORT.md",
    ):
        assert (folder / "runs" / path).is_file()
    assert nfa("reproduce", "ohana2021:table1", "--out", "alone/ohana2021-table1-demo")[0] == 0
    assert results(folder / "alone") == {k: v for k, v in results(folder / "runs").items() if k.startswith("ohana")}


def test_alone_and_in_a_list_they_resume_each_other(nfa, folder):
    assert nfa("reproduce", "ohana2021:table1")[0] == 0
    code, _, err = nfa("reproduce", "ohana2021:fig2", "ohana2021:table1")
    assert (code, finished(err)) == (0, [])
    assert "starts" not in nfa("reproduce", "ohana2021:table1")[2]


def test_without_kernels_alone_and_in_a_list(nfa, folder, monkeypatch):
    """Without kernels, alone and in a list, plain NumPy computes the runs, as if numba were not installed."""
    both = "ohana2021:fig2", "ohana2021:table1"
    with monkeypatch.context() as hidden:
        hidden.setitem(sys.modules, "nfa.kernels.clip", None)
        hidden.delattr("nfa.kernels.clip", raising=False)
        bind.cannot_compile.cache_clear()
        for items in (both, both[:1]):
            assert nfa("reproduce", *items, "--dry-run")[0] == 0
            assert nfa("reproduce", *items, "--no-kernels", "--dry-run")[0] == 0
        assert nfa("reproduce", "ohana2021:fig2")[0] == 0
        assert "1 of 2" in nfa("reproduce", *both, "--no-kernels", "--dry-run")[1]
        code, _, err = nfa("reproduce", *both, "--no-kernels")
        assert (code, finished(err)) == (0, ["ohana2021-table1-demo/dfa-seed1"])
    bind.cannot_compile.cache_clear()
    kept = results(folder / "runs")
    assert [(record["settings"]["kernels"], record["kernels"]) for record in kept.values()] == [(False, [])] * 2
    other = "with other settings (kernels is False in that run and True in the new run)"
    code, out, err = nfa("reproduce", "ohana2021:table1")
    assert (code, out, other in one_sentence(err)) == (2, "", True)
    code, out, _ = nfa("reproduce", *both)
    assert (code, out.count(other)) == (1, 2)
    assert results(folder / "runs") == kept


def test_so_many_epochs_alone_and_in_a_list(nfa, folder):
    """`--epochs` applies to one item and to a list. A computed item trains no network, so it has no epochs.

    If a call has only computed items, `--epochs` is refused. If other items are in the list, the computed item is
    computed.
    """
    items = "ohana2021:table1", "ohana2021:fig2", "lee2020:epsilons"
    code, out, err = nfa("reproduce", *items, "--epochs", 1)
    assert code == 0
    assert "ohana2021-table1-demo/bp-seed1: stopped at 1 of 4 epochs (1 of 2 runs), " in err
    assert [line for line in out.splitlines() if "stopped" in line] == [
        f"{item}, stopped at 1 of 4 epochs" for item in ("ohana2021:fig2", "ohana2021:table1")
    ]
    assert all(record["stopped"] == {"epochs": 1, "of": 4} for record in results(folder / "runs").values())
    code, out, err = nfa("reproduce", "ohana2021:table1", "--epochs", 3)
    assert code == 0
    assert "ohana2021:table1: the runs stop at 3 of 4 epochs" in err
    assert "bp-seed1: stopped at 3 of 4 epochs (1 of 2 runs), " in err
    assert "\nstopped at 3 of 4 epochs\n" in out
    assert json.loads(nfa("reproduce", "ohana2021:table1", "--epochs", 3, "--json")[1])["stopped"] == "3 of 4 epochs"
    code, out, _ = nfa("reproduce", *items, "--epochs", 3, "--dry-run")
    assert (code, "0 of 2" in out, "finished" in out) == (0, True, True)
    code, out, _ = nfa("reproduce", *items[:2], "--dry-run", "--json")
    assert [item["stopped"] for item in json.loads(out)["items"]] == [None, None]
    before = files(folder)
    for bad, sentence in {
        ("ohana2021:table1", "--epochs", 2): "more than 2 of 4 epochs: ask for at least 3 epochs",
        ("ohana2021:table1", "--epochs", 0): "epochs must be a whole number >= 1, got 0",
        ("lee2020:epsilons", "--epochs", 3): "lee2020:epsilons is computed from formulas, so epochs have no effect",
        ("lee2020:epsilons", "lee2020:epsilons", "--epochs", 3): "all of these items are computed from formulas",
        (*items, "--epochs", -1): "epochs must be a whole number >= 1, got -1",
    }.items():
        code, out, err = nfa("reproduce", *bad)
        assert (code, out) == (2, "")
        assert sentence in one_sentence(err)
        assert files(folder) == before
    code, out, _ = nfa("reproduce", *items)
    assert (code, "stopped" in out) == (0, False)
    whole = results(folder / "runs")
    assert nfa("reproduce", *items[:2], "--out", "afresh")[0] == 0
    assert whole == results(folder / "afresh")


def test_only_some_runs_of_a_list(nfa, folder):
    """`--only` in a list skips an item if none of its runs fits. It still computes items that train no network.

    If no item has a run that fits, no run starts.
    """
    items = "ohana2021:table1", "ohana2021:fig2", "lee2020:epsilons"
    code, out, _ = nfa("reproduce", *items, "--only", "rule=DFA", "--dry-run")
    assert (code, bool(re.search(r"^ohana2021:table1 +1 of 1 ", out, re.MULTILINE))) == (1, True)
    assert not (folder / "runs").exists()
    code, out, err = nfa("reproduce", *items, "--only", "rule=DFA")
    assert code == 1
    assert finished(err) == ["ohana2021-table1-demo/dfa-seed1"]
    assert "dfa-seed1: finished, " in err
    told = "skipped: no run of ohana2021:fig2 at scale demo has rule 'DFA': choose from BP"
    assert f"ohana2021:fig2: {told}" in err
    assert "3 items: 2 done, 1 skipped" in out
    report = (folder / "runs/ohana2021-table1-demo/REPORT.md").read_text()
    assert report.startswith("# A tiny ohana2021:table1; only rule DFA\n")
    code, _, err = nfa("reproduce", *items, "--only", "rule=BP,DFA", "--only", "sigma=non-private")
    assert (code, finished(err)) == (1, ["ohana2021-table1-demo/bp-seed1"])  # fig2 has no DFA, so it is skipped again
    kept = files(folder)
    for arguments, sentence in {
        ("--only", "rule=PDFA"): "no run of ohana2021:fig2 at scale demo has rule 'PDFA': choose from BP",
        ("--only", "rule"): "only must be KEY=V or KEY=V,V, got 'rule'",
    }.items():
        code, out, err = nfa("reproduce", *items, *arguments)
        assert (code, out, sentence in one_sentence(err)) == (2, "", True)
    code, _, err = nfa("reproduce", "lee2020:epsilons", "lee2020:epsilons", "--only", "rule=BP")
    assert (code, "all of these items are computed from formulas, so --only has no effect" in one_sentence(err)) == (
        2,
        True,
    )
    assert files(folder) == kept


def test_afresh_every_run_is_made_once(nfa, folder):
    assert nfa("reproduce", "ohana2021", "--scale", "demo")[0] == 0
    before = {p: p.stat().st_mtime_ns for p in folder.glob("runs/*/*-seed1.json")}
    code, _, err = nfa("reproduce", "ohana2021", "--scale", "demo", "--no-resume")
    assert code == 0
    assert sorted(finished(err)) == ["ohana2021-table1-demo/bp-seed1", "ohana2021-table1-demo/dfa-seed1"]
    assert all(p.stat().st_mtime_ns > before[p] for p in before)


def test_what_fails_is_told_and_the_others_go_on(nfa, folder):
    names = ("dpulr2024:table1", "dpulr2024:fig3", "ohana2021:fig2")
    code, out, err = nfa("reproduce", *names, "--json", "--out", "here")
    assert code == 1
    answer = json.loads(out)
    assert {name: answer[name] for name in ("done", "failed", "skipped")} == {"done": 1, "failed": 1, "skipped": 1}
    by_name = {item["experiment"]: item for item in answer["items"]}
    assert [by_name[name]["state"] for name in names] == ["failed", "skipped", "done"]
    assert "the run diverged: at step" in by_name[names[0]]["why"]
    assert "nowhere.npz" in by_name[names[1]]["why"]
    assert by_name[names[2]]["rows"][0]["n"] == 1
    assert (folder / "here/ohana2021-table1-demo/fig2-REPORT.md").is_file()
    for name in names[:2]:
        assert re.search(rf"^nfa: {name}: (failed|skipped): ", err, re.MULTILINE)
    code, out, _ = nfa("reproduce", *names, "--out", "here")
    assert code == 1
    assert "3 items: 1 done, 1 failed, 1 skipped" in out


@pytest.mark.slow
def test_another_process_at_work_on_one_folder_keeps_no_other_waiting(nfa, folder):
    held = folder / "runs/ohana2021-table1-demo"
    held.mkdir(parents=True)
    with locked(held / "reproduce.lock", "it"):
        code, out, _ = nfa("reproduce", "ohana2021:table1", "lee2020:epsilons", "--json")
    assert code == 1
    table, epsilons = sorted(json.loads(out)["items"], key=lambda item: item["state"], reverse=True)
    assert (table["state"], epsilons["state"]) == ("failed", "done")
    assert "uses the output folder" in table["why"]


def test_an_item_without_the_scale_is_skipped(nfa, folder, monkeypatch):
    from tests.cli import tiny_items

    scales = {"demo": "a minute"}
    monkeypatch.setattr(tiny_items, "TABLE", tiny_items.replace(tiny_items.TABLE, scales=scales))
    code, out, _ = nfa("reproduce", "ohana2021:table1", "lee2020:epsilons", "--scale", "small", "--json")
    assert code == 1
    assert {i["experiment"]: i["state"] for i in json.loads(out)["items"]} == {
        "ohana2021:table1": "skipped",
        "lee2020:epsilons": "done",
    }
    code, _, err = nfa("reproduce", "ohana2021:table1", "--scale", "small")
    assert (code, one_sentence(err)) == (2, "ohana2021:table1 has no scale small. Its scales are demo")


@pytest.mark.parametrize(
    "arguments, sentence",
    [
        (("ohana2021:table1", "ohana2021:no-such"), "no-such"),
        (("lee2020:eq5", "all"), "there is no experiment for lee2020:eq5"),
        (("all", "--scale", "huge"), "scale must be one of"),
        (("all", "--jobs", "0"), "jobs must be at least 1"),
        (("all", "--seeds", "0"), "seeds must be at least 1"),
        (("all", "--variant", "better"), "variant must be one of"),
        (("berthier2019:fig2", "all", "--variant", "repaired"), "there is no experiment for berthier2019:fig2"),
        (("all", "--out", "tiny.npz"), "--out must be a folder, but tiny.npz is a file"),
        (("all", "--data-dir", "nowhere"), "nowhere"),
        (("all", "--backend", "dask"), "work only together"),
    ],
)
def test_bad_input_is_refused_before_anything_is_written(arguments, sentence, nfa, folder):
    there = files(folder)
    code, out, err = nfa("reproduce", *arguments)
    assert code == 2
    assert out == ""
    assert sentence in one_sentence(err)
    assert files(folder) == there


def test_a_dry_run_of_a_list_has_the_total_and_writes_nothing(nfa, folder):
    there = files(folder)
    code, out, _ = nfa(
        "reproduce", "ohana2021", "lee2020", "--scale", "demo", "--dry-run", "--jobs", "2", "--seeds", "3"
    )
    assert code == 0
    assert re.search(r"^ohana2021:table1 +6 of 6 +about \d+ s +0\.\d GB", out, re.MULTILINE)
    assert re.search(r"^All items together need about \d+ (s|min) and 0\.\d GB of memory", out, re.MULTILINE)
    answer = json.loads(nfa("reproduce", "ohana2021", "--scale", "demo", "--dry-run", "--json")[1])
    table, figure = sorted(answer["items"], key=lambda item: -item["runs"])
    assert (table["runs"], table["to_do"], figure["to_do"]) == (2, 2, 1)
    assert max(table["seconds"], figure["seconds"]) <= answer["seconds"] * 1.001  # runs of both items are trained once
    assert answer["seconds"] < table["seconds"] + figure["seconds"]
    assert files(folder) == there


def test_all_and_a_papers_name_stand_for_their_items():
    assert [e.id for e in index.several(["all"])] == list(index.EXPERIMENTS)
    assert {(e.id, e.variant) for e in index.several(["all"], "repaired")} == {(i, "repaired") for i in index.REPAIRED}
    assert [e.id for e in index.several(["lee2020", "lee2020:fig4", "ohana2021:tab1"])] == [
        *(name for name in index.EXPERIMENTS if name.startswith("lee2020:")),
        "ohana2021:table1",
    ]
    with pytest.raises(ValueError, match="no item of berthier2019 has a variant 'repaired'"):
        index.several(["berthier2019"], "repaired")


def test_the_time_left_is_that_of_all_runs(tmp_path, monkeypatch):
    """The time left is the sum over all runs.

    The test has 3 runs of 100 s, and half of the first took twice the estimate.
    """
    clock = iter([0.0, 100.0])
    monkeypatch.setattr("nfa.cli.long_runs.time.monotonic", lambda: next(clock))
    display = Overall(jobs=1)
    display.expect({run_name(tmp_path, name): 100.0 for name in "abc"})
    display._share[run_name(tmp_path, "a")] = 0.5
    assert display.left() == pytest.approx(250 * (100 + TRUSTED) / (50 + TRUSTED))


THREE = ("reproduce", "lee2020:epsilons", "ohana2021:table1", "lee2020:fig2")


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """The records of three items that were not interrupted."""
    folder = tmp_path_factory.mktemp("uninterrupted")
    np.savez(folder / "tiny.npz", **arrays())
    with started(folder, *THREE, "--jobs", "1", "--out", "whole") as child:
        _, err = child.communicate(timeout=300)
        assert child.returncode == 0, err
    return results(folder / "whole")


@pytest.mark.posix("signals a group of processes")
@pytest.mark.parametrize(
    "how, code, jobs",
    [
        pytest.param("SIGINT", 130, "2", marks=pytest.mark.slow),
        pytest.param("SIGKILL", -9, "1", marks=pytest.mark.slow),
        *(
            pytest.param(*rest, marks=pytest.mark.nightly)
            for rest in (("SIGINT", 130, "1"), ("SIGTERM", 143, "1"), ("SIGTERM", 143, "2"), ("SIGKILL", -9, "2"))
        ),
    ],
)
def test_killed_and_run_again_it_is_the_uninterrupted_list(how, code, jobs, folder, uninterrupted):
    command = (*THREE, "--jobs", jobs)
    with started(folder, *command, "--out", "again") as child:
        said = ""
        both = {f"ohana2021-table1-demo/{rule}-seed1" for rule in ("bp", "dfa")}
        while not both <= set(finished(said)):  # after these two runs, the command runs the long item
            line = child.stderr.readline()
            assert line, said
            said += line
        if how == "SIGTERM":
            child.send_signal(signal.SIGTERM)  # to the process alone, like a job scheduler
        else:
            os.killpg(child.pid, getattr(signal, how))  # to the process and its workers, like a terminal
        out, err = child.communicate(timeout=60)
        assert (child.returncode, out) == (code, "")
        if how != "SIGKILL":
            assert "stopped. Finished work is kept in again. To continue this work, run the same command." in err
    assert len([name for name in results(folder / "again") if "table1" in name]) == 2
    with started(folder, *command, "--out", "again") as child:
        out, err = child.communicate(timeout=300)
        assert child.returncode == 0, err
    assert set(finished(err)) <= {"lee2020-fig2-demo/bp-seed1", "lee2020-fig2-demo/dfa-seed1"}
    assert results(folder / "again") == uninterrupted


@pytest.mark.nightly
@pytest.mark.posix("kills a process")
def test_a_worker_that_is_killed_fails_its_item_alone(folder):
    (folder / "kill").touch()
    command = ("reproduce", "lee2020:fig4", "ohana2021:table1", "--jobs", "2", "--seeds", "2", "--json")
    with started(folder, *command) as child:
        out, err = child.communicate(timeout=300)
    assert child.returncode == 1, err
    answer = json.loads(out)
    assert {item["experiment"]: item["state"] for item in answer["items"]} == {
        "lee2020:fig4": "failed",
        "ohana2021:table1": "done",
    }
    with started(folder, *command) as child:
        out, err = child.communicate(timeout=300)
    assert child.returncode == 0, err
    assert json.loads(out)["done"] == 2
