"""Laplace and Gaussian noise, randomised response and sensitivities.

We compare them with quadratures, enumerations and simulations.
"""

import itertools
import math
import re
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from scipy import optimize, stats

from nfa.mechanism import NoGuarantee
from nfa.papers.berthier2019.mechanisms import classic
from nfa.papers.berthier2019.mechanisms import randomised_response as rr
from nfa.papers.berthier2019.mechanisms.gaussian_delta import log_delta_gaussian
from nfa.papers.berthier2019.mechanisms.neighbours import (
    histogram_distance,
    histograms,
    neighbours,
    release_one,
    sensitivity,
)
from nfa.privacy import rdp
from nfa.privacy.accountant import epsilon as spend
from nfa.privacy.divergences import hockey_stick, hockey_stick_density, renyi, total_variation
from nfa.privacy.gaussians import hockey_stick_gaussian
from nfa.privacy.theorems import choose, one_step
from tests.oracles.chance import follows, is_uncorrelated

INF = math.inf


# --- histograms and neighbours


@pytest.mark.verifies("berthier2019:def-hist")
def test_histogram_distance_and_neighbours_by_enumeration():
    """`histogram_distance` and `neighbours` agree with an enumeration of data sets.

    We enumerate all data sets of up to four records with three values, and all pairs of these data sets.
    """
    known = [x for n in range(5) for x in histograms(3, n)]
    assert len({tuple(x) for x in known}) == len(known) == sum(math.comb(n + 2, 2) for n in range(5))
    for x in known:
        records = [value for value, count in enumerate(x) for _ in range(count)]
        removed = [records[:i] + records[i + 1 :] for i in range(len(records))]
        added = [[*records, value] for value in range(3)]
        replaced = [[*rest, value] for rest in removed for value in range(3)]
        for adjacency, others in (("add-remove", removed + added), ("replace-one", replaced)):
            expected = {tuple(np.bincount(other, minlength=3)) for other in others} - {tuple(x)}
            found = [tuple(y) for y in neighbours(x, adjacency=adjacency)]
            assert set(found) == expected
            assert len(found) == len(expected)
            steps = 1 if adjacency == "add-remove" else 2
            assert all(histogram_distance(x, y) == steps for y in found)
    for x, y in itertools.product(known, repeat=2):  # the distance counts additions and removals
        assert (histogram_distance(x, y) == 1) == any((z == y).all() for z in neighbours(x, adjacency="add-remove"))


@pytest.mark.verifies("berthier2019:def-hist")
def test_a_clipped_sum_moves_twice_as_far_if_a_record_is_replaced():
    """Replacing a record can change a clipped sum by twice as much as removing a record.

    With the values -1, 0, 1 and L = 1, the sensitivity is 2 if we replace a record, and 1 if we remove a record. So
    the Renyi divergences differ by the factor 4.
    """
    values = np.array([-1.0, 0.0, 1.0])
    found = {}
    for adjacency in ("add-remove", "replace-one"):
        datasets = [x for n in (3, 4, 5) for x in histograms(3, n)]
        found[adjacency], (x, y) = sensitivity(lambda x: values @ x, datasets, adjacency=adjacency)
        assert abs(values @ x - values @ y) == found[adjacency]
    assert found == {"add-remove": 1.0, "replace-one": 2.0}
    one, two = (rdp.gaussian(np.array([2.0]), noise_multiplier=4 / S)[0] for S in found.values())
    assert two / one == pytest.approx(4, rel=1e-15)


@pytest.mark.verifies("berthier2019:sens")
def test_sensitivities_of_mean_sum_max_and_the_histogram_itself():
    values, n = np.array([0.0, 0.25, 1.0]), 4
    same, three = list(histograms(3, n)), [x for m in (n - 1, n) for x in histograms(3, m)]

    def largest(x):
        return values[x > 0].max()

    cases = [
        (lambda x: values @ x / x.sum(), same, "replace-one", 2, 1 / n),
        # the mean changes most if we add a record of 1 to n - 1 records of 0
        (lambda x: values @ x / x.sum(), three, "add-remove", 2, 1 / n),
        (lambda x: values @ x, three, "add-remove", 2, 1.0),
        (largest, same, "replace-one", 2, 1.0),
        (lambda x: x, same, "replace-one", 1, 2.0),
        (lambda x: x, same, "replace-one", 2, math.sqrt(2)),
        (lambda x: x, same, "replace-one", INF, 1.0),
        (lambda x: x, three, "add-remove", 1, 1.0),
    ]
    for f, datasets, adjacency, order, exact in cases:
        S, (x, y) = sensitivity(f, datasets, adjacency=adjacency, order=order)
        assert pytest.approx(exact, rel=1e-14) == S
        moved = np.atleast_1d(np.asarray(f(x), float) - np.asarray(f(y), float))
        assert np.linalg.norm(moved, ord=order) == pytest.approx(S, rel=1e-14)


@pytest.mark.verifies("berthier2019:rem-release-one")
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_releasing_one_record_is_private_up_to_one_over_n(n):
    """Publishing one random record has a delta of at most 1/n, for all data sets of n records with three values.

    We enumerate every neighbour in exact fractions.
    """
    worst = {"replace-one": Fraction(0), "removed": Fraction(0), "added": Fraction(0)}
    for x in histograms(3, n):
        for adjacency in ("replace-one", "add-remove"):
            for y in neighbours(x, adjacency=adjacency):
                if not y.sum():
                    continue
                p, q = ([Fraction(int(c), int(z.sum())) for c in z] for z in (x, y))
                tv = sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2
                assert total_variation(release_one(x), release_one(y)) == pytest.approx(float(tv), abs=1e-15)
                grows = int(y.sum()) - n
                kind = {0: "replace-one", 1: "added", -1: "removed"}[grows]
                worst[kind] = max(worst[kind], tv)
    assert worst["replace-one"] == Fraction(1, n)
    assert worst["added"] == Fraction(1, n + 1)  # the data set with the added record has n + 1 records
    if n > 1:
        assert worst["removed"] == Fraction(1, n)
    event = max(  # the largest difference over all events
        sum(p[list(e)]) - sum(q[list(e)])
        for x in histograms(3, n)
        for y in neighbours(x, adjacency="replace-one")
        for p, q in [(release_one(x), release_one(y))]
        for k in range(4)
        for e in itertools.combinations(range(3), k)
    )
    assert event == pytest.approx(1 / n, abs=1e-15)


# --- Laplace noise


@pytest.mark.verifies("berthier2019:prop2.1")
@pytest.mark.parametrize(
    "eps, b, shift, value",
    [(0.3, 1, 1, 0.295311910281287), (0, 2, 1, 0.221199216928595), (0.5, 0.5, 0.7, 0.362371848378227), (1, 1, 1, 0)],
)
def test_delta_of_laplace_noise(eps, b, shift, value):
    ours = classic.hockey_stick_laplace(epsilon=eps, scale=b / shift)
    assert ours == pytest.approx(value, abs=1e-15)
    with mp.workdps(30):
        edge = (shift + mp.mpf(eps) * b) / 2  # p - e^eps q changes its sign here, between the centres

        def excess(x):
            return (mp.exp(-abs(x - shift) / mp.mpf(b)) - mp.exp(eps - abs(x) / mp.mpf(b))) / (2 * b)

        assert float(mp.quad(excess, [edge, shift, shift + 5 * b, mp.inf])) == pytest.approx(value, abs=1e-15)
    by_quadrature = hockey_stick_density(
        lambda x: -abs(x - shift) / b - math.log(2 * b), lambda x: -abs(x) / b - math.log(2 * b), epsilon=eps
    )
    assert by_quadrature == pytest.approx(value, abs=1e-10)


@pytest.mark.verifies("berthier2019:prop2.1")
def test_the_laplace_mechanism_draws_its_law():
    """The noise of the Laplace mechanism follows the Laplace law.

    We apply a Kolmogorov-Smirnov test to 20,000 samples.
    """
    rng = np.random.default_rng(31)
    noisy = classic.laplace_mechanism(np.full((10_000, 2), 3.0), l1_sensitivity=0.4, epsilon=0.8, rng=rng)
    assert noisy.shape == (10_000, 2)
    follows(noisy, stats.laplace(3.0, 0.5).cdf, sees=0.04)
    assert classic.laplace_mechanism(2, l1_sensitivity=1, epsilon=1, rng=rng).shape == ()
    for values in (noisy[:, 0], noisy[:, 1]):
        is_uncorrelated(values[1:], values[:-1], sees=0.1)


@pytest.mark.verifies("berthier2019:prop2.1")
def test_laplace_noise_in_the_accountant():
    """The accountant's epsilon of 100 Laplace releases with epsilon 0.1 each equals a quadrature of the definition.

    The accountant adds up Renyi divergences. Basic composition gives the larger epsilon 10.
    """
    run = classic.laplace_release(l1_sensitivity=3.0, epsilon=0.1, adjacency="add-remove")
    assert run.noise_std == pytest.approx(30 * math.sqrt(2), rel=1e-15)
    g = spend([(run, 100)], delta=1e-5, conversion="mironov2017")
    assert (g.bound, g.adjacency) == ("berthier2019:prop2.1", "add-remove")
    assert g.epsilon == pytest.approx(5.070829, abs=1e-6)
    a = g.order
    with mp.workdps(30):  # scale 10, centres 0 and 1; the integrand has kinks at the centres

        def integrand(x):
            return mp.exp((-a * abs(x - 1) + (a - 1) * abs(x)) / mp.mpf(10)) / 20

        D = mp.log(mp.quad(integrand, [-mp.inf, -100, 0, 1, 100, mp.inf])) / (a - 1)
        assert g.epsilon == pytest.approx(float(100 * D + mp.log(1e5) / (a - 1)), rel=1e-10)


@pytest.mark.verifies("berthier2019:def2.2", "berthier2019:prop2.7")
def test_renyi_curves_and_their_conversion_in_numbers():
    """The Renyi curve of Laplace noise equals a quadrature.

    For the curve R alpha, the conversion gives the least epsilon at the best real order. An order that is 0.001
    smaller or larger gives a larger epsilon.
    """
    curve = rdp.laplace(np.array([2.0]), scale=1)[0]
    assert curve == pytest.approx(0.619123629998593, rel=1e-14)
    with mp.workdps(25):
        ratio = mp.quad(lambda x: mp.exp(-2 * abs(x - 1) + abs(x)) / 2, [-60, 0, 1, 60])
    assert curve == pytest.approx(float(mp.log(ratio)), rel=1e-14)
    assert rdp.mironov2017(np.array([8.0]), np.array([0.5]), delta=1e-5)[0] == pytest.approx(
        2.14470363785289, rel=1e-14
    )
    for R, least, order in ((0.5, 4.79193205257869, 5.29193205257869), (0.2, 2.91445616976604, 7.78614042441511)):
        orders = order + np.array([-1e-3, 0, 1e-3])
        low, best, high = rdp.mironov2017(orders, R * orders, delta=1e-4)
        assert best == pytest.approx(least, rel=1e-14)
        assert best < min(low, high)


# --- Gaussian noise


@pytest.mark.verifies("berthier2019:def2.1")
def test_that_epsilon_holds_with_probability_1_less_delta_is_more_than_is_needed():
    """The condition 'epsilon holds with probability 1 - delta' is stronger than (epsilon, delta)-DP.

    For the laws N(0, 1) and N(1, 1), the privacy loss exceeds epsilon = 1 with probability 0.3085, but delta is only
    0.1269.
    """
    loss_above = stats.norm.sf(1.5, loc=1)  # the loss at x is x - 1/2, with x from N(1, 1)
    assert loss_above == pytest.approx(0.308537539, abs=1e-9)
    delta = hockey_stick_gaussian(epsilon=1, noise_multiplier=1)
    assert delta == pytest.approx(0.126936738, abs=1e-9)
    assert delta < loss_above


@pytest.mark.verifies("berthier2019:prop2.2")
@pytest.mark.parametrize(
    "eps, sigma, value",
    [
        (0.5, 1, 0.238421708134877),
        (1, 2, 0.00682959498311458),
        (3, 1, 0.00153718536940095),
        (0, 2, 0.197412651365847),
        (1, 4.84480526260539, 4.1136919538185e-8),
    ],
)
def test_delta_of_gaussian_noise(eps, sigma, value):
    assert hockey_stick_gaussian(epsilon=eps, noise_multiplier=sigma) == pytest.approx(value, rel=1e-11)
    assert math.exp(log_delta_gaussian(epsilon=eps, noise_multiplier=sigma)) == pytest.approx(value, rel=1e-13)
    with mp.workdps(30):
        edge = eps * mp.mpf(sigma) ** 2 + mp.mpf(1) / 2

        def excess(x):
            return mp.npdf(x, 1, sigma) - mp.exp(eps) * mp.npdf(x, 0, sigma)

        exact = mp.quad(excess, [edge, edge + sigma, edge + 5 * sigma, edge + 30 * sigma])
        assert float(exact) == pytest.approx(value, rel=1e-13)


@pytest.mark.verifies("berthier2019:prop2.2")
def test_log_delta_to_all_digits_however_small():
    """The logarithm of delta is correct to all digits of a float, even if delta is tiny.

    We compare it with values at 80 digits, for random epsilons and noise multipliers. The smallest delta is below
    e^-100,000.
    """
    rng = np.random.default_rng(32)
    settings = [(0.0, 1e-3), (0.0, 1e6), (1e-9, 1e4), (690.7, 1.0), (1e-3, 36664.47), (1.0, 450.0), (30.0, 0.2)]
    settings += [(10 ** rng.uniform(-4, 2), 10 ** rng.uniform(-2, 2.5)) for _ in range(60)]
    smallest = 0.0
    for eps, z in settings:
        with mp.workdps(80):
            mu = 1 / mp.mpf(z)
            edge = mp.mpf(eps) / mu
            exact = float(mp.log(mp.ncdf(mu / 2 - edge) - mp.exp(eps) * mp.ncdf(-mu / 2 - edge)))
        assert log_delta_gaussian(epsilon=eps, noise_multiplier=z) == pytest.approx(exact, rel=2e-15, abs=3e-15)
        smallest = min(smallest, exact)
    assert smallest < -1e5
    assert log_delta_gaussian(epsilon=1.0, noise_multiplier=1e200) == -INF


@pytest.mark.verifies("berthier2019:prop2.2")
@pytest.mark.parametrize(
    "eps, delta, sigma",
    [
        (10, 1e-5, 0.499888619709009),
        (1, 1e-5, 3.73063163481594),
        (0.5, 1e-5, 7.03182667558249),
        (0, 0.01, 39.8931835816165),
        (1e-3, 1e-300, None),
        (1, 1e-300, None),
        (500, 1e-300, None),
        (1e-8, 0.5, None),
        (3, 0.999999, None),
    ],
)
def test_the_least_gaussian_noise(eps, delta, sigma):
    found = classic.gaussian_scale(epsilon=eps, delta=delta, l2_sensitivity=0.5) / 0.5
    if sigma:
        assert found == pytest.approx(sigma, rel=1e-13)
    # with 1e-11 more noise, the exact delta is at most delta; with 1e-11 less noise, it is larger
    with mp.workdps(400):

        def exact(z):
            mu = 1 / mp.mpf(z)
            edge = mp.mpf(eps) / mu
            return mp.ncdf(mu / 2 - edge) - mp.exp(eps) * mp.ncdf(-mu / 2 - edge)

        assert exact(found * (1 + 1e-11)) <= delta < exact(found * (1 - 1e-11))


@pytest.mark.verifies("berthier2019:prop2.2")
def test_the_textbooks_noise_and_where_it_is_refused():
    scale = {"delta": 1e-5, "l2_sensitivity": 1}
    assert classic.classical_gaussian_scale(epsilon=1, **scale) == pytest.approx(4.84480526260539, rel=1e-14)
    claimed = classic.claimed_gaussian_scale(epsilon=10, **scale)
    assert claimed == pytest.approx(0.48448053, abs=1e-8)
    assert claimed < classic.gaussian_scale(epsilon=10, **scale) == pytest.approx(0.49988862, abs=1e-8)
    with pytest.raises(NoGuarantee, match=re.escape("needs an epsilon of at most 1, got 1.5: use `gaussian_scale`")):
        classic.classical_gaussian_scale(epsilon=1.5, **scale)
    crossing = optimize.brentq(
        lambda e: (
            log_delta_gaussian(epsilon=e, noise_multiplier=classic.claimed_gaussian_scale(epsilon=e, **scale))
            - math.log(1e-5)
        ),
        1,
        20,
        xtol=1e-13,
    )
    assert crossing == pytest.approx(8.41977130154, abs=1e-10)


@pytest.mark.verifies("berthier2019:prop2.2", "berthier2019:prop2.5")
def test_the_gaussian_mechanism_draws_its_law():
    """The noise of the Gaussian mechanism follows the Gaussian law.

    We apply a Kolmogorov-Smirnov test to 20,000 samples.
    """
    noisy = classic.gaussian_mechanism(np.full(20_000, -1.0), noise_std=0.7, rng=np.random.default_rng(33))
    follows(noisy, stats.norm(-1, 0.7).cdf, sees=0.04)


# --- randomised response


@pytest.mark.verifies("berthier2019:rr")
@pytest.mark.parametrize("p, eps", [(0.5, 1.09861228866811), (0.75, 1.94591014905531), (0.9, 2.94443897916644)])
def test_epsilon_of_randomised_response(p, eps):
    """The epsilon of randomised response is the largest log ratio of an answer's two probabilities.

    We compute these probabilities in exact fractions. For fair coins, epsilon is log(3).
    """
    truth = Fraction(p).limit_denominator(100)
    yes = {truth_is: truth * truth_is + (1 - truth) / 2 for truth_is in (0, 1)}  # P[answer yes]
    ratios = [yes[1] / yes[0], (1 - yes[0]) / (1 - yes[1])]
    assert max(ratios) == max(1 / r for r in [yes[0] / yes[1]]) == (1 + truth) / (1 - truth)
    assert math.log(max(ratios)) == pytest.approx(eps, rel=1e-14)
    assert rr.randomised_response_epsilon(truth=p) == pytest.approx(eps, rel=1e-14)
    assert rr.randomised_response_truth(epsilon=eps) == pytest.approx(p, rel=1e-13)
    said_yes, said_no = rr.randomised_response_laws(truth=p)
    assert said_yes.tolist() == pytest.approx([float(1 - yes[1]), float(yes[1])], rel=1e-15)
    assert hockey_stick(said_yes, said_no, epsilon=eps) == pytest.approx(0, abs=1e-14)
    assert hockey_stick(said_yes, said_no, epsilon=eps - 1e-3) > 0
    assert renyi(said_yes, said_no, alpha=INF) == pytest.approx(eps, rel=1e-14)


@pytest.mark.verifies("berthier2019:rr")
def test_answers_and_the_debiased_share_over_many_surveys():
    """In 2,000 surveys of 300 people, the debiased share has the mean and variance of the formulas.

    Each check allows 4 standard deviations, so it fails by chance less than one time in 10,000.
    """
    rng = np.random.default_rng(34)
    n, p, surveys = 300, 0.5, 2_000
    bits = (np.arange(n) < 60).astype(int)  # a share of 0.2
    answers = rr.randomised_response(np.tile(bits, (surveys, 1)), truth=p, rng=rng)
    assert set(np.unique(answers)) == {0, 1}
    for truth_is, exact in ((1, 0.75), (0, 0.25)):
        said = answers[:, bits == truth_is]
        assert said.mean() == pytest.approx(exact, abs=4 * math.sqrt(3 / 16 / said.size))
    shares = np.array([rr.debiased_mean(row, truth=p) for row in answers])
    variance = rr.debiased_variance(n, truth=p)
    assert variance == 0.0025
    assert shares.mean() == pytest.approx(0.2, abs=4 * math.sqrt(variance / surveys))
    assert shares.var(ddof=1) == pytest.approx(variance, rel=4 * math.sqrt(2 / surveys))


@pytest.mark.verifies("berthier2019:rr")
def test_mean_and_variance_of_the_debiased_share_by_enumeration():
    """Over all outcomes of four answers, the debiased share has the exact mean and variance, for any four true bits."""
    p = Fraction(3, 5)
    for bits in itertools.product((0, 1), repeat=4):
        mean = square = Fraction(0)
        for answers in itertools.product((0, 1), repeat=4):
            chance = Fraction(1)
            for b, a in zip(bits, answers, strict=True):
                chance *= (1 + p) / 2 if a == b else (1 - p) / 2
            share = (Fraction(sum(answers), 4) - (1 - p) / 2) / p
            assert rr.debiased_mean(answers, truth=0.6) == pytest.approx(float(share), abs=1e-15)
            mean, square = mean + chance * share, square + chance * share**2
        assert mean == Fraction(sum(bits), 4)
        assert float(square - mean**2) == pytest.approx(rr.debiased_variance(4, truth=0.6), rel=1e-14)


@pytest.mark.verifies("berthier2019:rr", "berthier2019:def2.2")
@pytest.mark.parametrize("p", [1e-6, 0.05, 0.5, 0.999])
def test_renyi_curve_of_randomised_response_at_fifty_digits(p):
    orders = np.array([1.001, 2.0, 17.0, 3000.0])
    with mp.workdps(50):
        for a, ours in zip(orders, rr.randomised_response_curve(orders, truth=p), strict=True):
            h, l, a = (1 + mp.mpf(p)) / 2, (1 - mp.mpf(p)) / 2, mp.mpf(a)
            exact = mp.log(h**a * l ** (1 - a) + l**a * h ** (1 - a)) / (a - 1)
            assert ours == pytest.approx(float(exact), rel=1e-12)
    assert (rr.randomised_response_curve(orders, truth=1.0) == INF).all()
    assert (rr.randomised_response_curve(orders, truth=0.0) == 0).all()


@pytest.mark.verifies("berthier2019:rr")
def test_randomised_response_in_the_accountant():
    """The accountant's epsilon of 100 surveys is between the exact epsilon and the epsilon of basic composition.

    Each answer is the truth with probability p = 0.05, and otherwise the result of a fair coin.
    """
    survey = rr.randomised_response_release(truth=0.05)
    g = spend([(survey, 100)], delta=1e-5, conversion="mironov2017")
    assert g.bound == "berthier2019:rr"
    eps = rr.randomised_response_epsilon(truth=0.05)
    # the exact delta compares the binomial laws of 100 answers for the two true bits
    p, q = (stats.binom(100, (1 + s * 0.05) / 2).pmf(np.arange(101)) for s in (1, -1))
    assert hockey_stick(p / p.sum(), q / q.sum(), epsilon=g.epsilon) < 1e-5
    exact = optimize.brentq(lambda e: np.maximum(p - math.exp(e) * q, 0).sum() - 1e-5, 0, 10, xtol=1e-10)
    assert exact < g.epsilon < 100 * eps
    assert (exact, g.epsilon, 100 * eps) == pytest.approx((4.310949, 5.162901, 10.008346), abs=1e-4)


@pytest.mark.verifies("berthier2019:rr")
def test_asking_a_fresh_sample_costs_less():
    """If we ask one of four people, the exact divergence of the answers is below the accountant's curve at every order.

    The laws of the answers are mixtures, because we do not know who was asked.
    """
    asked = rr.randomised_response_release(truth=0.5, sampling="without-replacement", sampling_rate=0.25)
    bound = choose(asked)
    assert (bound.id, asked.epsilon_infinity) == ("wbk2019:thm9", pytest.approx(math.log(3), rel=1e-14))
    orders = np.arange(2, 65)
    whole = rr.randomised_response_curve(orders, truth=0.5)
    yes, no = rr.randomised_response_laws(truth=0.5)
    mixed = 0.25 * yes + 0.75 * no  # we ask the person who says yes under one data set, or another person, who says no
    exact = [max(renyi(mixed, no, alpha=a), renyi(no, mixed, alpha=a)) for a in orders]
    curve = one_step(asked, orders, bound)
    assert (exact < curve).all()
    assert (curve <= whole).all()
    assert curve[0] < whole[0] / 3


# --- bad input


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: classic.gaussian_scale(epsilon=1, delta=0, l2_sensitivity=1), "delta must be in (0, 1), got 0"),
        (lambda: classic.gaussian_scale(epsilon=-1, delta=0.1, l2_sensitivity=1), "epsilon must be at least 0"),
        (lambda: classic.gaussian_scale(epsilon=INF, delta=0.1, l2_sensitivity=1), "epsilon must be at least 0 and"),
        (lambda: classic.gaussian_scale(epsilon=1, delta=0.1, l2_sensitivity=0), "l2_sensitivity must be positive"),
        (lambda: classic.claimed_gaussian_scale(epsilon=1, delta=1.5, l2_sensitivity=1), "delta must be in (0, 1)"),
        (lambda: classic.claimed_gaussian_scale(epsilon=0, delta=0.5, l2_sensitivity=1), "epsilon must be positive"),
        (lambda: log_delta_gaussian(epsilon=math.nan, noise_multiplier=1), "epsilon must be at least 0"),
        (lambda: log_delta_gaussian(epsilon=1, noise_multiplier=0), "the noise multiplier must be positive"),
        (lambda: classic.laplace_scale(l1_sensitivity=1, epsilon=0), "epsilon must be positive and finite, got 0"),
        (lambda: classic.hockey_stick_laplace(epsilon=-1, scale=1), "epsilon must be at least 0, got -1"),
        (lambda: classic.hockey_stick_laplace(epsilon=1, scale=INF), "scale must be positive and finite"),
        (
            lambda: classic.laplace_mechanism([math.nan], l1_sensitivity=1, epsilon=1, rng=np.random.default_rng(0)),
            "value holds NaN",
        ),
        (
            lambda: classic.gaussian_mechanism([INF], noise_std=1, rng=np.random.default_rng(0)),
            "value holds NaN or infinity",
        ),
        (
            lambda: classic.laplace_release(l1_sensitivity=1, epsilon=1, adjacency="near"),
            "adjacency must be one of replace-one, add-remove",
        ),
        (lambda: rr.randomised_response([2], truth=0.5, rng=np.random.default_rng(0)), "bits must be 0 or 1"),
        (lambda: rr.randomised_response_epsilon(truth=1.5), "truth must be in [0, 1], got 1.5"),
        (lambda: rr.debiased_mean([1], truth=0), "truth must be in (0, 1], got 0"),
        (lambda: rr.debiased_mean([], truth=0.5), "answers must be a one-dimensional array of at least one 0 or 1"),
        (lambda: rr.debiased_variance(0, truth=0.5), "the number n of answers must be at least 1, got 0"),
        (lambda: histogram_distance([1, 2], [1]), "x and y must have one count for each possible record, got 2 and 1"),
        (lambda: histogram_distance([-1], [1]), "x must be a row of counts"),
        (lambda: list(neighbours([1], adjacency="replace-label")), "adjacency must be one of add-remove, replace-one"),
        (lambda: sensitivity(len, [[1, 0]], adjacency="replace-one"), "datasets must hold two neighbours"),
        (lambda: sensitivity(len, [[1, 0]], adjacency="replace-one", order=0), "order must be at least 1, got 0"),
        (lambda: sensitivity(lambda x: INF, [[1, 0]], adjacency="replace-one"), "f must be finite on every data set"),
        (lambda: histogram_distance([1, 2], [1, 0.5]), "y must be a row of counts"),
        (lambda: release_one([1, -1]), "x must be a row of counts, whole numbers >= 0"),
        (lambda: release_one([0, 0]), "x must hold at least one record"),
    ],
)
def test_bad_input_is_one_sentence(call, words):
    with pytest.raises(ValueError, match=re.escape(words)) as error:
        call()
    assert "\n" not in str(error.value)
