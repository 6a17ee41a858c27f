"""Tests of the benchmarks at tiny size: peers compute the same directions as our rules. No test asserts a time."""

import contextlib
import importlib
import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from nfa.experiments.settings import Settings
from tests.benchmarks import contenders, race, targets, timing
from tests.benchmarks import problem as problems
from tests.benchmarks.contenders import Contender

pytest.importorskip("numba", reason="numba is not installed: pip install numba")  # a run binds kernels
ROOT = Path(__file__).parents[2]
HOW = {"tiny": True, "threads": 1}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the tiny data."""
    from tests.benchmarks import own

    made = tmp_path_factory.mktemp("data")
    assert own.export(str(made), names=[], **HOW).told == {"data": ["tiny"]}
    return made


OURS = {
    f"{group}: {one.name}": one
    for group, (_, all_of_it) in contenders.GROUPS.items()
    for one in all_of_it
    if one.kind == "ours" and one.build.partition(":")[0] in ("own", "pieces") and group != "ulr"
}


@pytest.mark.parametrize("name", OURS)
def test_whatever_is_timed_of_ours_takes_a_step(folder, name):
    """Each of our timed steps can be built and run.

    Other tests cover ULR's tiny network and the contenders that start a process.
    """
    module, _, build = OURS[name].build.partition(":")
    built = getattr(importlib.import_module(f"tests.benchmarks.{module}"), build)(
        str(folder), **OURS[name].options, **HOW
    )
    assert built.steps
    for step in built.steps.values():
        step()
    functions = [built.told.get("function"), *built.told.get("functions", [])]
    assert all(function.startswith(("nfa.", "tests.benchmarks.")) for function in functions if function)


def our_directions(folder, problem, rule, x, labels, **more):
    """The direction that our rule, bound as in a run, would subtract at the peers' first weights.

    The arrays are in the order W[1], b[1], W[2], ...
    """
    from nfa.experiments.prepare import prepare
    from tests.benchmarks import own

    given = own.settings(str(folder), problem, rule, **HOW).to_json() | {"data_dir": None}
    given["rule_settings"] = {**given["rule_settings"], **more}
    given["dataset"] = str(folder / "tiny.npz")
    parts = prepare(Settings.from_json(given))
    for l, (W, b) in enumerate(problems.weights(problems.layers(problem, tiny=True)), start=1):
        parts.net.W[l][...], parts.net.b[l][...] = W, b
    dW, db = parts.rule(parts.net, x, np.eye(10, dtype=np.float32)[labels], rng=parts.streams("noise", 1))
    return [p for l in range(1, parts.net.L + 1) for p in (dW[l], db[l])]


@pytest.mark.slow
@pytest.mark.peers
@pytest.mark.parametrize("library", ["torch", pytest.param("jax", marks=pytest.mark.nightly)])
@pytest.mark.parametrize("problem", ["mlp", "cnn"])
def test_peers_compute_our_directions(folder, problem, library):
    """Each peer's direction agrees with ours to 1e-5 of the largest entry, in float32.

    When Opacus clips, it divides by the norm plus 1e-6. The resulting difference is below the tolerance.
    """
    from tests.benchmarks import peers

    task = peers.task(problem, tiny=True)
    x, labels = (v[: task.batch] for v in problems.records(folder, "tiny", flat=problem == "mlp")[:2])
    mine = {
        rule: our_directions(folder, problem, rule, x, labels, **({"sigma": 0.0} if rule == "dp_sgd" else {}))
        for rule in ("bp", "dp_sgd")
    }
    norms = [math.sqrt(sum(float(np.square(p).sum()) for p in mine[key])) for key in ("bp", "dp_sgd")]
    assert norms[1] < 0.9 * norms[0]  # so that the clip has an effect
    pytest.importorskip(library, reason=f"{library} is not installed: make bench installs it")
    compared = set()
    for contender in contenders.of(problem, extra=True):
        if library in contender.libraries:
            build, twin = peers.PEERS[contender.name]
            theirs = build(task).direction(x, labels)
            for got, want in zip(theirs, mine[twin], strict=True):
                np.testing.assert_allclose(got.reshape(want.shape), want, rtol=0, atol=1e-5 * np.abs(want).max())
            compared.add(contender.name)
    assert f"{library} bp" in compared


@pytest.mark.parametrize("problem", ["mlp", "cnn"])
def test_peers_read_the_records_that_a_run_reads(folder, problem):
    """The records of the peers agree with those of a run to 1e-5.

    To standardise them, a run sums the pixels in another order.
    """
    from nfa.experiments.prepare import prepare
    from tests.benchmarks import own

    parts = prepare(own.settings(str(folder), problem, "bp", **HOW))
    x, y, x_test, y_test = problems.records(folder, "tiny", flat=problem == "mlp")
    np.testing.assert_allclose(x, parts.batches.x, rtol=0, atol=1e-5)
    np.testing.assert_allclose(x_test, parts.x_test, rtol=0, atol=1e-5)
    assert (y == parts.batches.y.argmax(axis=1)).all()
    assert (y_test == parts.y_test).all()
    assert x.dtype == parts.batches.x.dtype == np.float32


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["bp", "dp_dfa"])
def test_our_step_is_that_of_a_run(folder, rule, tmp_path):
    """After as many steps as an epoch has, the training loss equals the loss in the run's record, bitwise."""
    from nfa.experiments.run import measure, run
    from tests.benchmarks import own

    chosen = own.settings(str(folder), "mlp", rule, **HOW)
    record = run(chosen, tmp_path)
    step, parts = own.stepping(chosen)
    for _ in range(record["steps"]):
        step()
    mine = measure(parts, record["steps"])
    assert mine["train_loss"] == record["history"][-1]["train_loss"]
    assert parts.kernels == record["kernels"]


def test_the_floors_are_products_of_the_step_s_size(monkeypatch):
    """The products of the floors have as many operations as the products of a step.

    A product of (a, b) and (b, c) has 2 a b c operations. BP uses each weight matrix in three products per example, but
    W[1] in only two.
    """
    from tests.benchmarks import floors

    counted = []
    monkeypatch.setattr(floors.np, "matmul", lambda a, b, out: counted.append((a.shape, b.shape, out.shape)))
    weights, m = [64 * 16, 16 * 12, 12 * 10], problems.batch(True, "mlp")
    for backward, want in ((True, 3 * sum(weights) - weights[0]), (False, 2 * sum(weights) + 10 * (16 + 12))):
        counted.clear()
        floors.products("mlp", True, backward=backward)()
        assert all((a[0], b[1]) == out for a, b, out in counted)
        assert sum(a[0] * a[1] * b[1] for a, b, _ in counted) == m * want


@pytest.mark.parametrize("problem, kind", [("mlp", "ohana2021"), ("cnn", "lee2020-cnn")])
def test_the_peers_networks_have_our_shapes(problem, kind):
    from nfa import network, noise

    net = network.ARCHITECTURES[kind](rng=noise.Streams(0)("init"), dtype=np.float32)
    assert [W.shape for W in net.W[1:]] == [layer.shape for layer in problems.layers(problem, tiny=False)]
    activations = [layer.activation for layer in problems.layers(problem, tiny=False)]
    assert activations[:-1] == [phi.name for phi in net.phi[1 : net.L]]
    assert activations[-1] == ""


def contestant(folder, contender):
    return race.Contestant(contender, race.ENVIRONMENT, folder, tiny=True, threads=1, least=0.0)


@pytest.mark.slow
def test_each_contender_has_a_process_that_sleeps(folder):
    """Each contender has its own process, which uses no core between its turns and has ended after the race."""
    two = [c for c in contenders.of("mlp") if c.name in ("bp", "dp_dfa")]
    try:
        made = [contestant(folder, c) for c in two]
        pids = [one.process.pid for one in made]
        assert len({*pids, os.getpid()}) == 3
        before = timing.worked(pids[0])
        assert made[0].round(["step"])["step"]["wall"] > 0
        assert made[0].about["environment"]["versions"]["numpy"] == np.__version__
        if before:  # 0 if the system does not report the processor time
            time.sleep(0.2)
            asleep = timing.worked(pids[0])
            assert asleep > before
            time.sleep(0.5)
            assert timing.worked(pids[0]) - asleep < 0.05
    finally:
        race.end()
    assert all(one.process.poll() is not None for one in made)


@pytest.mark.slow
def test_no_library_of_a_peer_is_in_our_process(folder):
    try:
        for group in ("mlp", "cnn", "ulr", "noise"):
            contender = next(c for c in contenders.of(group) if c.kind == "ours" and c.name != "bp")
            found = contestant(folder, contender).about
            assert not {"torch", "opacus", "jax"} & set(found["environment"]["versions"]), contender.name
    finally:
        race.end()


@pytest.mark.slow
@pytest.mark.peers
def test_nothing_of_ours_is_in_the_process_of_a_peer(folder):
    """The process of a peer imports no module of nfa and no other peer."""
    pytest.importorskip("torch", reason="torch is not installed: make bench installs it")
    try:
        found = contestant(folder, next(c for c in contenders.of("mlp") if c.name == "torch bp")).about
    finally:
        race.end()
    assert not {"numba", "jax", "opacus"} & set(found["environment"]["versions"])
    assert "torch" in found["environment"]["versions"]
    code = "import sys, tests.benchmarks.peers; print(sorted(m for m in sys.modules if m.split('.')[0] == 'nfa'))"
    told = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert told.strip() == "[]"


@pytest.mark.slow
def test_a_process_that_cannot_is_left_out_and_one_that_fails_is_told(folder):
    try:
        refused = Contender("bp", "own:step", {"problem": "mlp", "rule": "bp", "pixels": "blue"})
        assert contestant(folder, refused).about["left_out"].startswith("ValueError: pixels")
        with pytest.raises(race.Lost, match=r"the process of none ended:[\s\S]*KeyError: 'none'"):
            contestant(folder, Contender("none", "own:step", {"problem": "mlp", "rule": "none"}))
    finally:
        race.end()


@pytest.mark.slow
def test_the_record_has_its_form(tmp_path, capsys):
    from tests.benchmarks import report

    without = [c.name for c in contenders.GROUPS["mlp"][1] if c.name not in ("dfa", "photonic", "floor", "torch bp")]
    if not contenders.installed("torch"):
        without.append("torch bp")
    report.run(["mlp", "start"], cores=["environment"], without=without, rounds=2, tiny=True, out=tmp_path, threads=1)
    found = json.loads((tmp_path / "bench.json").read_text())
    mlp = found["groups"]["mlp"]["contenders"]
    assert {"dfa", "photonic", "floor"} <= set(mlp)
    for by_core in mlp.values():
        for about in by_core.values():
            assert all(len(times["wall"]) == len(times["cpu"]) == 2 for times in about["times"].values())
            assert all(t > 0 for times in about["times"].values() for t in times["wall"])
            assert {"environment", "seconds_to_be_ready", "process_bytes", "others"} <= set(about)
    assert {row["what"] for row in found["targets"]} == {target.what for target in targets.TARGETS}
    by = {row["what"]: row for row in found["targets"]}
    photonic = by["MLP: photonic over DFA"]
    walls = {name: mlp[name]["environment"]["times"]["step"]["wall"] for name in ("photonic", "dfa")}
    want = sum(walls["photonic"]) / sum(walls["dfa"])  # with two rounds the median is the mean
    assert photonic["found"] == pytest.approx(want, rel=1e-12)
    assert photonic["reached"] == (want <= photonic["at_most"])
    assert by["CNN: hybrid over DP-SGD"]["reached"] is None
    assert by["import nfa, seconds"]["found"] > 0
    assert (tmp_path / "bench.png").is_file() == ("torch bp" in mlp)
    assert not list(tmp_path.glob("*.part"))
    told = capsys.readouterr()
    assert "not measured" in told.out
    assert "mlp: begins; then start" in told.err
    with pytest.raises(ValueError, match="there is no part 'mpl'; the parts are mlp, cnn"):
        report.run(["mpl"], out=tmp_path)


def processes_of(mark):
    """The processes that have a variable of this name in their environment, without zombies."""
    found = set()
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):  # a process may have ended or belong to another user
            if folder.name.isdigit() and mark.encode() in (folder / "environ").read_bytes():
                found.add(int(folder.name))
    return found


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc, which tells who started a process")
@pytest.mark.parametrize(
    "name, code, said",
    [
        ("SIGINT", 130, "interrupted: nothing was written"),
        ("SIGTERM", 143, "terminated: nothing was written"),
        pytest.param("SIGHUP", 129, "terminated: nothing was written", marks=pytest.mark.nightly),
        pytest.param("SIGKILL", -9, "", marks=pytest.mark.nightly),
    ],
)
@pytest.mark.parametrize("part, moment", [("clips", "gets ready"), ("clips", "round 2"), ("start", "first use")])
def test_whatever_ends_it_no_process_is_left(tmp_path, part, moment, name, code, said):
    """No process is left after a signal to the bench.

    We send the signal when the bench's terminal line shows ``moment``. The bench's folder of data is removed too,
    unless the signal is SIGKILL.
    """
    mark = f"NFA_TEST_{os.getpid()}_{time.monotonic_ns()}"
    command = [sys.executable, "-m", "tests.benchmarks", "--tiny", "--core-types", "environment", "--only", part]
    command += ["--out", str(tmp_path / "out"), "--rounds", "100000"]
    variables = {**os.environ, mark: "1", "TMPDIR": str(tmp_path)}
    ours, theirs = os.openpty()
    hung_up = signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the caller of the tests may ignore SIGHUP, as nohup does
    how = {"cwd": ROOT, "stderr": theirs, "stdout": subprocess.DEVNULL, "env": variables}
    with subprocess.Popen(command, **how) as process:
        signal.signal(signal.SIGHUP, hung_up)
        os.close(theirs)
        told = ""
        while moment not in told:
            told += os.read(ours, 1000).decode()
        while len(processes_of(mark)) < 2:
            assert process.poll() is None
        process.send_signal(getattr(signal, name))
        ended = process.wait(timeout=30)
        with contextlib.suppress(OSError):  # the other end of the terminal is closed
            while more := os.read(ours, 1000):
                told += more.decode()
    os.close(ours)
    assert ended == code, told
    until = time.monotonic() + 30
    while (left := processes_of(mark)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not left
    assert said in told.splitlines()[-1]
    assert "Traceback" not in told
    assert not list((tmp_path / "out").iterdir())
    assert name == "SIGKILL" or not list(tmp_path.glob("nfa-bench-*"))


def test_core_types_are_those_of_the_processor(monkeypatch):
    flags = Path("/proc/cpuinfo").read_text()
    monkeypatch.setattr(race.Path, "read_text", lambda self: flags.replace("avx512f", ""))
    here, missing = race.core_types(None)
    assert "AVX-512" not in here
    assert missing["AVX-512"] == "this processor has no AVX-512"
    with pytest.raises(ValueError, match="there is no core type 'AVX3'; the core types are AVX2, AVX-512, environment"):
        race.core_types(["AVX3"])


@pytest.mark.slow
def test_peaks_see_what_a_step_allocates():
    """If a step fills 64 MiB, the peak rises by 64 MiB (to within 16 MiB), although 64 MiB were freed before."""
    code = """
import numpy as np
from nfa.kernels import cores
from tests.benchmarks import timing
cores.keep_memory()
fill = lambda: float(np.ones(64 << 20, np.int8)[0])
fill()
timing.reset_peak()
before = timing.resident()
fill()
print(timing.resident(peak=True) - before if before else 64 << 20)
"""
    told = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert abs(int(told) - (64 << 20)) < 16 << 20
