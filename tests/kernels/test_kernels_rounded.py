"""Tests that the kernel of rounded noise is bitwise identical with NumPy, on any number of threads."""

import numpy as np
import pytest

from nfa import rounded
from tests.kernels.python_source import in_python
from tests.test_rounded import bits_beyond_the_edges, hard_bits, words_of

kernels = pytest.importorskip("nfa.kernels.rounded", reason="numba is not installed: pip install numba")
cores = pytest.importorskip("nfa.kernels.cores")

# (reference, kernel), for tests/kernels/test_twins.py. This file compares the reference, the kernel as Python and the
# compiled kernel.
PAIRS = [
    (rounded.add_keyed, kernels.add_keyed),
    (rounded.add_normal, kernels.add_normal),
]
KEY = np.array([7, 2**32 - 1, 0, 12345, 2**31, 99, 3, 2**16], np.uint32)
GROUP = 2 * rounded.PAIRS
slow = pytest.mark.slow  # compiling takes seconds


@pytest.fixture
def threads():
    """The function `cores.limit`. The limit is restored after the test."""
    yield cores.limit
    cores.limit()


@slow
@pytest.mark.parametrize("scale", [0.3, 5.0, 1.3 * 2.0**24, 2.0**36])
@pytest.mark.parametrize("n", [0, 1, GROUP - 1, 2 * GROUP + 5])
def test_the_sums_three_ways(n, scale):
    """The sums by NumPy, by the kernel as Python and by the compiled kernel are bitwise identical, even if clamped."""
    start = np.random.default_rng(0).standard_cauchy(n) * 1e9
    start[:3] = (np.inf, -(2.0**60), 0.5)[: min(3, n)]
    with np.errstate(over="ignore"):  # words overflow on purpose
        python = in_python(kernels).add_keyed(start.copy(), 4 * scale, KEY, 2, unit=4.0)
    want = rounded.add_keyed(start.copy(), 4 * scale, KEY, 2, unit=4.0)
    compiled = kernels.add_keyed(start.copy(), 4 * scale, KEY, 2, unit=4.0)
    for got in (python, compiled):
        assert np.array_equal(got.view(np.int64), want.view(np.int64))


@slow
def test_the_same_numbers_whatever_the_threads(threads):
    n = 7 * 16 * GROUP + 333
    start = np.random.default_rng(0).normal(size=n) * 1e7
    want = start.copy()
    rounded.add_normal(want, 2.0**36, np.random.default_rng(5), unit=4.0)
    for count in (1, 2, 3, 7):
        threads(count)
        out = start.copy()
        kernels.add_normal(out, 2.0**36, np.random.default_rng(5), unit=4.0)
        assert len(cores.pieces(n // GROUP, 16)) == count
        assert np.array_equal(out, want)


def quick(module, u, v, scale):
    """The kernel's normals from the bits u and v, as an array (2, n). NaN marks values that need more digits."""
    words = np.ascontiguousarray(words_of(u, v)[::4])
    out = np.empty((2, len(u)))
    uncertain = module._quick(*words, scale, *out)
    assert uncertain == np.isnan(out).sum()
    return out


@slow
@pytest.mark.verifies("ours:rounded-gaussian")
@pytest.mark.parametrize("scale", [0.3, 1.3 * 2.0**24, 2.0**40])
def test_what_is_certain_is_exact_where_the_way_of_computing_changes(scale):
    u, v = hard_bits(500)
    out = quick(kernels, u, v, scale)
    assert np.isnan(out).mean() < (0.3 if scale == 2.0**40 else 0.001)
    for sine, i in np.argwhere(~np.isnan(out)).tolist():
        low, high = rounded.normal_bounds(scale, int(u[i]), int(v[i]) - sine * 2**62, 64)
        assert low == high == out[sine, i]


@pytest.mark.verifies("ours:rounded-gaussian")
def test_double_precision_keeps_its_bound():
    """The normals of kernel and NumPy in double precision differ by at most twice the proved error bound.

    We compare the normals before rounding to the grid, as in tests/test_rounded.py.
    """
    u, v = hard_bits(500)
    plain = in_python(kernels, ERROR=0.0)
    with np.errstate(over="ignore"):  # words overflow on purpose
        out = quick(plain, u, v, 2.0**200)
    want, _ = rounded.quick(words_of(u, v), 2.0**200)
    r = np.hypot(want[0], want[4])
    assert (np.abs(out - want[[0, 4]]) <= 2.0**-50.7 * (2.0**200 + r)).all()


@pytest.mark.verifies("ours:rounded-gaussian")
def test_nothing_is_certain_beyond_the_edges():
    with np.errstate(over="ignore", divide="ignore"):
        out = quick(in_python(kernels), *bits_beyond_the_edges(), 0.3)
    assert np.isnan(out).all()
