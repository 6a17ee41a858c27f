"""What is made of the benchmarks' seconds: ratios held against targets, exponents with intervals, bars."""

import numpy as np
import pytest

from tests.benchmarks import pictures, scaling, targets


def test_targets_have_both_core_types_and_epochs_count_their_steps():
    """Numbers by hand: an epoch of 3 steps that took 6.6 s where a step takes 2 s."""
    assert [target.bound("AVX-512") for target in targets.TARGETS[:2]] == [0.45, 1.45]

    def told(seconds, **more):
        return {**more, "times": {label: {"wall": seconds} for label in ("step", "epoch")}}

    groups = {
        "mlp": {"contenders": {"bp": {"AVX2": told([1.0, 2.0, 9.0])}}},
        "mlp epoch": {"contenders": {"bp": {"AVX2": told([6.6, 6.0, 7.0], steps=3)}}},
    }
    found = {row["what"]: row for row in targets.judge(groups, ["AVX2", "AVX-512"])}["MLP: epoch of bp over its steps"]
    assert found["found"] == pytest.approx(1.1, rel=1e-12)
    assert found["q1"] == pytest.approx(1.05, rel=1e-12)
    assert found["core"] == "AVX2"


def test_growth_is_fitted_with_an_interval():
    """Exactly squares: 2, and no width. Otherwise in 300 sets of 9 rounds the interval of 95 % holds 2 in most.

    The bootstrap of so few rounds is too narrow: it held in 80 to 95 % here. Under 70 % of 300 has a chance below 1e-4
    if 80 % is true.
    """
    exact = scaling.fitted([1, 2, 4, 8], np.tile([3.0, 12.0, 48.0, 192.0], (5, 1)))
    assert exact["exponent"] == pytest.approx(2, rel=1e-12)
    assert exact["interval"] == pytest.approx([2, 2], rel=1e-12)
    rng, held = np.random.default_rng(0), 0
    for _ in range(300):
        noisy = np.array([1.0, 4.0, 16.0, 64.0]) * np.exp(0.05 * rng.normal(size=(9, 4)))
        low, high = scaling.fitted([1, 2, 4, 8], noisy)["interval"]
        held += low <= 2 <= high
    assert held >= 210


def test_bars_are_in_units_of_torch():
    def told(seconds):
        return {"times": {"step": {"wall": seconds}}}

    group = {"contenders": {"bp": {"AVX2": told([4.0])}, "torch bp": {"any": told([2.0])}}}
    bars = pictures.bars_of(group, ["AVX2"])
    assert [(bar[0], bar[1], bar[3]["median"]) for bar in bars] == [("bp", "ours", 2.0), ("torch bp", "peer", 1.0)]
    assert pictures.bars_of({"contenders": {"bp": {"AVX2": told([4.0])}}}, ["AVX2"]) == []
