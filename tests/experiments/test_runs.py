"""Tests of a run, and of the content of its record."""

import json
import os
import platform
from dataclasses import fields, replace
from importlib.metadata import version

import numpy as np
import pytest

from nfa.experiments import records
from nfa.experiments import run as runs
from nfa.experiments.prepare import prepare
from nfa.experiments.run import Settings, run
from nfa.network import predict
from nfa.noise import Streams
from nfa.rules.bp import bp
from tests.experiments.tiny_runs import tiny_settings, untimed, write_data


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("data") / "tiny.npz")


@pytest.fixture
def settings(tiny):
    return tiny_settings(tiny)


def test_a_run_is_the_loop_written_out_by_hand(tiny, tmp_path):
    """A run gives the results of a loop written by hand: softmax regression on standardised pixels by gradient descent.

    The loop is ten lines of NumPy.
    """
    record = run(
        Settings(
            rule="bp",
            dataset=str(tiny),
            architecture="6-3",
            sampling="none",
            epochs=4,
            lr=0.5,
            momentum=0.0,
            dtype="float64",
            seed=3,
        ),
        tmp_path,
    )
    with np.load(tiny) as d:
        x, y, x_test, y_test = d["x_train"], d["y_train"], d["x_test"], d["y_test"]
    mean, std = x.mean(axis=0), x.std(axis=0)
    x, x_test, target = (x - mean) / std, (x_test - mean) / std, np.eye(3)[y]
    rng = Streams(3)("init")
    W, b = rng.uniform(-(6**-0.5), 6**-0.5, (3, 6)), rng.uniform(-(6**-0.5), 6**-0.5, 3)
    for entry in record["history"]:
        p = np.exp(x @ W.T + b)
        p /= p.sum(axis=1, keepdims=True)
        W, b = W - 0.5 * (p - target).T @ x / 40, b - 0.5 * (p - target).mean(axis=0)
        q = np.exp(x @ W.T + b)
        q /= q.sum(axis=1, keepdims=True)
        assert entry["train_loss"] == pytest.approx(-np.log(q[np.arange(40), y]).mean(), rel=1e-12)
        assert entry["test_accuracy"] == np.mean((x_test @ W.T + b).argmax(axis=1) == y_test)
        if entry["epoch"] != 3:  # accuracies are measured after epochs 1, 2, 4, 8, ...
            assert entry["train_accuracy"] == np.mean((x @ W.T + b).argmax(axis=1) == y)
    assert "train_accuracy" not in record["history"][2]
    assert record["train_accuracy"] == record["history"][-1]["train_accuracy"]
    assert [(e["epoch"], e["step"]) for e in record["history"]] == [(1, 1), (2, 2), (3, 3), (4, 4)]


def test_the_training_accuracy_is_of_all_training_examples_at_the_end(tiny, tmp_path):
    """The training accuracy in the record is measured on all training examples at the end, without held-out examples.

    The test computes the three epochs of full batches step by step.
    """
    whole = tiny_settings(tiny, rule="bp", sampling="none", validation=0.25)
    parts = prepare(whole)
    assert len(parts.batches.x) == 30
    steps = parts.train()
    shares = []
    for _ in range(3):
        next(steps)
        z = predict(parts.net, parts.batches.x)
        shares.append(np.mean(z == parts.batches.y.argmax(axis=1)))
    record = run(whole, tmp_path)
    assert record["train_accuracy"] == shares[-1]
    assert [entry.get("train_accuracy") for entry in record["history"]] == [*shares[:2], None]


def test_a_private_rule_on_all_the_data_divides_by_their_number(settings, tmp_path):
    """A private rule that uses all records in each step divides by their number. The batch size has no effect.

    So the record of such a run contains no batch size.
    """
    private = {"rule": "dp_sgd", "rule_settings": {"C": 0.5, "sigma": 0.25}, "train_examples": 25}
    counted = {"sampling": "none", "adjacency": "add-remove", "delta": 1e-5}
    one, other = (
        run(replace(settings, batch=batch, **private, **counted), tmp_path / str(batch)) for batch in (10, 20)
    )
    assert one["privacy"]["mechanism"]["sensitivity"] == 0.5 / 25
    assert untimed(one) == untimed(other)


def test_the_history_says_what_share_of_the_last_batch_each_clip_shortened(settings, tmp_path):
    """The history has the share of the last batch that each clip scales down.

    The test computes the norms of the gradients of single records at the first weights. The first epoch is one step on
    all records, so it uses these gradients.
    """
    one = replace(settings, rule="dp_sgd", sampling="none", epochs=2, adjacency="add-remove", delta=1e-5)
    parts = prepare(replace(one, rule="bp", adjacency=None, delta=None))
    x, y = parts.batches.x, parts.batches.y
    norms = [
        np.sqrt(sum(np.vdot(g, g) for slots in bp(parts.net, x[i : i + 1], y[i : i + 1]) for g in slots[1:]))
        for i in range(len(x))
    ]
    C = float(np.quantile(norms, 0.3, method="midpoint"))
    record = run(replace(one, rule_settings={"C": C, "sigma": 0.25}), tmp_path / "some")
    assert record["history"][0]["clipped"] == [np.mean(np.array(norms) > C)]
    assert len(record["history"][1]["clipped"]) == 1
    each = run(replace(one, rule_settings={"C": C, "sigma": 0.25, "clip": "layer"}), tmp_path / "each")
    assert len(each["history"][0]["clipped"]) == parts.net.L
    assert "clipped" not in run(replace(settings, rule="bp"), tmp_path / "none")["history"][0]


def test_the_record_is_on_disk_whole_and_names_no_place(settings, tmp_path):
    record = run(replace(settings, validation=0.25, train_examples=20), tmp_path / "out")
    text = (tmp_path / "out" / "dfa-seed1.json").read_text()
    assert json.loads(text) == record
    records.validate(record)
    # the folder has no checkpoint and no incomplete file
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["dfa-seed1.json"]
    assert record["data"] | {"digest": "", "source": ""} == {
        "name": "tiny",
        "digest": "",
        "source": "",
        "note": "",
        "train": 20,
        "validation": 10,
        "test": 20,
    }
    assert record["n_parameters"] == 6 * 5 + 5 + 5 * 4 + 4 + 4 * 3 + 3
    assert record["steps"] == 6
    assert record["timing"]["threads"] == 1
    for library in ("numpy", "scipy"):
        assert record["versions"][library] == version(library)
    assert record["test_accuracy"] == record["history"][-1]["test_accuracy"]
    assert all(0 <= entry["validation_accuracy"] <= 1 for entry in record["history"])
    for place in (str(tmp_path), settings.dataset, os.getcwd(), platform.node()):
        assert place not in text


def test_a_record_tells_the_most_memory_that_a_step_held(tiny, tmp_path):
    record = run(tiny_settings(tiny, rule="tests.experiments.own_rules:wasteful"), tmp_path)
    # the largest array takes 30 MB; network and batch take a few kB
    assert 30_000_000 <= record["timing"]["step_bytes"] <= 30_100_000


def test_a_record_tells_the_processor_time_of_a_step_beside_the_clock_s(tiny, tmp_path):
    timing = run(tiny_settings(tiny, rule="tests.experiments.own_rules:slow"), tmp_path)["timing"]
    assert 0.02 <= timing["cpu_seconds_per_step"] < 0.06 <= timing["seconds_per_step"]


def test_what_was_not_measured_or_used_is_not_written(settings, tmp_path):
    record = run(replace(settings, rule="bp", optimizer="adam", lr=0.01), tmp_path)
    assert "validation_accuracy" not in record["history"][0]
    unused = {
        "feedback_law",
        "feedback_scale",
        "at",
        "momentum",
        "data_dir",
        "test",
        "accountant",
        "conversion",
    }  # the rule of this run does not have these settings
    unused |= {
        "first_weights",
        "adam_eps",
        "opu",
        "align_every",
        "adjacency",
        "delta",
        "target_epsilon",
        "noise_multiplier",
        "lr_every",
        "lr_factor",
        "N_B",
        "tau",
        "threads",
        "secure",
        "stored",
        "tested",
        "features",
        "average",
    }
    assert set(record["settings"]) == {f.name for f in fields(Settings)} - unused


@pytest.mark.parametrize("rule, id", [("bp", "lee2020:eq3"), ("dfa", "lee2020:dfa-update")])
def test_a_plain_rule_is_recorded_as_not_private_with_the_statement_of_its_mechanism(rule, id, settings, tmp_path):
    record = run(replace(settings, rule=rule), tmp_path)
    assert record["private"] is False
    assert record["privacy"]["id"] == id
    assert record["privacy"]["statement"].startswith("none: ")
    assert id in record["privacy"]["statement"]


def test_a_rule_that_needs_more_than_two_examples_is_tried_on_its_first_batch(settings, tmp_path):
    assert (
        run(replace(settings, rule="tests.experiments.own_rules:wants_ten", batch=10), tmp_path)["steps"]
        == 4 * settings.epochs
    )


def test_settings_survive_their_json(settings):
    there = Settings.from_json(json.loads(json.dumps(settings.to_json())))
    assert replace(there, dataset=settings.dataset) == settings
    with pytest.raises(ValueError, match=r"'epoch' is not a setting of a run\. The settings are rule, "):
        Settings.from_json({"epoch": 3})


def test_rules_with_one_seed_share_weights_and_batches(settings):
    one, other = (prepare(replace(settings, rule=rule, validation=0.2)) for rule in ("bp", "dfa"))
    for l in range(1, one.net.L + 1):
        np.testing.assert_array_equal(one.net.W[l], other.net.W[l])
        np.testing.assert_array_equal(one.net.b[l], other.net.b[l])
    for t in range(1, 9):
        np.testing.assert_array_equal(one.batches.at(t)[0], other.batches.at(t)[0])
    np.testing.assert_array_equal(one.x_val, other.x_val)


def test_pixels_are_scaled_by_the_examples_that_are_trained_on(settings):
    parts = prepare(replace(settings, validation=0.25, train_examples=20, dtype="float64"))
    assert parts.batches.x.mean(axis=0) == pytest.approx(np.zeros(6), abs=1e-12)
    assert parts.batches.x.std(axis=0) == pytest.approx(np.ones(6), rel=1e-12)
    everything = np.concatenate([parts.batches.x, parts.x_val])
    assert len(np.unique(everything, axis=0)) == 30  # so no example is in both parts


def test_a_seed_is_the_run_and_another_seed_another_run(settings, tmp_path):
    first, again = (run(settings, tmp_path / name) for name in "ab")
    assert untimed(first) == untimed(again)
    other = run(replace(settings, seed=2), tmp_path / "a")
    assert other["history"][0]["train_loss"] != first["history"][0]["train_loss"]


def test_one_blas_thread_unless_told_otherwise(settings, tmp_path):
    import threadpoolctl

    seen = []

    def look(*_):
        seen.extend(lib["num_threads"] for lib in threadpoolctl.threadpool_info() if lib["user_api"] == "blas")

    with threadpoolctl.threadpool_limits(2):
        run(settings, tmp_path, progress=lambda *call: look() if call[3] is None else None)
    assert set(seen) == {1}


def test_progress_begins_at_the_first_step_and_ends_with_the_record(settings, tmp_path, monkeypatch):
    monkeypatch.setattr(runs, "PROGRESS_EVERY", 0.0)
    calls = []
    record = run(settings, tmp_path, progress=lambda *call: calls.append(call))
    assert [call[1] for call in calls] == [*range(13), 12]
    assert all(call[0] == "dfa-seed1" and call[2] == 12 for call in calls)
    assert [call[3] for call in calls] == [None] * 13 + [record]


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"format": 2}, "not a run record of format 1"),
        ({"history": None}, "history is missing or of the wrong kind"),
        ({"private": True}, "nfa never records a run with a seed as private"),
        ({"test_accuracy": 83.0}, r"test_accuracy must be in \[0, 1\]"),
        ({"train_accuracy": 83.0}, r"train_accuracy must be in \[0, 1\]"),
        ({"train_accuracy": None}, r"train_accuracy must be in \[0, 1\]"),
    ],
)
def test_a_record_that_is_not_whole_is_refused(change, sentence, settings, tmp_path):
    record = run(settings, tmp_path)
    with pytest.raises(ValueError, match=sentence):
        records.validate(record | change)
    (tmp_path / "half.json").write_text(json.dumps(record)[:-20])
    with pytest.raises(ValueError, match=r"half\.json is not a whole record"):
        records.read(tmp_path / "half.json")


@pytest.mark.parametrize("field", records.FIELDS)
def test_a_record_without_one_of_its_fields_is_refused(field, settings, tmp_path):
    record = run(settings, tmp_path)
    del record[field]
    with pytest.raises(ValueError, match=r"is not a (whole|run) record"):
        records.validate(record)


def test_a_file_of_lists_without_end_is_no_record(tmp_path):
    (tmp_path / "deep.json").write_text("[" * 100_000)
    with pytest.raises(ValueError, match=r"^\S+deep\.json is not a whole record \(.*\): delete this file"):
        records.read(tmp_path / "deep.json")


def test_a_record_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    records.write(path, {"a": 1})
    with pytest.raises(ValueError, match="not JSON compliant"):
        records.write(path, {"a": float("nan")})

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="No space"):
        records.write(path, {"a": 2})
    assert json.loads(path.read_text()) == {"a": 1}
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_a_run_that_is_not_tested_looks_at_no_test_example(tmp_path, monkeypatch):
    """A run that is not tested uses no test example. With other test examples, only a digest in the record differs.

    It is the digest of the data file. The record has no test accuracy.
    """
    found = []
    for shift in (0.0, 100.0):
        with np.load(write_data(tmp_path / "first.npz")) as arrays:
            changed = dict(arrays) | {"x_test": arrays["x_test"] + shift}
        np.savez(tmp_path / "tiny.npz", **changed)
        record = run(tiny_settings(tmp_path / "tiny.npz", tested=False, validation=0.25), tmp_path / f"{shift}")
        assert record["test_accuracy"] is None
        assert record["data"].pop("test") == 0
        assert all("test_accuracy" not in entry for entry in record["history"])
        assert records.read(tmp_path / f"{shift}" / f"{record['cell']}.json")["settings"]["tested"] is False
        record["data"].pop("digest")
        found.append(untimed(record))
    assert found[0] == found[1]
    assert "validation_accuracy" in found[0]["history"][-1]


def test_a_file_without_a_test_set_has_no_run_without_one(tmp_path):
    with np.load(write_data(tmp_path / "first.npz")) as arrays:
        np.savez(tmp_path / "tiny.npz", x=arrays["x_train"], y=arrays["y_train"])
    with pytest.raises(ValueError, match=r"tiny\.npz has no test set: leave out `tested`"):
        prepare(tiny_settings(tmp_path / "tiny.npz", tested=False, validation=0.25))
