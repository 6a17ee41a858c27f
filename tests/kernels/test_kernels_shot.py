"""Tests of Poisson numbers by Philox: their law compared with SciPy's, their random words, threads, and refusals."""

import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from nfa import philox
from nfa.feedback import camera
from tests.kernels.python_source import in_python
from tests.oracles import chance

kernels = pytest.importorskip("nfa.kernels.shot", reason="numba is not installed: pip install numba")
from nfa.kernels import cores  # noqa: E402

PAIRS = [(camera.poisson, kernels.poisson)]  # NumPy and the kernel have the same law, but different samples
slow = pytest.mark.slow  # compiling takes a second
rng = np.random.default_rng
WAYS = pytest.mark.parametrize(
    "poisson", [camera.poisson, pytest.param(kernels.poisson, marks=slow)], ids=["numpy", "numba"]
)
MEANS = [0.003, 0.7, 9.99, 10.0, 10.01, 13.7, 40.0, 300.0, 9000.5, 1e6, 1e9]


@pytest.fixture
def python():
    """The kernel as Python, with tiles of 16 numbers. Warnings for overflowing words and candidates of 0 are off."""
    with np.errstate(all="ignore"):
        yield in_python(kernels, LANES=8, TILE=16)


def cells(k, mean, most=60):
    """The observed and expected counts of the numbers ``k`` in cells of about equal probability."""
    edges = np.unique(stats.poisson.ppf(np.linspace(0, 1, most + 1)[1:-1], mean))
    p = np.diff(stats.poisson.cdf(edges, mean), prepend=0, append=1)
    kept = p * len(k) > 5
    observed = np.bincount(np.searchsorted(edges, k), minlength=len(p))
    rest = [observed[~kept].sum()] if not kept.all() else []
    rest_p = [p[~kept].sum()] if not kept.all() else []
    return np.r_[observed[kept], rest], np.r_[p[kept], rest_p] * len(k)


# --- the law ---------------------------------------------------------------------------------------------------


@slow
@pytest.mark.parametrize("mean", MEANS)
def test_the_kernel_s_law(mean):
    """The kernel has the Poisson law, for a million numbers of each mean.

    If the cell probabilities have a relative error of 1.3 % (root mean square), the test misses this with probability
    1e-6. Mean and variance must be within 6 standard errors. In the normal approximation, each of them fails with
    probability 2e-9.
    """
    n = 2**20
    k = kernels.poisson(np.full(n, mean), rng(int(mean) + 7))
    assert k.dtype == np.float64
    assert np.array_equal(k, np.floor(k))
    assert k.min() >= 0
    chance.fits(*cells(k, mean), sees=0.016, tests=len(MEANS))
    assert abs(k.mean() - mean) < 6 * math.sqrt(mean / n)
    assert abs(np.mean((k - mean) ** 2) - mean) < 6 * math.sqrt((mean + 2 * mean**2) / n)


@slow
@pytest.mark.parametrize("mean", [0.7, 12.0, 100.0, 1600.0])
def test_the_kernel_s_tails(mean):
    """The kernel has the tails of the Poisson law.

    We count the numbers beyond 3 and 4 standard deviations among eight million. If the tails have three times as many
    numbers, or none, the test misses this with probability 1e-6.
    """
    n = 2**23
    k = kernels.poisson(np.full(n, mean, np.float32), rng(3))
    assert k.dtype == np.float32
    for t in (3, 4):
        edge = mean + t * math.sqrt(mean)
        p = float(stats.poisson.sf(math.floor(edge), mean))
        chance.has_rate(int((k > edge).sum()), n, p, sees=2 * p, tests=16)
        edge = mean - t * math.sqrt(mean)
        if edge > 1:
            p = float(stats.poisson.cdf(math.ceil(edge) - 1, mean))
            chance.has_rate(int((k < edge).sum()), n, p, sees=2 * p, tests=16)


@slow
def test_numbers_of_different_places_and_keys_have_nothing_in_common():
    """Numbers at different places and with different keys are uncorrelated.

    We test 10 correlations of the numbers and of their squares: neighbours, numbers of one counter, adjacent tiles, and
    two keys.
    """
    n, mean = 2**20, 50.0
    one, two = ((kernels.poisson(np.full(n, mean), rng(seed)) - mean) / math.sqrt(mean) for seed in (1, 2))
    for f in (np.array, np.square):
        for lag in (1, 2, kernels.LANES, kernels.TILE):
            chance.is_uncorrelated(f(one[:-lag]), f(one[lag:]), sees=0.011, tests=10)
        chance.is_uncorrelated(f(one), f(two), sees=0.011, tests=10)


def test_the_python_source_s_law(python):
    """The kernel as Python has the Poisson law, also if the numbers of a tile have different means, as in an image.

    The test detects a relative error of 25 % (root mean square) in the cell probabilities.
    """
    n, means = 2500, [2.0, 30.0, 0.0, 300.0]
    k = python.poisson(np.tile(means, n), rng(5)).reshape(n, 4).T
    for mean, numbers in zip(means, k, strict=True):
        if mean == 0:
            assert not numbers.any()
        else:
            chance.fits(*cells(numbers, mean, 10), sees=0.25, tests=3)


# --- the steps of the method ------------------------------------------------------------------------------------


@pytest.mark.parametrize("mean", [10.0, 13.7, 100.0, 1e4, 1e6, 1e9])
def test_what_is_taken_is_what_the_exact_law_takes(python, mean):
    """The rejection method accepts a candidate early only if the exact test accepts this candidate too.

    The kernel's two series give the margin of the exact test to 1e-8, compared with fifty digits.
    """
    r = rng(int(mean))
    u, v = r.uniform(-0.4999, 0.4999, 60), r.uniform(1e-6, 1, 60)
    k, margin = np.empty((2, 60))
    python._margins(np.full(60, mean), u, v, k, margin)
    with mpmath.workdps(50):
        for i in range(60):
            b, a, candidate = python._candidate(mean, u[i])
            s = 0.5 - abs(u[i])
            assert candidate == k[i]
            if k[i] < 0:
                continue
            level = v[i] * (1.1239 + 1.1328 / (b - 3.4)) / (a / s**2 + b)
            x, whole = mpmath.mpf(mean), mpmath.mpf(k[i])
            exact = whole * mpmath.log(x) - x - mpmath.loggamma(whole + 1) - mpmath.log(level)
            near = k[i] >= 10 and abs(mean - k[i]) <= python.NEAR * k[i]
            if near:
                assert float(margin[i] - exact) == pytest.approx(0, abs=1e-8 * max(1, abs(float(exact))))
            if abs(u[i]) <= 0.43 and v[i] <= 0.9277 - 3.6224 / (b - 2):
                assert exact >= 0
            squeezed = s < 0.013 and v[i] > s
            assert python._stands(mean, u[i], v[i], k[i], margin[i]) == (exact >= 0 and not squeezed)


@pytest.mark.parametrize("mean", [10.0, 17.3, 250.0, 1e6])
def test_the_hat_lies_above_the_law(python, mean):
    """The hat (the envelope of the rejection method) is above the Poisson law.

    Otherwise some numbers would be too rare. We test 2,000 values of u, with v = 1.
    """
    for u in np.linspace(-0.4995, 0.4995, 2000):
        level, k = python._level(mean, u, 1.0)
        s = 0.5 - abs(u)
        assert k < 0 or stats.poisson.logpmf(k, mean) <= math.log(level if s >= 0.013 else level * s) + 1e-9


def test_logarithms_in_fifty_digits(python):
    for x in (1e-300, 0.3, math.sqrt(0.5), 0.75, 1.0, 1.4142, 1.4143, 2.0, 1e300):
        with mpmath.workdps(50):
            assert float(python._log(x) - mpmath.log(x)) == pytest.approx(0, abs=2e-12 + 1e-15 * abs(math.log(x)))
    for s in (-0.25, -0.1, 1e-9, 0.17):
        with mpmath.workdps(50):
            want = mpmath.log((1 + mpmath.mpf(s)) / (1 - mpmath.mpf(s))) - 2 * mpmath.mpf(s)
            assert python._rest(s) == pytest.approx(float(want), rel=1e-8, abs=1e-30)


def test_a_small_mean_by_its_distribution_function(python):
    """For a small mean, the kernel inverts the distribution function. The oracle is SciPy's quantile function.

    We test uniform numbers from that of the smallest word to that of the largest word.
    """
    for mean in (1e-9, 0.4, 3.0, 9.999):
        for u in (2.0**-33, 0.01, 0.35, 0.5, 0.9, 0.9999, 1 - 2.0**-33):
            assert python._few(mean, u) == stats.poisson.ppf(u, mean)


def test_uniform_numbers_are_those_of_the_words(python):
    key = np.array([7, 2**32 - 1, 12345, 2**31], np.uint32)
    u, v = np.empty((2, 16))
    python._uniforms(u, v, key, 2**32 - 3)
    counter = np.zeros((4, 8), np.uint32)
    counter[0], counter[1], counter[2:] = np.arange(8), 2**32 - 3, key[2:, None]
    signed = (philox.philox(counter, key[:2]).astype(np.int32) + 0.5) * 2.0**-32
    assert np.array_equal(u, np.r_[signed[0], signed[2]])
    assert np.array_equal(v, np.r_[signed[1], signed[3]] + 0.5)
    assert python._centred(np.uint32(2**31)) == 2.0**-33 - 0.5


# --- the source of the numbers ---------------------------------------------------------------------------------


def test_a_number_depends_on_key_and_place_and_on_no_other(python):
    """A number depends on its mean, key and place, but not on the other means and the size of the array.

    If a candidate is rejected, the next candidate uses the words of three tiles later.
    """
    means = rng(0).exponential(60, 50)
    alone = python.poisson(means, rng(9))
    others = np.where(np.arange(50) % 2, means, 12.0)
    assert np.array_equal(python.poisson(others, rng(9))[1::2], alone[1::2])
    assert np.array_equal(python.poisson(np.r_[means, means], rng(9))[:50], alone)
    assert (python.poisson(np.full(800, 1e9), rng(4))[:, None] == python.poisson(np.full(800, 1e9), rng(5))).sum() < 99
    assert len(np.unique(python.poisson(np.full(800, 1e15), rng(6)))) > 780  # no word is used for two candidates


@slow
def test_as_python_and_compiled():
    """The kernel as Python and compiled gives equal numbers. Only an acceptance decided by rounding could differ."""
    means = rng(2).exponential(80, 2100)
    means[::7] = 0
    with np.errstate(all="ignore"):
        got = in_python(kernels).poisson(means, rng(3))
    assert np.array_equal(got, kernels.poisson(means, rng(3)))


@slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_same_numbers_whatever_the_threads(dtype):
    n = 7 * kernels.ALONE * kernels.TILE + 333
    means = rng(1).exponential(300, n).astype(dtype)
    want = None
    try:
        for count in (1, 2, 3, 7):
            cores.limit(count)
            assert len(cores.pieces(-(-n // kernels.TILE), kernels.ALONE)) == count
            got = kernels.poisson(means, rng(5))
            want = got if want is None else want
            assert np.array_equal(got, want)
    finally:
        cores.limit()


def test_a_generator_is_asked_for_a_key_alone(python):
    asked, same = rng(3), rng(3)
    python.poisson(np.full((3, 5), 4.0), asked)
    same.integers(2**32, size=4, dtype=np.uint32)
    assert asked.random() == same.random()


# --- the public function -----------------------------------------------------------------------------------------


@WAYS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_shapes_and_dtypes(poisson, dtype):
    for shape in ((), (0, 4), (3, 1, 5)):
        k = poisson(np.full(shape, 20, dtype), rng(0))
        assert (k.shape, k.dtype) == (shape, dtype)
    means = np.arange(60.0, dtype=dtype).reshape(6, 10)
    assert np.array_equal(poisson(means.T[::2], rng(1)), poisson(means.T[::2].copy(), rng(1)))
    assert poisson(np.full(4, 1e18, dtype), rng(2)) == pytest.approx(1e18, rel=1e-6)


@WAYS
@pytest.mark.parametrize("mean", [-1e-3, math.nan, math.inf, 2e18])
def test_bad_means_get_a_sentence(poisson, mean):
    with pytest.raises(ValueError, match=r"the mean of a Poisson variable must be in \[0, 1e18\]"):
        poisson(np.array([3.0, mean]), rng(0))
