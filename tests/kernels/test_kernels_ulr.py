"""Tests of the kernel of ULR's repeats: it agrees with NumPy for the same noise, and its noise is normal."""

import functools
import math
import sys
import tracemalloc
from dataclasses import replace
from importlib.metadata import version

import numpy as np
import pytest
from scipy import stats

from nfa import ops
from nfa.experiments.prepare import prepare
from nfa.experiments.run import measure, run
from nfa.network import Net, dpulr2024_mlp, forward, mlp
from nfa.network.dense import Dense
from nfa.network.pooling import MaxPool
from nfa.noise import of_examples
from nfa.rules import ulr as reference
from nfa.rules.dp_ulr import dp_ulr
from nfa.rules.dp_ulr_sound import dp_ulr_sound
from nfa.rules.ulr import ulr
from tests.experiments.tiny_runs import Killed, stop_after, tiny_settings, untimed, write_data
from tests.kernels.python_source import in_python
from tests.oracles.core import assert_same_direction, batch, pooled_cnn
from tests.oracles.ulr import Given

kernel = pytest.importorskip("nfa.kernels.ulr", reason="numba is not installed: pip install numba")
from nfa.kernels import cores, functions, philox  # noqa: E402

PAIRS = [(reference.weigh, kernel.weigh)]
rng = np.random.default_rng
FALSE_ALARM = 1e-6  # probability that a statistical test below fails on correct code with another seed
PHI = (ops.identity, ops.relu, ops.step, ops.gelu, ops.tanh, ops.sigmoid)
EVERY_PHI = pytest.mark.parametrize("phi", PHI, ids=lambda phi: phi.name)


def problem(sizes, phi, m, loss=ops.softmax_cross_entropy, factor=1.0):
    """(net, z, h, y) in float32 and in float64: a network, a pass through the network, and targets."""
    net = mlp(sizes, phi, rng=rng(0), dtype=np.float32, loss=loss)
    for l in range(1, net.L + 1):
        net.W[l] *= np.float32(factor)
    x = rng(1).standard_normal((m, sizes[0])).astype(np.float32)
    y = np.eye(sizes[-1], dtype=np.float32)[rng(2).integers(0, sizes[-1], m)]
    z, h = forward(net, x)
    wide = net.copy()
    wide.W, wide.b, z_wide, h_wide = ([None if v is None else v.astype(float) for v in a] for a in (net.W, net.b, z, h))
    return (net, z, h, y), (wide, z_wide, h_wide, y.astype(float))


def assert_near(got, want, u, power):
    """Assert that sums over repeats agree to 1e-5 of their largest possible value (by Cauchy and Schwarz).

    The sums of squares must agree to 1e-5 of the largest sum of squares.
    """
    most = np.sqrt(np.square(u).sum(axis=0) * power[:, None])
    assert (np.abs(got[0] - want[0]) <= 1e-5 * most).all()
    np.testing.assert_allclose(got[1], want[1], rtol=0, atol=1e-5 * power.max(initial=0))


def both(l, narrow, wide, draws, antithetic, baseline):
    """Compare the kernel at layer l with NumPy in float64, which gets the kernel's noise."""
    (net, z, h, y), (net_wide, z_wide, h_wide, y_wide) = narrow, wide
    m = len(y)
    calm = np.zeros(m) if not baseline else net_wide.loss.value(z_wide[net.L], y_wide)
    sigma = 0.1 + 0.4 * rng(3).random((m, 1))
    got = kernel.weigh(net, l, z, h, y, sigma.astype(np.float32), draws, calm.astype(np.float32), antithetic, 1, rng(9))
    assert [a.dtype for a in got] == [np.float32] * 2
    u = kernel._noise(m, z[l].shape[1], draws, rng(9), kernel._columns(net, l)).astype(float)

    def want(*how):
        return reference.weigh(net_wide, l, z_wide, h_wide, y_wide, sigma, draws, *how, 1 << 30, Given(u))

    assert_near(got, want(calm, antithetic), u, want(0 * calm, False)[1] + 2 * np.square(calm) * draws)


@pytest.mark.slow
@EVERY_PHI
@pytest.mark.parametrize("loss", [ops.softmax_cross_entropy, ops.squared_error], ids=lambda loss: loss.name)
def test_with_the_same_noise_it_is_numpy_in_float64(phi, loss):
    """With the same noise, the kernel agrees with NumPy in float64, for every layer and many sizes.

    Some widths are not multiples of 8. The repeats take one or several tiles. The batches have zero, one or several
    examples.
    """
    for sizes, m in (([5, 17, 9, 4], 7), ([3, 2, 8, 2], 1), ([3, 1, 3], 600), ([3, 5, 2], 0)):
        given = problem(sizes, phi, m, loss)
        for l in range(1, len(sizes)):
            for draws in (1, 5, 100, 513, 1100) if m < 10 else (1, 3):
                both(l, *given, draws, antithetic=False, baseline=draws % 2 == 0)
                both(l, *given, draws, antithetic=True, baseline=False)


@pytest.mark.slow
def test_with_the_same_noise_it_is_numpy_in_float64_for_the_papers_net():
    given = problem([784, 128, 64, 32, 10], ops.gelu, 6)
    for l in range(1, 5):
        assert kernel._columns(given[0][0], l) == 512
        both(l, *given, 100, antithetic=False, baseline=True)


@pytest.mark.slow
def test_each_layer_has_its_own_activation():
    """Each layer can have its own activation. The kernel refuses activations that it does not support."""
    for phis in ((ops.tanh, ops.relu), (ops.relu, ops.tanh), (ops.gelu, ops.relu, ops.tanh)):
        layers = [(Dense(9 + i), phi) for i, phi in enumerate(phis)]
        net = Net((3,), [*layers, (Dense(2),)], rng=rng(0), dtype=np.float32)
        x, y = rng(1).standard_normal((4, 3)).astype(np.float32), np.eye(2, dtype=np.float32)[[0, 1, 1, 0]]
        want = ulr(net, x, y, sigma=0.2, K=40, rng=Drawing(7))
        assert_same_direction(ulr(net, x, y, sigma=0.2, K=40, weigh=kernel.weigh, rng=rng(7)), want, 1e-5)
    assert kernel.fits(net)
    net.phi[2] = replace(ops.relu, name="of somebody else")
    assert not kernel.fits(net)


@pytest.mark.slow
def test_wide_layers_have_narrow_tiles():
    """Tiles of wide layers have few columns: 93 columns for 700 units, and at least 16 columns for any width."""
    for width, columns in ((700, 93), (5000, 16)):
        given = problem([3, 4, width, 2], ops.relu, 3)
        for l in (1, 2, 3):
            assert kernel._columns(given[0][0], l) == (columns if l < 3 else 512)
            for draws in (10, 100):
                both(l, *given, draws, antithetic=False, baseline=True)


@pytest.mark.slow
def test_layers_without_a_bias():
    net = Net((3,), [(Dense(9, bias=False), ops.tanh), (Dense(2, bias=False),)], rng=rng(0), dtype=np.float32)
    x, y = rng(1).standard_normal((4, 3)).astype(np.float32), np.eye(2, dtype=np.float32)[[0, 1, 1, 0]]
    want = ulr(net, x, y, sigma=0.2, K=40, rng=Drawing(7))
    assert_same_direction(ulr(net, x, y, sigma=0.2, K=40, weigh=kernel.weigh, rng=rng(7)), want, 1e-5)


@pytest.mark.slow
@EVERY_PHI
def test_large_losses_too(phi):
    """The kernel also agrees with NumPy for large losses: with weights a thousand times as large.

    Pre-activations are about 1e9, so exponentials without a shift would overflow.
    """
    given = problem([5, 17, 9, 4], phi, 3, factor=1e3)
    assert max(np.abs(v).max() for v in given[0][1][1:]) > 1e2
    for l in (1, 2, 3):
        both(l, *given, 20, antithetic=False, baseline=False)


@pytest.mark.slow
def test_as_python_it_is_what_is_compiled():
    """The kernel as Python agrees with the compiled kernel, to a few roundings of float32 in each sum.

    They differ because the compiler fuses operations and changes their order.
    """
    plain = in_python(kernel)
    for phi in PHI:
        for loss in (ops.softmax_cross_entropy, ops.squared_error):
            net, z, h, y = problem([3, 9, 3], phi, 2, loss)[0]
            arguments = net, 1, z, h, y, np.float32(0.3), 5, np.ones(2, np.float32), False, 1
            ways = [weigh(*arguments, rng(4)) for weigh in (plain.weigh, kernel.weigh)]
            for python, compiled in zip(*ways, strict=True):
                np.testing.assert_allclose(compiled, python, rtol=2e-5, atol=2e-5)


@pytest.mark.slow
def test_the_threads_change_nothing():
    """The results are bitwise identical for any number of threads, from one piece to the largest number of pieces."""
    net, z, h, y = problem([5, 17, 9, 4], ops.gelu, 40)[0]
    found = []
    try:
        for threads in (1, 2, 3, 50):
            cores.limit(threads)
            found.append([kernel.weigh(net, l, z, h, y, 0.3, 150, np.zeros(40), False, 1, rng(5)) for l in (1, 2, 3)])
    finally:
        cores.limit()
    for other in found[1:]:
        for one, two in zip(found[0], other, strict=True):
            assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


@pytest.mark.slow
def test_it_changes_nothing_that_it_is_given():
    net, z, h, y = problem([3, 9, 3], ops.tanh, 4)[0]
    given = [*z[1:], *h, y, *net.W[1:], *net.b[1:]]
    kept = [a.copy() for a in given]
    kernel.weigh(net, 1, z, h, y, 0.3, 5, np.zeros(4), True, 1, rng(5))
    assert all(np.array_equal(a, b) for a, b in zip(given, kept, strict=True))


# --- in the rules ---------------------------------------------------------------------------------------------


class Drawing:
    """A generator that returns the kernel's normals for shapes (repeats, m, n), else its own samples."""

    def __init__(self, seed):
        self.own = rng(seed)

    def standard_normal(self, shape, dtype=float):
        """The kernel's noise if the shape is that of repeats, and otherwise the generator's own samples."""
        if len(shape) == 3:
            return kernel._noise(*shape[1:], shape[0], self.own).astype(dtype)
        return self.own.standard_normal(shape, dtype)


RULES = {
    "ulr": functools.partial(ulr, sigma=0.2, K=40),
    "ulr, baseline": functools.partial(ulr, sigma=0.2, K=40, baseline=True),
    "ulr, pairs": functools.partial(ulr, sigma=0.2, K=40, antithetic=True),
    "dp_ulr": functools.partial(dp_ulr, sigma_0=1.0, C=1.0, K=40, N_B=8),
    "dp_ulr, parameters": functools.partial(dp_ulr, sigma_0=1.0, C=1.0, K=40, N_B=8, remedy="parameters"),
    "dp_ulr_sound": functools.partial(dp_ulr_sound, sigma=0.2, sigma_0=0.5, C=1.0, K=40, m=8.0),
}


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES.values(), ids=list(RULES))
def test_a_rule_takes_it_by_its_door(rule):
    """A rule gets the kernel by the argument ``weigh``.

    If NumPy uses the kernel's noise, the directions agree.
    """
    net, _, h, y = problem([3, 6, 5, 3], ops.gelu, 24)[0]
    want = rule(net, h[0], y, rng=Drawing(7))
    got = rule(net, h[0], y, weigh=kernel.weigh, rng=rng(7))
    assert {a.dtype for part in got for a in part[1:]} == {np.dtype(np.float32)}
    assert_same_direction(got, want, 1e-5)


@pytest.mark.slow
def test_the_mean_is_the_gradient_of_a_quadratic_loss():
    """For a quadratic loss, the mean of ULR's estimates is the gradient, for every unit, within its standard error.

    We use 64 antithetic pairs for each of 4,000 copies of a record. If a mean is wrong by 10 standard errors, the test
    misses this with probability 1e-6.
    """
    net = mlp([3, 4, 2], ops.identity, rng=rng(0), dtype=np.float32, loss=ops.squared_error)
    x, y = np.ones((1, 3), np.float32), np.zeros((1, 2), np.float32)
    z, h = forward(net, np.repeat(x, 4000, axis=0))
    total, _ = kernel.weigh(net, 1, z, h, np.repeat(y, 4000, axis=0), 0.1, 64, np.zeros(4000), True, 1, rng(8))
    dz = total / (64 * 0.1)
    want = (net.W[2].T @ z[2][0]).astype(float)  # because e = z[2], and the network is linear
    error = (dz.mean(axis=0) - want) / (dz.std(axis=0) / math.sqrt(len(dz)))
    assert np.abs(error).max() < stats.norm.isf(FALSE_ALARM / 2 / 4)


@pytest.mark.slow
@pytest.mark.parametrize("K", [3, 20_000])
def test_memory_is_bounded_by_a_tile(K):
    """The tiles limit the memory: it is below 4 MB for 20,000 repeats of 6 records and 3 repeats of 6,000 records.

    The network is 300-40-3.
    """
    m = 18_000 // K if K < 100 else 6
    net, z, h, y = problem([300, 40, 3], ops.step, m)[0]
    kernel.weigh(net, 1, z, h, y, 0.1, 1, np.zeros(m), False, 1, rng(0))
    tracemalloc.start()
    kernel.weigh(net, 1, z, h, y, 0.1, K, np.zeros(m), False, 1, rng(0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4e6


# --- functions ------------------------------------------------------------------------------------------------

GRID = np.concatenate([np.linspace(-30, 30, 200_001), [-3e38, -1e30, -1e5, -0.0, 1e-40, 1e-30, 1e5, 1e30, 3e38]])


@pytest.mark.slow
@EVERY_PHI
def test_activations_agree_with_ops(phi):
    """The kernel's activations agree with float64 to 4e-7, and for values above 1 to a relative 4e-7."""
    z = GRID.astype(np.float32)
    got = z.copy()
    functions.ACTIVATIONS[phi.name](got[None], 1, len(got))
    want = phi.phi(z.astype(float))
    np.testing.assert_allclose(got, want, rtol=4e-7, atol=4e-7)


@pytest.mark.slow
def test_the_lower_tail_of_gelu_keeps_its_digits():
    """The lower tail of GELU is precise: z Phi(z) has a relative error of at most 2e-6 down to z = -5.

    In float32, NumPy has no correct digits at z = -5.
    """
    z = np.linspace(-5, -0.01, 10_001).astype(np.float32)
    got = z.copy()
    functions.ACTIVATIONS["gelu"](got[None], 1, len(got))
    np.testing.assert_allclose(got, ops.gelu.phi(z.astype(float)), rtol=2e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    "function, x, want, rtol, atol",
    [
        (functions.exp, np.linspace(-87, 0, 4001), np.exp, 2e-7, 0),
        (functions.log, np.geomspace(1e-10, 1e3, 4001), np.log, 2e-7, 1e-7),
        (philox.quarter_sine, np.linspace(0, 1, 4001), lambda x: np.sin(np.pi * x / 2), 0, 2e-7),
        (functions.upper_tail, np.linspace(0, 5, 4001), stats.norm.sf, 1e-6, 0),
    ],
)
def test_functions_of_one_number(function, x, want, rtol, atol):
    """The kernel's functions of one number are as precise as documented, compared with float64.

    We compile them with the options of the loops that use them.
    """
    x, compiled = x.astype(np.float32), functions.loop(function.py_func)
    got = [compiled(v) for v in x]
    np.testing.assert_allclose(got, want(x.astype(float)), rtol=rtol, atol=atol)


@pytest.mark.slow
@EVERY_PHI
def test_what_is_not_a_number_stays_so(phi):
    """Activations of NaN are NaN, so the loss of a diverged network is NaN.

    Only the step activation gives 0, as in NumPy.
    """
    net, z, h, y = problem([3, 9, 3], phi, 2)[0]
    z[1][0, 2] = np.nan
    total, power = kernel.weigh(net, 1, z, h, y, 0.3, 5, np.zeros(2), False, 1, rng(5))
    assert np.isfinite([*total[1], power[1]]).all()
    assert np.isnan(power[0]) == (phi is not ops.step)
    z[2][1, 1] = np.inf
    total, power = kernel.weigh(net, 2, z, h, y, 0.3, 5, np.zeros(2), False, 1, rng(5))
    assert not np.isfinite(power[1])


# --- the noise ------------------------------------------------------------------------------------------------


def test_the_words_are_those_of_philox():
    """The words are those of Philox4x32-10. We use the known answers of Random123, the library of its authors."""
    ones = 2**32 - 1
    known = [
        ((0, 0, 0, 0), (0, 0), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ((ones,) * 4, (ones,) * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ]
    for counter, key, words in known:
        found = philox.philox.py_func(*map(np.uint32, counter), *map(np.uint32, key))
        assert " ".join(f"{int(word):08x}" for word in found) == words


@functools.cache
def normals():
    """2,560,000 normals, in tiles like those of layer 1 of the paper's network."""
    return kernel._noise(200, 128, 100, rng(11))


@pytest.mark.slow
def test_the_noise_is_normal():
    """The noise is normal: moments to the sixth, a Kolmogorov-Smirnov test, and counts beyond 1, 2, ..., 5.

    The test misses the following errors with probability 1e-6: a mean wrong by 0.006, a std wrong by 0.4 %, 2.5 times
    as many values beyond 4, and 40 times as many beyond 5.
    """
    u = normals().ravel().astype(float)
    n = len(u)
    for power, mean, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96), (6, 15, 10170)):
        error = (np.mean(u**power) - mean) / math.sqrt(variance / n)
        assert abs(error) < stats.norm.isf(FALSE_ALARM / 2), power
    assert stats.kstest(u[:1_000_000], "norm").pvalue > FALSE_ALARM
    for t in (1, 2, 3, 4, 4.5, 5):
        for tail in (u > t, u < -t):
            low, high = stats.binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], n, stats.norm.sf(t))
            assert low <= np.count_nonzero(tail) <= high, t


@pytest.mark.slow
def test_the_noise_is_independent():
    """The noise is uncorrelated: adjacent normals, the four normals of a counter, their squares, and another key.

    The test misses a correlation of 9.7 / sqrt(n) with probability 1e-6. This correlation is 0.006 for all normals, and
    0.08 within a counter.
    """
    u = normals().astype(float)
    # 64,000 normals; two normals with a distance of a quarter have the same counter
    tile = u[:, :5].transpose(2, 1, 0).ravel()
    many = u.transpose(1, 2, 0).ravel()
    other = kernel._noise(200, 128, 100, rng(12)).transpose(1, 2, 0).ravel().astype(float)
    quarter = len(tile) // 4
    pairs = [(many[1:], many[:-1]), (many, other), (u[0], u[1]), (u[:, 0], u[:, 1]), (u[:, 0], u[:, 5])]
    pairs += [(tile[i * quarter : (i + 1) * quarter], tile[:quarter]) for i in (1, 2, 3)]
    for a, b in pairs:
        for f in (lambda v: v, np.square, np.abs):
            r = np.corrcoef(f(a).ravel(), f(b).ravel())[0, 1]
            assert abs(r) * math.sqrt(a.size) < stats.norm.isf(FALSE_ALARM / 2)


@pytest.mark.slow
def test_no_noise_is_used_twice():
    """No noise is used twice: equal values are as frequent as among independent float32 values.

    We test tiles of one group and of several groups.
    """
    for m, draws in ((2, 1100), (300, 5)):
        u = kernel._noise(m, 4, draws, rng(13))
        assert len(np.unique(u)) > 0.99 * u.size
        assert not np.array_equal(u, kernel._noise(m, 4, draws, rng(14)))


@pytest.mark.slow
def test_the_largest_number_is_the_one_that_is_documented():
    """The largest normal is the documented value: the word 0 gives sqrt(2 * 33 log 2) = 6.76.

    The word with all bits 1 gives 0.
    """
    pair = in_python(philox).pair
    assert np.hypot(*pair(np.uint32(0), np.uint32(12345))) == pytest.approx(math.sqrt(66 * math.log(2)), rel=1e-6)
    assert 6.76 < math.sqrt(66 * math.log(2)) < 6.77
    assert np.abs(pair(np.uint32(2**32 - 1), np.uint32(12345))).max() == 0
    assert stats.norm.sf(math.sqrt(66 * math.log(2))) * 2 == pytest.approx(1.3e-11, rel=0.1)


# --- in a run -------------------------------------------------------------------------------------------------

OWN = {
    "ulr": {"sigma": 0.1, "K": 6},
    "dp_ulr": {"sigma_0": 1.0, "C": 1.0, "K": 6, "N_B": 10, "remedy": "parameters"},
    "dp_ulr_sound": {"sigma": 0.1, "sigma_0": 1.0, "C": 1.0, "K": 6},
}


def settings_of(folder, rule="ulr", **more):
    return tiny_settings(write_data(folder / "tiny.npz"), rule=rule, rule_settings=OWN[rule], **more)


@pytest.mark.slow
@pytest.mark.parametrize("rule", list(OWN))
def test_a_run_takes_it_and_says_so(rule, tmp_path):
    """A run uses the kernel, and its record names the kernel and numba.

    Without kernels, or if the kernel does not support the network, the record names no kernel.
    """
    record = run(settings_of(tmp_path, rule), tmp_path / "kernel")
    assert record["settings"]["kernels"] is True
    assert "nfa.kernels.ulr.weigh" in record["kernels"]
    assert record["versions"]["numba"] == version("numba")
    for name, more in (("numpy", {"kernels": False}), ("float64", {"dtype": "float64"})):
        other = run(settings_of(tmp_path, rule, **more), tmp_path / name)
        assert "nfa.kernels.ulr.weigh" not in other["kernels"]
        assert ("numba" in other["versions"]) == bool(other["kernels"]) == (name == "float64")
        assert other["history"] != record["history"]


def test_a_rule_without_repeats_has_the_kernels_of_its_layers(tmp_path):
    record = run(tiny_settings(write_data(tmp_path / "tiny.npz")), tmp_path)
    assert record["kernels"] == ["nfa.kernels.activations", "nfa.kernels.dense", "nfa.kernels.optim.sgd_update"]


@pytest.mark.slow
def test_a_run_is_the_loop_written_out_by_hand(tmp_path):
    """A run gives the results of a loop written by hand: the rule with the kernel and the streams of the run."""
    settings = settings_of(tmp_path)
    parts = prepare(settings)
    for t in range(1, 13):
        draws = of_examples(parts.streams("noise", t))  # the whole batch is one part, so one stream
        dW, db = ulr(parts.net, *parts.batches.at(t), **OWN["ulr"], weigh=kernel.weigh, rng=draws)
        parts.optimizer.step(parts.net, dW, db, t)
    assert measure(parts, 12) == run(settings, tmp_path)["history"][-1]


@pytest.mark.slow
@pytest.mark.parametrize("rule", list(OWN))
def test_a_run_that_is_stopped_goes_on_bit_for_bit(rule, tmp_path, monkeypatch):
    """A run that stops and continues is bitwise identical to an uninterrupted run, with any number of threads."""
    settings = settings_of(tmp_path, rule)
    whole = untimed(run(settings, tmp_path / "whole"))
    for k in (1, 4, 7, 11):
        with monkeypatch.context() as patch:
            stop_after(patch, k)
            with pytest.raises(Killed):
                run(settings, tmp_path / str(k), checkpoint_every=0)
        assert untimed(run(settings, tmp_path / str(k))) == whole
    assert untimed(run(replace(settings, threads=3), tmp_path / "three")) == whole


def test_without_numba_a_run_says_what_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "nfa.kernels.ulr", None)
    monkeypatch.delattr(sys.modules["nfa.kernels"], "ulr")
    with pytest.raises(
        OSError,
        match=r"^kernels need numba, but Python cannot import numba .*: install numba or, if the run is not",
    ):
        prepare(settings_of(tmp_path))
    assert prepare(settings_of(tmp_path, kernels=False)).kernels == []


# --- the purpose of the kernel --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "net",
    [
        mlp([3, 4, 2], ops.tanh, rng=rng(0)),
        mlp([4, 4, 4, 3], ops.tanh, rng=rng(0), dtype=np.float32, skip={2: 0}),
        pooled_cnn(MaxPool),
    ],
    ids=["float64", "a skip", "convolutions"],
)
def test_other_networks_are_refused(net):
    assert not kernel.fits(net)
    x, y = batch(net, 2)
    with pytest.raises(ValueError, match="the kernel of ULR needs a float32 network of dense layers without skips"):
        ulr(net, x, y, sigma=0.1, K=2, weigh=kernel.weigh, rng=rng(0))


def test_the_papers_net_fits():
    assert kernel.fits(dpulr2024_mlp(rng=rng(0), dtype=np.float32))
