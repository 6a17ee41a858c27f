"""Tests of normal samples from the cipher: its standard, the transform in many digits, their law, and threads."""

import math
import subprocess
import sys

import mpmath
import numpy as np
import pytest
from scipy import stats

from nfa import cipher, noise
from tests.kernels.python_source import in_python

kernels = pytest.importorskip("nfa.kernels.noise", reason="numba is not installed: pip install numba")
cores = pytest.importorskip("nfa.kernels.cores")

# (reference, kernel), for tests/kernels/test_twins.py. This file compares the reference, the kernel as Python and the
# compiled kernel.
PAIRS = [
    (cipher.chacha20, kernels.chacha20),
    (cipher.add_keyed, kernels.add_keyed),
    (cipher.check_noise, kernels.check_noise),
    (cipher.add_normal_keyed, kernels.add_normal),
    (cipher.add_normal_each_keyed, kernels.add_normal_each),
    (cipher.first_entry, kernels.first_entry),
]
KEY = np.array([7, 2**32 - 1, 0, 12345, 2**31, 99, 3, 2**16], np.uint32)
FALSE_ALARM = 1e-6  # probability that a statistical test in this module fails on independent standard normals
LANES = cipher.LANES
GROUP = 8 * LANES  # normals per group
EPS, LARGEST = np.finfo(np.float64).eps, math.sqrt(106 * math.log(2))
slow = pytest.mark.slow  # compiling takes seconds

# RFC 8439, Appendix A.1, test vectors 1 to 4: key, counter, start of the key stream. The nonce is 0.
RFC_8439 = [
    ("00" * 32, 0, "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"),
    ("00" * 32, 1, "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"),
    ("00" * 31 + "01", 1, "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"),
    ("00ff" + "00" * 30, 2, "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"),
]


def words(text):
    return np.frombuffer(bytes.fromhex(text), "<u4").astype(np.uint32)


@pytest.fixture
def threads():
    """The function `cores.limit`. The limit is restored after the test."""
    yield cores.limit
    cores.limit()


@pytest.mark.parametrize("door", [noise, pytest.param(kernels, marks=slow)], ids=["numpy", "numba"])
def test_the_cipher_is_the_standard_s(door):
    for key, counter, stream in RFC_8439:
        assert np.array_equal(door.chacha20(words(key), counter, 2)[:8, 0], words(stream))
    # The counter has 64 bits. So consecutive blocks equal blocks that are computed one by one, also beyond 2^32.
    first = 2**32 - 2
    one_by_one = [door.chacha20(KEY, first + i, 1) for i in range(4)]
    assert np.array_equal(door.chacha20(KEY, first, 4), np.concatenate(one_by_one, axis=1))
    assert len({tuple(block[:, 0]) for block in (*one_by_one, door.chacha20(KEY, 0, 1), door.chacha20(KEY, 1, 1))}) == 6


@slow
def test_the_cipher_three_ways():
    ways = [f(KEY, 5, 3) for f in (cipher.chacha20, kernels.chacha20.py_func, kernels.chacha20)]
    assert np.array_equal(ways[0], ways[1])
    assert np.array_equal(ways[0], ways[2])


def test_the_transform_in_fifty_digits():
    """The transform of words to normals agrees with fifty-digit arithmetic, with the words in the documented order.

    We test places in the first and in the second group of normals.
    """
    got = cipher.add_keyed(np.zeros(2 * GROUP), 1.0, KEY, 3)
    with mpmath.workdps(50):
        for group, row, lane in [(0, 0, 0), (0, 3, LANES - 1), (1, 1, 17), (1, 2, 40)]:
            w = [int(v) for v in cipher.chacha20(KEY, (3 + group) * LANES + lane, 1)[:, 0]]
            u = mpmath.mpf(2 * ((w[row] << 20) + (w[4 + row] >> 12)) + 1) / 2**53
            v = mpmath.mpf((w[8 + row] << 20) + (w[12 + row] >> 12)) / 2**52
            r = mpmath.sqrt(-2 * mpmath.log(u))
            pair = (row, r * mpmath.cos(2 * mpmath.pi * v)), (4 + row, r * mpmath.sin(2 * mpmath.pi * v))
            for place, want in pair:
                value = float(got[(group * 8 + place) * LANES + lane])
                assert value == pytest.approx(float(want), rel=0, abs=4 * EPS * float(r))


@slow
@pytest.mark.parametrize("n", [0, 1, GROUP - 1, 2 * GROUP + 5])
def test_the_sums_three_ways(n):
    """The sums by NumPy, by the kernel as Python and by the compiled kernel agree to 8 roundings of the largest entry.

    The kernel has its own functions for logarithm, sine and cosine.
    """
    start = np.random.default_rng(0).normal(size=n)
    for std in (0.5, 1e30):
        with np.errstate(over="ignore"):  # words overflow on purpose
            python = in_python(kernels).add_keyed(start.copy(), std, KEY, 2)
        ways = [cipher.add_keyed(start.copy(), std, KEY, 2), python, kernels.add_keyed(start.copy(), std, KEY, 2)]
        largest = max(1.0, float(np.abs(ways[0]).max(initial=0)))
        for way in ways[1:]:
            assert way.dtype == np.float64
            np.testing.assert_allclose(way, ways[0], rtol=0, atol=8 * EPS * largest)


@slow
def test_the_kernel_s_functions_hold_everywhere():
    """A million normals of the kernel agree with NumPy's to 4 roundings of 8.57, the largest normal."""
    fast, numpy = (f(np.zeros(2**20), 1.0, KEY) for f in (kernels.add_keyed, cipher.add_keyed))
    assert float(np.abs(fast - numpy).max()) <= 4 * EPS * LARGEST


def test_entries_are_functions_of_key_and_place():
    n = 3 * GROUP - 7
    long = cipher.add_keyed(np.zeros(n), 1.0, KEY)
    assert np.array_equal(cipher.add_keyed(np.zeros(1500), 1.0, KEY), long[:1500])
    assert np.array_equal(cipher.add_keyed(np.zeros(n - GROUP), 1.0, KEY, 1), long[GROUP:])
    other = KEY.copy()
    other[7] ^= 1
    assert not np.isclose(cipher.add_keyed(np.zeros(n), 1.0, other), long, rtol=0, atol=1e-7).any()


@slow
def test_the_same_numbers_whatever_the_threads(threads):
    n = 7 * 16 * GROUP + 333
    want = None
    for count in (1, 2, 3, 7):
        threads(count)
        out = np.ones(n)
        kernels.add_normal(out, 0.25, np.random.default_rng(5))
        assert len(cores.pieces(n // GROUP, 16)) == count
        want = out if want is None else want
        assert np.array_equal(out, want)
    reference = np.ones(n)
    cipher.add_normal_keyed(reference, 0.25, np.random.default_rng(5))
    np.testing.assert_allclose(want, reference, rtol=0, atol=16 * EPS)


def law(g):
    """Yield 28 p values of tests of normals g: bins, mean and variance, tails, and independence of neighbours."""
    n = len(g)
    bins = np.bincount((stats.norm.cdf(g.astype(np.float64)) * 256).astype(int), minlength=256)
    yield stats.chisquare(bins).pvalue
    yield 2 * stats.norm.sf(abs(g.mean(dtype=np.float64)) * math.sqrt(n))
    yield 2 * stats.norm.sf(abs(np.square(g, dtype=np.float64).mean() - 1) * math.sqrt(n / 2))
    for t in (2, 3, 3.5, 4, 5, 6):
        for count in (int((g > t).sum()), int((g < -t).sum())):
            yield stats.binomtest(count, n, float(stats.norm.sf(t))).pvalue
    # Correlations of values and of their squares with neighbours, the next row, the partner of a Box-Muller pair, and
    # later groups.
    for lag in (1, 2, LANES, 4 * LANES, 8 * LANES, 16 * LANES):
        for f in (g, np.square(g) - 1):
            one, two = f[:-lag].astype(np.float64), f[lag:].astype(np.float64)
            yield 2 * stats.norm.sf(
                abs(np.vdot(one, two)) / (math.sqrt(n - lag) * np.square(f, dtype=np.float64).mean())
            )
    # the distances between large values are geometric if large values do not cluster
    spacing = np.diff(np.flatnonzero(g > 3))
    p = float(stats.norm.sf(3))
    yield 2 * stats.norm.sf(abs(spacing.mean() - 1 / p) * p * math.sqrt(len(spacing)))


def test_the_reference_s_law():
    g = cipher.add_keyed(np.zeros(2**18), 1.0, KEY)
    assert min(law(g)) > FALSE_ALARM / 28


@slow
def test_the_kernel_s_law():
    """The kernel has the normal law. We test eight million normals.

    They would reveal a tail beyond 5 that is wrong by a factor of 3, and a std that is wrong by 2e-3.
    """
    g = kernels.add_keyed(np.zeros(2**23), 1.0, KEY, 1000)
    assert min(law(g)) > FALSE_ALARM / 28
    assert float(np.abs(g).max()) <= LARGEST


def test_the_tests_of_the_law_see_a_wrong_one():
    """The tests of the law detect a std 1 % too large, a missing tail beyond 3.5, and dependent partners of a pair.

    So the tests have enough power for such errors.
    """
    g = np.random.default_rng(0).standard_normal(2**18)
    assert min(law(g)) > FALSE_ALARM / 28
    paired = g.copy()
    paired[4 * LANES :] += 0.02 * g[: -4 * LANES]
    for wrong in (1.01 * g, np.clip(g, -3.5, 3.5), paired):
        assert min(law(wrong)) < FALSE_ALARM / 28


DOORS = pytest.mark.parametrize(
    "add", [cipher.add_normal_keyed, pytest.param(kernels.add_normal, marks=slow)], ids=["numpy", "numba"]
)


@DOORS
def test_noise_is_added_in_place_whatever_the_layout(add):
    whole = np.ones((6, 5))
    add(whole, 2.0, np.random.default_rng(1))
    turned = np.ones((5, 6)).T
    add(turned, 2.0, np.random.default_rng(1))
    np.testing.assert_allclose(turned, whole, rtol=0, atol=1e-14)
    nothing = np.ones((0, 4))
    add(nothing, 2.0, np.random.default_rng(1))
    point = np.ones(())
    add(point, 2.0, np.random.default_rng(1))
    assert point != 1


@DOORS
def test_a_generator_is_asked_for_a_key_alone(add):
    """The function draws only a key from the generator, so it works with any generator, also with a secure one.

    The next sample of the generator does not depend on the size of the array.
    """
    key = np.random.Generator(np.random.Philox(3)).integers(2**32, size=8, dtype=np.uint32)
    for shape in ((3,), (40, 50)):
        rng = np.random.Generator(np.random.Philox(3))
        out = np.zeros(shape)
        add(out, 1.0, rng)
        want = cipher.add_keyed(np.zeros(out.size), 1.0, key).reshape(shape)
        np.testing.assert_allclose(out, want, rtol=0, atol=1e-14)
        after = rng.random()
        assert after == np.random.Generator(np.random.Philox(3)).random(5)[4]
    rng = np.random.default_rng(0)
    add(np.zeros(3), 0.0, rng)
    assert rng.random() == np.random.default_rng(0).random()


@DOORS
@pytest.mark.parametrize(
    "out, std, sentence",
    [
        (np.zeros(3), -1.0, r"the noise must be a number >= 0, got -1\.0"),
        (np.zeros(3), math.inf, "the noise must be a number >= 0, got inf"),
        (np.zeros(3), math.nan, "the noise must be a number >= 0, got nan"),
        (np.zeros(3), 1e-300, "the standard deviation of float64 noise must be 0 or between 1e-292 and"),
        (np.zeros(3, np.float32), 1.0, "^noise of the cipher can only be added to a float64 array, got float32$"),
        (np.zeros(3, np.float32), 0.0, "^noise of the cipher can only be added to a float64 array, got float32$"),
        (np.zeros(3, np.int32), 1.0, "^noise of the cipher can only be added to a float64 array, got int32$"),
    ],
)
def test_bad_calls_get_a_sentence(add, out, std, sentence):
    with pytest.raises(ValueError, match=sentence):
        add(out, std, np.random.default_rng(0))


@pytest.mark.parametrize("add_keyed", [cipher.add_keyed, kernels.add_keyed], ids=["numpy", "numba"])
def test_the_normals_of_a_key_are_for_float64_alone(add_keyed):
    with pytest.raises(ValueError, match=r"^noise of the cipher can only be added to a float64 array, got float32$"):
        add_keyed(np.zeros(3, np.float32), 1.0, KEY)


def test_cores_are_counted(threads, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert cores.count() == 1
    threads(3)
    assert cores.count() == 3
    assert cores.pieces(10, 3) == [(0, 3), (3, 6), (6, 10)]
    assert cores.pieces(2, 3) == [(0, 2)]
    with pytest.raises(ValueError, match="the number of threads must be a whole number >= 1, got 0"):
        threads(0)


def test_a_failure_in_a_thread_is_not_lost(threads):
    def work(start, stop):
        if start:
            raise ZeroDivisionError(start)

    threads(2)
    with pytest.raises(ZeroDivisionError):
        cores.share(work, 10, 1)


STEPS = """
import resource, sys
import numpy as np
from nfa.kernels import cores
kept = cores.keep_memory() if sys.argv[1] == "keep" else None
for step in range(12):
    if step == 2:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    a = [np.ones(1 << 20, np.uint8) for _ in range(8)]
    del a
print(kept, resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


@slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="page faults are counted on Linux")
def test_memory_is_kept():
    """The process keeps freed memory for reuse: in ten allocations of 8 MiB, at most a few pages are mapped again.

    Otherwise every allocation would map all its pages again.
    """
    told = {
        how: subprocess.run(
            [sys.executable, "-c", STEPS, how], capture_output=True, text=True, check=True
        ).stdout.split()
        for how in ("keep", "return")
    }
    if told["keep"][0] == "True":  # another C library does not have these settings
        assert int(told["keep"][1]) < 100 < 1000 < int(told["return"][1])
