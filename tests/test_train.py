"""Tests of the training loop and its checkpoints: the input of a step, resuming, divergence, and damaged files."""

import functools
import io
import json
import os
import signal
import struct
import subprocess
import sys
import time
import tracemalloc
import zipfile

import numpy as np
import pytest

from nfa import feedback, ops, train
from nfa.experiments.checkpoint import load_checkpoint, save_checkpoint
from nfa.mechanism import NoGuarantee
from nfa.network import mlp
from nfa.noise import Streams
from nfa.optim import SGD, Adam, step_decay
from nfa.parts import InParts
from nfa.rules import dp_sgd
from nfa.rules.bp import bp
from nfa.rules.dfa import dfa
from nfa.rules.spec import released, spec
from nfa.sampling import EpochPartition, Full, Poisson, WithoutReplacement
from nfa.train import Diverged
from tests.oracles.core import fix_a, loss_by_records


def data(n=12):
    rng = np.random.default_rng(1)
    return rng.normal(size=(n, 4)), np.eye(3)[rng.integers(0, 3, n)]


def small_net(seed=0, sizes=(4, 5, 3), dtype=np.float64):
    return mlp(list(sizes), ops.tanh, rng=np.random.default_rng(seed), dtype=dtype)


def arrays(net, optimizer=None):
    """Copies of everything that a step may change."""
    memory = [] if optimizer is None else [a for name in sorted(optimizer.state) for a in optimizer.state[name]]
    return [a.copy() for a in (*net.W[1:], *net.b[1:], *memory)]


def same_bits(one, other):
    return len(one) == len(other) and all(
        np.array_equal(a, b) and a.dtype == b.dtype for a, b in zip(one, other, strict=True)
    )


def run(loop, last):
    """Run the loop's steps up to ``last``."""
    while next(loop) < last:
        pass


# --- the input of a step -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [0, 5])
def test_step_t_sees_the_batch_and_the_noise_of_t(start):
    streams = Streams(3)
    batches, seen = WithoutReplacement(*data(), 4, streams), []

    def rule(net, x, y, *, rng):
        seen.append((x, y, rng.random()))
        return bp(net, x, y)

    net = small_net()
    loop = train.train(net, rule, batches, SGD(0.1), streams, start=start)
    assert [next(loop) for _ in range(3)] == [start + 1, start + 2, start + 3]
    for t, (x, y, draw) in enumerate(seen, start=start + 1):
        assert np.array_equal(x, batches.at(t)[0])
        assert np.array_equal(y, batches.at(t)[1])
        assert draw == streams("noise", t).random()


def test_the_optimizer_is_told_the_step():
    """The optimizer gets the number of the step.

    In this test, the learning rate is 0 from step 3 on, so no parameter changes.
    """
    net = small_net()
    loop = train.train(net, bp, Full(*data()), SGD(lambda t: 0.1 if t < 3 else 0.0), Streams(0))
    history = [arrays(net) for _ in range(4) if next(loop)]
    assert not same_bits(history[0], history[1])
    assert same_bits(history[1], history[2])
    assert same_bits(history[2], history[3])


@pytest.mark.parametrize("name", ["bp", "dfa"])
def test_the_loss_falls(name):
    """On fixture A, the loss falls from 1.1449 to below a third of this value in 300 steps."""
    net, x, y, B = fix_a()
    rule = bp if name == "bp" else functools.partial(dfa, B=B)
    run(train.train(net, rule, Full(x, y), SGD(0.5, 0.9), Streams(0)), 300)
    assert loss_by_records(net, x, y) < 1.1449 / 3


# --- resuming ------------------------------------------------------------------------------------------------

STEPS = 11
OPTIMIZERS = {
    "momentum": lambda: SGD(step_decay(0.3, 0.5, 4), 0.9),
    "adam": lambda: Adam(0.05),
    "plain": lambda: SGD(0.2),
}
SAMPLERS = {
    "full": lambda streams: Full(*data()),
    "partition": lambda streams: EpochPartition(*data(), 5, streams),
    "without replacement": lambda streams: WithoutReplacement(*data(), 5, streams),
    "poisson": lambda streams: Poisson(*data(), 0.4, streams),
}


def noisy_rule(net, x, y, *, rng, state):
    """DFA with noise and a state: the rule adds half of the last direction to the new direction."""
    B = feedback.draw(net, law="normal", scale=1, rng=np.random.default_rng(5))
    dW, db = dfa(net, x, y, B=B, m=5, project=functools.partial(feedback.project, noise_std=0.1, rng=rng))
    dW[1] = dW[1] + 0.5 * state.get("last", 0.0)
    state["last"] = dW[1]
    state["steps"] = state.get("steps", 0) + 1
    return dW, db


def a_run(sampler, optimizer, state, seed=0, start=0, net=None):
    streams = Streams(7)
    net = net or small_net(seed)
    rule = functools.partial(noisy_rule, state=state)
    return net, train.train(net, rule, SAMPLERS[sampler](streams), optimizer, streams, start=start)


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_resuming_at_any_step_equals_not_stopping_bit_for_bit(tmp_path, optimizer, sampler):
    whole_optimizer, whole_state = OPTIMIZERS[optimizer](), {}
    whole, loop = a_run(sampler, whole_optimizer, whole_state)
    for t in range(STEPS):
        save_checkpoint(tmp_path / f"{t}.npz", whole, whole_optimizer, t, whole_state)
        next(loop)
    for t in range(STEPS):
        again, state, net = OPTIMIZERS[optimizer](), {"stale": 1}, small_net(seed=99)
        assert load_checkpoint(tmp_path / f"{t}.npz", net, again, state) == (t, None)
        _, loop = a_run(sampler, again, state, start=t, net=net)
        run(loop, STEPS)
        assert same_bits(arrays(net, again), arrays(whole, whole_optimizer)), f"resumed at step {t}"
        assert state.keys() == whole_state.keys()
        assert state["steps"] == whole_state["steps"] == STEPS
        assert np.array_equal(state["last"], whole_state["last"])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_checkpoint_holds_everything(tmp_path, dtype):
    net, optimizer = small_net(dtype=dtype), Adam()
    optimizer.step(net, *bp(net, *(a.astype(dtype) for a in data())), 1)
    state = {"counts": np.arange(3), "clipped": 0.25, "name": "kept", "nested": {"a": [1, None, True]}}
    meta = {"settings": {"lr": 1e-3}, "history": [0.5, 0.75]}
    save_checkpoint(tmp_path / "c.npz", net, optimizer, 17, state, meta)
    back, memory, kept = small_net(1, dtype=dtype), Adam(), {}
    assert load_checkpoint(tmp_path / "c.npz", back, memory, kept) == (17, meta)
    assert same_bits(arrays(back, memory), arrays(net, optimizer))
    assert np.array_equal(kept.pop("counts"), state.pop("counts"))
    assert kept == state


# --- divergence ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["W", "b"])
@pytest.mark.parametrize("layers, told", [([1], 1), ([2], 2), ([1, 2], 2)])
def test_a_diverging_run_says_step_and_highest_layer_and_takes_no_step(bad, where, layers, told):
    calls = []

    def rule(net, x, y, *, rng):
        dW, db = bp(net, x, y)
        calls.append(1)
        if len(calls) == 3:
            for l in layers:
                (dW if where == "W" else db)[l].flat[-1] = bad
        return dW, db

    net, optimizer = small_net(), SGD(0.1, 0.9)
    loop = train.train(net, rule, Full(*data()), optimizer, Streams(0), start=10)
    run(loop, 12)
    before = arrays(net, optimizer)
    with pytest.raises(Diverged, match=f"at step 13 the direction for layer {told} is not finite") as told_of:
        next(loop)
    assert (told_of.value.step, told_of.value.layer) == (13, told)
    assert same_bits(arrays(net, optimizer), before)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "make",
    [
        lambda: SGD(1e3),
        lambda: SGD(1e30),
        lambda: SGD(1e200),
        lambda: SGD(1e3, 0.9),
        lambda: SGD(1e200, 0.9),
        lambda: Adam(1e200),
    ],
)
def test_a_run_that_blows_up_ends_in_one_sentence_without_a_warning(make, dtype):
    """A run that diverges ends with one sentence and without a warning. In this test, warnings are errors.

    So the loop must not warn while values overflow.
    """
    net = mlp([4, 5, 3], ops.relu, rng=np.random.default_rng(0), loss=ops.squared_error, dtype=dtype)
    x, y = (a.astype(dtype) for a in data())
    loop = train.train(net, bp, Full(x, y), make(), Streams(0))
    with pytest.raises(Diverged, match="the run diverged: at step"):
        run(loop, 500)


def test_a_divisor_too_small_for_the_dtype_is_a_run_that_diverges():
    net = mlp([4, 5, 3], ops.relu, rng=np.random.default_rng(0), dtype=np.float32)
    x, y = (a.astype(np.float32) for a in data())
    with pytest.raises(Diverged, match="the run diverged: at step 1 the direction for layer 2"):
        run(train.train(net, functools.partial(bp, m=1e-60), Full(x, y), SGD(0.1), Streams(0)), 1)


# --- the mechanism -------------------------------------------------------------------------------------------


OWN = {"C": 1.0, "m": 5, "sigma": 1.0}


def bound(**more):
    return functools.partial(dp_sgd.dp_sgd, **(OWN | more))


def stated(sampling, rate, **more):
    return dp_sgd.mechanism(**(OWN | more), adjacency="replace-one", sampling=sampling, sampling_rate=rate)


@pytest.mark.parametrize("sampling, rate", [("poisson", 5 / 12), ("without-replacement", 0.5), ("none", 1.0)])
def test_batches_of_another_scheme_or_rate_are_refused(sampling, rate):
    net, streams = small_net(), Streams(0)
    before = arrays(net)
    batches = WithoutReplacement(*data(), 5, streams)
    loop = train.train(net, bound(), batches, SGD(0.1), streams, mechanism=stated(sampling, rate))
    with pytest.raises(
        ValueError, match=f"needs batches by '{sampling}' at rate .*, got batches by 'without-replacement' at rate 0.41"
    ):
        next(loop)
    assert same_bits(arrays(net), before)


@pytest.mark.parametrize(
    "other",
    [{"C": 100.0}, {"C": 0.5}, {"sigma": 0.5}, {"m": 4}],
    ids=str,
)
def test_a_rule_that_is_bound_otherwise_is_refused(other):
    """The loop refuses a rule whose settings differ from those of its mechanism.

    For example, a rule with C = 100 and a mechanism for C = 1 would have a hundred times the counted sensitivity.
    """
    net, streams = small_net(), Streams(0)
    before = arrays(net)
    batches = WithoutReplacement(*data(), 5, streams)
    said = stated("without-replacement", 5 / 12)
    for rule in (bound(**other), functools.partial(functools.partial(dp_sgd.dp_sgd, **OWN), **other)):
        loop = train.train(net, rule, batches, SGD(0.1), streams, mechanism=said)
        with pytest.raises(ValueError, match="the mechanism must be the mechanism that the rule states"):
            next(loop)
        assert same_bits(arrays(net), before)


@pytest.mark.parametrize(
    "rule, why",
    [
        (bp, r"bp adds no noise to the gradient"),
        (functools.partial(bp, m=5), r"bp adds no noise to the gradient"),
        (lambda net, x, y, *, rng: bp(net, x, y), "nfa cannot find the rule .* in a module"),
        (noisy_rule, "has no mechanism"),
    ],
)
def test_a_mechanism_goes_with_the_rule_that_states_it(rule, why):
    batches = WithoutReplacement(*data(), 5, Streams(0))
    said = stated("without-replacement", 5 / 12)
    with pytest.raises((ValueError, NoGuarantee), match=why):
        next(train.train(small_net(), rule, batches, SGD(0.1), Streams(0), mechanism=said))


def test_what_a_step_releases_does_not_depend_on_every_setting():
    streams = Streams(0)
    batches = WithoutReplacement(*data(), 5, streams)
    said = stated("without-replacement", 5 / 12)
    assert next(train.train(small_net(), bound(clip="layer"), batches, SGD(0.1), streams, mechanism=said)) == 1


def test_the_mechanism_of_a_bound_rule_is_derived_from_it():
    streams = Streams(0)
    batches = WithoutReplacement(*data(), 5, streams)
    net = small_net()
    for rule in (bound(), InParts(bound(), spec("dp_sgd"), size=2)):
        said = released(rule, net, batches, "replace-one")
        assert said == stated("without-replacement", 5 / 12)
        assert next(train.train(net, rule, batches, SGD(0.1), streams, mechanism=said)) == 1


# --- writing -------------------------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path):
    """A checkpoint of step 4 in its own folder, with the net and the optimizer of this step."""
    net, optimizer = small_net(), SGD(0.1, 0.9)
    run(train.train(net, bp, Full(*data()), optimizer, Streams(0)), 4)
    path = tmp_path / "run.npz"
    save_checkpoint(path, net, optimizer, 4, {"last": np.ones(2)}, {"epoch": 1})
    return path, net, optimizer


def full_disk(*args, **kwargs):
    raise OSError(28, "No space left on device")


def half_written(file, **kept):
    file.write(b"PK half of an archive")
    full_disk()


@pytest.mark.parametrize(
    "broken, by", [("numpy.savez", half_written), ("os.fsync", full_disk), ("os.replace", full_disk)]
)
def test_a_failure_while_writing_leaves_the_old_checkpoint(saved, monkeypatch, broken, by):
    path, net, optimizer = saved
    old = path.read_bytes()
    monkeypatch.setattr(broken, by)
    with pytest.raises(OSError, match="No space left"):
        save_checkpoint(path, net, optimizer, 5)
    assert path.read_bytes() == old
    assert os.listdir(path.parent) == [path.name]


def test_the_file_is_on_disk_before_it_takes_the_place_of_the_old(saved, monkeypatch):
    path, net, optimizer = saved
    calls = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *a, name=name, real=real: (calls.append(name), real(*a)))
    save_checkpoint(path, net, optimizer, 5)
    assert calls == ["fsync", "replace"]


def test_the_rest_of_a_killed_write_does_not_matter(saved):
    path, net, optimizer = saved
    (path.parent / "run.npz.part").write_bytes(b"half a checkpoint")
    save_checkpoint(path, net, optimizer, 5)
    assert load_checkpoint(path, small_net(), SGD(0.1, 0.9))[0] == 5
    assert os.listdir(path.parent) == [path.name]


def test_a_folder_that_is_missing_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        save_checkpoint(tmp_path / "no" / "run.npz", small_net(), SGD(0.1), 1)
    with pytest.raises(FileNotFoundError):
        load_checkpoint(tmp_path / "run.npz", small_net(), SGD(0.1))


WRITER = """
import sys, itertools
import numpy as np
from nfa import ops
from nfa.network import mlp
from nfa.optim import Adam
from nfa.experiments.checkpoint import save_checkpoint
net = mlp([50, 60, 3], ops.tanh, rng=np.random.default_rng(0))
for t in itertools.count(1):
    for W in net.W[1:]:
        W[:] = t
    save_checkpoint(sys.argv[1], net, Adam(), t)
    print(t, flush=True)
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL: kills a process in the middle of writing")
@pytest.mark.parametrize("wait", [0.011, 0.023, 0.037, 0.052, 0.071])
def test_a_process_killed_while_writing_leaves_a_whole_checkpoint(tmp_path, wait):
    path = tmp_path / "run.npz"
    with subprocess.Popen([sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE, text=True) as writer:
        writer.stdout.readline()
        time.sleep(wait)
        writer.send_signal(signal.SIGKILL)
        last = [1, *map(int, writer.stdout.read().split())][-1]
    net = small_net(sizes=(50, 60, 3))
    t, _ = load_checkpoint(path, net, Adam())
    assert t in (last, last + 1)
    assert all((W == t).all() for W in net.W[1:])


# --- reading -------------------------------------------------------------------------------------------------


def untouched(path, net, optimizer, state=None):
    """Check that loading raises a ValueError that names the file and changes nothing. Return the message."""
    optimizer.state, kept = {"v": [np.full(2, 3.0)]}, {"mine": 1}
    before = arrays(net, optimizer)
    with pytest.raises(ValueError, match=path.name) as refusal:
        load_checkpoint(path, net, optimizer, kept)
    assert same_bits(arrays(net, optimizer), before)
    assert kept == {"mine": 1}
    return str(refusal.value)


def test_a_truncated_checkpoint_is_refused(saved):
    path, _, _ = saved
    whole = path.read_bytes()
    for length in [0, 1, *range(10, len(whole), 97), len(whole) - 1]:
        path.write_bytes(whole[:length])
        assert "is not a whole checkpoint" in untouched(path, small_net(5), SGD(0.1, 0.9))


def test_a_tampered_checkpoint_is_refused_or_means_the_same(saved):
    """A damaged checkpoint is refused or has the same content. We invert every eleventh byte, one at a time.

    Some bytes of a zip file, for example times, have no effect on the content.
    """
    path, net, optimizer = saved
    whole = bytearray(path.read_bytes())
    refused = 0
    for place in range(0, len(whole), 11):
        whole[place] ^= 0xFF
        path.write_bytes(whole)
        whole[place] ^= 0xFF
        back, memory, state = small_net(5), SGD(0.1, 0.9), {}
        before = arrays(back)
        try:
            t, meta = load_checkpoint(path, back, memory, state)
        except ValueError:
            refused += 1
            assert same_bits(arrays(back, memory), before)
        else:
            assert (t, meta) == (4, {"epoch": 1})
            assert same_bits(arrays(back, memory), arrays(net, optimizer))
            assert state["last"].tolist() == [1, 1]
    assert refused > len(whole) / 11 / 2


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04", json.dumps({"t": 1}).encode()])
def test_another_kind_of_file_is_refused(tmp_path, content):
    path = tmp_path / "run.npz"
    path.write_bytes(content)
    assert "is not a whole checkpoint" in untouched(path, small_net(), SGD(0.1, 0.9))


@pytest.mark.parametrize(
    "header",
    [
        [],
        {"t": -1},
        {"t": True},
        {"t": "3"},
        {"t": 3.0},
        {"state": []},
        {"state": None},
    ],
)
def test_a_header_of_other_kinds_is_refused(saved, header):
    path, _, _ = saved
    with np.load(path) as found:
        kept = dict(found)
    header = json.loads(kept["header"].tobytes()) | header if header else header
    np.savez(path, **kept | {"header": np.frombuffer(json.dumps(header).encode(), np.uint8)})
    assert "is not a whole checkpoint" in untouched(path, small_net(), SGD(0.1, 0.9))


def test_a_checkpoint_that_declares_more_than_it_holds_is_refused_before_it_is_allocated(tmp_path):
    """A checkpoint that declares more data than it contains is refused before memory is allocated.

    In this test, the headers of the array and of the archive declare 800 MB, in a file of less than 1 kB.
    """
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**8,)})
    path = tmp_path / "run.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("W1.npy", header.getvalue())
    whole = path.read_bytes()
    size = len(header.getvalue())
    claiming = whole.replace(struct.pack("<I", size), struct.pack("<I", size + 8 * 10**8))
    for content in (whole, claiming):
        path.write_bytes(content)
        tracemalloc.start()
        try:
            assert "is not a whole checkpoint" in untouched(path, small_net(), SGD(0.1, 0.9))
            assert tracemalloc.get_traced_memory()[1] < 2**20
        finally:
            tracemalloc.stop()


def test_an_archive_of_other_arrays_is_refused(tmp_path):
    path = tmp_path / "run.npz"
    np.savez(path, x=np.ones(3))
    assert "is not a whole checkpoint" in untouched(path, small_net(), SGD(0.1, 0.9))


@pytest.mark.parametrize(
    "other, says",
    [
        (lambda: small_net(sizes=(4, 6, 3)), r"the array W1 must be float64 (6, 4)"),
        (lambda: small_net(sizes=(4, 5, 3, 3)), r"the array W3 must be float64 (3, 3)"),
        (lambda: small_net(dtype=np.float32), r"the array W1 must be float32 (5, 4)"),
        (lambda: small_net(sizes=(4, 5)), "the network of this run has no W2"),
    ],
)
def test_a_checkpoint_of_another_network_is_refused(saved, other, says):
    sentence = untouched(saved[0], other(), SGD(0.1, 0.9))
    assert "was saved from another network" in sentence
    assert says in sentence


def test_a_checkpoint_of_another_optimizer_is_refused(saved):
    sentence = untouched(saved[0], small_net(5), Adam())
    assert "run.npz was saved with the optimizer SGD, but this run uses Adam" in sentence


@pytest.mark.parametrize("memory", [[np.ones((1, 4))] * 4, [np.ones((5, 4)), np.ones(5)]])
def test_a_memory_that_does_not_fit_the_network_is_refused(tmp_path, memory):
    """An optimizer's memory that does not fit the network is refused: another shape, or too few arrays."""
    optimizer, path = SGD(0.1, 0.9), tmp_path / "run.npz"
    optimizer.state = {"v": memory}
    save_checkpoint(path, small_net(), optimizer, 3)
    sentence = untouched(path, small_net(5), SGD(0.1, 0.9))
    assert "the optimizer's v must have the shapes and types of the network's arrays" in sentence
