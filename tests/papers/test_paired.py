"""Differences in accuracy between two kinds of runs, paired by seed, and the 95 % intervals of these differences."""

import math
import statistics

import pytest
from scipy import integrate

from nfa.experiments.experiment import Cell
from nfa.papers.paired import Difference, by_seed, half_width, intervals, paired


def student_density(t, degrees):
    """Density of Student's t distribution, from its definition with the gamma function."""
    scale = math.gamma((degrees + 1) / 2) / (math.sqrt(degrees * math.pi) * math.gamma(degrees / 2))
    return scale * (1 + t * t / degrees) ** (-(degrees + 1) / 2)


@pytest.mark.parametrize("values", [[1.0, 4.0], [1.0, 2.0, 3.0], [0.5, -1.5, 2.5, 0.25, 3.0]])
def test_the_interval_holds_95_of_a_hundred_of_students_law(values):
    """The interval contains 95 % of Student's t distribution.

    We integrate the density between the ends of the interval, in units of the standard error.
    """
    end = half_width(values) / (statistics.stdev(values) / math.sqrt(len(values)))
    inside, _ = integrate.quad(student_density, -end, end, args=(len(values) - 1,))
    assert inside == pytest.approx(0.95, abs=1e-9)


def test_each_seed_is_held_against_itself():
    """We subtract the two values of each seed, so the interval of the mean difference is small.

    From seed to seed, each value varies by tens of points, but the difference varies only by 0.02 points.
    """
    ours, other = {1: 50.0, 2: 70.0, 3: 90.0}, {3: 88.01, 1: 48.0, 2: 67.99, 4: 0.0}
    found = paired(ours, other)
    assert (found.mean, found.n) == (pytest.approx(2.0), 3)
    assert found.half == pytest.approx(4.30265 * 0.01 / math.sqrt(3), abs=1e-6)
    assert paired(other, ours).mean == pytest.approx(-2.0)


def test_one_seed_has_no_interval_and_none_in_common_no_difference():
    assert paired({1: 3.0, 2: 5.0}, {2: 1.0}) == Difference(4.0, None, 1)
    assert paired({1: 3.0}, {2: 1.0}) is None
    assert paired({}, {2: 1.0}) is None


def test_an_interval_is_rounded_once():
    """An interval is rounded only once.

    For the differences 0.84, 0.78 and 0.74, half the interval is 0.12503, which rounds to 0.13.
    """
    found = paired({1: 86.11, 2: 86.38, 3: 86.72}, {1: 85.27, 2: 85.60, 3: 85.98})
    assert 4.302653 * statistics.stdev([0.84, 0.78, 0.74]) / math.sqrt(3) > 0.12503
    assert str(found) == "+0.79 ± 0.13"


@pytest.mark.parametrize(
    "difference, above_2, below_2",
    [
        (Difference(3.0, 0.5, 3), True, False),
        (Difference(3.0, 1.5, 3), False, False),
        (Difference(1.0, 0.5, 3), False, True),
        (Difference(1.0, 1.5, 3), False, False),
        (Difference(3.0), True, False),
        (Difference(1.0), False, True),
    ],
)
def test_above_and_below_take_the_whole_interval(difference, above_2, below_2):
    assert (difference.above(2), difference.below(2)) == (above_2, below_2)


@pytest.mark.parametrize(
    "difference, words, short",
    [
        (Difference(-4.126, 0.314, 3), "-4.13 ± 0.31", "\N{MINUS SIGN}4.1 ± 0.3"),
        (Difference(4.0), "+4.00", "+4.0"),
        (Difference(-0.04), "-0.04", "+0.0"),
    ],
)
def test_words(difference, words, short):
    assert str(difference) == words
    assert difference.short.replace("\N{NO-BREAK SPACE}", " ") == short
    assert " " not in difference.short  # so that no line breaks within a difference


def test_what_stands_behind_the_numbers_is_said():
    several, one = Difference(1.0, 0.5, 3), Difference(2.0)
    assert intervals([several]).endswith("over 3 seeds.")
    assert "over 2 or 3 seeds. A number without ± comes from one seed" in intervals(
        [several, one, Difference(0.0, 1.0, 2)]
    )
    assert intervals([one]) == "Each of these numbers comes from one seed, so no interval can be given."


def test_accuracies_by_key_and_seed():
    runs = [
        (Cell("a", None, {"rule": "BP", "sigma": "0"}), {"seed": 1, "test_accuracy": 0.5}),
        (Cell("b", None, {"rule": "BP", "sigma": "0"}), {"seed": 3, "test_accuracy": 0.75}),
        (Cell("c", None, {"rule": "DFA", "sigma": "0"}), {"seed": 1, "test_accuracy": 0.25}),
    ]
    assert by_seed(runs, ("rule", "data")) == {("BP", ""): {1: 50.0, 3: 75.0}, ("DFA", ""): {1: 25.0}}
