"""Tests of noise on a grid: the unit of the grid, its law, its tails, and attacks on float noise."""

import functools
import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from nfa import cipher, noise, philox, rounded
from nfa.cipher import LANES, chacha20
from tests.oracles.chance import fits, has_rate

KEY = np.array([7, 2**32 - 1, 0, 12345, 2**31, 99, 3, 2**16], np.uint32)
SCALES = [0.3, 5.0, 1.3 * 2.0**24, 2.0**36]


# The unit


@pytest.mark.parametrize("sensitivity", [1e-200, 0.37, 1.0, 5e10])
@pytest.mark.parametrize("multiplier", [1e-6, 1.0, 333.3, 1e9])
@pytest.mark.parametrize("d", [1, 3, 10**6, 10**10])
def test_the_unit_is_the_largest_that_costs_little(sensitivity, multiplier, d):
    """The unit is the largest power of two that hardly changes the sensitivity. We check this in exact arithmetic.

    If no unit satisfies this condition, the unit is as fine as 53 bits allow.
    """
    std = sensitivity * multiplier
    g = Fraction(rounded.unit(sensitivity, std, d))
    assert math.frexp(float(g))[0] == 0.5
    fine = g**2 * d <= Fraction(sensitivity) ** 2 / 2**28
    assert Fraction(std) / g <= 2**36
    assert fine or Fraction(std) / g > 2**35
    assert (2 * g) ** 2 * d > Fraction(sensitivity) ** 2 / 2**28
    assert fine or multiplier * math.sqrt(d) > 2**21


@pytest.mark.parametrize(
    "numbers, sentence",
    [
        ((0.0, 1.0, 1), "the sensitivity must be positive and finite, got 0.0"),
        ((1.0, math.nan, 1), "the standard deviation of the noise must be positive and finite, got nan"),
        ((1.0, 1.0, 0), "the number of coordinates must be a whole number >= 1, got 0"),
        ((5e-324, 1e-320, 1), r"no grid fits .*: the unit of the grid would be 2\^-1088"),
        ((1e300, 1e300, 1), r"no grid fits .*: the unit of the grid would be 2\^982"),
    ],
)
def test_where_no_unit_fits_a_sentence_says_so(numbers, sentence):
    with pytest.raises(ValueError, match=sentence):
        rounded.unit(*numbers)


# Double precision compared with many digits


def words_of(u, v):
    """The (16, n) words of the cipher in which the first two uniform numbers have the 64 bits u and v.

    The other pairs of words repeat these numbers.
    """
    u, v = (np.array(x, dtype=np.uint64) for x in (u, v))
    high = [(x >> np.uint64(32)).astype(np.uint32) for x in (u, v)]
    low = [x.astype(np.uint32) for x in (u, v)]
    return np.repeat(np.stack([high[0], low[0], high[1], low[1]]), 4, axis=0)


def hard_bits(n):
    """64 bits of u and of v: uniform values, and values near every point at which the method changes."""
    rng = np.random.default_rng(0)
    edge = int(rounded.EDGE * 2**64)
    u = [edge, 2**64 - 1 - edge, 3 * 2**62, 2**63, math.isqrt(2**127), math.isqrt(2**125), 2**64 - 2**53, 2**64 - 2**50]
    v = [i * 2**61 for i in range(8)]
    near = [x + dx for x in u for dx in (-(2**30), -2, -1, 0, 1, 2, 2**40) if edge <= x + dx < 2**64 - edge]
    turns = [(x + dx) % 2**64 for x in v for dx in (-(2**40), -1, 0, 1, 2**11)]
    pairs = list(itertools.product(near, turns))
    small = [int(2.0 ** rng.uniform(45, 64)) for _ in range(n)]
    for a in rng.permutation(small).tolist():
        pairs.append((a if a % 2 else 2**64 - 1 - a, int(rng.integers(2**64, dtype=np.uint64))))
    return [np.array(x, np.uint64) for x in zip(*pairs, strict=True)]


def exact_pair(u, v):
    """The two normal samples of the Box-Muller method for the uniform values u / 2^64 and v / 2^64, and its radius."""
    r = mpmath.sqrt(-2 * mpmath.log(mpmath.mpf(int(u)) / 2**64))
    angle = 2 * mpmath.pi * mpmath.mpf(int(v)) / 2**64
    return r * mpmath.cos(angle), r * mpmath.sin(angle), r


@pytest.mark.verifies("ours:rounded-gaussian")
def test_double_precision_keeps_its_bound():
    """The errors of the computation in double precision are within the proved bound.

    With a scale of 2^200, all floats are integers, so we can measure their errors. The proved bound is 2^-48.5 in the
    worst case.
    """
    u, v = hard_bits(2000)
    k, _ = rounded.quick(words_of(u, v), 2.0**200)
    most = 0.0
    with mpmath.workdps(50):
        for i in range(len(u)):
            cos, sin, r = exact_pair(u[i], v[i])
            for value, got in ((cos, k[0, i]), (sin, k[4, i])):
                most = max(most, float(abs(mpmath.mpf(got) / 2**200 - value) / (1 + r)))
    assert most < 2.0**-51.7
    assert 10 * 2.0**-48.5 < rounded.ERROR


def bits_beyond_the_edges():
    """u and v whose later bits have a large effect: u or 1 - u is below EDGE, by a little or by far."""
    edge = int(rounded.EDGE * 2**64)
    u = [x for below in (0, 1, edge >> 9, edge - 2**20) for x in (below, 2**64 - 1 - below)]
    return np.array(u, np.uint64), np.array([2**61 + 12345] * len(u), np.uint64)


@pytest.mark.verifies("ours:rounded-gaussian")
def test_nothing_is_certain_beyond_the_edges():
    _, certain = rounded.quick(words_of(*bits_beyond_the_edges()), 0.3)
    assert not certain.any()


@pytest.mark.verifies("ours:rounded-gaussian")
def test_the_bits_that_follow_move_it_by_less():
    """The bits after the first 64 bits of u change the normal by less than the proof's 2^-49.9 (1 + r).

    We test small u, small 1 - u, and u = 3/4.
    """
    edge = int(rounded.EDGE * 2**64)
    with mpmath.workdps(50):
        for u in (edge, edge + 1, 3 * 2**62, 2**64 - 1 - edge):
            r, next_r = exact_pair(u, 0)[2], exact_pair(u + 1, 0)[2]
            assert 0 < r - next_r < 2.0**-49.9 * (1 + r)


@pytest.mark.verifies("ours:rounded-gaussian")
def test_the_series_are_taylor_s_and_what_they_leave_out_is_as_proved():
    """The series are Taylor series with correctly rounded coefficients. Their remainders are within the proved bounds.

    We test the remainders at the ends of the ranges, where they are largest, because all terms increase.
    """
    atanh = [Fraction(4, 2 * k + 1) for k in range(10)]
    sin = [Fraction((-1) ** k, math.factorial(2 * k + 1)) for k in range(8)]
    cos = [Fraction((-1) ** k, math.factorial(2 * k)) for k in range(9)]
    for coefficients, exact in ((rounded.ATANH, atanh), (rounded.SIN, sin), (rounded.COS, cos)):
        for c, want in zip(coefficients, exact, strict=True):
            assert abs(Fraction(c) - want) <= abs(want) / 2**53
    with mpmath.workdps(50):
        x, t, e = (mpmath.sqrt(2) - 1) / (mpmath.sqrt(2) + 1), mpmath.pi / 4, mpmath.mpf(2) ** -53
        assert x**2 < 0.0295
        # u = m 2^e has 64 bits. The kernel allows m to exceed its range sqrt(1/2) to sqrt(2) by 2^-20.
        x = x * (1 + mpmath.mpf(2) ** -18)
        left_out = [
            1 - sum(mpmath.mpf(c.numerator) / c.denominator * x ** (2 * k + 1) for k, c in enumerate(atanh))
            / (4 * mpmath.atanh(x)),
            sum(mpmath.mpf(c.numerator) / c.denominator * t ** (2 * k + 1) for k, c in enumerate(sin)) - mpmath.sin(t),
            sum(mpmath.mpf(c.numerator) / c.denominator * t ** (2 * k) for k, c in enumerate(cos)) - mpmath.cos(t),
        ]  # fmt: skip
        for left, share in zip(left_out, (0.22, 0.43, 0.02), strict=True):
            assert abs(left) < share * e


@pytest.mark.verifies("ours:rounded-gaussian")
@pytest.mark.parametrize("scale", SCALES)
def test_every_integer_is_that_of_interval_arithmetic(scale):
    """Every noise integer equals that of interval arithmetic, for difficult points and for points of the cipher.

    The points of the cipher include all points for which float64 does not determine the integer.
    """
    u, v = hard_bits(300)
    k, certain = rounded.quick(words_of(u, v), scale)
    for i in range(len(u)):
        for sine in (0, 1):
            low, high = rounded.normal_bounds(scale, int(u[i]), int(v[i]) - sine * 2**62, 64)
            assert not certain[4 * sine, i] or low == high == k[4 * sine, i]
    n = 2 * rounded.PAIRS + 700
    got = rounded.add_keyed(np.zeros(n), scale, KEY, 3, unit=1.0)
    _, certain = rounded.quick(chacha20(KEY, 3 * LANES, 2 * LANES), scale)
    share = 2.0**-18 + 2.0**-42.8 * scale
    assert abs((~certain).mean() - share) < 10 * math.sqrt(share / certain.size) + 10 / certain.size
    for i in range(0, n, 7):
        group, place = divmod(i, 2 * rounded.PAIRS)
        sine, pair = divmod(place, rounded.PAIRS)
        u, v, bits = rounded.bits_of_pair(chacha20, KEY, (3 + group) * rounded.PAIRS + pair, 0)
        low, high = rounded.normal_bounds(scale, u, v - sine * 2**62, bits)
        assert low == high == got[i]


@pytest.mark.verifies("ours:rounded-gaussian")
@pytest.mark.parametrize("sine", [False, True])
def test_an_interval_holds_the_normal(sine):
    """The interval contains the normal sample, which we compute with 60 digits.

    The uniform numbers are near 0, near 1 and between. We test the ends of the intervals of numbers that begin with the
    given bits. The computed interval is hardly wider than the range of their normals.
    """
    rng = np.random.default_rng(0)
    function = mpmath.sin if sine else mpmath.cos
    with mpmath.workdps(60):
        for trial in range(400):
            u, v = (int(w) for w in rng.integers(2**64, size=2, dtype=np.uint64))
            u >>= int(rng.integers(60)) if trial % 3 else 0
            u = 2**64 - 1 - u if trial % 3 == 2 else max(u, 1)
            scale = 2.0 ** rng.uniform(-3, 100)  # large scales, to test the bounds before rounding
            low, high = rounded.normal_bounds(scale, u, v - sine * 2**62, 64)
            radii = [scale * mpmath.sqrt(-2 * mpmath.log(mpmath.mpf(a) / 2**64)) for a in (u, u + 1)]
            for r in radii:
                for b in (v, v + 1):
                    assert low <= mpmath.floor(r * function(2 * mpmath.pi * b / 2**64) + mpmath.mpf(0.5)) <= high
            widest = scale * mpmath.sqrt(mpmath.mpf(2) / u) if u < 2**20 else 2 * (radii[0] - radii[1])
            assert high - low <= 2 + widest + 15 * radii[0] / 2**64


def digits_of(u_bits, v_bits):
    """A source of bits for two uniform numbers, from two long strings of 0 and 1."""

    def digits(more):
        bits = 64 + 256 * more
        return int(u_bits[:bits], 2), int(v_bits[:bits], 2), bits

    return digits


def random_bits(rng, n, zeros=0):
    return "0" * zeros + "".join(map(str, rng.integers(2, size=n - zeros)))


@pytest.mark.verifies("ours:rounded-gaussian")
@pytest.mark.parametrize("zeros", [0, 60, 200, 2000])
@pytest.mark.parametrize("scale", [0.3, 1.3 * 2.0**24, 2.0**900])
def test_numbers_with_many_zeros_give_the_exact_tail(zeros, scale):
    """Numbers u below 2^-60, 2^-200 and 2^-2000 give the exact tail of the normal, compared with 1,200 digits.

    The noise integers have 900 bits.
    """
    rng = np.random.default_rng(zeros)
    for sine in (False, True):
        u, v = random_bits(rng, 4096, zeros), random_bits(rng, 4096)
        got = rounded.by_intervals(scale, digits_of(u, v), sine)
        with mpmath.workdps(1200):
            r = mpmath.sqrt(-2 * mpmath.log(mpmath.mpf(int(u, 2)) / 2**4096))
            angle = 2 * mpmath.pi * mpmath.mpf(int(v, 2)) / 2**4096
            z = mpmath.mpf(scale) * r * (mpmath.sin if sine else mpmath.cos)(angle)
            assert got == int(mpmath.floor(z + mpmath.mpf(0.5)))


def test_bits_are_drawn_until_one_integer_is_left():
    """The noise draws bits until only one integer is possible. A normal that is 1/2 up to 700 bits needs 700 bits."""
    asked = []
    v = "0" + "1" * 2500

    def digits(more):
        asked.append(more)
        return digits_of(u, v)(more)

    with mpmath.workdps(900):  # r cos(pi - tiny) is -r, so we choose r = 1/2 up to 2^-700
        r = mpmath.mpf(0.5) + mpmath.mpf(2) ** -700
        u = bin(int(mpmath.exp(-(r**2) / 2) * 2**2501))[2:].zfill(2501)
    assert rounded.by_intervals(1.0, digits, False) == -1
    assert asked == [0, 1, 2, 3]


def test_more_bits_stand_where_nothing_else_is_drawn():
    """Additional bits come from counters of the cipher that no other sample uses.

    For each pair, the first block is that of its group. The other blocks are distinct and far from all groups.
    """
    asked = []

    def blocks(key, first, n):
        asked.append(range(first, first + n))
        return chacha20(key, first, n)

    for pair in (0, 1, LANES, rounded.PAIRS, 2**40):
        u, v, bits = rounded.bits_of_pair(blocks, KEY, pair, 3)
        assert bits == 64 + 3 * 256
        short = rounded.bits_of_pair(chacha20, KEY, pair, 1)
        assert (u >> 2 * 256, v >> 2 * 256, bits - 2 * 256) == short
    first, more = asked[::2], asked[1::2]
    assert max(r.stop for r in first) < min(r.start for r in more)
    assert len({c for r in more for c in r}) == 3 * len(more)
    assert all(r.stop < 2**63 for r in more)


# The law


@functools.cache
def probabilities(scale, most):
    """P(round(Z) = k) for k from -most to most, and the two tails beyond, in 60 digits."""
    with mpmath.workdps(60):
        above = [mpmath.erfc((k - mpmath.mpf(0.5)) / (mpmath.mpf(scale) * mpmath.sqrt(2))) / 2 for k in range(most + 2)]
        middle = [1 - 2 * above[1]] + [a - b for a, b in itertools.pairwise(above[1:])]
        p = [above[-1], *middle[:0:-1], *middle, above[-1]]
        assert abs(sum(p) - 1) < mpmath.mpf(10) ** -55
        return np.array([float(x) for x in p])


def counts(k, most):
    return np.bincount(np.clip(k, -most - 1, most + 1).astype(int) + most + 1, minlength=2 * most + 3)


@functools.cache
def doors():
    """The implementations of the noise: NumPy and, if numba is installed, the kernel."""
    kernels = pytest.importorskip("nfa.kernels.rounded", reason="numba is not installed: pip install numba")
    return {"numpy": rounded, "numba": kernels}


DOORS = pytest.mark.parametrize("door", ["numpy", pytest.param("numba", marks=pytest.mark.slow)])


def door_of(name):
    return rounded if name == "numpy" else doors()[name]


@pytest.mark.verifies("ours:rounded-gaussian")
@DOORS
@pytest.mark.parametrize("scale, most", [(0.3, 1), (0.71, 2), (1.0, 3), (2.6, 9), (5.0, 18)])
def test_the_law_is_that_of_a_rounded_gaussian(door, scale, most):
    """The law is that of a rounded Gaussian. We test single values, the two values of a pair, and neighbours.

    For each of these three tests by `fits`, correct code fails with probability 1e-6.
    """
    n, sees = (2**22, 0.009) if door == "numba" else (2**18, 0.035)
    k = door_of(door).add_keyed(np.zeros(n), scale, KEY, 50, unit=1.0)
    p = probabilities(scale, most)
    fits(counts(k, most), n * p, sees=sees)
    few = min(most, 3)
    q = probabilities(scale, few)
    groups = k.reshape(-1, 2, rounded.PAIRS)
    for one, other in ((groups[:, 0], groups[:, 1]), (k[:-1:2], k[1::2])):
        joint = [counts(other.ravel()[one.ravel() == a], few) for a in range(-few, few + 1)]
        joint_p = np.outer(q[1:-1], q).ravel()
        observed = [*np.ravel(joint), n // 2 - np.sum(joint)]
        expected = n // 2 * np.append(joint_p, 1 - joint_p.sum())
        fits(observed, expected, sees=2 * sees)


def test_the_tests_of_the_law_see_a_wrong_one():
    """The tests of the law detect wrong laws: rounding down, and a standard deviation 3 % too large."""
    z = np.random.default_rng(0).normal(size=2**18)
    p = probabilities(1.0, 3)
    fits(counts(np.rint(z), 3), 2**18 * p, sees=0.035)
    for wrong in (np.floor(z), np.rint(1.03 * z)):
        with pytest.raises(AssertionError):
            fits(counts(wrong, 3), 2**18 * p, sees=0.035)


@pytest.mark.verifies("ours:rounded-gaussian")
@pytest.mark.parametrize("zeros, trials", [(60, 3000), (200, 3000), (1000, 1200)])
def test_the_tail_has_its_law(zeros, trials):
    """The tail has the right law: P(|round(Z)| >= k | u < 2^-zeros) = 2^zeros P(|Z| >= k - 1/2), for large k.

    This holds for k so large that all larger u give a smaller |Z|: beyond 9, 16 and 37 standard deviations. Correct
    code fails with probability 1e-6 for each number of zeros, by `has_rate`.
    """
    rng = np.random.default_rng(zeros)
    scale = 5000.0
    with mpmath.workdps(60):
        k = int(mpmath.ceil(scale * mpmath.sqrt(2 * zeros * mpmath.log(2)) + mpmath.mpf(0.5)))
        p = float(2 ** mpmath.mpf(zeros) * mpmath.erfc((k - mpmath.mpf(0.5)) / (scale * mpmath.sqrt(2))))
    draws = [
        rounded.by_intervals(scale, digits_of(random_bits(rng, zeros + 576, zeros), random_bits(rng, zeros + 576)), s)
        for s in (False, True)
        for _ in range(trials // 2)
    ]
    far = [z for z in draws if abs(z) >= k]
    has_rate(len(far), trials, p, sees=0.06)
    assert min(far) < 0 < max(far)


def blocks_with_zeros(words):
    """The cipher, with the first ``words`` words of u set to 0 in every block."""

    def blocks(key, first, n):
        block = chacha20(key, first, n)
        block[: min(8, words)] = 0
        return block

    return blocks


@pytest.mark.verifies("ours:rounded-gaussian")
def test_the_tail_does_not_end(monkeypatch):
    """The noise has no largest value (row 4 of the page attacks.md), even if all words of u are 0.

    The noise of seeded runs has a largest value, which occurs for these words.
    """
    words = philox.philox

    def words_with_zeros(counter, key):
        found = words(counter, key)
        found[::2] = 0
        return found

    monkeypatch.setattr(philox, "philox", words_with_zeros)
    assert 6.7 < np.abs(philox.add_keyed(np.zeros(8192, np.float32), 1.0, KEY[:4])).max() < 6.8
    monkeypatch.setattr(cipher, "chacha20", blocks_with_zeros(8))
    assert 8.5 < np.abs(cipher.add_keyed(np.zeros(8192), 1.0, KEY)).max() < 8.6
    # All bits are 0, except the last bits of the third additional block: 64 + 3 * 256 bits.
    monkeypatch.undo()

    def blocks(key, first, n):
        block = chacha20(key, first, n)
        block[:8] = 0
        if first >= rounded.MORE and n >= 3:
            block[7, 2] = 1
        return block

    most = 0.0
    for i in range(8):
        got = rounded.add_exactly(5.0, 0.25, 100.0, KEY, 0, i, blocks)
        u, v, bits = rounded.bits_of_pair(blocks, KEY, i, 3)
        assert u == 1
        with mpmath.workdps(400):
            z = 100 * mpmath.sqrt(2 * bits * mpmath.log(2)) * mpmath.cos(2 * mpmath.pi * mpmath.mpf(v) / 2**bits)
        assert got / 0.25 - 5 == mpmath.floor(z + mpmath.mpf(0.5))
        most = max(most, abs(z))
    assert most > 30 * 100


# On the grid


@pytest.mark.verifies("ours:rounded-gaussian")
@DOORS
def test_what_is_added_does_not_depend_on_the_sum(door):
    """The noise does not depend on the sum: the result is g (s + round(Z)) in exact arithmetic.

    In this formula, g is the unit of the grid, and s is the sum in units of g, rounded and clamped.
    """
    rng = np.random.default_rng(3)
    unit, scale = 2.0**-20, 1.3 * 2.0**30
    x = np.concatenate([rng.normal(size=3000) * 10.0 ** rng.uniform(-9, 9, 3000), [np.inf, -np.inf, 1e300, 2.5 * unit]])
    noise, out = np.zeros(len(x)), x.copy()
    for array in (noise, out):
        door_of(door).add_normal(array, scale * unit, np.random.default_rng(1), unit=unit)
    for a, b, z in zip(x.tolist(), out.tolist(), noise.tolist(), strict=True):
        s = round(Fraction(min(max(a, -(2.0**51) * unit), 2.0**51 * unit)) / Fraction(unit))
        assert Fraction(b) == Fraction(unit) * s + Fraction(z)


@pytest.mark.verifies("ours:rounded-gaussian")
@DOORS
@pytest.mark.parametrize("std", [0.0, 0.01])
def test_a_zero_has_no_sign(door, std):
    """A result of 0 has no sign. The sign would reveal whether a small sum and the noise are both negative.

    The value s + round(Z) = 0 alone does not reveal this.
    """
    out = np.tile([-0.4, -1e-300, -0.0, 0.0, 1e-300, 0.4], 500)
    door_of(door).add_normal(out, std, np.random.default_rng(0), unit=1.0)
    assert not out.view(np.int64).any()


@pytest.mark.verifies("ours:rounded-gaussian")
def test_rounding_moves_two_sums_apart_by_g_sqrt_d_at_most():
    """Rounding moves two sums apart by at most g sqrt(d), in exact arithmetic, and nearly attains this bound.

    For inputs beyond the range, the distance is at most as large.
    """
    rng = np.random.default_rng(2)
    unit, d, most = 0.25, 40, 0.0
    x = unit * rng.integers(-9, 9, d)
    pairs = [(x + 0.124999, x + 0.125001)]
    for scale in (0.01, 0.3, 7.0, 2.0**49):
        x = rng.normal(size=d) * scale
        pairs += [(x, x + rng.normal(size=d) * moved) for moved in (0.001, 0.1, 1, scale)]
    for one, other in pairs:
        on_grid = [unit * rounded.on_grid(x, unit) for x in (one, other)]
        far = [
            sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(*two, strict=True)) for two in ((one, other), on_grid)
        ]
        more = (math.sqrt(far[1]) - math.sqrt(far[0])) / (unit * math.sqrt(d))
        most = max(most, more)
    assert 0.99 < most <= 1


@pytest.mark.parametrize("k, s, want", [(2**60, -(2**51), 2**53), (2**53 + 5, -7, 2**53 - 2), (-(2**900), 0, -(2**53))])
def test_a_result_beyond_the_floats_is_clamped_after_the_addition(monkeypatch, k, s, want):
    """A result beyond the range of floats is clamped after the addition.

    If std / g is at most 2^40, noise of 2^53 units has probability below exp(-2^25).
    """
    monkeypatch.setattr(rounded, "by_intervals", lambda *_: k)
    assert rounded.add_exactly(float(s), 0.5, 1.0, KEY, 0, 0) == want / 2


# Attacks on the low-order bits

RECORD, STD, COORDINATES = 0.1251, (700.0, 1.3 * 512), 128  # a record of norm 1.4


def reachable(y, std, start):
    """Whether y is ``start`` plus std times some float g, with rounding. Float noise can give only such y."""
    dtype = y.dtype.type
    near = [(y - dtype(start)) / dtype(std)]
    for direction in (-np.inf, np.inf):
        g = near[0]
        for _ in range(3):
            g = np.nextafter(g, dtype(direction))
            near.append(g)
    return np.any([dtype(start) + dtype(std) * g == y for g in near], axis=0)


def phase(y, step):
    return np.cos(2 * np.pi / step * y.astype(np.float64)).sum()


ATTACKS = {  # name -> function that decides whether the record is in the data
    "not all values are reachable without it": lambda y, std: not reachable(y, std, 0).all(),
    "all values are reachable with it": lambda y, std: bool(reachable(y, std, RECORD).all()),
    "low-order bits are those of the record": lambda y, std: bool(phase(y - RECORD, 2.0**-6) > phase(y, 2.0**-6)),
}


def rights_of_attacks(add, dtype, std, trials):
    """How often each attack decides correctly. The std is at least 470 times the norm of the record."""
    right = dict.fromkeys(ATTACKS, 0)
    for trial, record in enumerate(np.random.default_rng(7).integers(2, size=trials).tolist()):
        out = np.full(COORDINATES, RECORD * record, dtype)
        add(out, std, np.random.default_rng(trial))
        for name, attack in ATTACKS.items():
            right[name] += attack(out, std) == bool(record)
    return right


@pytest.mark.verifies("ours:rounded-gaussian")
@pytest.mark.slow
@pytest.mark.parametrize("door", ["numpy", "numba"])
@pytest.mark.parametrize("std", STD)
def test_the_attacks_of_low_bits_are_at_chance(door, std):
    """The attacks on low-order bits are no better than chance (row 3 of attacks.md): correct in half of 1,000 runs.

    By the sensitivity, an attack may be correct in a share of .0009 more. Correct code fails with probability 1e-6.
    """
    unit = rounded.unit(RECORD * math.sqrt(COORDINATES), std, COORDINATES)
    add = functools.partial(door_of(door).add_normal, unit=unit)
    for right in rights_of_attacks(add, np.float64, std, 1000).values():
        has_rate(right, 1000, 0.5, sees=0.17, tests=3)


@pytest.mark.parametrize(
    "add, dtype",
    [
        (noise.add_normal, np.float32),
        (philox.add_normal, np.float32),
        (noise.add_normal, np.float64),
        (cipher.add_normal_keyed, np.float64),
    ],
    ids=["NumPy, float32", "Philox", "NumPy, float64", "ChaCha20"],
)
@pytest.mark.parametrize("std", STD)
def test_the_attacks_decide_each_run_with_floating_noise(add, dtype, std):
    """With float noise, the first two attacks are correct in all of 100 runs.

    The third attack is for noise on a grid.
    """
    assert list(rights_of_attacks(add, dtype, std, 100).values())[:2] == [100, 100]


def test_the_attack_of_low_order_bits_decides_where_the_sum_is_not_rounded():
    def on_a_grid_of_its_own(out, std, rng):
        out += 2.0**-6 * np.rint(std * 2.0**6 * rng.standard_normal(out.shape))

    assert list(rights_of_attacks(on_a_grid_of_its_own, np.float64, 700.0, 100).values())[2] == 100


# Requirements on a caller


@DOORS
def test_noise_is_added_in_place_whatever_the_layout(door):
    add = functools.partial(door_of(door).add_normal, unit=0.5)
    whole = np.ones((6, 5))
    add(whole, 2.0, np.random.default_rng(1))
    turned = np.ones((5, 6)).T
    add(turned, 2.0, np.random.default_rng(1))
    assert np.array_equal(turned, whole)
    nothing = np.ones((0, 4))
    add(nothing, 2.0, np.random.default_rng(1))
    point = np.ones(())
    add(point, 200.0, np.random.default_rng(1))
    assert point != 1


@DOORS
def test_a_generator_is_asked_for_a_key_alone(door):
    """The function draws only a key from the generator, so it works with any generator, also with a secure one.

    The next sample of the generator does not depend on the size of the array.
    """
    add = functools.partial(door_of(door).add_normal, unit=0.5)
    key = np.random.Generator(np.random.Philox(3)).integers(2**32, size=8, dtype=np.uint32)
    for shape in ((3,), (40, 50)):
        rng = np.random.Generator(np.random.Philox(3))
        out = np.zeros(shape)
        add(out, 1e5, rng)
        assert np.array_equal(out.ravel(), rounded.add_keyed(np.zeros(out.size), 1e5, key, unit=0.5))
        assert rng.random() == np.random.Generator(np.random.Philox(3)).random(5)[4]
    rng, out = np.random.default_rng(0), np.array([0.3, -0.3, 7.0])
    add(out, 0.0, rng)
    assert rng.random() == np.random.default_rng(0).random()
    assert out.tolist() == [0.5, -0.5, 7.0]


@DOORS
@pytest.mark.parametrize(
    "out, std, unit, sentence",
    [
        (np.zeros(3), -1.0, 0.5, "the standard deviation of the noise must be at least 0 and finite, got -1.0"),
        (np.zeros(3), math.nan, 0.5, "the standard deviation of the noise must be at least 0 and finite, got nan"),
        (np.zeros(3), 1.0, 0.3, "the unit of the grid must be a power of two between .* got 0.3"),
        (np.zeros(3), 1.0, math.inf, "the unit of the grid must be a power of two between .* got inf"),
        (np.zeros(3), 1.0, math.nan, "the unit of the grid must be a power of two between .* got nan"),
        (np.zeros(3), 1.0, -0.5, "the unit of the grid must be a power of two between .* got -0.5"),
        (np.zeros(3), 1.0, 2.0**-41, "noise of standard deviation 1.0 does not fit a grid of unit 4.5"),
        (np.zeros(3), 1e-310, 2.0**100, "noise of standard deviation 1e-310 does not fit a grid of unit 1.2"),
        (np.zeros(3, np.float32), 1.0, 0.5, "rounded noise can only be added to a float64 array, got float32"),
        (np.zeros(3, np.int64), 1.0, 0.5, "rounded noise can only be added to a float64 array, got int64"),
        (np.array([0.0, math.nan]), 1.0, 0.5, "noise cannot be added to a sum that contains NaN"),
        (np.array([0.0, math.nan]), 0.0, 0.5, "noise cannot be added to a sum that contains NaN"),
    ],
)
def test_bad_calls_get_a_sentence(door, out, std, unit, sentence):
    with pytest.raises(ValueError, match=sentence):
        door_of(door).add_normal(out, std, np.random.default_rng(0), unit=unit)
