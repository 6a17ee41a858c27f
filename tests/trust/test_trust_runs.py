"""Tests of interrupted runs: kills, SIGTERM, two processes in one folder, a full disk, a read-only folder.

Each interruption leaves a message of one sentence, the finished files, and no incomplete file.
"""

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from nfa.experiments import records
from nfa.experiments.checkpoint import load_checkpoint, save_checkpoint
from nfa.experiments.locks import locked
from nfa.experiments.run import run
from nfa.whole import write_whole
from tests.experiments.tiny_runs import Killed, stop_after, tiny_settings, write_data
from tests.trust.trust_runs import KILLS, finished, kept, kills, last_line, started, whole

fcntl = pytest.importorskip("fcntl", reason="needs POSIX: locks, signals, permissions and limits as it has them")
resource = pytest.importorskip("resource", reason="needs POSIX: the limit on the size of a file")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("data") / "tiny.npz")


@pytest.fixture(scope="module")
def alone(tiny, tmp_path_factory):
    """The files of the tiny table from an undisturbed process."""
    out = tmp_path_factory.mktemp("alone") / "out"
    code, said = finished(tiny, out)
    assert code == 0, said
    return kept(out)


# ---------------------------------------------------------------- killed


@pytest.mark.nightly
def test_killed_at_random_moments_and_resumed_it_is_the_table_left_alone():
    counts = kills(3)
    assert counts["kills"] == 3
    assert counts["records"] >= 3
    assert counts["differ"] == 0


@pytest.mark.nightly
@pytest.mark.parametrize("n, jobs, epochs", KILLS)
def test_killed_many_times(n, jobs, epochs):
    counts = kills(n, seed=jobs, jobs=jobs, epochs=epochs)
    assert counts["kills"] == n
    # With one process, a kill often leaves a checkpoint. Workers save a checkpoint only every ten seconds, but finish
    # in less than ten seconds.
    assert counts["with a checkpoint"] > n / 10 or jobs > 1
    assert counts["differ"] == 0


# ---------------------------------------------------------------- asked to stop


@pytest.mark.parametrize(
    "number, code",
    [
        pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow),
        pytest.param(signal.SIGINT, 130, marks=pytest.mark.nightly),
    ],
)
def test_a_signal_leaves_a_sentence_and_what_is_finished(number, code, tiny, tmp_path, alone):
    """After a signal in the middle of the second cell, the command prints a sentence and keeps the finished cells."""
    out = tmp_path / "out"
    process = started(tiny, out)
    for line in process.stderr:
        if "finished" in line:
            break
    while not list(out.glob("*.ckpt.npz")) and process.poll() is None:
        time.sleep(0.005)
    process.send_signal(number)
    said = process.communicate(timeout=120)[1]
    assert process.returncode == code
    assert last_line(said).startswith(
        f"stopped. Finished work is kept in {out}. To continue this work, run the same command"
    )
    done = {path.name for path in out.glob("*.json")}
    assert done
    assert whole(out) or len(done) == 3
    assert not list(out.glob("*.part"))
    assert finished(tiny, out)[0] == 0
    assert kept(out) == alone


@pytest.mark.nightly
@pytest.mark.parametrize("number, code", [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
@pytest.mark.parametrize("send", ["kill", "killpg"])
def test_a_signal_to_a_command_with_workers(send, number, code, tiny, tmp_path):
    """The signal goes to the process alone (like `kill`), or also to its workers (like a terminal or Slurm)."""
    out = tmp_path / "out"
    process = started(tiny, out, "--jobs", 2, epochs=3000)
    # wait for the lock of the folder and the locks of two runs
    while len(list(out.glob("*.lock"))) < 3 and process.poll() is None:
        time.sleep(0.005)
    time.sleep(0.3)
    getattr(os, send)(process.pid, number)
    said = process.communicate(timeout=60)[1]  # returns when the workers have closed the pipe too
    assert process.returncode == code
    assert last_line(said).startswith(
        f"stopped. Finished work is kept in {out}. To continue this work, run the same command"
    )
    whole(out)
    for folder in (out, tmp_path / "alone"):
        assert finished(tiny, folder, "--jobs", 2, epochs=3000)[0] == 0
    assert kept(out) == kept(tmp_path / "alone")


def test_sigterm_waits_for_the_step_and_leaves_a_checkpoint(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr("nfa.experiments.run.PROGRESS_EVERY", 0.0)
    settings = tiny_settings(tiny)

    class Ended(Exception):
        pass

    def handler(number, frame):
        raise Ended

    before = signal.signal(signal.SIGTERM, handler)
    try:
        with pytest.raises(Ended):
            run(settings, tmp_path, progress=lambda cell, t, *_: t == 5 and signal.raise_signal(signal.SIGTERM))
        assert signal.getsignal(signal.SIGTERM) is handler
    finally:
        signal.signal(signal.SIGTERM, before)
    assert whole(tmp_path) == {"dfa-seed1.ckpt.npz": 6}


# ---------------------------------------------------------------- two processes in one folder


def test_a_lock_lets_one_in_and_is_gone_afterwards(tmp_path):
    path = tmp_path / "a.lock"
    with locked(path, "a"):
        with pytest.raises(OSError, match=rf"another process {os.getpid()} on .* uses a: wait until"):
            with locked(path, "a"):
                pytest.fail("two are in")
        assert path.exists()
    assert not path.exists()
    path.write_text("process 1 on a machine that went down long ago")  # a lock file that a killed process left
    with locked(path, "a"):
        assert path.read_text().startswith(f"process {os.getpid()} ")


def test_a_lock_is_waited_for(tmp_path):
    path, order = tmp_path / "a.lock", []

    def first():
        with locked(path, "a"):
            inside.set()
            time.sleep(0.1)
            order.append("first")

    inside, thread = threading.Event(), threading.Thread(target=first)
    thread.start()
    inside.wait()
    with locked(path, "a", wait=30):
        order.append("second")
    thread.join()
    assert order == ["first", "second"]


def test_the_lock_of_a_file_that_was_just_removed_is_no_lock(tmp_path, monkeypatch):
    """A lock on a removed file does not count, because another process can create and lock a file with its name.

    In this test, the previous owner removes the file after we open it and before we lock it.
    """
    path, real, left = tmp_path / "a.lock", fcntl.flock, [True]

    def late(file, how):
        if left and left.pop():
            path.unlink()
        real(file, how)

    monkeypatch.setattr(fcntl, "flock", late)
    with locked(path, "a"):
        with pytest.raises(OSError, match="uses a: wait"):
            with locked(path, "a"):
                pytest.fail("two are in")


@pytest.mark.parametrize("module, asked", [(fcntl, "flock"), (os, "fstat")])
def test_the_lock_of_a_file_that_another_machine_removed_is_no_lock(module, asked, tmp_path, monkeypatch):
    """A lock on a file that another machine removed does not count.

    On a network file system, locking or checking such a file raises the error of a stale handle.
    """
    path, real, left = tmp_path / "a.lock", getattr(module, asked), [True]

    def stale(*given):
        if left and left.pop():
            path.unlink()
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE))
        return real(*given)

    monkeypatch.setattr(module, asked, stale)
    with locked(path, "a"):
        assert not left
        with pytest.raises(OSError, match="uses a: wait"):
            with locked(path, "a"):
                pytest.fail("two are in")


def test_a_handle_that_stays_stale_is_an_error(tmp_path, monkeypatch):
    def stale(file, how):
        raise OSError(errno.ESTALE, "stale for good")

    monkeypatch.setattr(fcntl, "flock", stale)
    monkeypatch.setattr("nfa.experiments.locks.STALE", 0.1)
    with pytest.raises(OSError, match="stale for good"):
        with locked(tmp_path / "a.lock", "a"):
            pytest.fail("in, on no lock")


def test_a_wait_that_is_interrupted_leaves_no_file_open(tmp_path, monkeypatch):
    path = tmp_path / "a.lock"

    def interrupted(seconds):
        raise KeyboardInterrupt

    with locked(path, "a"):
        monkeypatch.setattr(time, "sleep", interrupted)
        before = set(os.listdir("/dev/fd"))
        with pytest.raises(KeyboardInterrupt):
            with locked(path, "a", wait=30):
                pytest.fail("two are in")
        assert set(os.listdir("/dev/fd")) <= before


def test_what_another_process_finished_meanwhile_is_not_trained_again(tiny, tmp_path, monkeypatch):
    record = run(tiny_settings(tiny), tmp_path / "theirs")

    @contextmanager
    def waited(*_):
        shutil.copy(tmp_path / "theirs" / "dfa-seed1.json", tmp_path / "out")
        yield

    monkeypatch.setattr("nfa.experiments.run.locked", waited)
    stop_after(monkeypatch, 0)
    assert run(tiny_settings(tiny), tmp_path / "out") == record


def test_of_many_that_come_and_go_one_at_a_time_is_in(tmp_path):
    """If 6 threads lock and unlock 20 times each, only one thread at a time has the lock.

    The owner of the lock removes the file at the end, even while other threads wait for it.
    """
    path, inside, most = tmp_path / "a.lock", [], []

    def come_and_go():
        for _ in range(20):
            with locked(path, "a", wait=60):
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=come_and_go) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(most), max(most)) == (120, 1)


def test_a_run_in_the_hands_of_another_process_is_refused(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr("nfa.experiments.run.LOCK_WAIT", 0.0)
    with locked(tmp_path / "dfa-seed1.lock", "x"):
        with pytest.raises(OSError, match=r"uses dfa-seed1 in the output folder .*: wait until"):
            run(tiny_settings(tiny), tmp_path)
        assert run(tiny_settings(tiny, seed=2), tmp_path)["seed"] == 2  # these files belong to no other process
    assert run(tiny_settings(tiny), tmp_path)["seed"] == 1


@pytest.mark.slow
def test_a_second_reproduce_in_the_folder_is_refused(tiny, tmp_path):
    with locked(tmp_path / "reproduce.lock", "the first"):
        code, said = finished(tiny, tmp_path)
    assert code == 1
    assert re.fullmatch(rf"another process {os.getpid()} on \S+ uses the output folder .*", last_line(said))
    assert "starts" not in said
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------- disks and folders


@contextmanager
def mounted(folder, options):
    """Mount a small file system on the folder. Yield False if this user may not mount it."""
    folder.mkdir()
    try:
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True)
    except FileNotFoundError:
        yield False
        return
    try:
        yield done.returncode == 0
    finally:
        if done.returncode == 0:
            subprocess.run(["umount", folder], check=True)


@pytest.mark.slow
def test_a_full_disk_leaves_a_sentence_and_what_is_finished(tiny, tmp_path, alone):
    """If the disk is full after one record, the command prints a sentence and keeps the finished files.

    If this user cannot mount a small disk, we limit the size of a file instead.
    """
    disk = tmp_path / "disk"
    with mounted(disk, "size=64k") as full:
        out = disk / "out"
        if full:
            first = started(tiny, out)
            for line in first.stderr:
                if "finished" in line:
                    break
            with suppress(OSError), open(disk / "ballast", "wb", buffering=0) as ballast:
                while True:
                    ballast.write(bytes(512))
            said = first.communicate(timeout=120)[1]
            code = first.returncode
            says = os.strerror(errno.ENOSPC)
        else:
            limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))  # noqa: E731
            code, said = finished(tiny, out, preexec_fn=limit)
            says = os.strerror(errno.EFBIG)
        assert code == 1
        assert re.fullmatch(rf"{out}/\S+: {says}", last_line(said))
        whole(out)
        assert not list(out.glob("*.part"))
        assert bool(list(out.glob("*.json"))) == full
        (disk / "ballast").unlink(missing_ok=True)
        shutil.copytree(out, tmp_path / "more")
    assert finished(tiny, tmp_path / "more")[0] == 0
    assert kept(tmp_path / "more") == alone


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_what_cannot_be_written_is_named_and_the_old_file_stays(number, tmp_path, monkeypatch):
    write_whole(tmp_path / "a", b"old")

    def full(file):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError) as problem:
        write_whole(tmp_path / "a", b"new")
    assert (problem.value.errno, problem.value.filename) == (number, str(tmp_path / "a"))
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": b"old"}


@pytest.mark.slow
def test_a_folder_that_may_not_be_written_is_told_before_training(tiny, tmp_path):
    """nfa reports before training that it may not write into the folder.

    The folder is on a read-only file system. If this user cannot mount one, the test uses a folder without the right to
    write or, for root, a folder of the kernel.
    """
    with mounted(tmp_path / "disk", "ro,size=64k") as read_only:
        out = tmp_path / "disk" / "out"
        if not read_only:
            (tmp_path / "disk").chmod(0o555)
            out = Path("/proc/nfa") if os.geteuid() == 0 else out
        code, said = finished(tiny, out)
        assert code == 1
        assert re.fullmatch(
            rf"{out}(/\S+)?: (Read-only file system|Permission denied|No such file .*)", last_line(said)
        )
        assert "starts" not in said
        assert not out.exists()
        (tmp_path / "disk").chmod(0o755) if not read_only else None


def test_a_finished_run_is_read_where_nothing_can_be_written(tiny, tmp_path, monkeypatch):
    record = run(tiny_settings(tiny), tmp_path)

    def refuse(*_, **__):
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    for function in ("mkdir", "unlink", "replace"):
        monkeypatch.setattr(os, function, refuse)
    monkeypatch.setattr(Path, "unlink", refuse)
    monkeypatch.setattr(Path, "mkdir", refuse)
    assert run(tiny_settings(tiny), tmp_path) == record


@pytest.mark.parametrize("jobs", [pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.nightly)])
def test_data_that_vanish_leave_a_sentence_and_what_is_finished(jobs, tiny, tmp_path, alone):
    (tmp_path / "data").mkdir()
    data = Path(shutil.copy(tiny, tmp_path / "data"))
    process = started(data, tmp_path / "out", "--jobs", jobs)
    for line in process.stderr:
        if "starts" in line:
            break
    shutil.rmtree(tmp_path / "data")
    said = process.communicate(timeout=120)[1]
    assert process.returncode == 1
    assert last_line(said).startswith("there is no file ")
    whole(tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").glob("*.json")} >= ({"bp-seed1.json"} if jobs == 1 else set())
    (tmp_path / "data").mkdir()
    shutil.copy(tiny, tmp_path / "data")
    assert finished(data, tmp_path / "out")[0] == 0
    assert kept(tmp_path / "out") == alone


# ---------------------------------------------------------------- privacy in checkpoints


@pytest.fixture
def private(tiny, tmp_path, monkeypatch):
    """A DP-SGD run that was killed after 5 steps, and its settings."""
    rule_settings = {"C": 1.0, "m": 10, "sigma": 0.3}
    settings = tiny_settings(tiny, rule="dp_sgd", rule_settings=rule_settings, sampling="poisson")
    settings = replace(settings, adjacency="add-remove", delta=1e-5)
    with monkeypatch.context() as patch:
        stop_after(patch, 5)
        with pytest.raises(Killed):
            run(settings, tmp_path / "out", checkpoint_every=0)
    return settings, tmp_path / "out" / "dp_sgd-seed1.ckpt.npz"


def rewritten(path, change):
    """Change the header of a checkpoint."""
    with np.load(path) as saved:
        arrays = {name: saved[name] for name in saved.files}
    header = json.loads(arrays["header"].tobytes())
    change(header)
    np.savez(path, **(arrays | {"header": np.frombuffer(json.dumps(header).encode(), np.uint8)}))


def test_a_checkpoint_says_step_mechanism_and_what_is_spent(private, tmp_path):
    settings, path = private
    spent = records.checkpoint_meta(path)["spent"]
    record = run(replace(settings, epochs=2), tmp_path / "whole")  # the whole run has 8 steps
    with np.load(path) as saved:
        header = json.loads(saved["header"].tobytes())
    assert header["t"] == spent["guarantee"]["steps"] == 5
    assert header["privacy"]["mechanism"] == record["privacy"]["mechanism"]
    assert header["privacy"]["rule"] == "dp_sgd"
    assert 0 < spent["guarantee"]["epsilon"] < record["privacy"]["guarantee"]["epsilon"]
    assert re.search(r"\(\d\.\d+, 1e-05\)-DP under .* ", spent["statement"])


def drop(header):
    del header["privacy"]


def less_noise(header):
    header["privacy"]["mechanism"]["noise_std"] /= 2


def of_another_rule(header):
    header["privacy"] = {"rule": "dfa", "statement": "none: rule dfa states no mechanism"}


@pytest.mark.parametrize(
    "change, says",
    [
        (drop, "does not record the privacy of its steps"),
        (less_noise, r'"noise_std": 0\.15.*, but this run .*"noise_std": 0\.3'),
        (of_another_rule, r'have the privacy {"rule": "dfa", .*but this run has {"rule": "dp_sgd"'),
    ],
)
def test_a_checkpoint_without_its_statement_or_with_anothers_is_refused(private, change, says):
    settings, path = private
    rewritten(path, change)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=says) as refusal:
        run(settings, path.parent)
    assert "\n" not in str(refusal.value)
    assert path.read_bytes() == before
    assert not list(path.parent.glob("*.json"))


def test_the_loop_s_own_checkpoints_are_held_to_the_statement(tiny, tmp_path):
    from nfa.experiments.prepare import prepare

    parts = prepare(tiny_settings(tiny))
    said = {"rule": "dfa", "orders": (2, 3)}
    save_checkpoint(tmp_path / "c.npz", parts.net, parts.optimizer, 7, privacy=said)
    assert load_checkpoint(tmp_path / "c.npz", parts.net, parts.optimizer, privacy=said)[0] == 7
    with pytest.raises(
        ValueError,
        match=r"but this run has null: choose another",
    ):
        load_checkpoint(tmp_path / "c.npz", parts.net, parts.optimizer)
