"""Tests of averaged weights: the mean of the last weights equals the mean over a list of all weights.

We test interrupted runs, runs on threads, and each optimizer.
"""

from dataclasses import replace

import numpy as np
import pytest

from nfa.experiments import trained
from nfa.experiments.averaging import TailAverage, first_averaged
from nfa.experiments.prepare import prepare
from nfa.experiments.privacy_statement import AVERAGED
from nfa.experiments.run import run
from nfa.network import accuracy
from tests.experiments.tiny_runs import PRIVATE, Killed, stop_after, tiny_settings, untimed, write_data

OPTIMIZERS = [{"optimizer": "sgd", "momentum": 0.9}, {"optimizer": "sgd", "momentum": 0.0}, {"optimizer": "adam"}]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("data") / "tiny.npz")


def iterates(settings):
    """The weights and biases W1, b1, ... after each step, computed by the training loop alone."""
    parts, found = prepare(settings), []
    for _ in zip(range(parts.steps), parts.train(), strict=False):
        found.append([p.copy() for l in range(1, parts.net.L + 1) for p in (parts.net.W[l], parts.net.b[l])])
    return parts, found


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("how", OPTIMIZERS)
@pytest.mark.parametrize("share", [0.3, 1.0, 0.01])
def test_the_mean_of_the_last_weights_is_kept_and_evaluated(tiny, tmp_path, how, share, dtype):
    settings = tiny_settings(tiny, average=share, dtype=dtype, **how)
    record = run(settings, tmp_path, keep_weights=True)
    parts, every = iterates(settings)
    last = max(1, round(share * 12))
    network, _ = trained.load(tmp_path)
    means = [np.mean([weights[i] for weights in every[-last:]], axis=0, dtype=np.float64) for i in range(6)]
    kept = [p for l in (1, 2, 3) for p in (network.net.W[l], network.net.b[l])]
    for mean, found in zip(means, kept, strict=True):
        assert found.dtype == np.dtype(dtype)
        np.testing.assert_allclose(found, mean, rtol=2 * np.finfo(dtype).eps, atol=1e-15)
    assert record["test_accuracy"] == accuracy(network.net, parts.x_test, parts.y_test)
    assert record["settings"]["average"] == share


def test_training_goes_on_from_the_last_weights(tiny, tmp_path):
    """Training continues from the last weights, not from the mean.

    An epoch that ends before the first averaged step has the history that it has in a run without averaging.
    """
    plain = run(tiny_settings(tiny), tmp_path / "plain")
    for share, same in ((0.25, 2), (4 / 12, 2), (6 / 12, 1), (1.0, 0)):
        found = run(tiny_settings(tiny, average=share), tmp_path / str(share))
        losses = [[entry["train_loss"] for entry in record["history"]] for record in (plain, found)]
        assert losses[0][:same] == losses[1][:same]
        assert all(a != b for a, b in zip(*(one[same:] for one in losses), strict=True))


def test_one_averaged_step_changes_nothing(tiny, tmp_path):
    plain, found = (untimed(run(tiny_settings(tiny, average=a), tmp_path / str(a))) for a in (None, 1 / 12))
    assert found["settings"].pop("average") == 1 / 12
    assert found == plain


@pytest.mark.parametrize("how", OPTIMIZERS)
def test_interrupted_after_any_step_the_run_is_bitwise_the_same(tiny, tmp_path, monkeypatch, how):
    settings = tiny_settings(tiny, average=0.6, **how)
    whole = untimed(run(settings, tmp_path / "whole", keep_weights=True))
    for k in range(12):
        folder = tmp_path / str(k)
        with monkeypatch.context() as patch:
            stop_after(patch, k)
            with pytest.raises(Killed):
                run(settings, folder, checkpoint_every=0)
        assert untimed(run(settings, folder, keep_weights=True)) == whole


def test_stopped_runs_and_threads_give_the_same(tiny, tmp_path):
    settings = tiny_settings(tiny, average=0.6, batch=40, epochs=9)
    whole = untimed(run(settings, tmp_path / "whole", keep_weights=True))
    assert untimed(run(replace(settings, threads=2), tmp_path / "threads", keep_weights=True)) == whole
    for epochs in (2, 6, 8):
        run(settings, tmp_path / "parts", until=epochs)
    assert untimed(run(settings, tmp_path / "parts", keep_weights=True)) == whole


def test_a_checkpoint_without_the_sums_is_refused(tiny, tmp_path):
    settings = tiny_settings(tiny, average=0.6)
    run(settings, tmp_path, until=2)
    (path,) = tmp_path.glob("*.ckpt.npz")
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files if name != "average/3"}
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match="is not a whole checkpoint: the averaged weights must have the shapes"):
        run(settings, tmp_path)


def test_a_secure_run_averages_released_weights(tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    records = [run(tiny_settings(tiny, **PRIVATE, average=a), tmp_path / str(a)) for a in (None, 0.5)]
    assert all(record["private"] for record in records)
    assert records[0]["privacy"]["guarantee"] == records[1]["privacy"]["guarantee"]
    assert AVERAGED in records[1]["privacy"]["statement"]
    assert AVERAGED not in records[0]["privacy"]["statement"]
    settings = tiny_settings(tiny, **PRIVATE, average=0.5)
    assert run(settings, tmp_path / "0.5") == records[1]  # this call reads the record and checks its privacy statement


@pytest.mark.parametrize("share", [0.0, -0.1, 1.01, float("nan"), "half", float("inf")])
def test_a_share_of_no_steps_is_refused(tiny, share):
    with pytest.raises(ValueError, match=r"average must be (a share in \(0, 1\]|a finite number), got"):
        prepare(tiny_settings(tiny, average=share))


def test_the_number_of_steps_is_the_nearest_whole_number():
    assert [first_averaged(0.1, n) for n in (1, 4, 26, 30)] == [1, 4, 24, 28]
    for steps in range(1, 40):
        assert first_averaged(1.0, steps) == 1
        assert 1 <= first_averaged(1e-9, steps) == steps


def test_sums_of_another_network_are_refused(tiny):
    parts = prepare(tiny_settings(tiny))
    average = TailAverage(parts.net, 3)
    with pytest.raises(ValueError, match="the averaged weights must have the shapes and types of the weights"):
        average.restore([np.zeros(3)] * 6, 5)
