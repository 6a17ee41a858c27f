"""Noise on a grid: its unit, its law against exact probabilities, its tails, and attacks that floating noise loses."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from nfa import rounded
from nfa.cipher import chacha20

KEY = np.array([7, 2**32 - 1, 0, 12345, 2**31, 99, 3, 2**16], np.uint32)
SCALES = [0.3, 5.0, 1.3 * 2.0**24, 2.0**36]


@pytest.mark.parametrize("sensitivity", [1e-200, 0.37, 1.0, 5e10])
@pytest.mark.parametrize("multiplier", [1e-6, 1.0, 333.3, 1e9])
@pytest.mark.parametrize("d", [1, 3, 10**6, 10**10])
def test_the_unit_is_the_largest_that_costs_little(sensitivity, multiplier, d):
    """In exact arithmetic: fine enough for the sensitivity, or else as fine as 53 bits leave room for."""
    std = sensitivity * multiplier
    g = Fraction(rounded.unit(sensitivity, std, d))
    assert math.frexp(float(g))[0] == 0.5
    fine = g**2 * d <= Fraction(sensitivity) ** 2 / 2**28
    assert Fraction(std) / g <= 2**36
    assert fine or Fraction(std) / g > 2**35
    assert (2 * g) ** 2 * d > Fraction(sensitivity) ** 2 / 2**28
    assert fine or multiplier * math.sqrt(d) > 2**21


@pytest.mark.parametrize("scale", SCALES)
def test_every_integer_is_that_of_interval_arithmetic(scale):
    """Places among a group's and a bit, and all that float64 leaves uncertain."""
    n = 2 * rounded.PAIRS + 700
    got = rounded.add_keyed(np.zeros(n), scale, KEY, 3, unit=1.0)
    words = chacha20(KEY, 3 * 256, 512)
    _, certain = rounded.quick(words, scale)
    assert 0 < certain.mean() <= 1
    for i in range(0, n, 7):
        group, place = divmod(i, 2 * rounded.PAIRS)
        sine, pair = divmod(place, rounded.PAIRS)
        u, v, bits = rounded.bits_of_pair(chacha20, KEY, (3 + group) * rounded.PAIRS + pair, 0)
        low, high = rounded.normal_bounds(scale, u, v - sine * 2**62, bits)
        assert low == high == got[i]


@pytest.mark.parametrize("sine", [False, True])
def test_an_interval_holds_the_normal(sine):
    """For uniform numbers near 0, near 1 and between, at the ends of what the bits leave open, in 60 digits.

    It is hardly wider than what those bits move.
    """
    rng = np.random.default_rng(0)
    function = mpmath.sin if sine else mpmath.cos
    with mpmath.workdps(60):
        for trial in range(300):
            u, v = (int(w) for w in rng.integers(2**64, size=2, dtype=np.uint64))
            u >>= int(rng.integers(60)) if trial % 3 else 0
            u = 2**64 - 1 - u if trial % 3 == 2 else max(u, 1)
            scale = 2.0 ** rng.uniform(-3, 40)
            low, high = rounded.normal_bounds(scale, u, v - sine * 2**62, 64)
            radii = [scale * mpmath.sqrt(-2 * mpmath.log(mpmath.mpf(a) / 2**64)) for a in (u, u + 1)]
            for r in radii:
                for b in (v, v + 1):
                    assert low <= mpmath.floor(r * function(2 * mpmath.pi * b / 2**64) + mpmath.mpf(0.5)) <= high
            assert high - low <= 2 + radii[0] - radii[1] + 15 * radii[0] / 2**64
