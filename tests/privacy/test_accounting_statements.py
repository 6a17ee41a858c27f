"""Tests of the papers' statements about accounting, by methods that share no code with the accountants.

We enumerate small cases (every event, every batch, every pair of data sets), and integrate densities. We compare the
captions of lee2020 with a bound that is proved by another inequality and composed by dp-accounting.
"""

import itertools
import math
import warnings

import mpmath as mp
import numpy as np
import pytest
from scipy import optimize, special

from nfa.mechanism import Mechanism
from nfa.privacy import rdp, subsampling
from nfa.privacy.accountant import epsilon
from nfa.privacy.divergences import hockey_stick, hockey_stick_density, renyi, renyi_density, total_variation
from nfa.privacy.gaussians import hockey_stick_gaussian, renyi_gaussian
from tests.oracles.subsampling import fixed_batches, law_without_replacement, mp_quad_poisson, random_mechanism

INF = math.inf


def log_normal(mean, variance):
    return lambda x: -((x - mean) ** 2) / (2 * variance) - 0.5 * math.log(2 * math.pi * variance)


def response(epsilon_0):
    """The two laws of randomised response."""
    p = 1 / (1 + math.exp(-epsilon_0))
    return np.array([p, 1 - p]), np.array([1 - p, p])


# --- neighbours and sensitivity


@pytest.mark.verifies("lee2020:adjacency", "lee2020:def4", "ohana2021:def2.1", "berthier2019:def2.1")
def test_replacing_a_record_is_not_adding_one():
    """Replacing a record and adding a record have different sensitivities, for all data sets of m records on a circle.

    We compare the sensitivities of average and sum, and the distances of histograms. The circle has radius c.
    """
    m, c = 3, 0.5
    values = [c * np.array([math.cos(t), math.sin(t)]) for t in np.arange(8) * math.pi / 4]
    rest = list(itertools.combinations_with_replacement(range(8), m - 1))
    pairs = list(itertools.product(range(8), repeat=2))
    replaced = max(np.linalg.norm(values[a] - values[b]) / m for a, b in pairs)
    assert replaced == pytest.approx(2 * c / m, rel=1e-15)  # the factor 2 of replace-one is attained

    def total(data):
        return sum(values[k] for k in data)

    added = max(np.linalg.norm(total((*data, k)) - total(data)) for data in rest for k in range(8))
    assert added == pytest.approx(c, rel=1e-15)

    def histogram(data):
        return np.bincount(data, minlength=8)

    for data, (a, b) in itertools.product(rest, pairs):
        if a != b:
            assert np.abs(histogram((*data, a)) - histogram((*data, b))).sum() == 2
        assert np.abs(histogram((*data, a)) - histogram(data)).sum() == 1
    # With the same noise on the average, replace-one has half the noise multiplier.
    shared = {"law": "gaussian", "noise_std": 0.1, "sampling": "none", "sampling_rate": 1.0}
    one = Mechanism(sensitivity=replaced, adjacency="replace-one", **shared)
    other = Mechanism(sensitivity=added / m, adjacency="add-remove", **shared)
    assert other.noise_multiplier / one.noise_multiplier == pytest.approx(2, rel=1e-14)


@pytest.mark.verifies("ohana2021:def2.1")
def test_a_saturated_column_tells_records_added_from_records_replaced():
    """The variance of a saturated column reveals an added record, but not a replaced record.

    The variance depends only on the number of records. Removing one of four records changes the factor 4 into 3.
    """
    removed, added = renyi_gaussian(0, 4, 0, 3, alpha=2), renyi_gaussian(0, 3, 0, 4, alpha=2)
    assert removed == pytest.approx(0.0588915178, abs=1e-10)
    assert removed == pytest.approx(-0.5 * math.log(8 / 9), rel=1e-13)
    assert removed == pytest.approx(renyi_density(log_normal(0, 4), log_normal(0, 3), alpha=2), rel=1e-9)
    assert added == pytest.approx(0.0322692606, abs=1e-10)
    assert renyi_gaussian(0, 4, 0, 4, alpha=2) == 0


# --- definitions


@pytest.mark.verifies("ohana2021:def2.2")
def test_single_outcomes_say_nothing_about_sets_of_them():
    """Bounds on single outcomes say nothing about sets of outcomes.

    Suppose that a definition has "O in Im A" (single outcomes) in place of subsets. Then two laws on disjoint halves of
    200 outcomes would be (0, 0.01)-private.
    """
    p, q = np.repeat([0.01, 0.0], 100), np.repeat([0.0, 0.01], 100)
    assert (p - math.exp(0.0) * q).max() == 0.01
    assert hockey_stick(p, q, epsilon=0.0) == pytest.approx(1, abs=1e-14)
    assert hockey_stick(p, q, epsilon=50.0) == pytest.approx(1, abs=1e-14)


@pytest.mark.verifies("ohana2021:def2.4", "lee2020:def3", "berthier2019:def2.2")
def test_both_orders_of_two_neighbours_count():
    assert renyi_gaussian(0, 1, 0, 0.75, alpha=4) == INF
    assert renyi_density(log_normal(0, 1), log_normal(0, 0.75), alpha=4) == INF
    back = renyi_gaussian(0, 0.75, 0, 1, alpha=4)
    assert back == pytest.approx(0.0505717382, abs=1e-10)
    assert back == pytest.approx(renyi_density(log_normal(0, 0.75), log_normal(0, 1), alpha=4), rel=1e-9)
    # a sampled Gaussian is not symmetric either: its curve is the larger divergence of (P, Q) and (Q, P)
    value = float(subsampling.poisson_gaussian([3], sampling_rate=0.5, noise_multiplier=1.0)[0])

    def log_mixture(x):
        return np.logaddexp(log_normal(0, 1)(x), log_normal(1, 1)(x)) - math.log(2)

    ways = [
        renyi_density(log_mixture, log_normal(0, 1), alpha=3),
        renyi_density(log_normal(0, 1), log_mixture, alpha=3),
    ]
    assert value == pytest.approx(max(ways), rel=1e-9)
    assert ways[1] < 0.8 * ways[0]


@pytest.mark.verifies("lee2020:def2", "ohana2021:def2.3", "dpulr2024:def2", "berthier2019:def2.2")
def test_the_exponent_of_the_second_law_goes_with_the_law_that_is_averaged_over():
    """The exponent of Q depends on the law over which we average: E_Q[P^a Q^-a] = sum P^a Q^(1-a).

    The limits of the divergence are KL and the largest log ratio. For an order below 0, the value is not a divergence.
    """
    rng = np.random.default_rng(21)
    for _ in range(20):
        p, q = rng.dirichlet(np.ones(5), 2)
        for alpha in (1.5, 2.0, 9.0):
            over_q = math.log((q * p**alpha * q**-alpha).sum()) / (alpha - 1)
            over_p = math.log((p * (p / q) ** (alpha - 1)).sum()) / (alpha - 1)
            assert renyi(p, q, alpha=alpha) == pytest.approx(over_q, rel=1e-10)
            assert over_p == pytest.approx(over_q, rel=1e-10)
        assert renyi(p, q, alpha=1 + 1e-7) == pytest.approx((p * np.log(p / q)).sum(), abs=1e-5)
        assert renyi(p, q, alpha=1e6) == pytest.approx(np.log(p / q).max(), abs=1e-4)
        assert math.log((q * (p / q) ** -1.0).sum()) / (-1 - 1) < 0  # alpha = -1


@pytest.mark.verifies("berthier2019:def-tv")
def test_total_variation_is_a_metric_and_the_cost_of_the_best_coupling():
    rng = np.random.default_rng(22)
    for _ in range(15):
        p, q, r = rng.dirichlet(np.full(4, 0.5), 3)
        cost = 1 - np.eye(4)  # the cost is 1 if x != y
        marginals = np.vstack([np.kron(np.eye(4), np.ones(4)), np.kron(np.ones(4), np.eye(4))])
        best = optimize.linprog(cost.ravel(), A_eq=marginals, b_eq=np.concatenate([p, q]))
        assert best.fun == pytest.approx(total_variation(p, q), abs=1e-9)
        assert total_variation(p, q) == total_variation(q, p)
        assert total_variation(p, r) <= total_variation(p, q) + total_variation(q, r) + 1e-15


# --- composition


def joint_law(first, second):
    """Law of two releases: if the first release returns k, the second release has the law second[k]."""
    return (first[:, None] * second).ravel()


@pytest.mark.verifies("lee2020:compose", "ohana2021:thm1", "berthier2019:rdp-comp", "dpulr2024:rdp-comp")
def test_epsilons_add_up_when_the_second_release_is_chosen_after_the_first():
    rng = np.random.default_rng(23)
    for _ in range(200):
        alpha = float(rng.choice([1.1, 2.0, 5.0, 20.0]))
        p, q = rng.dirichlet(np.ones(3), 2)
        after_p, after_q = rng.dirichlet(np.ones(4), (2, 3))
        first = renyi(p, q, alpha=alpha)
        second = [renyi(a, b, alpha=alpha) for a, b in zip(after_p, after_q, strict=True)]
        bound = float(rdp.compose([(np.array([first]), 1), (np.array([max(second)]), 1)])[0])
        assert renyi(joint_law(p, after_p), joint_law(q, after_q), alpha=alpha) <= bound * (1 + 1e-12)
        # equality holds if the second release does not depend on the first
        fixed_p, fixed_q = np.tile(after_p[0], (3, 1)), np.tile(after_q[0], (3, 1))
        exact = renyi(joint_law(p, fixed_p), joint_law(q, fixed_q), alpha=alpha)
        assert exact == pytest.approx(first + second[0], rel=1e-12)


@pytest.mark.verifies("ohana2021:thm1")
@pytest.mark.parametrize("rho, joint", [(0.0, 2.0), (0.9, 20.0), (0.99, 200.0), (1.0, INF)])
def test_epsilons_do_not_add_up_over_releases_that_share_their_noise(rho, joint):
    """The epsilons of two releases cannot be added if the releases share their noise.

    The two releases are N(+-1, 1), each with divergence 1 at alpha = 2. Their noises have the correlation rho.
    """
    cov = np.array([[1.0, rho], [rho, 1.0]])
    assert renyi_gaussian([1, -1], cov, [0, 0], cov, alpha=2) == pytest.approx(joint, rel=1e-12)
    alone = renyi_gaussian(1, 1, 0, 1, alpha=2)
    assert alone == 1
    if rho < 1:  # only the difference of the two releases reveals something: a shift of 2 in N(0, 2 (1 - rho))
        variance = 2 * (1 - rho)
        difference = renyi_density(log_normal(2, variance), log_normal(0, variance), alpha=2, lower=-60, upper=60)
        assert difference == pytest.approx(joint, rel=1e-9)
    assert (joint <= 2 * alone) == (rho == 0)


# --- conversions and one release


@pytest.mark.verifies("dpulr2024:prop1", "berthier2019:prop2.7", "berthier2019:rdp-comp")
def test_the_two_forms_of_the_conversion_say_the_same():
    """The two forms of the conversion agree: delta = exp((a - 1)(g - eps)) for eps > g.

    For a Gaussian's curve, the minimum over all real orders agrees with its closed form.
    """
    for alpha, g, eps in ((2.0, 0.3, 1.0), (7.5, 1.2, 1.3), (40.0, 0.05, 0.9)):
        delta = math.exp((alpha - 1) * (g - eps))
        assert 0 < delta < 1
        assert float(rdp.mironov2017(np.array([alpha]), np.array([g]), delta=delta)[0]) == pytest.approx(eps, rel=1e-13)
    for rho, delta in ((0.02, 1e-5), (0.5, 1e-5), (3.0, 1e-3)):
        found = optimize.minimize_scalar(
            lambda t, rho=rho, delta=delta: rho * (1 + math.exp(t)) + math.log(1 / delta) * math.exp(-t)
        )
        assert found.fun == pytest.approx(rho + 2 * math.sqrt(rho * math.log(1 / delta)), rel=1e-9)
        assert 1 + math.exp(found.x) == pytest.approx(1 + math.sqrt(math.log(1 / delta) / rho), rel=1e-4)


@pytest.mark.verifies("berthier2019:prop2.1")
def test_laplace_noise_is_private_at_its_epsilon_and_no_smaller():
    for b, share in itertools.product((0.5, 1.0, 3.0), (0.0, 0.3, 0.9, 0.999, 1.0, 1.5)):
        eps = share / b
        with mp.workdps(30):  # p - e^eps q for centres 1 and 0 is positive to the right of (1 + share) / 2

            def excess(x, b=b, eps=eps):
                return max(0, mp.exp(-abs(x - 1) / b) - mp.exp(eps - abs(x) / b)) / (2 * b)

            delta = float(mp.quad(excess, [(1 + share) / 2, 1, 2, 1 + 8 * b, 1 + 80 * b])) if share < 1 else 0.0
        assert delta == pytest.approx(max(0, 1 - math.exp((eps - 1 / b) / 2)), abs=1e-15)
        assert (delta > 1e-4) == (share < 1)
        ours = hockey_stick_density(
            lambda x, b=b: -abs(x - 1) / b - math.log(2 * b), lambda x, b=b: -abs(x) / b - math.log(2 * b), epsilon=eps
        )
        assert ours == pytest.approx(delta, abs=1e-10)
    # In several coordinates, the log ratio at any point is at most the l1 distance divided by b. One point attains this
    # value.
    rng = np.random.default_rng(24)
    shift = rng.normal(size=6)
    points = np.concatenate([5 * rng.normal(size=(10_000, 6)), [10 * np.sign(shift)]])
    ratios = (np.abs(points).sum(1) - np.abs(points - shift).sum(1)) / 2.0
    assert ratios.max() <= np.abs(shift).sum() / 2.0 * (1 + 1e-14)
    assert ratios[-1] == pytest.approx(np.abs(shift).sum() / 2.0, rel=1e-14)


def classic_noise_multiplier(eps, delta):
    """The infimum of the noise multipliers of the classic proposition: c / epsilon with c^2 = 2 log(1.25 / delta)."""
    return math.sqrt(2 * math.log(1.25 / delta)) / eps


def exact_delta(eps, z):
    """The exact delta by its definition, the integral of (p - e^eps q)_+, from normal tails with fifty digits."""
    with mp.workdps(50):
        mu = 1 / mp.mpf(z)
        edge = eps / mu + mu / 2
        return float(mp.ncdf(mu - edge) - mp.exp(eps) * mp.ncdf(-edge))


@pytest.mark.verifies("berthier2019:prop2.2")
@pytest.mark.parametrize(
    "eps, delta, ratio",
    [
        (8, 1e-5, 0.7970595518),
        (10, 1e-5, 2.2653743648),
        (20, 1e-5, 152.6694696),
        (50, 1e-5, 58618.4264),
        (8, 0.01, 1.78239538),
    ],
)
def test_the_textbook_gaussian_leaks_more_than_claimed_for_large_epsilon(eps, delta, ratio):
    z = classic_noise_multiplier(eps, delta)
    ours = hockey_stick_gaussian(epsilon=eps, noise_multiplier=z)
    assert ours / delta == pytest.approx(ratio, rel=1e-8)
    assert exact_delta(eps, z) == pytest.approx(ours, rel=1e-9)
    # the proposition requires c^2 > 2 log(1.25 / delta); slightly more noise than the infimum gives the same result
    if ratio > 1:
        assert hockey_stick_gaussian(epsilon=eps, noise_multiplier=z * 1.0001) > delta


@pytest.mark.verifies("berthier2019:prop2.2")
@pytest.mark.parametrize(
    "delta, critical",
    [
        (0.9, 3.78710404),
        (0.5, 4.46540616),
        (0.1, 5.74259492),
        (0.01, 6.77180614),
        (1e-3, 7.46347437),
        (1e-4, 7.99099261),
        (1e-5, 8.41977130),
        (1e-6, 8.78209175),
        (1e-10, 9.84987399),
    ],
)
def test_from_which_epsilon_on_the_textbook_gaussian_fails(delta, critical):
    for eps, fails in ((critical - 1e-6, False), (critical + 1e-6, True)):
        assert (exact_delta(eps, classic_noise_multiplier(eps, delta)) > delta) == fails


@pytest.mark.verifies("berthier2019:prop2.2")
def test_the_textbook_gaussian_holds_up_to_epsilon_1_and_the_exact_noise_always():
    worst = max(
        hockey_stick_gaussian(epsilon=eps, noise_multiplier=classic_noise_multiplier(eps, delta)) / delta
        for eps in np.linspace(0.01, 1, 100)
        for delta in (*np.geomspace(1e-12, 0.5, 40), *np.linspace(0.5, 0.999, 40))
    )
    assert worst == pytest.approx(0.31814739, abs=1e-8)
    for eps, exact, classic in ((10, 0.4998886197, 0.4844805261), (1, 3.7306316348, 4.8448052626)):
        z = optimize.brentq(lambda z, eps=eps: exact_delta(eps, z) - 1e-5, 0.3, 10, xtol=1e-13)
        assert z == pytest.approx(exact, abs=1e-9)
        assert hockey_stick_gaussian(epsilon=eps, noise_multiplier=z) == pytest.approx(1e-5, rel=1e-8)
        assert classic_noise_multiplier(eps, 1e-5) == pytest.approx(classic, abs=1e-9)


# --- mixtures and subsampling


@pytest.mark.verifies("berthier2019:lem3.1")
def test_the_divergence_of_a_mixture_is_at_most_the_softmax_average():
    rng = np.random.default_rng(25)
    for _ in range(300):
        k, alpha = int(rng.integers(2, 6)), 1 + 10 ** rng.uniform(-2, 1.5)
        weights = rng.dirichlet(np.ones(k))
        P, Q = rng.dirichlet(np.full(4, 0.6), (2, k))
        H = [math.exp((alpha - 1) * renyi(p, q, alpha=alpha)) for p, q in zip(P, Q, strict=True)]
        mixed = math.exp((alpha - 1) * renyi(weights @ P, weights @ Q, alpha=alpha))
        assert mixed <= weights @ H * (1 + 1e-12)


def lemma_3(q, alpha, curve, eps_infinity, exponent):
    """Lemma 3 as a loop, with the lemma's last exponent as an argument."""
    gap = math.expm1(eps_infinity)
    total = 1 + q**2 * math.comb(alpha, 2) * min(
        4 * math.expm1(curve(2)), 2 * math.exp(curve(2)), math.exp(curve(2)) * gap**2
    )
    for l in range(3, alpha + 1):
        total += math.comb(alpha, l) * q**l * math.exp((l - 1) * curve(l)) * min(2, gap ** exponent(l))
    return math.log(total) / (alpha - 1)


@pytest.mark.verifies("lee2020:lem3")
def test_the_last_exponent_of_lemma_3():
    """The last exponent of Lemma 3 is printed as j, which the lemma does not define.

    If the exponent is l, the lemma is the cited theorem. If the exponent is the upper limit of the sum, the lemma is
    false.
    """
    sum_as_printed = (
        "sum(C(a, l) * q**l * exp((l - 1) * eps(l)) * min(2, (exp(eps_inf) - 1)**j) for l in range(3, a + 1))"
    )
    names = {"C": math.comb, "exp": math.exp, "eps": lambda l: 0.1 * l, "a": 5, "q": 0.1, "eps_inf": 0.5}
    with pytest.raises(NameError, match="'j'"):
        eval(sum_as_printed, {**names, "sum": sum, "min": min, "range": range})
    # One of two records, chosen at random (q = 1/2), answers by randomised response. Neighbours differ in one record.
    p, r = response(0.45)
    exact = max(renyi(p, (p + r) / 2, alpha=128), renyi((p + r) / 2, p, alpha=128))

    def curve(l):
        return renyi(p, r, alpha=l)

    with_l, with_alpha = (lemma_3(0.5, 128, curve, 0.45, e) for e in (lambda l: l, lambda l: 128))
    assert [exact, with_l, with_alpha] == pytest.approx([0.2446439136, 0.3640307669, 0.0525828501], abs=1e-10)
    assert with_alpha < exact < with_l
    ours = subsampling.without_replacement(
        [128], sampling_rate=0.5, curve=lambda a: np.array([curve(x) for x in a]), epsilon_infinity=0.45
    )
    assert float(ours[0]) == pytest.approx(with_l, rel=1e-12)
    # If the exponent is 2 or 3 in place of l, the result is still a bound for gap < 1, but it is not the theorem.
    laplace = [
        lemma_3(0.1, 4, lambda l: float(rdp.laplace(np.array([float(l)]), scale=2)[0]), 0.5, e)
        for e in (lambda l: l, lambda l: 3, lambda l: 2)
    ]
    assert laplace == pytest.approx([0.0107498317, 0.0107579380, 0.0110985626], abs=1e-10)


@pytest.mark.verifies("lee2020:lem3", "lee2020:adjacency")
def test_lemma_3_is_not_about_poisson_batches():
    """Lemma 3 does not apply to Poisson batches.

    If the batch size is fixed, a release of the batch's size reveals nothing about a replaced record. With Poisson
    batches, this release reveals information about the number n of records.
    """
    one, two = np.array([0.5, 0.5, 0.0]), np.array([0.25, 0.5, 0.25])  # Binomial(1, 1/2), Binomial(2, 1/2)
    assert renyi(one, two, alpha=2) == pytest.approx(math.log(1.5), rel=1e-14)
    assert renyi(two, one, alpha=2) == INF
    zero = subsampling.without_replacement([2, 5], sampling_rate=0.5, curve=np.zeros_like, epsilon_infinity=0.0)
    assert zero.tolist() == [0, 0]
    for n, m in ((4, 2), (5, 3)):  # for batches of a fixed size m, the batches of two neighbours have the same size
        own, other = fixed_batches(n, m)
        assert {len(b) for b in own} == {len(b) for b in other} == {m}


@pytest.mark.verifies("lee2020:lem3", "lee2020:lem3-gauss")
def test_from_which_rate_on_lemma_3_does_not_amplify():
    """Lemma 3 is below the curve without sampling only for small q.

    At alpha = 2: q < sqrt((x - 1) / min(...)), x = e^{eps(2)}. This limit of q is 1/2 only if x <= 2, and it is always
    below 1.
    """
    for z, threshold in ((5, 0.5), (1 / math.sqrt(math.log(2)), 0.5), (1, 0.5622), (0.64, 0.6756), (0.5, 0.7006)):
        x = math.exp(1 / z**2)
        assert math.sqrt((x - 1) / min(4 * (x - 1), 2 * x)) == pytest.approx(threshold, abs=5e-5)
        assert threshold < math.sqrt(0.5)
    assert 1 / math.sqrt(math.log(2)) == pytest.approx(1.2011, abs=5e-5)
    base = float(rdp.laplace(np.array([2.0]), scale=2)[0])

    def excess(q):
        bound = subsampling.without_replacement(
            [2], sampling_rate=q, curve=lambda a: rdp.laplace(a, scale=2), epsilon_infinity=0.5
        )
        return float(bound[0]) - base

    assert optimize.brentq(excess, 0.1, 0.99) == pytest.approx(0.65675250, abs=1e-8)


@pytest.mark.verifies("berthier2019:thm3.2")
def test_how_much_the_reports_bound_gives_away():
    """If e^{eps(2)} > 2, the report's bound is up to 1.55 times Lemma 3 in these cases (the ledger's E-F).

    If e^{eps(2)} is smaller, the two bounds are equal at alpha = 2. The report's factor 8 needs 1/z^2 <= 1.2564.
    """
    ratios = []
    for q, z, alpha in ((1e-3, 1, 8), (0.01, 2, 16), (0.1, 0.5, 2)):
        settings = {"sampling_rate": q, "curve": lambda a, z=z: rdp.gaussian(a, noise_multiplier=z)}
        report = subsampling.without_replacement_berthier([alpha], **settings)
        ratios.append(float((report / subsampling.without_replacement([alpha], **settings))[0]))
    assert ratios == pytest.approx([1.260267, 1, 1.551914], abs=2e-6)
    root = optimize.brentq(lambda x: 4 * math.expm1(x) - 8 * x, 0.5, 3)
    assert root == pytest.approx(1.25643121, abs=1e-8)


# Batches without replacement satisfy another inequality (Balle, Barthe and Gaboardi, 2018), for (P', Q') and for (Q',
# P'): H_{1 + q (a - 1)}(P', Q') <= q sup H_a(P, Q). This inequality bounds delta at every epsilon, so steps compose
# without Rényi orders.


@pytest.mark.parametrize("trials", [20, pytest.param(150, marks=pytest.mark.slow)])
def test_the_other_inequality_holds_for_every_finite_mechanism_tried(trials):
    rng, nearest = np.random.default_rng(26), 0.0
    for _ in range(trials):
        n = int(rng.integers(2, 6))
        m = int(rng.integers(1, n + 1))
        q = m / n
        own, other = fixed_batches(n, m)
        batches = sorted(itertools.combinations(range(n + 1), m))
        mechanism = random_mechanism(rng, batches, int(rng.integers(2, 5)), 10 ** rng.uniform(-1.5, 0.8))
        P, Q = (law_without_replacement(mechanism, b) for b in (own, other))
        pairs = [(a, b) for a in batches for b in batches if len(set(a) - set(b)) == 1]
        for t in (0.0, 0.2, 1.0, 3.0):
            worst = max(hockey_stick(mechanism[a], mechanism[b], epsilon=t) for a, b in pairs)
            amplified = math.log1p(q * math.expm1(t))
            exact = max(hockey_stick(P, Q, epsilon=amplified), hockey_stick(Q, P, epsilon=amplified))
            assert exact <= q * worst * (1 + 1e-9) + 1e-12
            nearest = max(nearest, exact / max(q * worst, 1e-9))
    assert nearest > 0.9


def gaussian_delta(t, z):
    """H_{e^t} of N(1/z, 1) from N(0, 1) for rows of t >= 0: Phi(above) - e^t Phi(below), precise even if it is tiny."""
    above, below = 0.5 / z - t * z, -0.5 / z - t * z
    small = np.minimum(above, 0)  # for above < 0, the two terms have the factor exp(-above^2 / 2)
    tails = special.erfcx(-small / math.sqrt(2)) - special.erfcx(-below / math.sqrt(2))
    direct = special.ndtr(above) - np.exp(t + special.log_ndtr(below))
    return np.where(above > 0, direct, 0.5 * np.exp(-(small**2) / 2) * np.maximum(tails, 0))


def proved_curve(q, z, alpha):
    """The Rényi curve from the deltas h: E_Q[(P/Q)^a] = 1 + a (a - 1) int_1^inf (s^{a-2} + s^{-a-1}) h(s) ds."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    ends = np.linspace(0, alpha / z**2 + 14 / z, 201)  # the integrand is large near t = alpha / z^2, with width 1 / z
    half = np.diff(ends)[:, None] / 2
    t = (ends[:-1, None] + ends[1:, None]) / 2 + half * nodes
    s = 1 + q * np.expm1(t)
    integrand = (s ** (alpha - 2) + s ** (-alpha - 1)) * q * gaussian_delta(t, z) * q * np.exp(t)
    return math.log1p(alpha * (alpha - 1) * float((half * weights * integrand).sum())) / (alpha - 1)


@pytest.mark.verifies("wbk2019:thm27", "wbk2019:thm9", "lee2020:lem3", "lee2020:lem3-gauss")
def test_the_bounds_are_above_what_the_other_inequality_proves():
    q, z = 512 / 60000, 512 / 300
    assert proved_curve(q, z, 7) == pytest.approx(1.499629e-4, rel=1e-6)
    assert proved_curve(q, z, 2) == pytest.approx(4.27959e-5, rel=1e-5)
    with mp.workdps(30):
        # E7: the divergence of one explicit pair of laws
        assert float(mp_quad_poisson(7, q, z)) < proved_curve(q, z, 7)
    for q, z, alpha in itertools.product((1e-3, 0.01, 0.1, 0.5, 1.0), (0.64, 1.7, 8.5), (2, 3, 7, 16)):
        if alpha * alpha > 300 * z * z:  # the integrand exceeds the range of floats
            continue
        base = alpha / (2 * z * z)
        proved = proved_curve(q, z, alpha)
        stronger = subsampling.without_replacement_gaussian([alpha], sampling_rate=q, noise_multiplier=z)
        weaker = subsampling.without_replacement(
            [alpha], sampling_rate=q, curve=lambda a, z=z: rdp.gaussian(a, noise_multiplier=z)
        )
        assert proved <= min(float(stronger[0]), base) * (1 + 1e-9)
        assert stronger[0] <= weaker[0] * (1 + 1e-12)
        if q == 1:
            assert proved == pytest.approx(base, rel=1e-9)


# --- the captions of lee2020

CAPTIONS = [  # batch, S, sigma, printed epsilons at 50, 100, ... epochs
    (512, 3, 0.01, (4.43, 6.43, 8.07, 9.49)),
    (512, 3, 0.03, (1.28, 1.82, 2.25, 2.61)),
    (512, 3, 0.05, (0.75, 1.07, 1.31, 1.52)),
    (128, 2, 0.01, (9.77, 13.75, 17.8, 21.3, 23.74, 26.19)),
    (128, 2, 0.05, (1.03, 1.46, 1.8, 2.1, 2.35, 2.59)),
]


def captions(batch):
    """(sigma, epochs, printed epsilon) for the CNN (batch 512) or the fully connected network (batch 128)."""
    return [(s, 50 * (k + 1), eps) for m, _, s, row in CAPTIONS if m == batch for k, eps in enumerate(row)]


def count(n, m, S, sigma, epochs, bound):
    mechanism = Mechanism(
        law="gaussian",
        sensitivity=S / m,
        adjacency="replace-one",
        noise_std=sigma,
        sampling="without-replacement",
        sampling_rate=m / n,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rdp.OrderAtGridEnd)
        return epsilon(
            [(mechanism, n // m * epochs)], delta=1e-5, conversion="mironov2017", bound=bound, orders=range(2, 65)
        ).epsilon


def proved_epsilon(n, m, S, sigma, epochs, step=1e-4):
    """An epsilon that these deltas prove. dp-accounting composes a pair of laws with these deltas, rounded up."""
    from dp_accounting.pld import pld_pmf
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

    q, z = m / n, sigma * m / S

    def deltas(eps):
        return q * gaussian_delta(np.log1p(np.expm1(eps) / q), z)

    top = optimize.brentq(lambda e: math.log(float(deltas(np.array([e]))[0]) + 1e-300) + 35, 1e-3, 60)
    k = np.arange(1, math.ceil(top / step) + 1)
    right = deltas(k * step)
    left = 1 - np.exp(-k * step) + np.exp(-k * step) * right  # for the pair (Q, P)
    whole = np.concatenate([left[::-1], deltas(np.zeros(1)), right])
    pmf = pld_pmf.create_pmf_pessimistic_connect_dots(step, np.arange(-k[-1], k[-1] + 1), whole)
    return PrivacyLossDistribution(pmf).self_compose(n // m * epochs).get_epsilon_for_delta(1e-5)


@pytest.mark.verifies("lee2020:fig2", "lee2020:fig4", "lee2020:acct")
def test_lemma_3_gives_more_than_most_captions_say():
    """Lemma 3 gives larger epsilons than most captions print, by up to 66 % (the ledger's E3).

    Lemma 3 gives none of Figure 2's printed values, and 5 of Figure 4's printed values. For these 5, the stronger bound
    gives the same values.
    """
    more = {512: [], 128: []}
    hits = {512: 0, 128: 0}
    for m, S in ((512, 3), (128, 2)):
        for sigma, epochs, printed in captions(m):
            lemma, stronger = (count(60000, m, S, sigma, epochs, b) for b in ("lee2020:lem3", "wbk2019:thm27"))
            hits[m] += math.floor(100 * lemma) == round(100 * printed)
            more[m].append(lemma / stronger - 1)
    assert hits == {512: 0, 128: 5}
    assert max(more[512]) == pytest.approx(0.6519, abs=1e-4)
    assert min(more[512]) == pytest.approx(0.003432, abs=1e-6)
    assert sum(x < 1e-9 for x in more[128]) == 6
    assert count(60000, 512, 3, 0.05, 50, "lee2020:lem3") / 0.75 == pytest.approx(1.66255, abs=1e-5)


@pytest.mark.verifies("lee2020:fig3", "lee2020:fig4")
def test_the_same_settings_cost_more_on_the_50_000_records_of_cifar():
    """On the 50,000 records of CIFAR, the same settings have a larger epsilon (the ledger's E2).

    We use the sampling rate and the number of steps for n = 50,000, and all other settings as printed.
    """
    more = {m: [] for m in (512, 128)}
    for m, S in ((512, 3), (128, 2)):
        for sigma, epochs, printed in captions(m):
            more[m].append(count(50000, m, S, sigma, epochs, "wbk2019:thm27") / printed - 1)
    assert [min(more[512]), max(more[512])] == pytest.approx([0.096134, 0.117376], abs=1e-6)
    assert [min(more[128]), max(more[128])] == pytest.approx([0.090704, 0.141676], abs=1e-6)


@pytest.mark.verifies("lee2020:fig2", "lee2020:fig3", "lee2020:fig4")
@pytest.mark.parametrize(
    "n, setting, proved, margin",
    [  # the printed values with the largest and the smallest excess, on Fashion-MNIST and CIFAR-10
        (60000, (512, 3, 0.05, 50, 0.75), 0.26817, 2.7968),
        (50000, (512, 3, 0.05, 50, 0.75), 0.29524, 2.5403),
        pytest.param(60000, (128, 2, 0.01, 300, 26.19), 19.9522, 1.3126, marks=pytest.mark.slow),
        pytest.param(50000, (128, 2, 0.01, 300, 26.19), 22.3286, 1.1729, marks=pytest.mark.slow),
    ],
)
def test_printed_epsilons_are_above_proved_ones(n, setting, proved, margin):
    *how, printed = setting
    ours = proved_epsilon(n, *how)
    assert ours == pytest.approx(proved, rel=1e-4)
    assert printed / ours == pytest.approx(margin, abs=2e-4)


@pytest.mark.slow
@pytest.mark.verifies("lee2020:fig2", "lee2020:fig3", "lee2020:fig4")
def test_all_48_printed_epsilons_are_true_for_the_sensitivities_stated():
    """All 48 printed epsilons are true for the stated sensitivities: 24 captions, for Fashion-MNIST and CIFAR-10.

    Figure 3 and the right part of Figure 4 are for CIFAR-10.
    """
    assert proved_epsilon(60000, 512, 3, 0.01, 50) == pytest.approx(1.9966, abs=1e-4)
    for n, m, S, least, most in (
        (60000, 512, 3, 2.1657, 2.7968),
        (60000, 128, 2, 1.3126, 2.5531),
        (50000, 512, 3, 1.9558, 2.5403),
        (50000, 128, 2, 1.1729, 2.3128),
    ):
        margins = [printed / proved_epsilon(n, m, S, sigma, epochs) for sigma, epochs, printed in captions(m)]
        assert [min(margins), max(margins)] == pytest.approx([least, most], abs=1e-3)


# --- shuffled batches


@pytest.mark.verifies("dpulr2024:L249")
def test_a_poisson_guarantee_does_not_hold_for_shuffled_batches():
    """A Poisson guarantee does not hold for shuffled batches.

    Two records are in two batches of one record, so an epoch has two releases with z = 1/4. In the neighbour, one
    record contributes nothing.
    """
    mu, dx = 4.0, 0.02
    x = np.arange(-9, mu + 9, dx)
    without, with_it = (np.exp(-((x - mean) ** 2) / 2) / math.sqrt(2 * math.pi) for mean in (0, mu))
    nothing = np.outer(without, without)
    shuffled = (np.outer(with_it, without) + np.outer(without, with_it)) / 2
    poisson = np.outer(without + with_it, without + with_it) / 4
    deltas = {}
    for eps in (0, 1, 3):
        for name, law in (("shuffled", shuffled), ("poisson", poisson)):
            ways = (law - math.exp(eps) * nothing, nothing - math.exp(eps) * law)
            deltas[name, eps] = max(np.maximum(w, 0).sum() * dx**2 for w in ways)
    assert [deltas["shuffled", e] for e in (0, 1, 3)] == pytest.approx([0.93715, 0.90141, 0.78995], abs=2e-5)
    assert [deltas["poisson", e] for e in (0, 1, 3)] == pytest.approx([0.71177, 0.68614, 0.61581], abs=2e-5)
    # with probability 1/4, the record is in neither of the two Poisson batches
    assert deltas["poisson", 0] < 1 - (1 - 1 / 2) ** 2
    # 2 Phi(mu / 2) - 1 is the delta of one release that uses the record
    assert deltas["shuffled", 0] < 2 * special.ndtr(mu / 2) - 1


@pytest.mark.verifies("dpulr2024:L249")
@pytest.mark.parametrize(
    "sampling, adjacency, bound, value",
    [
        ("poisson", "add-remove", None, 0.200673),
        ("poisson", "add-remove", "mironov2019:thm11", 0.551519),
        ("epoch-partition", "replace-one", None, 6.779486),
    ],
)
def test_what_each_way_of_drawing_batches_costs(sampling, adjacency, bound, value):
    """The epsilon of each sampling scheme, for batches of 64 of 60,000 records, 25 epochs and noise multiplier 4."""
    mechanism = Mechanism(
        law="gaussian",
        sensitivity=1.0,
        adjacency=adjacency,
        noise_std=4.0,
        sampling=sampling,
        sampling_rate=64 / 60000,
    )
    per_epoch = {"steps_per_epoch": 938} if sampling == "epoch-partition" else {}
    g = epsilon([(mechanism, 23438)], delta=1e-5, conversion="mironov2017", bound=bound, **per_epoch)
    assert g.epsilon == pytest.approx(value, abs=1e-6)
    # the exact epsilon of 25 releases, which are equivalent to one release with z = 4 / 5
    if sampling == "epoch-partition":
        exact = optimize.brentq(lambda eps: exact_delta(eps, 4 / 5) - 1e-5, 1, 20, xtol=1e-12)
        assert exact == pytest.approx(5.67959, abs=1e-5)
        assert g.epsilon > exact


@pytest.mark.verifies("mironov2019:thm11")
def test_the_closed_form_is_wrong_where_its_conditions_do_not_hold():
    """Outside its conditions, the closed form 2 q^2 alpha / z^2 is below the divergence, by quadrature.

    Inside its conditions, the closed form is up to 4 times the divergence.
    """
    q = 64 / 60000
    with mp.workdps(30):
        for z, alpha, closed, exact in (
            (0.5, 2, 1.8204444e-5, 6.0980925e-5),
            (1, 14, 3.1857778e-5, 6.6064640e-4),
            (2, 55, 3.1288889e-5, 1.2663850e-4),
        ):
            assert 2 * q**2 * alpha / z**2 == pytest.approx(closed, rel=1e-7)
            assert float(mp_quad_poisson(alpha, q, z)) == pytest.approx(exact, rel=1e-6)
    inside = subsampling.poisson_gaussian_closed_form([2], sampling_rate=0.01, noise_multiplier=100)
    truth = math.log1p(1e-4 * math.expm1(1e-4))
    assert float(inside[0]) / truth == pytest.approx(4, rel=1e-3)


@pytest.mark.verifies("zhuwang2019:thm5")
def test_what_the_factor_3_costs():
    """The theorem's factor 3 adds nothing at alpha = 2, and at most log(3) / (alpha - 1) at other orders.

    The factor adds most if there is little noise.
    """
    for z in (0.2, 0.5, 2.0):
        orders = np.array([2, 3, 6, 20])
        general = subsampling.poisson(
            orders, sampling_rate=0.05, curve=lambda a, z=z: rdp.gaussian(a, noise_multiplier=z)
        )
        exact = subsampling.poisson_gaussian(orders, sampling_rate=0.05, noise_multiplier=z)
        gap = (general - exact) * (orders - 1)
        assert gap[0] == pytest.approx(0, abs=1e-12)
        assert (gap[1:] <= math.log(3) + 1e-12).all()
        if z == 0.2:
            assert gap[1:].tolist() == pytest.approx([math.log(3)] * 3, abs=1e-6)
