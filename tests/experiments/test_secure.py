"""Runs without a seed: where their randomness comes from, what their records say, what a lost step costs.

The draws are the operating system's, different every time: every statistical test fails once in 10^9 runs, unjustly.
"""

import json
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from nfa import cipher, noise
from nfa.cli import main
from nfa.experiments import checkpoint, records
from nfa.experiments import run as runs
from nfa.experiments.bind import kernels_of
from nfa.experiments.prepare import prepare
from nfa.experiments.run import run
from nfa.experiments.settings import Settings
from nfa.mechanism import Mechanism
from nfa.privacy import accountant
from nfa.privacy.gaussians import hockey_stick_gaussian
from tests.experiments.tiny_runs import Killed, stop_after, tiny_settings, write_data

pytest.importorskip("randomgen", reason="randomgen is not installed: pip install 'nfa[secure]'")
pytestmark = pytest.mark.filterwarnings("ignore::nfa.privacy.rdp.OrderAtGridEnd")

FALSE_ALARM = 1e-9
PRIVATE = {
    "rule": "dp_sgd",
    "rule_settings": {"C": 1.0, "sigma": 3.0},
    "adjacency": "replace-one",
    "delta": 1e-3,
    "pixels": "as-is",
    "secure": True,
}


def killed(settings, folder, monkeypatch, k, **how):
    """Let the run die after k steps."""
    with monkeypatch.context() as patch:
        stop_after(patch, k)
        with pytest.raises(Killed):
            run(settings, folder, **{"checkpoint_every": 0} | how)


@pytest.fixture
def settings(tmp_path):
    return tiny_settings(write_data(tmp_path / "some.npz"), **PRIVATE)


# --- the streams


def test_a_stream_is_the_cipher_under_a_key_of_its_own(monkeypatch):
    """Word by word; `cipher.chacha20` itself is held against RFC 8439 in test_kernels_noise."""
    master = np.arange(100, 108, dtype=np.uint32)
    monkeypatch.setattr(noise.os, "urandom", lambda n: master.tobytes())
    streams, seen = noise.secure(), set()
    for purpose in noise.SECRET:
        for t in (0, 1, 2**32 - 1):
            key = cipher.chacha20(master, noise.PURPOSES[purpose] * 2**32 + t, 1)[:8, 0]
            words = streams(purpose, t).bit_generator.random_raw(16).view(np.uint32)
            assert np.array_equal(words, cipher.chacha20(key, 0, 2).T.ravel())
            seen.add(key.tobytes())
    assert len(seen) == 3 * len(noise.SECRET)


def test_batches_and_noise_are_fresh_and_the_rest_is_public():
    one, two = noise.secure(), noise.secure()
    assert noise.SECRET == ("batch", "noise")
    for purpose in noise.PURPOSES:
        draws = [streams(purpose, 3).random(4).tolist() for streams in (one, one, two, noise.Streams(0))]
        assert draws[0] == draws[1]
        assert (draws[0] == draws[2]) == (draws[0] == draws[3]) == (purpose not in noise.SECRET)


def test_a_key_leaves_the_process_in_no_way(monkeypatch):
    streams = noise.secure()
    with pytest.raises(TypeError, match="not written anywhere"):
        pickle.dumps(streams)
    monkeypatch.setattr(noise.os, "getpid", lambda: -1)
    with pytest.raises(RuntimeError, match="belong to one process"):
        streams("noise", 1)


def test_without_the_library_a_sentence(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "randomgen", None)
    with pytest.raises(OSError, match=r"pip install 'nfa\[secure\]'"):
        noise.secure()


@pytest.mark.slow
def test_the_laws_of_the_draws():
    """KS of uniforms and normals, a chi-square of bytes, correlations of neighbouring steps, purposes and draws.

    The keys are new each time: a false alarm in 10^9 runs. Missed in one of 10^6 are laws 0.06 apart and correlations
    of 0.09 (of normals; 0.4 and 0.7 of first draws).
    """
    streams = noise.secure()
    firsts = {purpose: np.array([streams(purpose, t).random() for t in range(300)]) for purpose in noise.SECRET}
    normals = streams("noise", 5000).standard_normal(20_000)
    keyed = np.zeros(20_000, np.float32)
    cipher.add_normal_keyed(keyed, 2.0, streams("noise", 5001))
    values = [stats.kstest(d, "uniform").pvalue for d in firsts.values()]
    values += [stats.kstest(normals, "norm").pvalue, stats.kstest(keyed / 2, "norm").pvalue]
    values += [stats.chisquare(np.bincount(np.frombuffer(streams("batch", 1).bytes(2**16), np.uint8))).pvalue]
    pairs = [(firsts["batch"], firsts["noise"]), (normals[1:], normals[:-1])]
    pairs += [(d[1:], d[:-1]) for d in firsts.values()]
    values += [2 * stats.norm.sf(abs(np.corrcoef(a, b)[0, 1]) * len(a) ** 0.5) for a, b in pairs]
    tails = int((np.abs(normals) > 3).sum())
    values.append(stats.binomtest(tails, 20_000, 2 * stats.norm.sf(3)).pvalue)
    assert min(values) > FALSE_ALARM / len(values)


# --- the record


def test_the_record_of_a_secure_run(settings, tmp_path, monkeypatch):
    key = bytes(range(7, 39))
    monkeypatch.setattr(noise.os, "urandom", lambda n: key[:n])
    record = run(settings, tmp_path / "out", checkpoint_every=0)
    assert record["private"] is True
    assert record["seed"] is None
    assert "seed" not in record["settings"]
    assert record["settings"]["secure"] is True
    assert record["data"]["digest"].startswith("not kept")
    assert not any({"train_loss", "clipped"} & set(entry) for entry in record["history"])
    assert "low-order bits of floating-point noise" in record["privacy"]["statement"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir() if path.suffix != ".lock") == [
        "dp_sgd-secure.json"
    ]
    assert records.read(tmp_path / "out" / "dp_sgd-secure.json") == record
    guarantee = record["privacy"]["guarantee"]
    mechanism = Mechanism(**record["privacy"]["mechanism"])
    assert guarantee["epsilon"] == accountant.epsilon([(mechanism, 12)], delta=1e-3, steps_per_epoch=4).epsilon


def test_two_secure_runs_differ_and_no_file_holds_the_key(settings, tmp_path, monkeypatch):
    key = bytes(range(7, 39))
    weights = []
    for number, given in enumerate((key, key[::-1])):
        monkeypatch.setattr(noise.os, "urandom", lambda n, given=given: given[:n])
        killed(settings, tmp_path / str(number), monkeypatch, 6)
        files = [path for path in (tmp_path / str(number)).iterdir() if path.is_file()]
        assert {path.suffix for path in files} >= {".npz", ".txt"}
        for path in files:
            content = path.read_bytes()
            assert given not in content
            assert given[:8] not in content
            assert b"PCG" not in content
            assert b"ChaCha" not in content
        with np.load(tmp_path / str(number) / "dp_sgd-secure.ckpt.npz") as saved:
            weights.append(saved["W1"])
            assert "seed" not in json.loads(saved["header"].tobytes())["meta"]["settings"]
    assert not np.array_equal(*weights)


@pytest.mark.parametrize("secure, kept", [(True, []), (None, ["clipped"])])
def test_no_checkpoint_of_a_secure_run_shows_what_its_clip_shortened(secure, kept, settings, tmp_path, monkeypatch):
    killed(replace(settings, secure=secure), tmp_path / "out", monkeypatch, 6)
    (checkpoint,) = (tmp_path / "out").glob("*.ckpt.npz")
    with np.load(checkpoint) as saved:
        assert list(json.loads(saved["header"].tobytes())["state"]) == kept


@pytest.mark.parametrize(
    "change, told",
    [
        ({"secure": None}, "the seed is recorded"),
        ({"pixels": "standard"}, "deviation of the training pixels"),
        ({"align_every": 2}, "the alignment compares"),
        ({"validation": 0.25}, "validation accuracy shows held-out examples"),
        ({"delta": None}, "no delta is named"),
        ({"adjacency": None, "delta": None}, "no adjacency is named"),
        ({"rule_settings": {"C": 1.0, "sigma": 0.0}}, "a release protects nothing"),
        (
            {"rule": "dfa", "rule_settings": {}, "adjacency": None, "delta": None},
            "dfa releases its direction as it is",
        ),
        ({"sampling": "poisson"}, "Poisson batches are for a record added or removed"),
    ],
)
def test_a_run_is_private_only_if_all_parts_warrant_it(settings, tmp_path, change, told):
    record = run(replace(settings, epochs=1, **change), tmp_path / "out")
    assert record["private"] is False
    assert record["privacy"]["statement"].startswith("none: ")
    assert told in record["privacy"]["statement"]


def test_no_record_says_more(settings, tmp_path):
    record = run(replace(settings, epochs=1), tmp_path / "out")
    for change in ({"seed": 1}, {"settings": {**record["settings"], "secure": False}}, {"privacy": {"statement": ""}}):
        with pytest.raises(ValueError, match="nfa writes no such record"):
            records.validate(record | change)


@pytest.mark.slow
def test_kernels_with_a_generator_of_their_own_are_left_out(settings):
    """Those for ULR draw by counters under 64 bits, which is no cipher."""
    pytest.importorskip("numba", reason="numba is not installed: pip install numba")
    own = {"rule": "ulr", "rule_settings": {"K": 2, "sigma": 0.1}, "adjacency": None, "delta": None}
    seeded, secure = (prepare(replace(settings, **own, secure=given)) for given in (None, True))
    assert kernels_of(seeded.rule) == ["nfa.kernels.ulr.weigh"]
    assert kernels_of(secure.rule) == []


# --- interrupted


def sittings_epsilon(record, sittings):
    mechanism = Mechanism(**record["privacy"]["mechanism"])
    per_epoch = 4 if mechanism.sampling == "epoch-partition" else None
    spent = [(mechanism, count) for count in sittings]
    return accountant.epsilon(spent, delta=1e-3, steps_per_epoch=per_epoch).epsilon


@pytest.mark.parametrize("sampling", ["epoch-partition", "without-replacement"])
def test_every_sitting_begins_a_fresh_epoch(settings, tmp_path, monkeypatch, sampling):
    """12 steps, stopped after 5 and again after 9: 3 epochs, but a record may have been used in 2 + 1 + 1."""
    settings = replace(settings, sampling=sampling)
    for k in (5, 9):
        killed(settings, tmp_path / "out", monkeypatch, k)
    record = run(settings, tmp_path / "out")
    assert record["private"] is True
    assert record["privacy"]["guarantee"]["steps"] == 12
    assert record["privacy"]["guarantee"]["epsilon"] == sittings_epsilon(record, [5, 4, 3])
    if sampling == "epoch-partition":
        assert sittings_epsilon(record, [5, 4, 3]) > sittings_epsilon(record, [12])
    assert not list((tmp_path / "out").glob("*.spent.txt"))


def test_steps_count_as_spent_once_anything_of_them_may_be_written(settings, tmp_path, monkeypatch):
    """Killed in the writing of the checkpoint of step 7: it goes on from 6, and 7 + 6 steps are counted."""
    whole = checkpoint.save_checkpoint

    def dying(path, net, optimizer, t, *more):
        if t == 7:
            raise Killed
        whole(path, net, optimizer, t, *more)

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "save_checkpoint", dying)
        with pytest.raises(Killed):
            run(settings, tmp_path / "out", checkpoint_every=0)
    record = run(settings, tmp_path / "out")
    assert record["steps"] == 12
    assert record["privacy"]["guarantee"]["steps"] == 13
    assert record["privacy"]["guarantee"]["epsilon"] == sittings_epsilon(record, [7, 6])


def test_nothing_written_is_nothing_spent(settings, tmp_path, monkeypatch):
    killed(settings, tmp_path / "out", monkeypatch, 5, checkpoint_every=1e9)
    assert run(settings, tmp_path / "out")["privacy"]["guarantee"]["steps"] == 12


@pytest.mark.parametrize(
    "damage, told",
    [
        (lambda path: path.unlink(), r"has lost dp_sgd-secure\.spent\.txt"),
        (lambda path: path.write_text("[5"), "does not tell what was spent"),
        (lambda path: path.write_text("[0]"), "does not tell what was spent"),
        (lambda path: path.write_text("{}"), "does not tell what was spent"),
    ],
)
def test_a_checkpoint_without_its_account_is_refused(settings, tmp_path, monkeypatch, damage, told):
    killed(settings, tmp_path / "out", monkeypatch, 5)
    damage(tmp_path / "out" / "dp_sgd-secure.spent.txt")
    with pytest.raises(ValueError, match=told) as caught:
        run(settings, tmp_path / "out")
    assert "\n" not in str(caught.value)


# --- refused


def test_a_secure_run_does_not_go_on_from_a_seeded_one(settings, tmp_path, monkeypatch):
    killed(replace(settings, secure=None), tmp_path / "out", monkeypatch, 5)
    with pytest.raises(ValueError, match="dp_sgd-seed1, which has a seed: a secure run cannot go on from it"):
        run(settings, tmp_path / "out")


@pytest.mark.parametrize(
    "typed, said",
    [
        (["--seed", "1"], "--secure and --seed 1 exclude each other: a seeded run can be drawn again by anybody"),
        (["--resume"], "which has a seed: a secure run cannot go on from it, choose another folder"),
    ],
)
def test_the_command_refuses_what_does_not_go_together(settings, tmp_path, monkeypatch, capsys, typed, said):
    killed(replace(settings, secure=None), tmp_path / "out", monkeypatch, 5)
    words = "train --secure --rule dp_sgd --net 6-5-4-3 --batch 10 --pixels as-is --set C=1 --set sigma=3".split()
    assert main.main([*words, "--dataset", settings.dataset, "--save", str(tmp_path / "out"), *typed]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert said in told
    assert "Traceback" not in told


def test_a_seed_is_refused(settings):
    with pytest.raises(ValueError, match="a secure run has no seed, got seed 3"):
        runs.check(replace(settings, seed=3))
    with pytest.raises(ValueError, match="secure must be true or false"):
        runs.check(replace(settings, secure=1))
    assert "secure" not in Settings().to_json()


# --- what it does not help against


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("add_normal", [noise.add_normal, cipher.add_normal_keyed])
def test_low_order_bits_tell_neighbours_apart(add_normal, dtype):
    """Noise g of std 10 on the value 0 or 1: by the theorem an event has at most e times the probability under the
    other, and a delta below 1e-20. But |y| < 1/4, with a bit below those that numbers near 1 have, is impossible for
    y = 1 + g, whose g is near -1; for y = g it has the probability 0.015, three quarters of that of |y| < 1/4.
    """
    assert hockey_stick_gaussian(epsilon=1, noise_multiplier=10) < 1e-20
    grid = 2.0 ** (-24 if dtype is np.float32 else -53)  # of the floats from 1/2 to 1
    draws, counts = 200_000, []
    for value in (0, 1):
        y = np.full(draws, value, dtype)
        add_normal(y, 10.0, noise.secure()("noise", value))
        counts.append(int(((np.abs(y) < 0.25) & (y.astype(float) / grid % 1 != 0)).sum()))
    expected = 0.75 * draws * math.erf(0.025 / math.sqrt(2))
    assert counts[1] == 0
    assert counts[0] > 0.8 * expected
