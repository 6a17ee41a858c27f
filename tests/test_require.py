"""Tests of the range checks: the values that each check accepts and refuses, and the message of the check."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest

from nfa import require

TINY, HUGE, BELOW, ABOVE = math.ulp(0.0), 1.7e308, math.nextafter(1, 0), math.nextafter(1, 2)
LINE = [-math.inf, -HUGE, -1, -TINY, -0.0, 0, TINY, 0.5, BELOW, 1, ABOVE, 2, HUGE, math.inf, math.nan]

# check -> the values of LINE that it accepts, and the range that its message names
RANGES = {
    "positive": (require.positive, [TINY, 0.5, BELOW, 1, ABOVE, 2, HUGE], "positive and finite"),
    "positive_or_infinite": (require.positive_or_infinite, [TINY, 0.5, BELOW, 1, ABOVE, 2, HUGE, math.inf], "positive"),
    "not_negative": (
        require.not_negative, [-0.0, 0, TINY, 0.5, BELOW, 1, ABOVE, 2, HUGE], "at least 0 and finite",
    ),
    "at_least 0": (
        lambda **x: require.at_least(0, **x), [-0.0, 0, TINY, 0.5, BELOW, 1, ABOVE, 2, HUGE, math.inf], "at least 0",
    ),
    "at_least 1": (lambda **x: require.at_least(1, **x), [1, ABOVE, 2, HUGE, math.inf], "at least 1"),
    "(0, 1)": (lambda **x: require.within("(0, 1)", **x), [TINY, 0.5, BELOW], "in (0, 1)"),
    "(0, 1]": (lambda **x: require.within("(0, 1]", **x), [TINY, 0.5, BELOW, 1], "in (0, 1]"),
    "[0, 1)": (lambda **x: require.within("[0, 1)", **x), [-0.0, 0, TINY, 0.5, BELOW], "in [0, 1)"),
    "[0, 1]": (lambda **x: require.within("[0, 1]", **x), [-0.0, 0, TINY, 0.5, BELOW, 1], "in [0, 1]"),
    "integer 0": (lambda **x: require.integer(0, **x), [-0.0, 0, 1, 2, HUGE], "an integer and at least 0"),
    "integer 1": (lambda **x: require.integer(1, **x), [1, 2, HUGE], "an integer and at least 1"),
    "whole 0": (lambda **x: require.whole(0, **x), [0, 1, 2], "a whole number >= 0"),
    "whole 1": (lambda **x: require.whole(1, **x), [1, 2], "a whole number >= 1"),
}  # fmt: skip


def said(check, x):
    """The message of the check for x, or an empty text if the check accepts x."""
    try:
        check(x=x)
    except ValueError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("name", RANGES)
def test_a_check_takes_its_range_alone(name):
    """A check accepts only its range. We test values on the two sides of every limit, both zeros, infinities and NaN.

    We also test values of NumPy's types.
    """
    check, takes, sentence = RANGES[name]
    exact = [(x, type(x)) for x in takes]  # 0 and -0.0 are equal, and only 0 is a whole number
    for x in LINE:
        expected = "" if (x, type(x)) in exact else f"x must be {sentence}, got {x}"
        assert said(check, x) == expected
        if isinstance(x, float) and not name.startswith("whole"):  # `whole` takes no float, and names its type
            assert said(check, np.float64(x)) == expected


def test_other_kinds_of_numbers():
    """Exact fractions and integers beyond the floats are numbers. True and False are no counts."""
    require.positive(q=Fraction(1, 3), n=10**400)
    require.within("(0, 1)", q=Fraction(1, 3))
    require.integer(1, n=10**400, steps=np.float64(3), m=np.int32(2))
    require.whole(1, n=10**400, m=np.int32(2))
    for bad in (True, False):
        with pytest.raises(ValueError, match=f"steps must be an integer and at least 1, got {bad}"):
            require.integer(1, steps=bad)
    for bad in (2.0, np.float64(2), "2", None):
        with pytest.raises(ValueError, match=re.escape(f"n must be a whole number >= 1, got {bad!r}")):
            require.whole(1, n=bad)


def test_the_first_that_is_out_of_range_is_named():
    with pytest.raises(ValueError, match=r"^b must be positive and finite, got 0$"):
        require.positive(a=1, b=0, c=-1)
    with pytest.raises(ValueError, match=r"^the learning rate gamma must be positive and finite, got nan$"):
        require.positive(**{"the learning rate gamma": math.nan})
    with pytest.raises(ValueError, match=r"^least must be at least 2, got 1$"):
        require.at_least(2, least=1)


def test_choices():
    """None is accepted as a choice if it is listed. The choices may be the keys of a dictionary."""
    require.one_of({"mean": 1, "sum": 2}, how="sum", then="mean")
    with pytest.raises(ValueError, match=r"^top must be one of error, derivative, got None$"):
        require.one_of(("error", "derivative"), top=None)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_arrays_of_finite_numbers(bad):
    require.finite(number=3, none=[], whole=np.arange(6).reshape(2, 3), small=np.full(2, 1e-300), half=np.float16(2))
    with pytest.raises(ValueError, match=r"^v holds NaN or infinity$"):
        require.finite(u=np.zeros(2), v=np.array([[0.0, 1.0], [bad, 0.0]], np.float32))


@pytest.mark.parametrize("m", [0, -2, -math.inf, math.nan])
def test_what_a_rule_divides_by(m):
    require.normaliser(0.5, rule="bp")
    with pytest.raises(ValueError, match=f"^the normaliser m of dp_dfa must be positive, got m={m}$"):
        require.normaliser(m, rule="dp_dfa")
    with pytest.raises(
        ValueError, match=f"^the normaliser m of bp must be positive, got m={m}. Give m if a batch can be"
    ):
        require.normaliser(m, rule="bp", optional=True)


@pytest.mark.parametrize(("in_x", "in_y"), [(0, 0), (1, 2), (3, 0)])
def test_pairs_are_as_many_in_x_as_in_y(in_x, in_y):
    require.pairs(np.zeros((2, 3)), np.zeros(2))
    sentence = f"x and y must have the same number of examples, at least 1, got {in_x} and {in_y}"
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        require.pairs(np.zeros((in_x, 3)), np.zeros(in_y))
