"""Tests of results from the benchmarks' seconds: ratios compared with targets, exponents with intervals, bars."""

from itertools import pairwise

import numpy as np
import pytest

from tests.benchmarks import arithmetic, pictures, report, scaling, start, targets


def test_epochs_count_their_steps():
    """The ratio of an epoch is its time divided by the time of its steps: 6.6 s / (3 steps of 2 s) = 1.1."""

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


def test_memory_and_busy_cores_are_judged():
    """Targets of memory and of busy cores are judged as computed by hand.

    A step takes 21 MB, and the target is at most 20 MB. In two rounds, two cores are busy for 0.8 and 0.9 of the time.
    """
    large = {"threads": 2, "bytes": {"step": 21_000_000}, "times": {"step": {"wall": [1.0]}}}
    busy = {"threads": 2, "times": {"step": {"wall": [1.0, 2.0], "cpu": [1.6, 3.6]}}}
    idle = {"threads": 2, "times": {"step": {"wall": [1.0], "cpu": [1.74]}}}
    groups = {
        "large": {"contenders": {"mlp dp_dfa": {"AVX2": large}}},
        "mlp": {"contenders": {"dp_dfa": {"AVX2": busy}, "bp": {"AVX2": {**busy, "threads": 1}}}},
        "cnn": {"contenders": {"dp_sgd": {"AVX2": idle}}},
    }
    rows = targets.judge(groups, ["AVX2"])
    arithmetic.add(rows, groups)
    found = {row["what"]: row for row in rows}
    memory = found["MLP: memory of dp_dfa, 4,096 examples, MB"]
    assert (memory["found"], memory["at_most"], memory["reached"]) == (21.0, 20, False)
    assert memory["arithmetic"] is None
    cores = found["MLP: cores busy in a step of dp_dfa"]
    assert cores["found"] == pytest.approx(0.85)
    assert (cores["at_least"], cores["reached"]) == (0.88, False)
    assert found["MLP: cores busy in a step of bp"]["reached"] is True
    assert found["CNN: cores busy in a step of dp_sgd"]["reached"] is False
    assert found["ULR: cores busy in a step of ulr"]["reached"] is None


def test_growth_tells_the_memory_of_a_step():
    """If the memory of a step was measured, the growth over batch sizes includes it, and the picture has a panel."""
    times = {f"batch {m}": {"wall": [1.0 * m, 1.1 * m]} for m in (64, 128)}
    told = {"bytes": {"batch 64": 2_000_000, "batch 128": 3_000_000}, "times": times}
    group = {"contenders": {"bp": {"AVX2": told}, "torch bp": {"any": {**told, "bytes": {"batch 64": None}}}}}
    rows = scaling.fit(group)
    assert [row["bytes"] for row in rows] == [[2_000_000, 3_000_000], [None, None]]
    assert [scaling.has_memory(row) for row in rows] == [True, False]
    assert ["2.0 to     3.0 MB" in line for line in scaling.table(rows)] == [True, False]
    assert pictures.bars_of(group, ["AVX2"]) == []  # steps of different sizes have no bars


def test_growth_is_fitted_with_an_interval():
    """For exact squares, the fitted exponent is 2 with an interval of width 0.

    With noise, the 95 % interval contains 2 in most of 300 sets of 9 rounds. The bootstrap of so few rounds gives
    intervals that are too narrow: they contained 2 in 80 to 95 % of the sets. If the true share is 80 %, at least 70 %
    of the 300 sets contain 2, except with probability below 1e-4.
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


def test_the_arithmetic_counts_the_products_that_are_timed(monkeypatch):
    """`work` counts the operations of the floor's products (MLP) or of the definition of a convolution (CNN)."""
    from tests.benchmarks import floors, problem

    counted = []
    monkeypatch.setattr(floors.np, "matmul", lambda a, b, out: counted.append(2 * a.size * b.shape[1]))
    for group in ("mlp", "cnn"):
        for rule in ("bp", "dfa"):
            counted.clear()
            floors.products(group, False, backward=rule == "bp")()
            want = sum(counted)
            if group == "cnn" and rule == "dfa":  # the products B e of the convolutions, which the floor leaves out
                want += 2 * problem.batch(False, "cnn") * 10 * 64 * (28**2 + 14**2)
            assert arithmetic.work(group, rule)[0] == want
    m, top = problem.batch(False, "mlp"), 512 * 512 + 10 * 512
    assert arithmetic.work("mlp", "bp")[0] == m * (2 * arithmetic.forward("mlp") + 2 * top)
    assert arithmetic.forward("cnn") == 2 * (25 * 64 * 28**2 + 25 * 64**2 * 14**2 + 384 * (64 * 49 + 384 + 10))
    n = [784, 128, 64, 32, 10]
    losses = sum(n[j] * n[j + 1] for l in range(1, 5) for j in range(l, 4))
    both_ways = 2 * sum(a * b for a, b in pairwise(n))
    assert arithmetic.work("ulr", "ulr")[0] == 2 * 500 * (100 * losses + both_ways)
    assert arithmetic.work("start", "import nfa") is None


def test_what_remains_of_a_target():
    """The remaining time of a target is as computed by hand, for a step and for an epoch.

    The products take 3 ms of a step of 7 ms, and the peer's step takes 4 ms. An epoch of 10 steps takes 80 ms. Of this
    time, reading takes 3 ms, and 1000 forward passes take the time of their operations.
    """

    def told(step, **more):
        return {**more, "times": {label: {"wall": [seconds]} for label, seconds in step.items()}}

    floor = told({"products of BP": 3e-3, "products of DFA": 2e-3, "copy": 1e-3}, parameters=10**8)
    contenders = {"bp": told({"step": 7e-3}), "jax bp": told({"step": 4e-3}), "floor": floor}
    groups = {
        "mlp": {"contenders": {name: {"AVX2": about} for name, about in contenders.items()}},
        "mlp epoch": {"contenders": {"bp": {"AVX2": told({"epoch": 80e-3}, steps=10, reading=3e-3, looked_at=1000)}}},
    }
    rows = targets.judge(groups, ["AVX2"])
    arithmetic.add(rows, groups)
    found = {row["what"]: row["arithmetic"] for row in rows}
    beside = found["MLP: BP over JAX, compiled"]
    assert [beside[key] for key in ("floor", "ours", "rest", "least")] == pytest.approx([3e-3, 7e-3, 4e-3, 0.75])
    # rate of the faster products: DFA's
    assert beside["rate"] == pytest.approx(arithmetic.work("mlp", "dfa")[0] / 2e-3)
    epoch = found["MLP: epoch of bp over its steps"]
    floor = 73e-3 + 1000 * arithmetic.forward("mlp") / beside["rate"]
    assert [epoch[key] for key in ("floor", "rest", "least")] == pytest.approx([floor, 80e-3 - floor, floor / 70e-3])
    assert epoch["flops"] == 10 * beside["flops"]
    assert found["CNN: hybrid over DP-SGD"] is None
    assert "0.75" in "\n".join(arithmetic.table(rows))


def test_growth_is_measured_where_it_is_asked_for():
    assert "growth" not in report.parts_of(None, False)
    assert "growth" in report.parts_of(None, True)
    assert report.parts_of(["scaling", "mlp"], False) == ["mlp", "growth"]


def test_growth_is_timed_on_one_core(monkeypatch, tmp_path):
    """The part "growth" is timed on one core although two are requested; another part uses both cores."""
    asked = {}
    monkeypatch.setattr(report, "_export", lambda *how: None)
    monkeypatch.setattr(report.race, "race", lambda chosen, cores, **how: asked.update({chosen[0].build: how}) or {})
    report.run(["clips", "growth"], tiny=True, out=tmp_path, threads=2)
    assert {build.partition(":")[0]: how["threads"] for build, how in asked.items()} == {"pieces": 2, "growth": 1}


def test_every_first_use_is_timed_at_the_sizes_of_a_real_step(monkeypatch, tmp_path):
    """Every first use is timed at the sizes of a real step and in its own process; the test reads only the options."""
    asked = []

    class Asked:
        def __init__(self, contender, core, folder, **how):
            if contender.kind == "ours":
                asked.append((contender.build, contender.options, how["threads"]))
            self.about = {"first_use": 1.5, "seconds": 1.0}

    monkeypatch.setattr(start, "Contestant", Asked)
    found = start.measure(tmp_path, "environment", rounds=1, tiny=False, threads=2, tell=lambda what: None)
    wanted = {target.ours[1] for target in targets.TARGETS if target.what.startswith("first use")}
    named = {f"first use, {options['problem']} {options['rule']}" for _, options, _ in asked}
    assert wanted <= named <= set(found)
    assert all(found[name]["environment"]["times"]["once"]["wall"] == [1.5] for name in named)
    assert {build for build, *_ in asked} == {"own:first_use"}
    assert {(options["small"], threads) for _, options, threads in asked} == {(False, 2)}
