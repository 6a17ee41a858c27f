"""Tests that a dry run is fast, does not create the objects whose size it estimates, and is accurate to a factor."""

import os
import re
import subprocess
import sys
import time
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from nfa.experiments import dry_run
from nfa.experiments.experiment import SCALES, Cell, Experiment
from nfa.experiments.run import run
from nfa.experiments.settings import Settings
from nfa.papers import index
from tests.experiments import slow_rules
from tests.experiments.tiny_runs import tiny_settings, write_data
from tests.project.tree import ROOT

pytestmark = pytest.mark.slow  # other programs on the machine distort the times that these tests measure

TRAINED = [
    (variant, item)
    for variant, known in (("published", index.EXPERIMENTS), ("repaired", index.REPAIRED))
    for item in known
    if isinstance(index.find(item, variant), Experiment)
]


@pytest.fixture
def images(tmp_path):
    """20,000 images of two classes: 15.7 MB as bytes, and 62.7 MB as float32."""
    rng = np.random.default_rng(1)
    x = rng.integers(0, 256, (20_000, 1, 28, 28), dtype=np.uint8)
    y = np.arange(20_000) % 2
    np.savez(tmp_path / "images.npz", x_train=x, y_train=y, x_test=x[:2000], y_test=y[:2000])
    return str(tmp_path / "images.npz")


def estimated(settings, budget):
    cells = [Cell("one", settings, {})]
    (estimate,) = dry_run.estimates(cells, dry_run.sources(cells), budget).values()
    return estimate


def of_repeats(images, **more):
    return Settings(
        rule="tests.experiments.slow_rules:repeats",
        rule_settings={"K": 50},
        dataset=images,
        architecture="784-4-2",
        epochs=2,
        **({"batch": 400} | more),
    )


def test_a_part_of_a_long_step_is_timed_and_scaled(images):
    """A dry run times a part of a long step and scales the time.

    The estimate agrees with the known running time of the rule. A step takes 2 s, and all timed calls together take
    less. The tolerance allows for a busy machine, which ends a sleep late. If the dry run did not scale with the
    examples or with the repeats, the estimate would be wrong by a factor of at least 10.
    """
    slow_rules.calls.clear()
    began = time.monotonic()
    found = estimated(of_repeats(images), budget=1.0)
    assert time.monotonic() - began < 10
    expected = 2 * 50 * slow_rules.seconds(400, 50)  # 50 steps per epoch
    assert expected / 1.5 < found.seconds < expected * 2
    told = re.fullmatch(r"timed (\d+) of 400 examples with (\d+) of K = 50 repeats, and scaled", found.how)
    assert told, found.how
    assert max(slow_rules.calls) == (int(told[1]), max(K for m, K in slow_rules.calls if m == int(told[1])))
    assert sum(slow_rules.seconds(*call) for call in slow_rules.calls) < 2.0  # less than the time of one step


def test_the_part_that_all_examples_share_is_not_scaled(images, monkeypatch):
    """The part of a step's time that does not depend on the number of examples is not scaled. Here it is 0.1 s.

    If this time were scaled from 8 examples to 400, the estimate for a step would be 5 s. The upper tolerance is larger
    because a busy machine ends sleeps late, and the dry run scales this delay.
    """
    monkeypatch.setattr(slow_rules, "ALWAYS", 0.1)
    monkeypatch.setattr(slow_rules, "AN_EXAMPLE", 1e-5)
    monkeypatch.setattr(slow_rules, "A_REPEAT", 0.0)
    settings = replace(of_repeats(images), rule_settings={"K": 2})
    found = estimated(settings, budget=1.5)
    assert "examples" in found.how, found.how
    expected = 2 * 50 * slow_rules.seconds(400, 2)
    assert expected / 1.5 < found.seconds < expected * 5


def test_antithetic_repeats_are_timed_in_pairs(images, monkeypatch):
    """A dry run times antithetic repeats in pairs. A step of 50 pairs takes 0.42 s.

    The dry run times a few pairs of a few examples. It never uses an odd number of repeats, because the rule refuses an
    odd number.
    """
    monkeypatch.setattr(slow_rules, "A_REPEAT", 1e-5)
    slow_rules.calls.clear()
    settings = replace(of_repeats(images), rule_settings={"K": 100, "antithetic": True})
    found = estimated(settings, budget=0.3)
    told = re.fullmatch(r"timed \d+ of 400 examples with (\d+) of K = 100 repeats, and scaled", found.how)
    assert told, found.how
    assert {K % 2 for _, K in slow_rules.calls} == {0}
    assert min(K for _, K in slow_rules.calls) == 2
    assert max(K for _, K in slow_rules.calls) == int(told[1])
    expected = 2 * 50 * slow_rules.seconds(400, 100)
    assert expected / 1.5 < found.seconds < expected * 2
    with pytest.raises(ValueError, match="must be even for antithetic pairs, got K=7"):
        estimated(replace(settings, rule_settings={"K": 7, "antithetic": True}), budget=0.0)


def test_short_steps_are_timed_whole(images):
    slow_rules.calls.clear()
    settings = replace(of_repeats(images, batch=16), rule_settings={"K": 1})
    found = estimated(settings, budget=3.0)
    assert int(re.fullmatch(r"timed (\d+) steps", found.how)[1]) >= dry_run.TRIAL_STEPS
    expected = 2 * 1250 * slow_rules.seconds(16, 1)
    assert expected / 1.2 < found.seconds < 3 * expected


def test_a_rule_that_needs_more_examples_gets_them(images):
    slow_rules.calls.clear()
    estimated(
        Settings(rule="tests.experiments.slow_rules:many_at_once", dataset=images, architecture="784-4-2", batch=100),
        budget=0.0,
    )
    assert min(m for m, _ in slow_rules.calls) == 32  # the timed numbers of examples are 8, 16 and 32


def test_kinds_that_differ_in_batches_share_what_was_timed(images):
    cells = [Cell(str(b), of_repeats(images, batch=b), {}) for b in (200, 400)]
    slow_rules.calls.clear()
    found = dry_run.estimates(cells, dry_run.sources(cells), 1.0)
    assert len(found) == 2
    small, large = (found[dry_run.kind(cell)].seconds for cell in cells)
    assert 0.5 < large / small < 2  # both cells use the same timings
    assert slow_rules.calls.count((8, 1)) == dry_run.ROUNDS + 1


def test_repeats_and_words_among_the_settings_tell_kinds_apart(images):
    one = of_repeats(images)

    def kind(settings):
        return dry_run.kind(Cell("one", settings, {}))

    assert kind(one) != kind(replace(one, rule_settings={"K": 51})) != kind(replace(one, epochs=3))
    assert kind(one) == kind(replace(one, seed=7, lr=0.2))


def test_what_a_run_would_hold_is_counted_and_not_made(images):
    """A dry run computes the memory of a run without allocating it. The training images alone take 62.7 MB as float32.

    The activations of all images together would take 80 MB. The run processes a batch in parts, so it holds fewer
    activations at a time.
    """
    settings = Settings(rule="bp", dataset=images, architecture="784-512-2", sampling="none", epochs=1)
    cells = [Cell("one", settings, {})]
    known = dry_run.sources(cells)
    dry_run.estimates(cells, known, 0.0)  # this call compiles the kernels
    tracemalloc.start()
    try:
        (found,) = dry_run.estimates(cells, known, 0.0).values()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    floats = 22_000 * 784 * 4
    assert peak < floats / 2
    assert floats < found.nbytes - dry_run.BASE_BYTES < floats + 20_000 * 784 + 20_000 * 512 * 4 / 2


def test_a_data_set_smaller_than_a_trial_is_no_trouble(tmp_path):
    for sampling in ("none", "poisson", "without-replacement", "epoch-partition"):
        settings = tiny_settings(write_data(tmp_path / "tiny.npz"), rule="dfa", sampling=sampling, validation=0.25)
        assert 0 < estimated(settings, budget=0.5).seconds < 60


@pytest.mark.parametrize(
    "item, cell",
    [
        pytest.param("ohana2021:table1", "pdfa-0.2-nearest-seed1", marks=pytest.mark.slow),
        pytest.param("lee2020:fig4", "fashion-mnist-dp-dfa-0.01-sound-seed1", marks=pytest.mark.nightly),
        pytest.param("dpulr2024:table1", "200-dp-sgd-1-chosen-seed1", marks=pytest.mark.slow),
        pytest.param("dpulr2024:table1", "200-dp-ulr-sound-1-chosen-seed1", marks=pytest.mark.nightly),
        pytest.param("dpulr2024:fig4", "64-ulr-none-pooled-seed1", marks=pytest.mark.nightly),
    ],
)
def test_the_estimate_is_within_a_factor_of_four_of_a_run(item, cell, tmp_path):
    """The estimated wall-clock time is within a factor of four of the time of a real run.

    The factor allows for machines that also run other programs. On an idle machine, the measured factor is 1.3.
    """
    cells = index.find(item).cells("demo", [1])
    (chosen,) = [one for one in cells if one.name == cell]
    found = estimated(chosen.settings, budget=3.0)
    took = run(chosen.settings, tmp_path)["timing"]["seconds"]
    assert took / 4 < found.seconds < 4 * took + 1


def answered(item, *options, cwd):
    """The processor time and the output of a dry run in its own process."""
    import resource

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "nfa", "reproduce", item, *options, "--dry-run"],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


@pytest.fixture(scope="module")
def short(data_home, tmp_path_factory):
    """Processor time of the dry run of a short item."""
    return answered("ohana2021:table1", "--scale", "demo", cwd=tmp_path_factory.mktemp("short"))[0]


def check_answer(variant, item, scale, folder, short):
    """The dry run of this item takes at most four times the processor time of the dry run of a short item."""
    worked, said = answered(item, "--scale", scale, "--variant", variant, cwd=folder)
    assert worked < 4 * short, f"{item} at scale {scale}: {worked:.1f} s of processors, a short item {short:.1f} s"
    assert list(folder.iterdir()) == []
    assert re.search(r"^- .*: timed ", said, re.MULTILINE)


@pytest.mark.slow
@pytest.mark.posix("counts the time of processors")
def test_the_longest_item_is_estimated_in_time(data_home, tmp_path, short):
    check_answer("published", "dpulr2024:fig4", "paper", tmp_path, short)


@pytest.mark.nightly
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("variant, item", TRAINED)
@pytest.mark.posix("counts the time of processors")
def test_every_item_is_estimated_in_time(variant, item, scale, data_home, tmp_path, short):
    check_answer(variant, item, scale, tmp_path, short)
