"""Projections whose matrix is never stored, and sums of columns, against the stored matrix."""

import tracemalloc

import numpy as np
import pytest

from nfa import feedback, network, ops
from nfa.feedback import never_stored
from nfa.rules.dfa import dfa
from nfa.rules.tdfa import tdfa
from tests.oracles import chance

kernels = pytest.importorskip("nfa.kernels.projection", reason="numba is not installed: pip install numba")
cores = pytest.importorskip("nfa.kernels.cores")

PAIRS = [
    (never_stored.tile, kernels.tile),
    (never_stored.project_ternary, kernels.project_ternary),
]  # for tests/kernels/test_twins.py
FALSE_ALARM = 1e-6  # of each statistical test in this module
slow = pytest.mark.slow  # compiling takes seconds
KEY = np.arange(8, dtype=np.uint32)
SLOW_KERNEL = [never_stored.tile, pytest.param(kernels.tile, marks=slow)]


def ternary(rng, m, n, dtype=np.float64):
    return feedback.ternarize(rng.normal(size=(m, n)), 1.0).astype(dtype)


@slow
def test_tiles_two_ways_on_any_threads():
    """The kernel hands pieces to `nfa.kernels.noise.add_keyed`, which is tested three ways where it is."""
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


@slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("m, n_in, n_out", [(0, 3, 2), (1, 1, 1), (4, 10, 5000), (70, 300, 40)])
def test_sums_of_columns_three_ways(m, n_in, n_out, dtype):
    rng = np.random.default_rng(0)
    e, B = ternary(rng, m, n_in, dtype), rng.normal(size=(n_out, n_in)).astype(dtype)
    want = never_stored.project_ternary(e, B)
    plain = np.zeros((m, n_out), dtype)
    assert kernels._add_columns.py_func(e, np.ascontiguousarray(B.T), plain)
    turned = np.asfortranarray(e), np.asfortranarray(B)
    for got in (plain, kernels.project_ternary(e, B), kernels.project_ternary(*turned, rng=rng)):
        assert got.dtype == dtype
        np.testing.assert_allclose(got, want, rtol=0, atol=n_in * 4 * np.finfo(dtype).eps)
    loop = [[sum(float(B[j, k]) * float(e[i, k]) for k in range(n_in)) for j in range(n_out)] for i in range(min(m, 1))]
    np.testing.assert_allclose(want[:1], np.reshape(loop, want[:1].shape), rtol=0, atol=n_in * 4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("project", [never_stored.project_ternary, pytest.param(kernels.project_ternary, marks=slow)])
@pytest.mark.parametrize("entry", [0.5, 2.0, np.nan, np.inf])
def test_sums_of_columns_want_ternary_errors(project, entry):
    with pytest.raises(ValueError, match="take a ternary error"):
        project(np.array([[1.0, 0.0], [0.0, entry]]), np.ones((3, 2)))


@pytest.mark.parametrize("make", SLOW_KERNEL)
@pytest.mark.parametrize("m, n_in, n_out", [(3, 10, 1), (2, 7, 1024), (4, 5, 2500), (1, 60, 1100), (0, 4, 9)])
def test_the_answer_is_the_stored_matrix_s(make, m, n_in, n_out, monkeypatch):
    """Cut into many tiles and into one, for errors of any kind; columns that no example needs are left out."""
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
    """KS for the entries; z of correlations between columns, and between neighbours in a column."""
    B = never_stored.Unstored(4, 20_000, rng=np.random.default_rng(2), scale=2.0).stored().astype(np.float64)
    chance.follows(B / 2, "norm", sees=0.02)
    r = np.corrcoef(B.T)
    z = [r[i, j] * np.sqrt(len(B)) for i in range(4) for j in range(i)]
    z += [np.corrcoef(column[1:], column[:-1])[0, 1] * np.sqrt(len(B)) for column in B.T]
    chance.is_score(z, len(B), sees=0.075)


@slow
def test_memory_stays_bounded():
    """10 onto a million: the matrix would have 40 MB; beyond the answer of 8 MB the peak is 3 tiles of 4 MB."""
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
    ways = [rule(net, x, y, B=stored, project=feedback.project, **settings)]
    if rule is tdfa:
        ways.append(rule(net, x, y, B=stored, project=never_stored.project_ternary, **settings))
    for want in ways:
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
        (lambda rng: never_stored.Unstored(3, 2, rng=rng, scale=0.0), "the scale of a projection must be positive"),
        (lambda rng: never_stored.Unstored(3, 2, rng=rng, scale=np.inf), "the scale of a projection must be positive"),
        (
            lambda rng: never_stored.Unstored(3, 2, rng=rng).project(np.ones((4, 2))),
            r"takes errors of shape \(m, 3\), got \(4, 2\)",
        ),
    ],
)
def test_bad_calls_get_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call(np.random.default_rng(0))
