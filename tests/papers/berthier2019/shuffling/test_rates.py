"""The convergence rate of SGD with and without replacement, by enumeration, and the divergence of a whole pass."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, stats

from nfa.papers.berthier2019.shuffling.rates import squared_distance
from nfa.rules.shuffled_sgd import mechanism

A, X = (1, 2, 3), (-1, 0, 2)


def by_enumeration(a, x, gamma, passes, replacement, sigma, theta0):
    """Mean squared distance to the minimum over all sequences of records, in fractions.

    The noise increases this mean by sigma^2 times the sum of the squared weights of the noise values.
    """
    n, goal = len(a), Fraction(sum(p * q for p, q in zip(a, x, strict=True)), sum(a))
    one = itertools.product(range(n), repeat=n) if replacement else itertools.permutations(range(n))
    ways = list(itertools.product(list(one), repeat=passes))
    total = Fraction(0)
    for way in ways:
        off, noise = Fraction(theta0) - goal, Fraction(0)
        for i in itertools.chain(*way):
            off -= gamma * a[i] * (off + goal - x[i])
            noise = (1 - gamma * a[i]) ** 2 * noise + gamma**2 * sigma**2
        total += off**2 + noise
    return total / len(ways)


@pytest.mark.verifies("berthier2019:rates", "berthier2019:sec4.6.3-sense")
@pytest.mark.parametrize("replacement", [True, False])
def test_the_moments_are_those_of_all_sequences(replacement):
    given = {"passes": 2, "replacement": replacement}
    want = by_enumeration(A, X, Fraction(1, 8), sigma=Fraction(3, 4), theta0=3, **given)
    got = squared_distance(A, X, gamma=1 / 8, sigma=0.75, theta0=3, **given)
    assert got == pytest.approx(float(want), rel=1e-12)


def distance(a, T, replacement):
    return squared_distance(a, X, gamma=math.log(T) / T, passes=T // 3, replacement=replacement)


@pytest.mark.verifies("berthier2019:rates")
def test_the_orders_of_convergence():
    """The squared distance falls like log(T) / T with replacement, and like (log(T) / T)^2 without replacement.

    The learning rate is log(T) / T. If all curvatures are equal, the squared distance without replacement falls like
    1 / T^3 up to logarithms.
    """
    assert distance(A, 300, True) == pytest.approx(2.98e-2, rel=2e-3)
    assert distance(A, 300, False) == pytest.approx(1.19e-4, rel=5e-3)
    early, late = 19_200, 76_800
    for a, replacement, last, order in (
        (A, True, 2.24e-4, 0.905),
        (A, False, 4.26e-9, 1.819),
        ((2, 2, 2), False, 1.956e-11, 2.716),
    ):
        end = distance(a, late, replacement)
        assert end == pytest.approx(last, rel=5e-3)
        assert math.log(distance(a, early, replacement) / end) / math.log(4) == pytest.approx(order, abs=6e-4)
    of_logs = math.log((math.log(early) / early) / (math.log(late) / late)) / math.log(4)
    assert of_logs == pytest.approx(0.905, abs=6e-3)


@pytest.mark.verifies("berthier2019:sec4.6.3-sense")
@pytest.mark.parametrize(
    "sigma, both", [(0, (0.0170959, 0.0000467)), (1, (0.0427369, 0.0256878)), (10, (2.5811979, 2.5641488))]
)
def test_the_difference_does_not_depend_on_the_noise(sigma, both):
    how = {"gamma": 0.05, "passes": 50, "sigma": sigma, "theta0": 3.0}
    got = [squared_distance([1, 1, 1], [-1, 0, 1], replacement=r, **how) for r in (True, False)]
    assert got == pytest.approx(both, abs=6e-8)
    assert got[0] - got[1] == pytest.approx(0.0170491, abs=1e-7)


@pytest.mark.verifies("berthier2019:alg1")
def test_a_whole_pass_costs_one_release_whatever_the_loss():
    """A whole pass has at most the divergence of one release, for any loss.

    The example has two records, and we publish both iterates. One record has the gradient sin(5 theta), and its
    replacement has -sin(5 theta). The law of the iterates is a mixture over the two orders of the records. At
    sigma = 2 L, the divergence D_2 of the two mixtures is at most alpha / 2 = 1.
    """
    sigma = 2.0

    def derivatives(record, theta):
        return {0: np.sin(5 * theta), 1: np.cos(3 * theta) > 0, 2: -np.sin(5 * theta)}[record] * 1.0

    def density(pair, one, two):
        total = 0.0
        for first, second in (pair, pair[::-1]):
            total = total + 0.5 * stats.norm.pdf(one, 1 - derivatives(first, 1.0), sigma) * stats.norm.pdf(
                two, one - derivatives(second, one), sigma
            )
        return total

    u = np.linspace(-24, 24, 700)
    one, two = np.meshgrid(u, u, indexing="ij")
    p, q = density((0, 1), one, two), density((2, 1), one, two)
    assert integrate.trapezoid(integrate.trapezoid(p, u), u) == pytest.approx(1, abs=1e-9)
    D2 = math.log(integrate.trapezoid(integrate.trapezoid(p**2 / q, u), u))
    step = mechanism(L=1.0, sigma=sigma, adjacency="replace-one", sampling="epoch-partition", sampling_rate=0.5)
    bound = 2 * step.sensitivity**2 / (2 * step.noise_std**2)
    assert 0 < D2 < bound == 1


@pytest.mark.parametrize(
    "change, says",
    [
        ({"a": [1, -1]}, "a must be positive"),
        ({"x": [1]}, "one length"),
        ({"a": [1] * 8, "x": [0] * 8}, "at most 7 records"),
        ({"gamma": 0}, "gamma must be"),
        ({"passes": 0}, "passes"),
        ({"sigma": -1}, "sigma"),
    ],
)
def test_numbers_out_of_range_are_refused(change, says):
    given = {"a": [1, 1], "x": [0, 1], "gamma": 0.1, "passes": 1, "replacement": False} | change
    with pytest.raises(ValueError, match=says):
        squared_distance(**given)
