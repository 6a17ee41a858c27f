"""Total-variation privacy and hypothesis tests.

We compare them with enumerations of events and tests, couplings, quadratures and simulations.
"""

import itertools
import math
import re
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from scipy import integrate, optimize, stats

from nfa.audit.roc import auc, roc
from nfa.papers.berthier2019.mechanisms import testing
from nfa.papers.berthier2019.mechanisms import total_variation as tv
from nfa.papers.berthier2019.mechanisms.classic import gaussian_scale, hockey_stick_laplace
from nfa.papers.berthier2019.mechanisms.composition import optimal_delta_of
from nfa.privacy.divergences import hockey_stick, total_variation


def random_laws(rng, k, zeros=False):
    p, q = rng.dirichlet(np.full(k, 0.5), 2)
    if zeros:
        p[0] = 0
        p /= p.sum()
    return p, q


# --- couplings


@pytest.mark.verifies("berthier2019:def-tv")
def test_no_coupling_agrees_more_often():
    """The two outcomes of `best_coupling` are equal with the largest possible probability.

    We compare this probability with a linear program over all joint laws, and with the largest difference between the
    two probabilities of an event.
    """
    rng = np.random.default_rng(51)
    marginals = np.vstack([np.kron(np.eye(4), np.ones(4)), np.kron(np.ones(4), np.eye(4))])
    for trial in range(12):
        p, q = random_laws(rng, 4, zeros=trial % 3 == 0)
        joint = tv.best_coupling(p, q)
        assert (joint >= 0).all()
        assert joint.sum(1) == pytest.approx(p, abs=1e-15)
        assert joint.sum(0) == pytest.approx(q, abs=1e-15)
        differ = 1 - np.trace(joint)
        best = optimize.linprog((1 - np.eye(4)).ravel(), A_eq=marginals, b_eq=np.concatenate([p, q]))
        assert differ == pytest.approx(best.fun, abs=1e-9)
        events = [list(e) for k in range(5) for e in itertools.combinations(range(4), k)]
        assert differ == pytest.approx(max(abs(p[e].sum() - q[e].sum()) for e in events), abs=1e-14)
    assert tv.best_coupling([0.5, 0.5], [0.5, 0.5]).tolist() == [[0.5, 0], [0, 0.5]]


@pytest.mark.verifies("berthier2019:def-tv")
def test_a_delta_far_below_one_over_n_leaves_no_use():
    """If delta is far below 1/n, the output is useless, because it has nearly the same law for any two data sets.

    A release of each record with probability delta attains the bound on the total variation up to second order.
    """
    assert tv.tv_of_any_two(1e-6, n=1000, adjacency="replace-one") == pytest.approx(1e-3, rel=1e-12)
    assert tv.tv_of_any_two(1e-6, n=1000, adjacency="add-remove") == pytest.approx(2e-3, rel=1e-12)
    assert tv.tv_of_any_two(0.5, n=10, adjacency="replace-one") == 1
    n, delta = 5, 0.01  # data sets of n zeros and of n ones; each record is released with probability delta
    exact = 1 - (1 - delta) ** n
    assert 0.97 * n * delta < exact <= tv.tv_of_any_two(delta, n=n, adjacency="replace-one")


# --- Laplace noise


def laplace_law(shift, b):
    return stats.laplace(shift, b)


@pytest.mark.verifies("berthier2019:prop2.4")
@pytest.mark.parametrize(
    "shift, delta, printed_tv",
    [(1, 0.01, 0.0682685765766), (1, 0.001, 0.0221125327947), (100, 1e-6, 0.00704612663407)],
)
def test_the_printed_laplace_scale_gives_away_more_than_claimed(shift, delta, printed_tv):
    b = tv.claimed_laplace_tv_scale(l1_sensitivity=shift, delta=delta)
    assert tv.laplace_tv(l1_sensitivity=shift, scale=b) == pytest.approx(printed_tv, rel=1e-11)
    with mp.workdps(30):  # half the integral of |p - q|, split at the kinks

        def gap(x):
            return abs(mp.exp(-abs(x) / mp.mpf(b)) - mp.exp(-abs(x - shift) / mp.mpf(b))) / (4 * b)

        ends = [-60 * b - 5, 0, mp.mpf(shift) / 2, shift, shift + 60 * b + 5]
        assert float(mp.quad(gap, ends)) == pytest.approx(printed_tv, rel=1e-11)
    assert printed_tv > 6 * delta
    event = laplace_law(0, b).cdf(shift / 2) - laplace_law(shift, b).cdf(shift / 2)  # outputs below the middle
    assert event == pytest.approx(printed_tv, rel=1e-9)


@pytest.mark.verifies("berthier2019:prop2.4")
@pytest.mark.parametrize("delta, scale", [(0.01, 49.7495812367), (0.1, 4.74561079051), (0.9, None), (1e-9, None)])
def test_the_corrected_laplace_scale_holds_and_no_smaller_one_does(delta, scale):
    b = tv.corrected_laplace_tv_scale(l1_sensitivity=1, delta=delta)
    if scale:
        assert b == pytest.approx(scale, rel=1e-11)
    with mp.workdps(30):
        for factor, sign in ((1, 0), (0.999, 1), (1.001, -1)):
            # the mass below 1/2 is 1 - apart / 2 for the law at 0, and apart / 2 for the law at 1
            apart = mp.exp(-mp.mpf(0.5) / (mp.mpf(b) * factor))
            middle = (1 - apart / 2) - apart / 2
            assert middle == pytest.approx(delta, rel=1e-14) if sign == 0 else (middle > delta) == (sign > 0)
    assert tv.laplace_tv(l1_sensitivity=3, scale=3 * b) == pytest.approx(delta, rel=1e-14)
    assert hockey_stick_laplace(epsilon=0, scale=b) == pytest.approx(delta, rel=1e-14)


@pytest.mark.verifies("berthier2019:prop2.4")
def test_the_printed_scale_holds_for_small_sensitivities_only():
    """The printed scale suffices only for sensitivities up to 2 log(1 - delta)^2 / delta, 0.02020185 at delta = 0.01.

    For a sensitivity of 1, the scale suffices from delta = 0.3365 on.
    """

    def excess(shift, delta):
        b = tv.claimed_laplace_tv_scale(l1_sensitivity=shift, delta=delta)
        return laplace_law(0, b).cdf(shift / 2) - laplace_law(shift, b).cdf(shift / 2) - delta

    edge = optimize.brentq(lambda shift: excess(shift, 0.01), 1e-4, 1, xtol=1e-14)
    assert edge == pytest.approx(2 * math.log(0.99) ** 2 / 0.01, rel=1e-9) == pytest.approx(0.02020185, abs=1e-8)
    assert optimize.brentq(lambda delta: excess(1, delta), 0.01, 0.9) == pytest.approx(0.3365, abs=5e-5)


@pytest.mark.verifies("berthier2019:prop2.4")
@pytest.mark.parametrize("shift, exact", [((1, 0), 0.39347), ((0.75, 0.25), 0.31765), ((0.5, 0.5), 0.24184)])
def test_laplace_noise_in_the_plane(shift, exact):
    """For Laplace noise in two dimensions, a shift of a given l1 norm is worst along one axis.

    We sum over squares of side 0.025.
    """
    edges = np.arange(-500, 561) * 0.025
    lines = [[np.diff(laplace_law(at, 1).cdf(edges)) for at in (0, v)] for v in shift]
    p, q = (np.outer(lines[0][k], lines[1][k]) for k in (0, 1))
    found = np.abs(p - q).sum() / 2
    assert found == pytest.approx(exact, abs=3e-5)
    assert found <= tv.laplace_tv(l1_sensitivity=1, scale=1)
    assert (shift == (1, 0)) == (found == pytest.approx(tv.laplace_tv(l1_sensitivity=1, scale=1), abs=1e-5))


@pytest.mark.verifies("berthier2019:prop2.4")
def test_the_gap_between_densities_in_the_plane_is_not_what_the_appendix_says():
    """In two dimensions, the largest gap between the two densities is 2.379, but Appendix A.3 claims at most 0.5.

    We test d = 2, b = 0.1 and a shift of 0.01. The displayed density lacks a factor 1/(2b). With the displayed density,
    the largest gap is 0.476.
    """
    b, shift = 0.1, 0.01
    x = np.arange(-0.5, 0.5, 0.001)
    p, q = (np.exp(-np.abs(x - v) / b) / (2 * b) for v in (0, shift))
    along = np.abs(p - q).max()
    other = 1 / (2 * b)  # the height of the second coordinate's density at its centre
    assert along * other == pytest.approx(2.37906, abs=1e-4)
    claimed = shift / (2 * b**2)
    assert claimed == pytest.approx(0.5)
    # with the displayed density, which lacks a factor, the gap is below 0.5
    assert along == pytest.approx(0.476, abs=1e-3)
    assert integrate.quad(lambda x: math.exp(-abs(x) / b), -8, 8, points=[0])[0] ** 2 == pytest.approx(0.04, rel=1e-9)


# --- Gaussian noise


@pytest.mark.verifies("berthier2019:prop2.5", "berthier2019:fig2")
@pytest.mark.parametrize(
    "shift, sigma, value", [(1, 1, 0.382924922548026), (1, 50, 0.00797871262926321), (2, 0.5, 0.954499736103642)]
)
def test_total_variation_of_gaussian_noise(shift, sigma, value):
    assert tv.gaussian_tv(l2_sensitivity=shift, noise_std=sigma) == pytest.approx(value, rel=1e-14)
    with mp.workdps(30):

        def gap(x):
            return abs(mp.npdf(x, 0, sigma) - mp.npdf(x, shift, sigma)) / 2

        exact = mp.quad(gap, [-12 * sigma, 0, mp.mpf(shift) / 2, shift, shift + 12 * sigma])
    assert value == pytest.approx(float(exact), rel=1e-14)


@pytest.mark.verifies("berthier2019:prop2.5")
@pytest.mark.parametrize("delta, least", [(0.01, 39.8931835816165), (0.1, 3.97894828054527), (0.9, None)])
def test_gaussian_scale_for_a_total_variation(delta, least):
    """The Gaussian noise of Proposition 2.5 is sufficient, and more than sqrt(pi/2) = 1.2533 times the least noise."""
    printed = tv.gaussian_tv_scale(l2_sensitivity=1, delta=delta)
    exact = tv.least_gaussian_tv_scale(l2_sensitivity=1, delta=delta)
    if least:
        assert exact == pytest.approx(least, rel=1e-12)
    assert stats.norm.cdf(0.5 / exact) * 2 - 1 == pytest.approx(delta, rel=1e-12)
    assert stats.norm.cdf(0.5 / printed) * 2 - 1 <= delta
    assert exact == pytest.approx(gaussian_scale(epsilon=0, delta=delta, l2_sensitivity=1), rel=1e-12)
    if delta < 0.05:
        assert printed / exact == pytest.approx(math.sqrt(math.pi / 2), rel=1e-4)
    assert printed / exact > math.sqrt(math.pi / 2)


# --- post-processing and composition


@pytest.mark.verifies("berthier2019:prop2.3", "berthier2019:postproc")
def test_no_channel_increases_a_divergence():
    rng = np.random.default_rng(52)
    for trial in range(100):
        p, q = random_laws(rng, 5, zeros=trial % 4 == 0)
        K = rng.dirichlet(np.full(3, 0.3), 5)
        p_after, q_after = tv.apply_channel(K, p), tv.apply_channel(K, q)
        summed = [sum(p[r] * K[r, s] for r in range(5)) for s in range(3)]
        assert p_after == pytest.approx(summed, abs=1e-15)
        for eps in (0.0, 0.4, 2.0):  # at epsilon = 0, the divergence is the total variation
            assert hockey_stick(p_after, q_after, epsilon=eps) <= hockey_stick(p, q, epsilon=eps) + 1e-15


@pytest.mark.verifies("berthier2019:prop2.3")
def test_a_map_of_laws_may_tell_apart_what_no_map_of_outputs_can():
    """A map of laws can increase the total variation, but a map of outputs cannot.

    The map f sends the law p to one point mass, and every other law to a second point mass. So the total variation
    becomes 1, although it was only 0.02.
    """
    p, q = np.array([0.51, 0.49]), np.array([0.49, 0.51])
    assert total_variation(p, q) == pytest.approx(0.02)

    def f(law):
        return np.array([1.0, 0.0]) if np.array_equal(law, p) else np.array([0.0, 1.0])

    assert total_variation(f(p), f(q)) == 1
    corners = [np.array(rows, float) for rows in itertools.product(np.eye(2), repeat=2)]  # all deterministic channels
    assert max(total_variation(tv.apply_channel(K, p), tv.apply_channel(K, q)) for K in corners) == (
        pytest.approx(0.02)
    )


def joint(first, second):
    """Joint law of two releases. If the first release returns k, the second release has the law second[k]."""
    return (np.asarray(first)[:, None] * np.asarray(second)).ravel()


@pytest.mark.verifies("berthier2019:thm2.2")
def test_total_variations_add_up_at_most_over_adaptive_releases():
    rng = np.random.default_rng(53)
    for _ in range(300):
        p, q = random_laws(rng, 3)
        after_p, after_q = rng.dirichlet(np.full(3, 0.5), (2, 3))
        first, second = total_variation(p, q), max(map(total_variation, after_p, after_q))
        found = total_variation(joint(p, after_p), joint(q, after_q))
        assert found <= tv.least_compose_tv([first, second]) + 1e-14
        assert tv.least_compose_tv([first, second]) <= tv.compose_tv([first, second])
    # releases that reveal the data with probability delta, and otherwise nothing, attain the bound
    leak = [(np.array([d, 0, 1 - d]), np.array([0, d, 1 - d])) for d in (0.1, 0.2)]
    p, q = (joint(leak[0][k], np.tile(leak[1][k], (3, 1))) for k in (0, 1))
    assert total_variation(p, q) == pytest.approx(0.28, abs=1e-15)
    assert tv.least_compose_tv([0.1, 0.2]) == pytest.approx(0.28, abs=1e-15)
    assert tv.compose_tv([0.1, 0.2]) == pytest.approx(0.3, abs=1e-15)
    assert tv.least_compose_tv([0.3, 1.0]) == tv.compose_tv([0.7, 0.8]) == 1
    assert tv.least_compose_tv([1e-18, 1e-18]) == pytest.approx(2e-18, rel=1e-12)


@pytest.mark.verifies("berthier2019:thm2.2")
def test_product_events_alone_do_not_give_the_total_variation():
    """The largest difference on products of events can be smaller than the total variation.

    So the proof of Theorem 2.2 has a gap. For the uniform laws on {00, 11} and on {01, 10}, the largest difference is
    1/2 on products of events, and 1 on all events.
    """
    p, q = np.array([[0.5, 0], [0, 0.5]]), np.array([[0, 0.5], [0.5, 0]])
    events = [list(e) for k in range(3) for e in itertools.combinations(range(2), k)]
    products = max(abs((p - q)[np.ix_(rows, columns)].sum()) for rows in events for columns in events)
    assert products == 0.5
    assert total_variation(p.ravel(), q.ravel()) == 1


@pytest.mark.verifies("berthier2019:gauss-tv-comp")
def test_composition_of_gaussian_releases():
    deltas = [0.1, 0.2]
    assert tv.compose_gaussian_tv(deltas) == pytest.approx(0.223606797749979, rel=1e-14)
    assert tv.least_compose_gaussian_tv(deltas) == pytest.approx(0.176936726241879, rel=1e-13)
    # the joint law of the two releases on a lattice in the plane, with sigma = 1 and shifts 2 delta
    x = np.arange(-9, 9, 0.02) + 0.01
    lines = [(stats.norm.pdf(x) * 0.02, stats.norm.pdf(x - 2 * d) * 0.02) for d in deltas]
    p, q = (np.outer(lines[0][k], lines[1][k]) for k in (0, 1))
    assert np.abs(p - q).sum() / 2 == pytest.approx(0.176936726241879, abs=1e-4)
    for many in ([0.01] * 400, [0.5], [0.3, 0.02, 0.4]):
        assert tv.least_compose_gaussian_tv(many) <= tv.compose_gaussian_tv(many)
    # the bound for k releases grows like sqrt(k), not like k
    assert tv.compose_gaussian_tv([0.01] * 100) == pytest.approx(0.1, rel=1e-12)


@pytest.mark.verifies("berthier2019:gauss-tv-only")
def test_two_laplace_releases_obey_the_rule_too_and_steps_with_other_parameters_compose():
    """The composition bound for Gaussian noise also holds for two Laplace releases.

    With scale 3 and shift 1, the law of the privacy loss has two atoms and a density between them. The privacy losses
    of two releases add up. Releases with different parameters also compose.
    """
    u = 1 / 3
    kl = integrate.quad(lambda x: math.exp(-abs(x) / 3) / 6 * (abs(x - 1) - abs(x)) / 3, -90, 90, points=[0, 1])[0]
    assert kl == pytest.approx(u + math.exp(-u) - 1, rel=1e-9)
    delta = math.sqrt(kl / 2)
    x = (np.arange(2000) + 0.5) / 2000
    losses = np.concatenate([[u, -u], (1 - 2 * x) * u])  # log(p / q) at x <= 0, at x >= 1, and between
    chances = np.concatenate([[0.5, 0.5 * math.exp(-u)], np.exp(-x * u) * u / 2 / 2000])
    assert chances.sum() == pytest.approx(1, abs=1e-8)
    both = chances @ np.maximum(0, 1 - np.exp(-np.add.outer(losses, losses))) @ chances
    assert (delta, tv.compose_gaussian_tv([delta] * 2), both) == pytest.approx((0.1579, 0.2233, 0.1640), abs=5e-5)
    # Two randomised responses have epsilon 0.1 and 0.3. We enumerate all pairs of answers.
    one, other = ([math.exp(e) / (1 + math.exp(e)), 1 / (1 + math.exp(e))] for e in (0.1, 0.3))
    p, q = np.outer(one, other).ravel(), np.outer(one[::-1], other[::-1]).ravel()
    expected = hockey_stick(p, q, epsilon=0.2)
    assert optimal_delta_of(0.2, epsilons=[0.1, 0.3]) == pytest.approx(expected, rel=1e-12)
    assert expected == pytest.approx(0.0547, abs=5e-5)


@pytest.mark.verifies("berthier2019:gauss-tv-comp", "berthier2019:gauss-tv-only")
def test_an_adaptive_second_release_is_no_worse_and_other_noise_obeys_the_rule_too():
    """Adaptive Gaussian releases and discrete releases also satisfy the composition bound.

    The shift of the second Gaussian release depends on the output of the first, and we sum over a lattice. For discrete
    releases, each d is the bound from Pinsker's inequality, so KL = 2 d^2, and the KL divergences add up.
    """
    x = np.arange(-9, 9, 0.03)
    first = [stats.norm.pdf(x) * 0.03, stats.norm.pdf(x - 0.6) * 0.03]
    for chosen in (np.where(x > 0.3, 0.8, 0.2), np.where(x > 0.3, 0.2, 0.8), 0.8 * (np.sin(3 * x) > 0)):
        second = [np.tile(stats.norm.pdf(x) * 0.03, (len(x), 1)), stats.norm.pdf(x - chosen[:, None]) * 0.03]
        found = np.abs(first[0][:, None] * second[0] - first[1][:, None] * second[1]).sum() / 2
        assert found <= tv.least_compose_gaussian_tv([0.3, 0.4]) + 1e-9
    rng = np.random.default_rng(54)
    for _ in range(100):
        (p, q), (a, b) = random_laws(rng, 3), random_laws(rng, 4)
        bounds = [min(1, tv.pinsker(*laws)) for laws in ((p, q), (a, b))]
        product = [np.outer(p, a).ravel(), np.outer(q, b).ravel()]
        assert total_variation(*product) <= tv.compose_gaussian_tv(bounds) + 1e-14
        chain = tv.kl(p, q) + tv.kl(a, b)
        assert tv.kl(*product) == pytest.approx(chain, rel=1e-12)


@pytest.mark.verifies("berthier2019:pinsker")
def test_pinsker():
    rng = np.random.default_rng(55)
    closest = 0.0
    for _ in range(300):
        p = rng.dirichlet(np.full(5, 0.7))
        q = (p + rng.uniform(0, 1) * rng.dirichlet(np.full(5, 0.7))) / 2
        q /= q.sum()
        with mp.workdps(30):
            kl = mp.fsum(mp.mpf(a) * mp.log(mp.mpf(a) / mp.mpf(b)) for a, b in zip(p, q, strict=True))
        assert tv.kl(p, q) == pytest.approx(float(kl), rel=1e-9, abs=1e-15)
        bound = tv.pinsker(p, q)
        assert bound == pytest.approx(math.sqrt(float(kl) / 2), rel=1e-9, abs=1e-15)
        assert total_variation(p, q) <= bound
        closest = max(closest, total_variation(p, q) / bound)
    assert closest > 0.9
    near = [np.array([0.5 + s * 1e-5, 0.5 - s * 1e-5]) for s in (1, -1)]  # equality in the limit p = q
    assert total_variation(*near) / tv.pinsker(*near) == pytest.approx(1, abs=1e-5)
    assert tv.pinsker([1.0, 0.0], [0.0, 1.0]) == math.inf


# --- tests of hypotheses


@pytest.mark.verifies("berthier2019:lecam")
def test_no_test_makes_fewer_errors():
    """No test has a smaller sum of its two error probabilities than `best_test`.

    We try all deterministic tests on six outcomes, and random tests.
    """
    rng = np.random.default_rng(56)
    for trial in range(12):
        p, q = random_laws(rng, 6, zeros=trial % 3 == 0)
        tests = [np.array(answers) for answers in itertools.product((0, 1), repeat=6)]
        sums = [p[t == 1].sum() + q[t == 0].sum() for t in tests]
        least = testing.least_errors(p, q)
        assert least == pytest.approx(min(sums), abs=1e-14)
        assert sum(testing.errors(testing.best_test(p, q), p, q)) == pytest.approx(least, abs=1e-14)
        mixed = rng.uniform(size=6)
        assert sum(testing.errors(mixed, p, q)) >= least - 1e-15
        assert testing.success(total_variation(p, q)) == pytest.approx(1 - least / 2, abs=1e-15)


def test_decisions_may_be_booleans_and_rates_fractions():
    assert testing.errors([True, False], [0.75, 0.25], [0.25, 0.75]) == (0.75, 0.75)
    assert testing.dp_trade_off([Fraction(1, 4)], epsilon=0.0).tolist() == [0.75]


@pytest.mark.verifies("berthier2019:lecam", "berthier2019:membership")
def test_a_simulated_adversary_is_right_as_often_as_le_cam_says():
    """On 40,000 Gaussian releases, a simulated adversary is right as often as Le Cam's formula predicts.

    The adversary chooses the likelier data set. Each check fails by chance about one time in 10,000.
    """
    rng, trials, z = np.random.default_rng(57), 20_000, 1.0
    scores = [rng.normal(size=trials), 1 / z + rng.normal(size=trials)]
    right = np.concatenate([scores[0] <= 0.5 / z, scores[1] > 0.5 / z])
    found_auc, accuracy = testing.gaussian_membership(noise_multiplier=z)
    assert (found_auc, accuracy) == pytest.approx((0.7602499389065, 0.6914624612740), abs=1e-12)
    assert accuracy == pytest.approx(testing.success(tv.gaussian_tv(l2_sensitivity=1, noise_std=z)), rel=1e-14)
    assert right.mean() == pytest.approx(accuracy, abs=4 * math.sqrt(0.25 / len(right)))
    assert auc(scores[1], scores[0]) == pytest.approx(found_auc, abs=4 * math.sqrt(1 / 12 * 2 / trials))
    false_positive, true_positive = roc(scores[1], scores[0])
    best = testing.gaussian_trade_off(false_positive[1:-1:50], noise_multiplier=z)
    # Kolmogorov's limit for the two empirical laws together, at a false alarm rate of 1e-4: 2 sqrt(log(2e4) / 4e4)
    assert true_positive[1:-1:50] == pytest.approx(1 - best, abs=0.03)


@pytest.mark.verifies("berthier2019:membership", "berthier2019:lecam")
def test_roc_of_laws_is_that_of_scores_with_these_frequencies():
    rng = np.random.default_rng(58)
    for _ in range(20):
        counts = rng.integers(0, 7, (2, 5))
        counts[:, 0] += 1
        p, q = (row / row.sum() for row in counts)
        both = counts.sum(0) > 0
        ratio = np.where(both, q / np.where(both, p + q, 1), 0)
        others, members = (np.repeat(ratio, row) for row in counts)
        exact = Fraction(0)
        for a, b in itertools.product(range(5), repeat=2):
            weight = Fraction(int(counts[1, a]), int(counts[1].sum())) * Fraction(
                int(counts[0, b]), int(counts[0].sum())
            )
            exact += weight * (1 if ratio[a] > ratio[b] else Fraction(1, 2) if ratio[a] == ratio[b] else 0)
        assert testing.auc_of_laws(p, q) == pytest.approx(float(exact), abs=1e-14)
        assert auc(members, others) == pytest.approx(float(exact), abs=1e-14)
        ours, scored = testing.roc_of_laws(p, q), roc(members, others)
        for threshold in np.linspace(0, 1, 7):
            assert np.interp(threshold, *ours) == pytest.approx(np.interp(threshold, *scored), abs=1e-14)
        # no test is above the ROC curve, by a linear program over all tests with a given false positive rate
        level = rng.uniform()
        best = optimize.linprog(-q, A_ub=[p], b_ub=[level], bounds=[(0, 1)] * 5)
        assert np.interp(level, *ours) == pytest.approx(-best.fun, abs=1e-9)


@pytest.mark.verifies("berthier2019:lecam")
def test_what_epsilon_and_delta_allow_a_test():
    """On random pairs of private laws, the errors of every test are in the region that epsilon and delta allow.

    One mechanism attains the edge of this region. With probability delta, this mechanism reveals the data. Otherwise,
    it gives a randomised answer.
    """
    rng = np.random.default_rng(59)
    for _ in range(40):
        p, q = random_laws(rng, 5)
        eps = rng.uniform(0, 1.5)
        delta = max(hockey_stick(p, q, epsilon=eps), hockey_stick(q, p, epsilon=eps))
        for answers in itertools.product((0, 1), repeat=5):
            one, two = testing.errors(answers, p, q)
            assert two >= testing.dp_trade_off(one, epsilon=eps, delta=delta) - 1e-14
        assert total_variation(p, q) <= testing.dp_to_tv(epsilon=eps, delta=delta) + 1e-14
    eps, delta = 0.8, 0.1
    right = math.exp(eps) / (1 + math.exp(eps))
    p = np.array([delta, 0, (1 - delta) * right, (1 - delta) * (1 - right)])
    q = np.array([0, delta, (1 - delta) * (1 - right), (1 - delta) * right])
    assert total_variation(p, q) == pytest.approx(testing.dp_to_tv(epsilon=eps, delta=delta), rel=1e-14)
    false_positive, true_positive = (rates[1:] for rates in testing.roc_of_laws(p, q))  # without the constant test 0
    assert 1 - true_positive == pytest.approx(testing.dp_trade_off(false_positive, epsilon=eps, delta=delta), abs=1e-14)
    assert testing.dp_trade_off([0.0, 0.5], epsilon=1e4).tolist() == [1.0, 0.0]


@pytest.mark.verifies("berthier2019:eps10")
def test_what_epsilon_10_means():
    """An epsilon of 10 allows a ratio of densities up to 22,026, and one randomised answer attains this ratio.

    A guess of the data set from this answer is wrong only 5 times in 10^5.
    """
    right = math.exp(10) / (1 + math.exp(10))
    p, q = np.array([right, 1 - right]), np.array([1 - right, right])
    assert (p / q).max() == pytest.approx(22026.465795, abs=1e-5)
    wrong = 1 - testing.success(testing.dp_to_tv(epsilon=10))
    assert wrong == pytest.approx(1 - right, rel=1e-10) == pytest.approx(4.5398e-5, abs=1e-9)
    assert sum(testing.errors(testing.best_test(p, q), p, q)) == pytest.approx(2 * wrong, rel=1e-10)


@pytest.mark.verifies("berthier2019:def5.1")
@pytest.mark.parametrize("eps", [0.05, math.log(3), 4.0])
def test_stability_is_loss_range_times_tanh(eps):
    """The stability is the range of the loss times tanh(epsilon / 2).

    A linear program finds the worst pair of epsilon-DP laws. The laws have four outcomes, and the losses are between 0
    and B.
    """
    B = 10.0
    loss = np.array([0.0, 0.3, 0.8, 1.0]) * B
    e = math.exp(eps)
    within = np.vstack([np.hstack([np.eye(4), -e * np.eye(4)]), np.hstack([-e * np.eye(4), np.eye(4)])])
    sums = np.kron(np.eye(2), np.ones(4))
    best = optimize.linprog(np.concatenate([-loss, loss]), A_ub=within, b_ub=np.zeros(8), A_eq=sums, b_eq=[1, 1])
    assert -best.fun == pytest.approx(testing.stability_from_epsilon(epsilon=eps, loss_range=B), rel=1e-8)
    if eps == math.log(3):
        assert -best.fun == pytest.approx(5, rel=1e-9)
    assert -best.fun > eps  # epsilon-DP, but not epsilon-stable for losses up to B
    for other in np.geomspace(1e-3, 30, 20):
        assert testing.stability_from_epsilon(epsilon=other, loss_range=2) <= other
    assert testing.stability_from_epsilon(epsilon=1e-3, loss_range=2.001) > 1e-3


# --- bad input


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: tv.claimed_laplace_tv_scale(l1_sensitivity=1, delta=0), "delta must be in (0, 1), got 0"),
        (lambda: tv.corrected_laplace_tv_scale(l1_sensitivity=1, delta=1), "delta must be in (0, 1), got 1"),
        (lambda: tv.gaussian_tv_scale(l2_sensitivity=0, delta=0.5), "l2_sensitivity must be positive and finite"),
        (
            lambda: tv.least_gaussian_tv_scale(l2_sensitivity=-1, delta=0.5),
            "l2_sensitivity must be positive and finite",
        ),
        (lambda: tv.least_gaussian_tv_scale(l2_sensitivity=1, delta=-0.5), "delta must be in (0, 1), got -0.5"),
        (lambda: tv.laplace_tv(l1_sensitivity=0, scale=1), "l1_sensitivity must be positive and finite, got 0"),
        (lambda: tv.laplace_tv(l1_sensitivity=1, scale=math.nan), "scale must be positive and finite, got nan"),
        (lambda: tv.gaussian_tv(l2_sensitivity=1, noise_std=0), "noise_std must be positive and finite, got 0"),
        (
            lambda: tv.tv_of_any_two(0.1, n=0, adjacency="replace-one"),
            "the number n of records must be at least 1, got 0",
        ),
        (lambda: tv.tv_of_any_two(0.1, n=1, adjacency="near"), "adjacency must be one of replace-one, add-remove"),
        (lambda: tv.best_coupling([0.5, 0.6], [0.5, 0.5]), "p must hold probabilities that add up to 1"),
        (lambda: tv.apply_channel([[1, 1]], [1]), "channel must hold probabilities that add up to 1"),
        (lambda: tv.apply_channel([[1, 0]], [0.5, 0.5]), "channel (r, r') and p (r,) must have the same length r"),
        (lambda: tv.apply_channel([[1, 0], [0, 1]], [0.5, 0.6]), "p must hold probabilities that add up to 1"),
        (lambda: tv.compose_tv([]), "deltas must contain one number for each release"),
        (lambda: tv.compose_gaussian_tv([0.1, 2]), "deltas must be in [0, 1], got 2"),
        (
            lambda: testing.errors([0.5, 2], [0.5, 0.5], [0.5, 0.5]),
            "test must contain the probability of the answer 1 for every outcome",
        ),
        (lambda: testing.success(1.5), "tv must be in [0, 1], got 1.5"),
        (lambda: testing.gaussian_trade_off([0.5, 1.5], noise_multiplier=1), "type_one must be in [0, 1]"),
        (lambda: testing.gaussian_trade_off([-1], noise_multiplier=1), "type_one must be in [0, 1]"),
        (lambda: testing.dp_trade_off(0.5, epsilon=-1), "epsilon must be at least 0, got -1"),
        (lambda: testing.dp_to_tv(epsilon=1, delta=2), "delta must be in [0, 1], got 2"),
        (lambda: testing.stability_from_epsilon(epsilon=1, loss_range=0), "loss_range must be positive and finite"),
    ],
)
def test_bad_input_is_one_sentence(call, words):
    with pytest.raises(ValueError, match=re.escape(words)) as error:
        call()
    assert "\n" not in str(error.value)
