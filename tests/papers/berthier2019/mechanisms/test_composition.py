"""Composition of (epsilon, delta), compared with sums over all outcomes, exact fractions, and dp-accounting."""

import itertools
import math
import re
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from nfa.papers.berthier2019.mechanisms import composition
from nfa.privacy.divergences import hockey_stick

INF = math.inf
VECTORS = [  # epsilon, k, delta', the epsilon of Theorem 2.1, the best possible epsilon
    (0.1, 30, 1e-5, 2.9437736391054, 2.11015442224),
    (0.1, 100, 1e-5, 5.8502350929446, 4.30679137252),
    (0.01, 1000, 1e-6, 1.7627598071108, 1.36544670999),
]


def enumerated(total, epsilons, deltas):
    """The hockey-stick divergence of the product of extreme mechanisms, with all 4^k outcomes enumerated.

    Each release reveals its data set with probability delta, and otherwise gives the right or the wrong bit.
    """
    e = math.exp(total)
    found = 0.0
    laws = []
    for eps, delta in zip(epsilons, deltas, strict=True):
        right = math.exp(eps) / (1 + math.exp(eps))
        laws.append(
            [(delta, 0.0), (0.0, delta), ((1 - delta) * right, (1 - delta) * (1 - right))]
            + [((1 - delta) * (1 - right), (1 - delta) * right)]
        )
    for outcome in itertools.product(*laws):
        p = math.prod(one for one, _ in outcome)
        q = math.prod(other for _, other in outcome)
        found += max(p - e * q, 0)
    return found


@pytest.mark.verifies("berthier2019:thm2.1")
@pytest.mark.parametrize(
    "eps, k, slack, advanced, best",
    [pytest.param(*vector, marks=[pytest.mark.slow] * (vector[1] > 500)) for vector in VECTORS],
)
def test_vectors_of_advanced_and_best_composition(eps, k, slack, advanced, best):
    found, delta = composition.advanced_composition(epsilon=eps, k=k, delta_slack=slack)
    assert (found, delta) == (pytest.approx(advanced, rel=1e-12), slack)
    optimal = composition.optimal_epsilon(slack, epsilon=eps, k=k)
    assert optimal == pytest.approx(best, abs=1e-10)
    with mp.workdps(60):  # the binomial sum at 60 digits, just above and just below the returned epsilon
        right = mp.exp(mp.mpf(eps)) / (1 + mp.exp(mp.mpf(eps)))

        def delta_at(total):
            terms = []
            for j in range(k + 1):
                p, q = right**j * (1 - right) ** (k - j), (1 - right) ** j * right ** (k - j)
                terms.append(mp.binomial(k, j) * max(0, p - mp.exp(total) * q))
            return mp.fsum(terms)

        assert delta_at(mp.mpf(optimal) + mp.mpf(10) ** -11) < slack < delta_at(mp.mpf(optimal) - mp.mpf(10) ** -11)


@pytest.mark.verifies("berthier2019:thm2.1")
def test_theorem_2_1_is_never_below_the_best_possible():
    """The epsilon of Theorem 2.1 is at least the best possible epsilon.

    At the theorem's epsilon', the exact delta is at most k delta + delta'. We test a grid of epsilon, delta, k and
    delta'.
    """
    tightest = 0.0
    for eps, delta, k, slack in itertools.product(
        (0.01, 0.1, 0.5, 1.0, 3.0), (0.0, 1e-6, 0.01), (1, 2, 10, 100, 1000), (1e-12, 1e-5, 0.1, 0.9)
    ):
        total, at = composition.advanced_composition(epsilon=eps, delta=delta, k=k, delta_slack=slack)
        if total < k * eps and at < 1:  # at k epsilon and above, the exact delta does not depend on epsilon
            exact = composition.optimal_delta(total, epsilon=eps, delta=delta, k=k)
            assert exact <= at
            tightest = max(tightest, exact / at)
    assert 0.5 < tightest < 1


@pytest.mark.verifies("berthier2019:thm2.1")
@pytest.mark.parametrize(
    "eps, slack, k", [(0.1, 1e-5, 28.756), (0.5, 1e-5, 186.60), (0.65, 1e-5, 3227.9), (math.log(2), 1e-5, INF)]
)
def test_from_how_many_releases_on_theorem_2_1_pays(eps, slack, k):
    assert composition.advanced_pays_from(epsilon=eps, delta_slack=slack) == pytest.approx(k, rel=2e-5)
    for n in (1, 10, 28, 29, 186, 187, 3227, 3229, 10**6):
        total, _ = composition.advanced_composition(epsilon=eps, k=n, delta_slack=slack)
        assert (total < n * eps) == (n > k)
    assert composition.advanced_composition(epsilon=1, k=10, delta_slack=slack)[0] == pytest.approx(32.35709, abs=1e-4)


@pytest.mark.verifies("berthier2019:thm2.1")
def test_without_a_slack_the_theorem_says_nothing():
    """If delta' is 0, the theorem gives no bound.

    Its epsilon' grows to infinity as delta' falls to 0, so the function refuses a delta' of 0.
    """
    totals = [composition.advanced_composition(epsilon=0.1, k=5, delta_slack=10.0**-n)[0] for n in (1, 10, 100, 300)]
    assert totals == sorted(totals)
    assert totals[-1] > 8
    with pytest.raises(ValueError, match=re.escape("delta_slack must be in (0, 1), got 0")):
        composition.advanced_composition(epsilon=0.1, k=5, delta_slack=0)


@pytest.mark.verifies("berthier2019:thm2.1", "berthier2019:rr")
def test_best_composition_is_the_divergence_of_all_outcomes_enumerated():
    assert composition.optimal_delta(0.9, epsilon=0.3, k=8) == pytest.approx(0.0981355886076344, rel=1e-13)
    assert enumerated(0.9, [0.3] * 8, [0.0] * 8) == pytest.approx(0.0981355886076344, rel=1e-12)
    for eps, delta, k, total in ((0.3, 0.05, 4, 0.5), (1.5, 0.0, 5, 2.0), (0.7, 0.2, 3, 0.0), (0.0, 0.1, 3, 0.4)):
        exact = enumerated(total, [eps] * k, [delta] * k)
        assert composition.optimal_delta(total, epsilon=eps, delta=delta, k=k) == pytest.approx(exact, abs=1e-14)
        ours = composition.optimal_delta_of(total, epsilons=[eps] * k, deltas=[delta] * k)
        assert ours == pytest.approx(exact, abs=1e-14)
    epsilons, deltas = [0.2, 0.9, 0.5, 1.7], [0.0, 0.01, 0.3, 0.0]
    for total in (0.0, 0.6, 1.3, 3.0, 4.0):
        ours = composition.optimal_delta_of(total, epsilons=epsilons, deltas=deltas)
        assert ours == pytest.approx(enumerated(total, epsilons, deltas), abs=1e-14)
    long = composition.optimal_delta_of(1.1, epsilons=[0.25] * 14)
    assert long == pytest.approx(composition.optimal_delta(1.1, epsilon=0.25, k=14), rel=1e-12)
    longest = composition.optimal_delta_of(1.1, epsilons=[0.25] * composition.MOST_PATTERNS)
    assert longest == pytest.approx(composition.optimal_delta(1.1, epsilon=0.25, k=20), rel=1e-11)
    two = Fraction(9, 16) - Fraction(1, 16)  # two answers with epsilon log 3 each, at epsilon' = 0
    assert composition.optimal_delta(0, epsilon=math.log(3), k=2) == pytest.approx(float(two), rel=1e-14)


@pytest.mark.verifies("berthier2019:thm2.1", "berthier2019:postproc")
def test_no_adaptive_pair_of_private_releases_exceeds_the_best_composition_or_the_sum():
    """An adaptive pair of private releases has at most the delta of the best composition.

    At the sum of the two epsilons, delta is 0. We draw random mechanisms on two data sets and scale each to its
    epsilon. The second mechanism depends on the output of the first.
    """
    rng = np.random.default_rng(41)

    def private(eps):
        """Two laws on three outcomes. Their log ratios are between -epsilon and epsilon."""
        q = rng.dirichlet(np.ones(3))
        p = q * np.exp(eps * rng.uniform(-1, 1, 3) / 2)
        # p / q and the sum of p are between e^(-eps/2) and e^(eps/2), so the ratio of the laws is within e^(+-eps)
        return p / p.sum(), q

    for _ in range(200):
        first, second = rng.uniform(0.05, 1.5, 2)
        p, q = private(first)
        after = [private(second) for _ in range(3)]
        joint_p = np.concatenate([a * law for a, (law, _) in zip(p, after, strict=True)])
        joint_q = np.concatenate([b * law for b, (_, law) in zip(q, after, strict=True)])
        assert (
            hockey_stick(joint_p, joint_q, epsilon=composition.basic_composition([(first, 0), (second, 0)])[0]) < 1e-15
        )
        for total in (0.0, 0.3, 1.0):
            best = composition.optimal_delta_of(total, epsilons=[first, second])
            assert hockey_stick(joint_p, joint_q, epsilon=total) <= best + 1e-15
    assert composition.basic_composition([(0.5, 1e-6), (0.25, 0.7), (1, 0.6)]) == (1.75, 1.0)


def test_one_release_is_composed_with_nothing():
    one = composition.optimal_delta_of(0.3, epsilons=[1.0], deltas=[0.01])
    assert one == pytest.approx(composition.optimal_delta(0.3, epsilon=1.0, delta=0.01, k=1), rel=1e-13)
    right = math.e / (1 + math.e)
    assert one == pytest.approx(1 - 0.99 * (1 - right * (1 - math.exp(0.3 - 1))), rel=1e-13)


def test_the_best_epsilon_of_two_large_ones():
    """The best epsilon of two releases with epsilon 10 each and delta 1e-6 in total is just below 20.

    We solve for this epsilon at 40 digits.
    """
    with mp.workdps(40):
        right = mp.e**10 / (1 + mp.e**10)
        # for a total epsilon between 0 and 20, delta is right^2 (1 - e^(total - 20))
        best = mp.log((1 - mp.mpf("1e-6") / right**2) * mp.e**20)
    found = composition.optimal_epsilon(1e-6, epsilon=10.0, k=2)
    assert found == pytest.approx(float(best), rel=1e-12)


@pytest.mark.slow
@pytest.mark.verifies("berthier2019:thm2.1", "berthier2019:rr")
@pytest.mark.parametrize("eps, k, slack", [(eps, k, slack) for eps, k, slack, _, _ in VECTORS])
def test_best_composition_is_between_the_roundings_of_dp_accountings_privacy_losses(eps, k, slack):
    from dp_accounting.pld import privacy_loss_distribution as pld

    noise = 2 / (1 + math.exp(eps))  # with two buckets, the probability of a uniformly random answer
    ours = composition.optimal_epsilon(slack, epsilon=eps, k=k)
    total = 0.7 * ours
    exact = composition.optimal_delta(total, epsilon=eps, k=k)
    found = []
    for pessimistic in (False, True):  # dp-accounting rounds privacy losses down or up to a grid
        one = pld.from_randomized_response(
            noise, 2, pessimistic_estimate=pessimistic, value_discretization_interval=eps / 1000.5
        )
        composed = one.self_compose(k)
        found.append((composed.get_epsilon_for_delta(slack), composed.get_delta_for_epsilon(total)))
    (low, least), (high, most) = found
    assert low < ours < high < low + 2 * k * eps / 1000
    assert least < exact < most < 1.2 * least


def test_edges():
    assert composition.optimal_epsilon(1e-3, epsilon=0.5, delta=1e-3, k=2) == INF  # the deltas alone exceed the target
    assert composition.optimal_epsilon(0.9, epsilon=0.01, k=3) == 0.0
    assert composition.optimal_epsilon(1e-300, epsilon=0.01, k=3) == pytest.approx(0.03, rel=1e-12)
    assert composition.optimal_delta(0, epsilon=0.0, delta=1.0, k=4) == 1.0
    assert composition.optimal_delta(0, epsilon=800.0, k=4) == 1.0
    assert composition.advanced_composition(epsilon=1000.0, k=4, delta_slack=0.1)[0] == INF
    assert composition.advanced_composition(epsilon=0.1, delta=0.3, k=4, delta_slack=0.1)[1] == 1.0


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: composition.basic_composition([]), "there is no guarantee to compose"),
        (lambda: composition.basic_composition([(1, 2)]), "delta must be in [0, 1], got 2"),
        (lambda: composition.advanced_composition(epsilon=-1, k=1, delta_slack=0.1), "epsilon must be at least 0"),
        (lambda: composition.advanced_composition(epsilon=1, k=0, delta_slack=0.1), "steps must be an integer"),
        (lambda: composition.advanced_pays_from(epsilon=1, delta_slack=1), "delta_slack must be in (0, 1), got 1"),
        (lambda: composition.optimal_delta(-1, epsilon=1, k=1), "total_epsilon must be at least 0 and finite"),
        (lambda: composition.optimal_epsilon(1, epsilon=1, k=1), "total_delta must be in (0, 1), got 1"),
        (lambda: composition.optimal_delta_of(1, epsilons=[]), "epsilons must contain 1 to 20 numbers"),
        (lambda: composition.optimal_delta_of(1, epsilons=[0.1] * 21), "epsilons must contain 1 to 20 numbers"),
        (lambda: composition.optimal_delta_of(1, epsilons=[1, math.nan]), "epsilon must be at least 0 and finite"),
    ],
)
def test_bad_input_is_one_sentence(call, words):
    with pytest.raises(ValueError, match=re.escape(words)) as error:
        call()
    assert "\n" not in str(error.value)
