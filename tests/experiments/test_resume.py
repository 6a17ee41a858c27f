"""Tests that a run that stops at any step and then resumes is bitwise identical to an uninterrupted run."""

import json
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from nfa.experiments import records
from nfa.experiments import run as runs
from nfa.experiments.checkpoint import load_checkpoint
from nfa.experiments.run import Settings, run
from tests.experiments.tiny_runs import Killed, stop_after, tiny_settings, untimed, write_data
from tests.project.tree import ROOT


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("data") / "tiny.npz")


@pytest.fixture
def settings(tiny):
    return tiny_settings(tiny)


VARIANTS = {
    "plain": {},
    "adam, with replacement between steps, validation": {
        "optimizer": "adam",
        "lr": 0.01,
        "sampling": "without-replacement",
        "validation": 0.25,
    },
    "noise under Poisson batches": {"rule": "tests.experiments.own_rules:noisy_dfa", "sampling": "poisson", "batch": 9},
    "photonic DFA, compared with the gradient": {
        "rule": "pdfa",
        "rule_settings": {"sigma": 0.1, "t": 0.15},
        "opu": {"photons": 100},
        "align_every": 3,
    },
    "a rule that remembers": {"rule": "tests.experiments.own_rules:remembers", "rule_settings": {"sigma": 0.01}},
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_stopped_after_any_step_and_resumed_it_is_the_uninterrupted_run(variant, settings, tmp_path, monkeypatch):
    settings = replace(settings, **VARIANTS[variant])
    whole = untimed(run(settings, tmp_path / "whole"))
    for k in range(whole["steps"]):
        folder = tmp_path / str(k)
        with monkeypatch.context() as patch:
            stop_after(patch, k)
            with pytest.raises(Killed):
                run(settings, folder, checkpoint_every=0)
        assert not list(folder.glob("*.json"))
        assert len(list(folder.glob("*.ckpt.npz"))) == (k > 0)
        assert untimed(run(settings, folder)) == whole
        assert not list(folder.glob("*.ckpt.npz"))


def test_stopped_between_the_last_step_and_the_record(settings, tmp_path, monkeypatch):
    whole = untimed(run(settings, tmp_path / "whole"))

    def no_disk(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(records, "write", no_disk)
        with pytest.raises(OSError, match="No space left"):
            run(settings, tmp_path / "out", checkpoint_every=0)
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["dfa-seed1.ckpt.npz"]
    assert untimed(run(settings, tmp_path / "out")) == whole


def test_stopped_again_and_again_with_few_checkpoints(settings, tmp_path, monkeypatch):
    """A run with few checkpoints that stops several times repeats some steps, and gives the same results.

    The run repeats the steps after its last checkpoint.
    """
    whole = untimed(run(settings, tmp_path / "whole"))
    clock = iter(range(10**6))
    # with this clock, the run writes a checkpoint at every third step
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    starts = []
    for k in (2, 5, 9, 11):
        with monkeypatch.context() as patch:
            stop_after(patch, k)
            with pytest.raises(Killed):
                run(
                    settings,
                    tmp_path / "out",
                    checkpoint_every=3,
                    progress=lambda cell, step, steps, record: starts.append(step),
                )
    assert len(set(starts)) > 3  # so the run continued from different steps
    assert untimed(run(settings, tmp_path / "out")) == whole


def test_ctrl_c_waits_for_the_step_and_leaves_a_checkpoint(settings, tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "PROGRESS_EVERY", 0.0)
    whole = untimed(run(settings, tmp_path / "whole"))
    before = signal.getsignal(signal.SIGINT)

    def press(cell, step, steps, record):
        if step == 5:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run(settings, tmp_path / "out", progress=press)
    assert signal.getsignal(signal.SIGINT) is before
    assert records.checkpoint_meta(tmp_path / "out" / "dfa-seed1.ckpt.npz")["history"] == whole["history"][:1]
    assert untimed(run(settings, tmp_path / "out")) == whole


CHILD = """
import sys
from nfa.experiments.run import Settings, run
run(Settings(architecture="784-30-10", train_examples=2000, batch=4, epochs=6), sys.argv[1], checkpoint_every=0)
"""


def kill_and_resume(folder, kills, rng):
    """Kill a running process several times without warning, then let it finish.

    Return the record of the run, and the step of the checkpoint after each kill.
    """
    checkpoint = folder / "dfa-seed1.ckpt.npz"
    reached = []
    for _ in range(kills):
        before = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
        child = subprocess.Popen([sys.executable, "-c", CHILD, str(folder)], cwd=ROOT)
        try:
            while child.poll() is None and not (checkpoint.exists() and checkpoint.stat().st_mtime_ns > before):
                time.sleep(0.005)
            time.sleep(rng.uniform(0, 0.2))
        finally:
            child.kill()
            assert child.wait() == -signal.SIGKILL  # -SIGKILL: the process was still running
        with np.load(checkpoint) as saved:
            reached.append(json.loads(saved["header"].tobytes())["t"])
    subprocess.run([sys.executable, "-c", CHILD, str(folder)], cwd=ROOT, check=True)
    return records.read(folder / "dfa-seed1.json"), reached


@pytest.mark.slow
@pytest.mark.posix("kills a process")
def test_killed_without_warning_and_resumed(tmp_path):
    whole = run(Settings(architecture="784-30-10", train_examples=2000, batch=4, epochs=6), tmp_path / "whole")
    again, reached = kill_and_resume(tmp_path / "out", kills=2, rng=np.random.default_rng(0))
    assert untimed(again) == untimed(whole)
    assert 0 < reached[0] < reached[1] < whole["steps"]
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["dfa-seed1.json"]


@pytest.mark.parametrize(
    "seed",
    [pytest.param(0, marks=pytest.mark.slow), *(pytest.param(seed, marks=pytest.mark.nightly) for seed in (1, 2))],
)
@pytest.mark.posix("kills a process")
def test_killed_many_times(seed, tmp_path):
    whole = run(Settings(architecture="784-30-10", train_examples=2000, batch=4, epochs=6), tmp_path / "whole")
    again, reached = kill_and_resume(tmp_path / "out", kills=6, rng=np.random.default_rng(seed))
    assert untimed(again) == untimed(whole)
    assert reached == sorted(set(reached))


def test_a_finished_run_is_not_trained_again(settings, tmp_path, monkeypatch):
    record = run(settings, tmp_path)
    with monkeypatch.context() as patch:
        stop_after(patch, 0)
        assert run(settings, tmp_path) == record
        assert run(replace(settings, data_dir=str(tmp_path)), tmp_path) == record  # the data may be in another folder
        with pytest.raises(Killed):
            run(settings, tmp_path, resume=False)
    assert untimed(run(settings, tmp_path, resume=False)) == untimed(record)


def test_other_settings_or_data_in_the_folder_are_refused(settings, tiny, tmp_path, monkeypatch):
    out = tmp_path / "out"
    run(settings, out)
    expect = r"holds a finished run dfa-seed1 with other settings \(lr is 0.1 in that run and 0.2 in the new run\)\."
    with pytest.raises(ValueError, match=expect):
        run(replace(settings, lr=0.2), out)
    with np.load(tiny) as arrays:
        (tmp_path / "other").mkdir()
        np.savez(tmp_path / "other" / "tiny.npz", **(dict(arrays) | {"x_train": 2 * arrays["x_train"]}))
    with pytest.raises(ValueError, match=r"with other settings \(other data\)"):
        run(replace(settings, dataset=str(tmp_path / "other" / "tiny.npz")), out)

    stop_after(monkeypatch, 2)
    with pytest.raises(Killed):
        run(settings, tmp_path / "half", checkpoint_every=0)
    monkeypatch.undo()
    expect = r"holds an interrupted run dfa-seed1 with other settings \(batch is 10 in that run and 5 in the new run\)"
    with pytest.raises(ValueError, match=expect):
        run(replace(settings, batch=5), tmp_path / "half")
    afresh = run(replace(settings, batch=5), tmp_path / "half", resume=False)
    assert untimed(afresh) == untimed(run(replace(settings, batch=5), tmp_path / "fresh"))


def test_a_damaged_checkpoint_is_refused(settings, tmp_path):
    (tmp_path / "dfa-seed1.ckpt.npz").write_bytes(b"PK\x03\x04 and then nothing")
    path = re.escape(str(tmp_path / "dfa-seed1.ckpt.npz"))
    with pytest.raises(ValueError, match=rf"^{path} is not a whole checkpoint \(.*\): delete this file"):
        run(settings, tmp_path)
    with pytest.raises(ValueError, match=rf"^{path} is not a whole checkpoint \(.*\): delete this file"):
        load_checkpoint(tmp_path / "dfa-seed1.ckpt.npz", None, None)
