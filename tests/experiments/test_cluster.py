"""Tests that `--backend dask` gives the same results on the workers of a real scheduler, even if a worker is killed."""

import re
import signal
import sys
import time
from dataclasses import replace

import pytest

from nfa.experiments.experiment import Cell
from nfa.experiments.jobs import Abandoned, _Report, connected, run_cells
from nfa.papers import index, reproduce
from tests.experiments.tiny_runs import tiny_settings, write_data
from tests.trust.trust_runs import cluster, finished, kept, last_line, started, whole

pytestmark = pytest.mark.posix("kills processes and signals them")
EPOCHS = 400  # 1,600 steps per run, more than half a second


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("data") / "tiny.npz")


@pytest.fixture(scope="module")
def alone(tiny, tmp_path_factory):
    """The table of the tiny experiment, computed in one process."""
    out = tmp_path_factory.mktemp("alone") / "out"
    code, said = finished(tiny, out, epochs=EPOCHS)
    assert code == 0, said
    return kept(out)


def owner(lock, process):
    """The process that works on a cell, read from the lock of the cell."""
    while process.poll() is None:
        if lock.exists() and (found := re.match(r"process (\d+) on ", lock.read_text())):
            return int(found[1])
        time.sleep(0.01)
    pytest.fail(process.communicate()[1])


@pytest.mark.slow
def test_two_workers_give_the_numbers_of_one_process_also_when_one_is_killed(tiny, tmp_path, alone):
    """Two workers give the same results as one process, also if one worker is killed.

    There are three cells. We kill the worker of the second cell while it works on the cell. The other worker then runs
    this cell.
    """
    out = tmp_path / "out"
    with cluster(2, tmp_path / "cluster") as (address, (_, *workers)):
        process = started(tiny, out, "--backend", "dask", "--scheduler", address, epochs=EPOCHS)
        pid = owner(out / "dfa-seed1.lock", process)
        time.sleep(0.05)
        (victim,) = [worker for worker in workers if worker.pid == pid]
        victim.kill()
        said = process.communicate(timeout=120)[1]
        assert process.returncode == 0, said
        assert victim.wait() == -signal.SIGKILL
        assert kept(out) == alone
        assert sorted(re.findall(r"(\S+): finished", said)) == ["bp-seed1", "dfa-seed1", "dp_sgd-seed1"]
        assert {path.name for path in out.iterdir()} == {*alone, "REPORT.md", "table.csv", "figure.png"}
    assert finished(tiny, tmp_path / "two", "--jobs", "2", epochs=EPOCHS)[0] == 0
    assert kept(tmp_path / "two") == alone


@pytest.mark.slow
def test_a_scheduler_that_dies_leaves_a_sentence_and_the_finished_cells(tiny, tmp_path, alone):
    out = tmp_path / "out"
    with cluster(1, tmp_path / "cluster") as (address, (scheduler, _)):
        process = started(tiny, out, "--backend", "dask", "--scheduler", address, epochs=EPOCHS)
        # wait until a worker runs the second cell; then the first cell is finished
        owner(out / "dfa-seed1.lock", process)
        scheduler.kill()
        said = process.communicate(timeout=120)[1]
        assert process.returncode == 1
        assert last_line(said).startswith(f"the dask scheduler at {address} does not answer. Finished runs are kept")
        assert (out / "bp-seed1.json").exists()
    whole(out)
    assert finished(tiny, out, epochs=EPOCHS)[0] == 0
    assert kept(out) == alone


@pytest.mark.slow
def test_a_scheduler_that_dies_between_two_finished_records_leaves_the_same_sentence(tiny, tmp_path):
    """If the scheduler is killed between two finished records, the message is that of any lost scheduler.

    When the first record arrives, the other two records are finished but not fetched. Then we kill the scheduler.
    """
    out = tmp_path / "out"
    out.mkdir()
    with cluster(1, tmp_path / "cluster") as (address, (scheduler, _)), connected(address) as client:

        def told(cell, step, steps, record):
            if record is None:
                return
            if cell == "seed1":  # wait until the other cells are finished
                until = time.monotonic() + 60
                while len(list(out.glob("*.json"))) < 3:
                    assert time.monotonic() < until
                    time.sleep(0.05)
                time.sleep(1)
            else:
                scheduler.kill()

        cells = [Cell(f"seed{k}", tiny_settings(tiny, seed=k), {}) for k in (1, 2, 3)]
        with pytest.raises(OSError, match=r"^the dask scheduler at .* does not answer. Finished runs are kept"):
            run_cells(cells, out, experiment="tiny", jobs=1, resume=True, progress=told, client=client)
    assert len(list(out.glob("*.json"))) == 3


@pytest.mark.nightly
@pytest.mark.parametrize("name, code", [("SIGTERM", 143), ("SIGINT", 130), ("SIGKILL", -9)])
def test_when_the_command_is_gone_the_workers_stop(name, code, tiny, tmp_path):
    out = tmp_path / "out"
    with cluster(1, tmp_path / "cluster") as (address, _):
        process = started(tiny, out, "--backend", "dask", "--scheduler", address, epochs=100_000)
        owner(out / "bp-seed1.lock", process)
        time.sleep(0.5)
        process.send_signal(getattr(signal, name))
        said = process.communicate(timeout=60)[1]
        assert process.returncode == code
        if code > 0:
            assert last_line(said).startswith(
                f"stopped. Finished work is kept in {out}. To continue this work, run the same command"
            )
        until = time.monotonic() + 60
        while (out / "bp-seed1.lock").exists():
            assert time.monotonic() < until
            time.sleep(0.05)
        assert not list(out.glob("*.json"))


@pytest.mark.slow
@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "nowhere"])
def test_an_address_where_nobody_answers_is_refused(address, tiny, tmp_path):
    code, said = finished(tiny, tmp_path / "out", "--backend", "dask", "--scheduler", address)
    assert (code, last_line(said)) == (
        2,
        f"scheduler must be the address of a running dask scheduler, but no scheduler answers at '{address}'",
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "given, says",
    [
        (
            {"scheduler": "tcp://127.0.0.1:8786"},
            "backend dask and scheduler .* work only together: give both settings",
        ),
        ({"backend": "dask"}, "backend dask and scheduler .* work only together: give both settings"),
        ({"backend": "ray"}, "backend must be one of local, dask, got 'ray'"),
    ],
)
def test_what_does_not_go_together_is_refused(given, says, tmp_path):
    with pytest.raises(ValueError, match=says):
        reproduce("ohana2021:table1", out=tmp_path / "out", **given)
    assert not (tmp_path / "out").exists()


def test_without_dask_the_sentence_says_what_to_install(monkeypatch, capsys, tmp_path):

    from nfa.cli import main
    from nfa.experiments.experiment import Cell

    table = index.find("ohana2021:table1")
    cells = [Cell("bp", tiny_settings(write_data(tmp_path / "tiny.npz"), rule="bp"), {"rule": "BP", "sigma": "0"})]
    tiny = replace(table, cells=lambda scale, seeds: cells)
    monkeypatch.setattr(index, "find", lambda *_: tiny)
    monkeypatch.setitem(sys.modules, "distributed", None)
    typed = ["reproduce", "ohana2021:table1", "--out", str(tmp_path / "out"), "--backend", "dask"]
    assert main.main([*typed, "--scheduler", "tcp://127.0.0.1:1"]) == 1
    said = capsys.readouterr().err
    assert re.fullmatch(
        r"nfa: backend dask needs dask\[distributed\], which .*\."
        r" Install it with pip install 'noisy-feedback-alignment\[sweep\]'\n",
        said,
    )
    assert not (tmp_path / "out").exists()


class Many:
    """A client of a scheduler whose worker has four threads."""

    def __init__(self, address, timeout):
        pass

    def nthreads(self):
        return {"tcp://127.0.0.1:1": 4}

    def close(self, timeout):
        pass


def test_workers_with_threads_are_refused(monkeypatch):
    """Workers with several threads are refused. Two cells in one process would change each other's thread limit.

    This limit is the number of threads of the linear algebra.
    """
    distributed = pytest.importorskip(
        "distributed", reason="dask is not installed: pip install 'noisy-feedback-alignment[sweep]'"
    )
    monkeypatch.setattr(distributed, "Client", Many)
    with pytest.raises(ValueError, match=r"one cell at a time, .*: start the workers with --nthreads 1"):
        with connected("tcp://127.0.0.1:1"):
            pytest.fail("accepted")


def test_a_worker_stops_a_run_that_nobody_waits_for():
    class Worker:
        def __init__(self):
            self.state, self.said = type("State", (), {"tasks": {}})(), []

        def log_event(self, topic, message):
            self.said.append(message)

    report = _Report.__new__(_Report)
    report.topic, report.worker, report.key, report.reported = "t", Worker(), "k", -1.0
    report.worker.state.tasks["k"] = type("Task", (), {"state": "executing"})()
    report("bp", 3, 9, None)
    report("bp", 4, 9, None)  # no report, because it follows too soon
    assert report.worker.said == [("bp", 3, 9)]
    report.reported -= 10
    report.worker.state.tasks["k"].state = "cancelled"
    with pytest.raises(Abandoned, match="the command no longer waits for bp"):
        report("bp", 5, 9, None)
