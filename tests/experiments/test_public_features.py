"""Tests of runs on public features: the trained head, the cache of the features, and refusals."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import nfa
from nfa import data
from nfa.cli import main
from nfa.experiments import public_features, trained
from nfa.experiments.prepare import prepare
from nfa.experiments.privacy_statement import FEATURES_ALONE
from nfa.experiments.run import run
from nfa.experiments.settings import Settings
from nfa.features.kind import Features, product_alone
from nfa.kernels import rows
from nfa.network import mlp
from nfa.network.ops import relu
from nfa.noise import Streams
from nfa.rules.bp import bp
from tests.experiments.tiny_runs import PRIVATE, tiny_settings, untimed, write_data


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A temporary current folder, with empty caches in the process and on disk."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(public_features, "user_cache", lambda: tmp_path / "cache")
    monkeypatch.setattr(public_features, "_kept", type(public_features._kept)())
    return tmp_path


@pytest.fixture
def tiny(folder):
    return write_data(folder / "tiny.npz")


@pytest.fixture
def pictures(folder):
    """A file of 30 + 12 images of 8x8 pixels with 3 classes."""
    rng, y = np.random.default_rng(2), np.arange(42) % 3
    x = (rng.uniform(0, 60, (42, 1, 8, 8)) + 80 * (np.arange(8) % (y[:, None, None, None] + 2) == 0)).astype(np.uint8)
    np.savez(folder / "pictures.npz", x_train=x[:30], y_train=y[:30], x_test=x[30:], y_test=y[30:])
    return folder / "pictures.npz"


@pytest.fixture
def computed(monkeypatch):
    """The number of examples in each call that computes features."""
    calls, whole = [], Features.__call__

    def counting(self, x, *more):
        calls.append(len(x))
        return whole(self, x, *more)

    monkeypatch.setattr(Features, "__call__", counting)
    return calls


def small(**more):
    return Settings(**{"features": "scattering", "architecture": "3969-10", "epochs": 1, "batch": 50} | more)


def test_the_head_learns_as_the_last_layer_of_the_whole_network(tiny):
    """The head (the trained layer on the features) learns like the last layer of the whole network.

    The head's BP directions equal those of the last layer of a network in which all other layers are frozen.
    """
    settings = tiny_settings(
        tiny, rule="bp", features="random:5,4", architecture="4-3", activation="relu", init="he-normal", dtype="float64"
    )
    parts, arrays = prepare(settings), prepare(settings).features.arrays
    plain = prepare(replace(settings, features=None, architecture="6-5-4-3"))
    whole = mlp([6, 5, 4, 3], relu, rng=np.random.default_rng(0))
    for l in (1, 2):
        whole.W[l], whole.b[l] = arrays[f"W{l}"], arrays[f"b{l}"]
    for t in range(1, 7):
        x, y = plain.batches.at(t)
        assert np.array_equal(y, parts.batches.at(t)[1])
        whole.W[3], whole.b[3] = parts.net.W[1], parts.net.b[1]
        dW, db = bp(whole, x, y, rng=None)
        mine = bp(parts.net, *parts.batches.at(t), rng=None)
        np.testing.assert_allclose(mine[0][1], dW[3], rtol=0, atol=1e-12)
        np.testing.assert_allclose(mine[1][1], db[3], rtol=0, atol=1e-12)
        assert next(parts.train(t - 1)) == t
    assert parts.net.n_parameters == 15


def test_the_draws_have_their_own_stream(tiny):
    """Features use their own random stream, so the head's first weights are equal with and without features."""
    settings = tiny_settings(tiny, features="random:6", architecture="6-3")
    with_features, without = prepare(settings), prepare(replace(settings, features=None))
    assert np.array_equal(with_features.net.W[1], without.net.W[1])
    W = with_features.features.arrays["W1"]
    bound = 1 / np.sqrt(6)
    want = Streams(1)("features").uniform(-bound, bound, (6, 6))
    assert np.array_equal(W, want.astype(np.float32))
    assert not np.array_equal(prepare(replace(settings, seed=2)).features.arrays["W1"], W)


@pytest.mark.parametrize(
    ("text", "net"), [("random:7", "7-3"), ("scattering", "324-3"), ("optical:9,photons=50", "9-3")]
)
def test_a_kept_network_predicts_with_the_same_features(pictures, folder, capsys, text, net):
    settings = tiny_settings(pictures, features=text, architecture=net, records=None, threads=2, seed=3)
    record = run(settings, folder / "kept", keep_weights=True)
    assert record["settings"]["features"] == text
    network, again = trained.load(folder / "kept")
    assert again == record
    loaded = data.load(str(pictures), classes="3")
    accuracy = np.mean(network.predict(loaded.x_test) == loaded.y_test)
    assert accuracy == record["test_accuracy"]
    parts = prepare(settings)
    for _, t in zip(range(parts.steps), parts.train(), strict=False):
        assert t
    want = trained.Trained.of(parts).probabilities(loaded.x_test)
    assert np.array_equal(network.probabilities(loaded.x_test), want)
    np.testing.assert_allclose(network.probabilities(loaded.x_test[4:5]), want[4:5], rtol=1e-5)
    assert main.main(["predict", "kept", "pictures.npz", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["accuracy"] == accuracy


def test_damaged_features_of_a_kept_network_are_refused(tiny, folder):
    run(tiny_settings(tiny, features="random:7", architecture="7-3"), folder / "kept", keep_weights=True)
    network, record = trained.load(folder / "kept")
    network.features.arrays["W1"] = network.features.arrays["W1"][:, :5]
    how = {"shape": network.shape, "classes": network.classes, "columns": None}
    with pytest.raises(ValueError, match=re.escape("the array W1 of the features must be float32 (7, 6)")):
        trained.from_bytes(trained.to_bytes(network), record, **how)
    del network.features.arrays["W1"]
    with pytest.raises(ValueError, match="the array W1 of the features must be"):
        trained.from_bytes(trained.to_bytes(network), record, **how)


def test_a_resumed_run_is_the_same(tiny, folder):
    settings = tiny_settings(tiny, features="random:7", architecture="7-3")
    whole = untimed(run(settings, folder / "whole"))
    run(settings, folder / "parts", until=1)
    assert untimed(run(settings, folder / "parts")) == whole
    assert untimed(run(replace(settings, threads=2), folder / "threads")) == whole


def test_features_are_computed_once_in_a_process_and_once_on_a_machine(folder, computed):
    given = small(train_examples=60)
    first = prepare(given)
    assert computed == [60, 1000]
    files = sorted((folder / "cache" / "features").iterdir())
    assert [one.suffix for one in files] == [".npy", ".npy"]
    again = prepare(replace(given, rule="bp", lr=0.5, seed=1))
    assert computed == [60, 1000]
    assert again.batches.x.base is first.batches.x.base
    public_features._kept.clear()  # empties the cache, like a new process
    other = prepare(given)
    assert computed == [60, 1000]
    assert np.array_equal(other.batches.x, first.batches.x)
    assert np.array_equal(other.x_test, first.x_test)
    assert not other.batches.x.flags.writeable
    prepare(replace(given, pixels="unit"))
    assert computed == [60, 1000] * 2
    prepare(replace(given, pixels="unit", seed=2))  # other settings with the same test set
    assert computed == [60, 1000] * 2 + [60]


def test_runs_that_hold_out_other_examples_share_the_features(pictures, computed):
    how = {"features": "scattering", "architecture": "324-3", "records": None, "validation": 0.2, "pixels": "unit"}
    one, other = (prepare(tiny_settings(pictures, seed=seed, **how)) for seed in (1, 2))
    assert computed == [30, 12]
    assert not np.array_equal(one.x_val, other.x_val)
    with np.load(pictures) as file:
        wanted = zip(one.features(file["x_train"] / np.float32(255)), file["y_train"], strict=True)
    wanted = sorted((y, *row.ravel()) for row, y in wanted)
    for parts in (one, other):
        seen = [
            *zip(parts.batches.x, parts.batches.y.argmax(axis=1), strict=True),
            *zip(parts.x_val, parts.y_val, strict=True),
        ]
        assert sorted((y, *row) for row, y in seen) == wanted


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY", None])
def test_a_file_that_is_not_whole_is_made_again(folder, computed, content):
    first = prepare(small(train_examples=60)).batches.x
    for path in (folder / "cache" / "features").iterdir():
        path.write_bytes(path.read_bytes()[:-9] if content is None else content)
    public_features._kept.clear()
    assert np.array_equal(prepare(small(train_examples=60)).batches.x, first)
    assert computed == [60, 1000] * 2
    assert len(list((folder / "cache" / "features").iterdir())) == 2


def test_a_cache_that_cannot_be_written_only_costs_time(folder):
    (folder / "cache").write_text("a file")
    assert len(prepare(small(train_examples=60)).batches.x) == 60


def test_the_files_that_were_used_last_stay(folder, monkeypatch):
    prepare(small(train_examples=60))
    monkeypatch.setattr(public_features, "IN_FILES", 20_000_000)
    prepare(small(train_examples=50, seed=2))
    left = sorted(path.stat().st_size for path in (folder / "cache" / "features").iterdir())
    assert sum(left) <= 20_000_000
    assert len(left) == 2


def test_a_process_keeps_only_so_much(folder, monkeypatch, tiny):
    monkeypatch.setattr(public_features, "IN_PROCESS", 3000)
    for seed in range(4):
        prepare(tiny_settings(tiny, features="random:7", architecture="7-3", seed=seed))
    assert sum(array.nbytes for array in public_features._kept.values()) <= 3000
    assert len(public_features._kept) >= 2


def test_own_data_and_cheap_features_leave_no_file(folder, pictures, computed):
    prepare(tiny_settings(pictures, features="scattering", architecture="324-3", records=None))
    prepare(small(features="random:5", architecture="5-10", train_examples=50))
    prepare(small(dtype="float64", train_examples=50))
    assert not (folder / "cache").exists()
    assert len(computed) == 6
    nfa.fit(np.random.default_rng(0).uniform(size=(20, 8, 8)), [0, 1] * 10, features="scattering", epochs=1)
    assert not (folder / "cache").exists()
    assert computed[6:] == [20, 0]
    assert all(len(array) != 20 for array in public_features._kept.values())


@pytest.mark.parametrize(("text", "net"), [("random:7", "7-3"), ("scattering", "324-3"), ("optical:9,bits=4", "9-3")])
def test_a_secure_run_keeps_no_features_and_has_the_epsilon_of_no_features(pictures, folder, text, net):
    own = {"adjacency": "replace-one", "records": 30, "architecture": net, "pixels": "as-is", "epochs": 1}
    settings = tiny_settings(pictures, **PRIVATE | own | {"features": text})
    record = run(settings, folder / "secure", keep_weights=True)
    assert record["private"]
    assert FEATURES_ALONE in record["privacy"]["statement"]
    assert not public_features._kept
    assert not (folder / "cache").exists()
    plain = run(replace(settings, features=None, architecture=f"64:dense{net.split('-')[0]},3"), folder / "plain")
    epsilons = [one["privacy"]["guarantee"]["epsilon"] for one in (record, plain)]
    # not equal, because the counted rounding depends on the size of the network
    assert epsilons[0] == pytest.approx(epsilons[1], rel=1e-3)
    assert FEATURES_ALONE not in plain["privacy"]["statement"]
    network, _ = trained.load(folder / "secure")
    loaded = data.load(str(pictures), classes="3")
    assert np.mean(network.predict(loaded.x_test) == loaded.y_test) == record["test_accuracy"]


def test_a_secure_run_multiplies_by_rows(tiny):
    given = tiny_settings(tiny, **PRIVATE, features="random:7", architecture="7-3")
    parts = prepare(given)
    assert parts.features.tools.product is rows.matmul
    assert "nfa.kernels" in parts.features.tools.phi.phi.__module__
    public = Streams(0)("features").uniform(-1 / np.sqrt(6), 1 / np.sqrt(6), (7, 6))
    assert np.array_equal(parts.features.arrays["W1"], public)
    seeded = prepare(tiny_settings(tiny, features="random:7", architecture="7-3"))
    assert seeded.features.tools.product is product_alone
    with pytest.raises(ValueError, match="a secure run with the features random:7 needs kernels: use kernels"):
        prepare(replace(given, kernels=False))


def test_a_counted_run_has_the_same_epsilon(tiny):
    given = {"rule": "dp_sgd", "rule_settings": {"C": 1.0, "sigma": 3.0}, "adjacency": "replace-one", "delta": 1e-3}
    with_features = prepare(tiny_settings(tiny, **given, features="random:7", architecture="7-3")).privacy
    without = prepare(tiny_settings(tiny, **given)).privacy
    told, plain = (one.account([(1, 12)]) for one in (with_features, without))
    assert told["guarantee"] == plain["guarantee"]
    assert told["statement"] == f"{plain['statement']} {FEATURES_ALONE}"


def test_records_without_features_are_as_before():
    assert {"features", "average"}.isdisjoint(Settings().to_json())
    given = Settings(features="random:5", average=0.5)
    assert Settings.from_json(given.to_json()) == replace(given, dtype="float32")


def test_a_table_has_no_scattering_and_a_network_must_fit(tiny, folder):
    with pytest.raises(ValueError, match="features scattering need images, but an example has 6 values"):
        prepare(tiny_settings(tiny, features="scattering"))
    sentence = (
        "architecture 6-5-4-3 reads 6 values per example, but tiny has 8 features with --features random:8: give a"
    )
    with pytest.raises(ValueError, match=re.escape(f"{sentence} network that fits, such as --net 8-64-3")):
        prepare(tiny_settings(tiny, features="random:8"))
    with pytest.raises(ValueError, match="features must be a text such as random:512, got 5"):
        prepare(tiny_settings(tiny, features=5))


def test_a_convolution_reads_the_channels_of_scattering(folder):
    parts = prepare(small(architecture="81x7x7:conv4-3,pool2,10", train_examples=50))
    assert parts.batches.x.shape == (50, 81, 7, 7)
    assert parts.net.shape_h[1] == (4, 3, 3)


def test_fit_takes_features_and_its_network_fits_these():
    x = np.random.default_rng(0).uniform(size=(40, 8, 8))
    y = (x[:, 0, 0] > 0.5).astype(int)
    model = nfa.fit(x, y, features="random:30", epochs=2, average=0.5)
    assert model.record_["settings"]["architecture"] == "30-100-2"
    assert model.predict_proba(x).shape == (40, 2)
    with pytest.raises(ValueError, match="features must be one of"):
        nfa.fit(x, y, features="none")


def test_train_says_which_features(folder, capsys):
    typed = "train --features random:20 --net 20-10 --train-examples 100 --epochs 1 --out out"
    assert main.main(typed.split()) == 0
    assert "20-10 on features random:20 of fashion-mnist-small" in capsys.readouterr().out
