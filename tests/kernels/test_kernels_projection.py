"""Tests of projections with a matrix that is never stored (a real matrix or an OPU's medium)."""

import tracemalloc

import numpy as np
import pytest

from nfa import feedback, network, ops
from nfa.feedback import OPU, Camera, never_stored
from nfa.rules.dfa import dfa
from nfa.rules.tdfa import tdfa
from tests.oracles import chance

kernels = pytest.importorskip("nfa.kernels.projection", reason="numba is not installed: pip install numba")
cores = pytest.importorskip("nfa.kernels.cores")

PAIRS = [(never_stored.tile, kernels.tile)]  # for tests/kernels/test_twins.py
FALSE_ALARM = 1e-6  # probability that a statistical test in this module fails on correct code with another seed
slow = pytest.mark.slow  # compiling takes seconds
KEY = np.arange(4, dtype=np.uint32)
SLOW_KERNEL = [never_stored.tile, pytest.param(kernels.tile, marks=slow)]


def ternary(rng, m, n, dtype=np.float64):
    return feedback.ternarize(rng.normal(size=(m, n)), 1.0).astype(dtype)


@slow
def test_tiles_two_ways_on_any_threads():
    """The tiles of the matrix by NumPy and by the compiled kernel agree, on any number of threads.

    The kernel calls `nfa.kernels.philox.add_keyed` for pieces of a tile. This function has its own tests.
    """
    columns = np.array([0, 3, 4, 1000])
    want = never_stored.tile(KEY, columns, 40, 7, 33)
    try:
        for threads in (1, 2, 3):
            cores.limit(threads)
            got = kernels.tile(KEY, columns, 40, 7, 33)
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want, rtol=0, atol=4e-6)
    finally:
        cores.limit()


@pytest.mark.parametrize("make", SLOW_KERNEL)
@pytest.mark.parametrize("m, n_in, n_out", [(3, 10, 1), (2, 7, 1024), (4, 5, 2500), (1, 60, 1100), (0, 4, 9)])
def test_the_answer_is_the_stored_matrix_s(make, m, n_in, n_out, monkeypatch):
    """The projection equals that of the stored matrix, for one tile and for many tiles, and for errors of any kind.

    The function does not compute columns that no example needs.
    """
    rng = np.random.default_rng(1)
    B = never_stored.Unstored(n_in, n_out, rng=rng, scale=0.3, make=make)
    whole = B.stored().astype(np.float64)
    assert whole.shape == (n_out, n_in)
    sparse = ternary(rng, m, n_in)
    sparse[:, ::2] = 0
    for e in (rng.normal(size=(m, n_in)), sparse, np.zeros((m, n_in))):
        for at_once in (1 << 20, 3000):
            monkeypatch.setattr(never_stored, "TILE", at_once)
            got = never_stored.project_unstored(e, B, rng=rng)
            np.testing.assert_allclose(got, e @ whole.T, rtol=0, atol=1e-6 * n_in**0.5)


def test_the_matrix_is_a_function_of_the_key():
    one, two = (never_stored.Unstored(3, 2000, rng=np.random.default_rng(seed)).stored() for seed in (0, 0))
    other = never_stored.Unstored(3, 2000, rng=np.random.default_rng(1)).stored()
    assert np.array_equal(one, two)
    assert not np.isclose(one, other, atol=1e-7).any()


def test_the_entries_law():
    """The entries have their law, by KS tests and by correlations between columns and between neighbours."""
    B = never_stored.Unstored(4, 20_000, rng=np.random.default_rng(2), scale=2.0).stored().astype(np.float64)
    chance.follows(B / 2, "norm", sees=0.02)
    r = np.corrcoef(B.T)
    z = [r[i, j] * np.sqrt(len(B)) for i in range(4) for j in range(i)]
    z += [np.corrcoef(column[1:], column[:-1])[0, 1] * np.sqrt(len(B)) for column in B.T]
    chance.is_score(z, len(B), sees=0.075)


def opus(n_in, n_out, make=never_stored.tile, **settings):
    """An OPU that stores no medium, and an OPU that stores the same medium."""
    opu = OPU(n_in, n_out, rng=np.random.default_rng(5), stored=False, make=make, scale=0.3, n_anchor=4, **settings)
    other = OPU(n_in, n_out, rng=np.random.default_rng(6), scale=0.3, n_anchor=4, **settings)
    assert other.R.shape == opu.R.shape
    other.medium = opu.R.astype(complex)
    return opu, other


@pytest.mark.parametrize("make", SLOW_KERNEL)
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"camera": Camera(photons=100.0), "anchor_shot": True},
        {"camera": Camera(dark_std=0.1), "noise_std": 0.2},
        {"camera": Camera(photons=50.0, dark_std=0.1, saturation=30.0, bits=8), "noise_std": 0.1},
    ],
    ids=["ideal", "photons", "dark noise", "all"],
)
def test_an_opu_that_stores_no_medium_answers_as_one_that_stores_it(make, settings):
    """With equal random samples, an OPU gives the same result with and without a stored medium.

    The levels of a camera of 8 bits differ by 1/8. One value in 1,000 may lie midway between two levels and be rounded
    up or down.
    """
    either_way = 1e-3 if settings.get("camera", Camera()).bits else 0
    for n_in, n_out, m in ((3, 1, 1), (10, 1500, 6), (60, 40, 3), (4, 9, 0)):
        opu, other = opus(n_in, n_out, make, **settings)
        e = ternary(np.random.default_rng(7), m, n_in)
        for call in (opu.project, other.project):
            assert call(e, rng=np.random.default_rng(8)).shape == (m, n_out)
        got, want = (one.project(e, rng=np.random.default_rng(8)) for one in (opu, other))
        assert np.mean([0.0, *(np.abs(got - want) > 1e-5).ravel()]) <= either_way
        x = (e > 0).astype(float)
        one, two = (one.intensity(x, rng=np.random.default_rng(8)) for one in (opu, other))
        assert np.mean([0.0, *(np.abs(one - two) > 1e-5 * (1 + two)).ravel()]) <= either_way
        np.testing.assert_allclose(opu.B, other.B, rtol=0, atol=1e-6)
        assert opu.project(e.astype(np.float32), rng=np.random.default_rng(8)).dtype == np.float32


def test_the_medium_of_an_opu_that_stores_none_has_its_law():
    """The medium of an OPU that does not store it has the right law: independent Re R and Im R with variance 1/2.

    The medium depends only on rng.
    """
    opu, again, other = (OPU(3, 20_000, rng=np.random.default_rng(seed), stored=False) for seed in (0, 0, 1))
    assert opu.R.shape == (20_000, 19)
    assert np.array_equal(opu.R, again.R)
    assert not np.isclose(opu.R, other.R, atol=1e-7).any()
    R = opu.R[:, :2].astype(complex)
    for part in (R.real, R.imag):
        chance.follows(part * np.sqrt(2), "norm", sees=0.03)
    z = [np.corrcoef(R[:, i].real, R[:, j].imag)[0, 1] * np.sqrt(len(R)) for i in (0, 1) for j in (0, 1)]
    chance.is_score(z, len(R), sees=0.075)
    chance.follows(opu.B / opu.scale, "norm", sees=0.03)


@slow
def test_the_medium_of_an_opu_takes_no_memory():
    """An OPU that does not store its medium needs no memory for the medium, which would take 416 MB as complex128.

    The OPU has 10 mirrors, 16 mirrors of the anchor, and a million pixels. The peak of memory is a few arrays of 8 MB,
    for the light and the readings of two images.
    """
    opu = OPU(10, 10**6, rng=np.random.default_rng(0), stored=False, make=kernels.tile, camera=Camera(photons=10.0))
    e = np.eye(2, 10, dtype=np.float32)
    opu.project(e[:, :], rng=np.random.default_rng(0))
    tracemalloc.start()
    try:
        p = opu.project(e, rng=np.random.default_rng(0))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 12 * p.nbytes + 3 * 4 * never_stored.TILE < 416e6 / 3


@slow
def test_memory_stays_bounded():
    """The peak of memory is below the result of 8 MB plus 3 tiles of 4 MB.

    With 10 inputs and a million outputs, the matrix would take 40 MB.
    """
    B = never_stored.Unstored(10, 10**6, rng=np.random.default_rng(0), make=kernels.tile)
    e = np.ones((2, 10), np.float32)
    B.project(e)
    tracemalloc.start()
    try:
        p = B.project(e)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak - p.nbytes < 3 * 4 * never_stored.TILE


@pytest.mark.parametrize("rule", [dfa, tdfa])
def test_a_rule_takes_it_for_a_feedback_matrix(rule):
    net = network.mlp([5, 8, 7, 3], ops.tanh, rng=np.random.default_rng(0))
    x, y = np.random.default_rng(1).normal(size=(4, 5)), np.eye(3)[[0, 1, 2, 0]]
    B = [None, *(never_stored.Unstored(3, n, rng=np.random.default_rng(n)) for n in (8, 7)), None]
    stored = [b if b is None else b.stored().astype(np.float64) for b in B]
    settings = {"t": 0.2} if rule is tdfa else {}
    got = rule(net, x, y, B=B, project=never_stored.project_unstored, **settings)
    want = rule(net, x, y, B=stored, project=feedback.project, **settings)
    for l in range(1, 4):
        np.testing.assert_allclose(got[0][l], want[0][l], rtol=0, atol=1e-6)
        np.testing.assert_allclose(got[1][l], want[1][l], rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    "call, sentence",
    [
        (lambda rng: never_stored.Unstored(0, 3, rng=rng), "n_in of a projection must be a whole number >= 1, got 0"),
        (
            lambda rng: never_stored.Unstored(3, 2.5, rng=rng),
            r"n_out of a projection must be a whole number >= 1, got 2\.5",
        ),
        (lambda rng: never_stored.Unstored(2**20, 2**23, rng=rng), "is too large, because one Philox key"),
        (
            lambda rng: OPU(3, 2, rng=rng, stored=0),
            "`stored` must be true or false for the medium of an OPU, got 0",
        ),
        (lambda rng: never_stored.Unstored(3, 2, rng=rng, scale=0.0), "the scale of a projection must be positive"),
        (lambda rng: never_stored.Unstored(3, 2, rng=rng, scale=np.inf), "the scale of a projection must be positive"),
        (
            lambda rng: never_stored.Unstored(3, 2, rng=rng).project(np.ones((4, 2))),
            r"needs errors of shape \(m, 3\), got \(4, 2\)",
        ),
    ],
)
def test_bad_calls_get_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call(np.random.default_rng(0))
