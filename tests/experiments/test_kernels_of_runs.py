"""Tests of a run's kernels. Its results depend on the choice of kernels or NumPy, but not on the number of threads."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from nfa.experiments import bind, records
from nfa.experiments.prepare import prepare
from nfa.experiments.run import limited, run
from nfa.experiments.settings import Settings
from nfa.network import ARCHITECTURES, mlp, ops
from tests.experiments.tiny_runs import tiny_settings, untimed, write_data

pytest.importorskip("numba", reason="numba is not installed: pip install numba")

PRIVATE = {
    "dp_dfa": {"rule_settings": {"sigma": 0.01, "tau_h": 1.0}},
    "dp_sgd": {"rule_settings": {"sigma": 0.01, "C": 1.0}, "architecture": "lee2020-cnn", "batch": 31},
    "pdfa": {"rule_settings": {"sigma": 0.01, "t": 0.15}, "opu": {"photons": 100.0}},
    "dp_dfa_joint": {"rule_settings": {"sigma": 0.01, "C": 1.0, "carries": "ternary"}, "opu": {"stored": False}},
    "dp_hybrid_joint": {"rule_settings": {"sigma": 0.01, "C": 1.0}, "architecture": "lee2020-cnn", "batch": 31},
}


def settings_of(rule, **more):
    """Settings of a run on the images that come with nfa. The kernels split the batches into several pieces."""
    return Settings(**({"rule": rule, "batch": 256} | PRIVATE[rule] | more))


def after(settings, steps=3):
    """All parameters after a few steps, and the names of the kernels that the run used."""
    with limited(settings.threads):
        parts = prepare(settings)
        list(islice(parts.train(), steps))
    return np.concatenate([p.ravel() for p in (*parts.net.W[1:], *parts.net.b[1:])]), parts.kernels


@pytest.mark.parametrize("rule", PRIVATE)
def test_every_kernel_that_fits_is_bound_by_default(rule):
    noise = "philox.add_normal_each" if rule == "pdfa" else "philox.add_normal"
    names = {"activations", "clip.clip_l2", "dense", "optim.sgd_update", noise}
    names |= {"conv"} if "architecture" in PRIVATE[rule] else set()
    names |= {"clip.clip_offset", "shot.poisson"} if rule == "pdfa" else set()
    names |= {"projection.tile"} if rule == "dp_dfa_joint" else set()
    # these rules weight the terms of the records instead
    names -= {"clip.clip_l2"} if rule in ("dp_sgd", "dp_dfa_joint", "dp_hybrid_joint") else set()
    assert set(prepare(settings_of(rule)).kernels) == {f"nfa.kernels.{name}" for name in names}
    assert prepare(settings_of(rule, kernels=False)).kernels == []


@pytest.fixture
def uncompiled(monkeypatch):
    """Numba that compiles nothing, as with NUMBA_DISABLE_JIT."""
    with monkeypatch.context() as disabled:
        disabled.setattr("numba.config.DISABLE_JIT", 1)
        bind.cannot_compile.cache_clear()
        yield
    bind.cannot_compile.cache_clear()


def test_a_run_has_plain_numpy_where_no_kernel_can_be_compiled(uncompiled, tmp_path):
    """If no kernel can be compiled, a run uses plain NumPy and gives the same results. The record has the reason."""
    settings = tiny_settings(write_data(tmp_path / "tiny.npz"))
    found, plain = (
        run(one, tmp_path / name) for one, name in ((settings, "a"), (replace(settings, kernels=False), "b"))
    )
    assert found.pop("kernels_left_out") == "NUMBA_DISABLE_JIT is set"
    assert found["kernels"] == []
    assert untimed(found) == untimed(plain)
    assert run(settings, tmp_path / "a")["kernels_left_out"]  # the same settings again only read the record


def test_a_secure_run_that_needs_kernels_names_what_keeps_them_away(uncompiled):
    how = {"secure": True, "adjacency": "add-remove", "delta": 1e-5, "sampling": "poisson"}
    settings = settings_of("dp_sgd", pixels="unit", **how)
    with pytest.raises(ValueError, match=r"kernels. .*NUMBA_DISABLE_JIT is set\)$"):
        prepare(settings)
    with pytest.raises(ValueError, match=r"Leave out --no-kernels$"):
        prepare(replace(settings, kernels=False))


def test_photons_are_counted_by_the_choice_that_the_record_names():
    """The kernel counts photons or, with --no-kernels, NumPy does. The record names the choice.

    A camera without shot noise counts no photons.
    """
    for opu, kernels, module in (
        ({"photons": 9}, True, "nfa.kernels.shot"),
        ({"photons": 9}, False, "nfa.feedback.camera"),
        ({"bits": 8, "saturation": 9.0}, True, "nfa.feedback.camera"),
    ):
        parts = prepare(settings_of("pdfa", opu=opu, kernels=kernels))
        assert [device.camera.count.__module__ for device in parts.rule.keywords["B"][1:-1]] == [module] * 2
        assert ("nfa.kernels.shot.poisson" in parts.kernels) == (module == "nfa.kernels.shot")
    with pytest.raises(ValueError, match="an OPU has no parameter 'count'"):
        prepare(settings_of("pdfa", opu={"count": 1}))


@pytest.mark.parametrize("phi", [ops.tanh, ops.sigmoid, ops.relu, ops.gelu, replace(ops.tanh, gamma_max=0.5)])
def test_an_activation_of_nfa_has_its_kernels_and_no_other_has(phi, monkeypatch):
    """Only activations of nfa use the kernels of activations. All other properties of an activation are unchanged.

    A guarantee depends on these other properties, and they come from the version in NumPy.
    """
    monkeypatch.setitem(ARCHITECTURES, "mine", lambda **given: mlp([784, 9, 10], phi, **given))
    chosen = settings_of("dp_dfa", architecture="mine", adjacency="replace-one")
    fits = phi in (ops.tanh, ops.sigmoid, ops.relu)
    for settings in (chosen, replace(chosen, dtype="float64"), replace(chosen, kernels=False)):
        parts = prepare(settings)
        laid = parts.net.phi[1]
        if fits and settings.kernels:
            assert {laid.phi.__module__, laid.dphi.__module__} == {"nfa.kernels.activations"}
            assert (laid.phi.__name__, laid.dphi.__name__) == (phi.name, f"d{phi.name}")
            assert replace(laid, phi=phi.phi, dphi=phi.dphi) == phi
        else:
            assert laid is phi
        assert ("nfa.kernels.activations" in parts.kernels) == (laid is not phi)
        assert ("is not part of nfa" in parts.privacy.known["statement"]) == (phi.gamma_max == 0.5)


@pytest.mark.parametrize(
    "rule",
    [
        "dp_dfa",
        "pdfa",
        "dp_dfa_joint",
        *(pytest.param(rule, marks=pytest.mark.slow) for rule in ("dp_sgd", "dp_hybrid_joint")),
    ],
)
def test_the_numbers_do_not_depend_on_the_threads(rule):
    alone, _ = after(settings_of(rule))
    for threads in (2, 3):
        assert np.array_equal(after(settings_of(rule, threads=threads))[0], alone)


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["dp_dfa", "dp_sgd", "dp_dfa_joint", "dp_hybrid_joint"])
def test_without_noise_kernels_and_numpy_agree(rule):
    """Without noise, kernels and NumPy agree to 1e-5 of the largest parameter after three steps in float32.

    In float64, they agree to 1e-13. The difference comes from the order of the sums. In this test, the OPU stores its
    medium, because an unstored medium has the precision of float32 even in a float64 run.
    """
    for dtype, rtol in (("float32", 1e-5), ("float64", 1e-13)):
        quiet = {"rule_settings": PRIVATE[rule]["rule_settings"] | {"sigma": 0.0}, "dtype": dtype}
        quiet |= {"opu": {}} if "opu" in PRIVATE[rule] else {}
        fast, _ = after(settings_of(rule, **quiet))
        plain, _ = after(settings_of(rule, kernels=False, **quiet))
        np.testing.assert_allclose(fast, plain, rtol=0, atol=rtol * float(np.abs(plain).max()))


def test_the_noise_of_either_choice_has_the_std_that_is_asked_for():
    """With kernels and with NumPy, the std of 669,706 noise samples is the requested std to 5 standard errors.

    Correct code fails with probability 6e-7 for each choice. If the std is wrong by 1 % or more, the test misses this
    with probability 1e-8.
    """
    rule, sigma = "dp_dfa", 0.01
    for kernels in (True, False):
        parts = prepare(settings_of(rule, kernels=kernels))
        x, y = parts.batches.at(1)
        noisy, quiet = (
            [p for d in parts.rule(parts.net, x, y, rng=parts.streams("noise", 1), sigma=std) for p in d[1:]]
            for std in (sigma, 0.0)
        )
        added = np.concatenate([(a - b).ravel() for a, b in zip(noisy, quiet, strict=True)])
        assert abs(added.std() / sigma - 1) < 5 / np.sqrt(2 * len(added))


def test_a_secure_run_has_exact_noise_and_products_with_independent_rows(tmp_path):
    kernels = prepare(settings_of("dp_dfa", secure=True, adjacency="replace-one", pixels="as-is")).kernels
    assert {"nfa.kernels.rounded.add_normal", "nfa.kernels.rows", "nfa.kernels.rows.matmul"} <= set(kernels)
    assert not [name for name in kernels if "philox" in name or "dense" in name]
    assert not [name for name in prepare(settings_of("dp_dfa")).kernels if "rows" in name]


@pytest.mark.parametrize("kernels", [True, False])
def test_a_run_is_not_gone_on_with_by_the_other_choice(kernels, tmp_path):
    settings = tiny_settings(write_data(tmp_path / "tiny.npz"), kernels=kernels)
    record = run(settings, tmp_path)
    assert record["settings"]["kernels"] is kernels
    with pytest.raises(ValueError, match=f"kernels is {kernels} in that run and {not kernels} in the new run"):
        run(replace(settings, kernels=not kernels), tmp_path)


def test_a_record_that_names_no_kernels_is_of_plain_numpy(tmp_path):
    settings = tiny_settings(write_data(tmp_path / "tiny.npz"), kernels=False)
    record = run(settings, tmp_path)
    path = tmp_path / f"{record['cell']}.json"
    del record["settings"]["kernels"]
    records.write(path, record)
    assert run(settings, tmp_path) == record
    with pytest.raises(ValueError, match="kernels is False in that run and True in the new run"):
        run(replace(settings, kernels=True), tmp_path)


def test_compiling_is_told_once_and_timed_apart(tmp_path, caplog, monkeypatch):
    from nfa.experiments import prepare as module

    monkeypatch.setattr(module, "_in_use", set())
    settings = tiny_settings(write_data(tmp_path / "tiny.npz"))
    with caplog.at_level("INFO", logger="nfa"):
        record = run(settings, tmp_path)
        run(replace(settings, seed=2), tmp_path)
    told = [entry.getMessage() for entry in caplog.records]
    assert told == ["compiling kernels: activations, dense, optim.sgd_update"]
    wall, processor = (
        {"seconds", "seconds_per_step", "compiling"},
        {"threads", "part", "step_bytes", "cpu_seconds_per_step"},
    )
    assert set(record["timing"]) == wall | processor
    assert record["timing"]["threads"] == 1
