"""Tests of the normals of seeded runs: Philox, its authors' known answers, the transform in many digits, the law."""

import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from nfa import cipher, philox
from tests.kernels.python_source import in_python
from tests.kernels.test_kernels_noise import FALSE_ALARM, law
from tests.oracles import chance

kernels = pytest.importorskip("nfa.kernels.philox", reason="numba is not installed: pip install numba")
from nfa.kernels import cores  # noqa: E402

# (reference, kernel), for tests/kernels/test_twins.py. This file compares the reference, the kernel as Python and the
# compiled kernel.
PAIRS = [
    (philox.add_keyed, kernels.add_keyed),
    (philox.add_normal, kernels.add_normal),
    (philox.add_normal_each, kernels.add_normal_each),
]
KEY = np.array([7, 2**32 - 1, 12345, 2**31], np.uint32)
LANES = philox.LANES
TILE = 4 * LANES
LARGEST = math.sqrt(66 * math.log(2))
slow = pytest.mark.slow  # compiling takes a second
rng = np.random.default_rng
WAYS = pytest.mark.parametrize(
    "add", [philox.add_keyed, pytest.param(kernels.add_keyed, marks=slow)], ids=["numpy", "numba"]
)
DOORS = pytest.mark.parametrize(
    "add", [philox.add_normal, pytest.param(kernels.add_normal, marks=slow)], ids=["numpy", "numba"]
)

# The known answers of Random123, the library of the generator's authors, for philox4x32 10: counter, key, words.
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def words(text):
    return np.array([int(word, 16) for word in text.split()], np.uint32)


def normals(add, n, key=KEY, tile=0):
    return add(np.zeros(n, np.float32), 1.0, key, tile)


def test_the_words_are_the_known_answers():
    for counter, key, answer in KNOWN:
        assert philox.philox(words(counter)[:, None], words(key))[:, 0].tolist() == words(answer).tolist()
    together = philox.philox(np.stack([words(counter) for counter, _, _ in KNOWN], axis=1), words(KNOWN[2][1]))
    assert together[:, 2].tolist() == words(KNOWN[2][2]).tolist()


def test_the_words_are_those_of_another_library():
    """The words equal those of another library, whose generator increases the counter before the first block."""
    import randomgen

    key = int(KEY[0]) + (int(KEY[1]) << 32)
    theirs = randomgen.Philox(number=4, width=32, counter=2**40 + 6, key=key)
    counter = np.zeros((4, 5), np.uint32)
    counter[0], counter[1] = np.arange(7, 12), 2**8
    want = [int(word) for word in np.asarray(theirs.random_raw(20))]
    assert philox.philox(counter, KEY[:2]).T.ravel().tolist() == want


@WAYS
def test_the_transform_in_fifty_digits(add):
    """The transform of words to normals agrees with fifty-digit arithmetic, to 4 roundings of 6.77, the largest normal.

    We test places in three tiles. The words of the generator are in the documented order.
    """
    got = normals(add, 3 * TILE, tile=2**32 - 3)
    with mpmath.workdps(50):
        for tile, pair, lane in [(0, 0, 0), (0, 1, LANES - 1), (1, 0, 17), (2, 1, 40), (2, 0, 255)]:
            counter = np.array([lane, 2**32 - 3 + tile, KEY[2], KEY[3]], np.uint32)
            a, b = (int(w) for w in philox.philox(counter[:, None], KEY[:2])[2 * pair : 2 * pair + 2, 0])
            u = mpmath.mpf(float((np.float32(a) + np.float32(0.5)) * np.float32(2.0**-32)))
            assert abs(u - mpmath.mpf(2 * a + 1) / 2**33) <= 2.0**-25
            r, v = mpmath.sqrt(-2 * mpmath.log(u)), mpmath.pi / 2 * mpmath.mpf(b >> 2) / 2**30
            want = (r if b & 1 else -r) * mpmath.sin(v), (r if b & 2 else -r) * mpmath.cos(v)
            for i in (0, 1):
                value = float(got[tile * TILE + (2 * pair + i) * LANES + lane])
                assert value == pytest.approx(float(want[i]), rel=0, abs=4 * 2.0**-23 * LARGEST)


@slow
@pytest.mark.parametrize("n", [0, 1, TILE - 1, 3 * TILE + 5])
def test_the_sums_three_ways(n):
    """The sums by NumPy, by the kernel as Python and by the compiled kernel agree to 8 roundings of the largest entry.

    The kernel uses polynomials in place of NumPy's functions.
    """
    start = rng(0).normal(size=n).astype(np.float32)
    with np.errstate(over="ignore"):  # words overflow on purpose, so Python warns
        python = in_python(kernels)
        for std in (0.5, 1e20):
            ways = [f(start.copy(), std, KEY, 2) for f in (philox.add_keyed, python.add_keyed, kernels.add_keyed)]
            largest = max(1.0, float(np.abs(ways[0]).max(initial=0)))
            for way in ways[1:]:
                assert way.dtype == np.float32
                np.testing.assert_allclose(way, ways[0], rtol=0, atol=8 * np.finfo(np.float32).eps * largest)


def test_the_kernel_as_python(monkeypatch):
    """The kernel as Python agrees with the reference. In this test, they use tiles of 16 normals."""
    monkeypatch.setattr(philox, "LANES", 4)
    with np.errstate(over="ignore"):
        few = in_python(kernels, LANES=4)
        for n in (0, 1, 16, 37):
            start = rng(n).normal(size=n).astype(np.float32)
            got, want = (
                f(start.copy(), 0.7, KEY, 2**32 - 1 if n <= 16 else 5) for f in (few.add_keyed, philox.add_keyed)
            )
            np.testing.assert_allclose(got, want, rtol=0, atol=4e-6)
        got, want = np.zeros((2, 5, 9), np.float32)
        few.add_normal(got, 2.0, rng(2))
        philox.add_normal(want, 2.0, rng(2))
        np.testing.assert_allclose(got, want, rtol=0, atol=8e-6)


@slow
def test_the_kernel_s_polynomials_hold_everywhere():
    """The kernel's polynomials are precise: a million normals are right to 4 roundings of 6.77, the largest normal.

    The reference is NumPy's functions in double precision.
    """
    fast, exact = (normals(f, 2**20) for f in (kernels.add_keyed, philox.add_keyed))
    assert float(np.abs(fast - exact).max()) <= 4 * np.finfo(np.float32).eps * LARGEST


@WAYS
def test_entries_are_functions_of_key_and_place(add):
    n = 3 * TILE - 7
    long = normals(add, n)
    assert np.array_equal(normals(add, 1500), long[:1500])
    assert np.array_equal(normals(add, n - TILE, tile=1), long[TILE:])
    for word in range(4):
        other = KEY.copy()
        other[word] ^= 1
        assert not np.isclose(normals(add, n, other), long, rtol=0, atol=1e-7).any()


@slow
def test_the_same_numbers_whatever_the_threads(monkeypatch):
    n = 7 * kernels.ALONE * TILE + 333
    want = None
    try:
        for count in (1, 2, 3, 7):
            cores.limit(count)
            out = np.ones(n, np.float32)
            kernels.add_normal(out, 0.25, rng(5))
            assert len(cores.pieces(n // TILE, kernels.ALONE)) == count
            want = out if want is None else want
            assert np.array_equal(out, want)
    finally:
        cores.limit()
    reference = np.ones(n, np.float32)
    philox.add_normal(reference, 0.25, rng(5))
    np.testing.assert_allclose(want, reference, rtol=0, atol=16 * np.finfo(np.float32).eps)


# --- the law ---------------------------------------------------------------------------------------------------


def law_of_philox(g):
    """Yield 44 p values: those of `law`, and of correlations within a counter and between tiles."""
    yield from law(g)
    quarters = g[: len(g) // TILE * TILE].reshape(-1, 4, LANES).astype(np.float64)
    for f in (lambda v: v, lambda v: np.square(v) - 1):
        four = f(quarters).swapaxes(0, 1).reshape(4, -1)
        for i in range(4):
            for j in range(i):
                yield 2 * stats.norm.sf(
                    abs(np.vdot(four[i], four[j])) / math.sqrt(four[i].size) / np.mean(four[i] ** 2)
                )
        for lag in (1, 2):  # the same position in another tile
            one, two = f(quarters[:-lag]).ravel(), f(quarters[lag:]).ravel()
            yield 2 * stats.norm.sf(abs(np.vdot(one, two)) / math.sqrt(one.size) / np.mean(one**2))


def test_the_reference_s_law():
    """The reference has the normal law. The test misses a std that is wrong by 2 % with probability 1e-6.

    It also misses a correlation of 0.03 between the four normals of a counter with probability 1e-6.
    """
    g = normals(philox.add_keyed, 2**18)
    assert min(law_of_philox(g)) > FALSE_ALARM / 44
    chance.follows(g, "norm", sees=0.011)
    assert float(np.abs(g).max()) <= LARGEST


@slow
def test_the_kernel_s_law():
    """The kernel has the normal law. We test moments to the sixth, the KS distance, tails and pairs.

    We use eight million normals. The test misses a mean wrong by 0.004, or a std wrong by 0.3 %, with probability 1e-6.
    It also misses twice as many values beyond 4, or a KS distance of 0.003, with probability 1e-6.
    """
    g = normals(kernels.add_keyed, 2**23, tile=1000)
    assert min(law_of_philox(g)) > FALSE_ALARM / 44
    chance.follows(g[: 2**21].astype(float), "norm", sees=0.004)
    wide = g.astype(float)
    for power, mean, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96), (6, 15, 10170)):
        error = (np.mean(wide**power) - mean) / math.sqrt(variance / len(g))
        assert abs(error) < stats.norm.isf(FALSE_ALARM / 10), power
    assert float(np.abs(g).max()) <= LARGEST


def test_the_tests_of_the_law_see_a_wrong_one():
    """The tests of the law detect a std 1.5 % too large, no tail beyond 3.5, and a correlation within a counter."""
    g = rng(0).standard_normal(2**18)
    assert min(law_of_philox(g)) > FALSE_ALARM / 44
    paired = g.copy().reshape(-1, 4, LANES)
    paired[:, 2] += 0.04 * paired[:, 0]
    for wrong in (1.015 * g, np.clip(g, -3.5, 3.5), paired.ravel()):
        assert min(law_of_philox(wrong)) < FALSE_ALARM / 44


def test_the_largest_number_is_the_one_that_is_documented():
    """The largest normal is the documented value, which comes from the word 0.

    In float32, the largest 2^7 of the 2^32 words round to the uniform number 1. Then the two normals of the pair are 0.
    """
    assert 6.76 < LARGEST < 6.77
    assert 2 * stats.norm.sf(LARGEST) == pytest.approx(1.3e-11, rel=0.05)
    u = [
        (np.float32(word) + np.float32(0.5)) * np.float32(2.0**-32) for word in (0, 2**32 - 129, 2**32 - 128, 2**32 - 1)
    ]
    assert u[0] == 2.0**-33
    assert u[1] == 1 - 2.0**-24
    assert u[2] == u[3] == 1


@DOORS
def test_no_noise_is_used_twice(add):
    """Two steps, six arrays of a network and two seeds have different noise.

    About 0.3 % of 24,000 float32 normals equal another normal by chance. If a tile of noise were used twice, all its
    normals would occur twice.
    """
    shapes = ((40, 60), (40,), (50, 40), (50,), (10, 50), (10,))
    drawn = []
    for seed in (0, 1):
        streams = [rng((seed, t)) for t in range(2)]
        for stream in streams:
            for shape in shapes:
                out = np.zeros(shape, np.float32)
                add(out, 1.0, stream)
                drawn.append(out.ravel())
    every = np.concatenate(drawn)
    assert len(np.unique(every)) > 0.99 * len(every)
    sizes = [a for a in drawn if a.size >= 2000]
    scores = [
        math.sqrt(2000) * np.corrcoef(f(one[:2000]), f(two[:2000]))[0, 1]
        for i, one in enumerate(sizes)
        for two in sizes[:i]
        for f in (np.array, np.abs)
    ]
    chance.is_score(np.array(scores), 2000, sees=0.3)


# --- the public function -----------------------------------------------------------------------------------------


@DOORS
def test_noise_is_added_in_place_whatever_the_layout(add):
    """Noise is added in place for any memory layout: rows, transposed axes, every second column, a convolution's dW.

    This dW has the memory order of the examples' axes.
    """
    want = np.ones((6, 5, 2, 3), np.float32)
    add(want, 2.0, rng(1))
    layouts = [
        np.ones((3, 2, 5, 6), np.float32).T,
        np.ones((12, 5, 2, 3), np.float32)[::2],
        np.ones((5, 2, 3, 6), np.float32).transpose(3, 0, 1, 2),
    ]
    for out in layouts:
        assert not out.flags.c_contiguous
        add(out, 2.0, rng(1))
        np.testing.assert_allclose(out, want, rtol=0, atol=1e-6)
    nothing = np.ones((0, 4), np.float32)
    add(nothing, 2.0, rng(1))
    point = np.ones((), np.float32)
    add(point, 2.0, rng(1))
    assert point != 1


@DOORS
def test_a_generator_is_asked_for_a_key_alone(add):
    """The function draws only a key from the generator, so a resumed run has the same noise.

    The next sample of the generator does not depend on the size of the array. For std 0, the function draws nothing.
    """
    key = rng(3).integers(2**32, size=4, dtype=np.uint32)
    for shape in ((3,), (40, 50)):
        asked, same = rng(3), rng(3)
        out = np.zeros(shape, np.float32)
        add(out, 1.0, asked)
        np.testing.assert_allclose(out.ravel(), normals(philox.add_keyed, out.size, key), rtol=0, atol=4e-6)
        same.integers(2**32, size=4, dtype=np.uint32)
        assert asked.random() == same.random()
    asked = rng(0)
    add(np.zeros(3, np.float32), 0.0, asked)
    assert asked.random() == rng(0).random()


@DOORS
def test_float64_has_the_normals_of_the_cipher(add):
    """In float64, the normals come from the cipher with 52 random bits, which is more than the Philox kernel uses."""
    out, want = np.ones((2, 40))
    add(out, 0.5, rng(4))
    cipher.add_normal_keyed(want, 0.5, rng(4))
    np.testing.assert_allclose(out, want, rtol=0, atol=1e-14)


@DOORS
@pytest.mark.parametrize(
    "out, std, sentence",
    [
        (np.zeros(3, np.float32), -1.0, r"the noise must be a number >= 0, got -1\.0"),
        (np.zeros(3, np.float32), math.inf, "the noise must be a number >= 0, got inf"),
        (np.zeros(3, np.float32), math.nan, "the noise must be a number >= 0, got nan"),
        (np.zeros(3, np.float32), 1e-40, "the standard deviation of float32 noise must be 0 or between .*, got 1e-40"),
        (np.zeros(3, np.float32), 1e30, r"the standard deviation of float32 noise must be 0 or between .*, got 1e\+30"),
        (np.zeros(3), -1.0, r"the noise must be a number >= 0, got -1\.0"),
        (np.zeros(3, np.float16), 1.0, "noise can only be added to a float32 or float64 array, got float16"),
        (np.zeros(3, np.int32), 1.0, "noise can only be added to a float32 or float64 array, got int32"),
    ],
)
def test_bad_calls_get_a_sentence(add, out, std, sentence):
    with pytest.raises(ValueError, match=sentence):
        add(out, std, rng(0))
