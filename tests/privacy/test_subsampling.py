"""Tests of amplification by subsampling: exact laws of all batches, sixty-digit values, and dp-accounting."""

import itertools
import math

import mpmath as mp
import numpy as np
import pytest

from nfa.mechanism import NoGuarantee
from nfa.privacy import rdp, subsampling
from nfa.privacy.divergences import renyi
from nfa.privacy.subsampling_sums import log_moment
from tests.oracles.subsampling import (
    fixed_batches,
    law_poisson,
    law_without_replacement,
    mp_moment,
    mp_poisson,
    mp_poisson_general,
    mp_quad_poisson,
    mp_thm9,
    mp_thm27,
    random_mechanism,
    worst_pairs,
)

INF = math.inf


def gaussian(z):
    return lambda orders: rdp.gaussian(orders, noise_multiplier=z)


def at(bound, alpha, **settings):
    return float(bound([alpha], **settings)[0])


def close(value, exact, rel=1e-12):
    """Assert that a value differs from the exact value by at most a relative error."""
    exact = float(exact)
    assert value == pytest.approx(exact, rel=rel, abs=1e-300)


# --- the ledger's vectors


@pytest.mark.verifies("lee2020:lem3", "lee2020:lem3-gauss", "wbk2019:thm9", "wbk2019:thm27", "lee2020:fn1")
@pytest.mark.parametrize(
    "q, z, alpha, lemma3, theorem27, poisson",
    [  # V5
        (512 / 60000, 5.12 / 3, 2, 1.1930441863327e-4, 1.1930441863327e-4, 2.982743907963e-5),
        (512 / 60000, 5.12 / 3, 3, 1.8067512258387e-4, 1.8008730338202e-4, 4.491755537827e-5),
        (512 / 60000, 5.12 / 3, 7, 4.3781556795564e-4, 4.3074556031136e-4, 1.0650376681268e-4),
        (512 / 60000, 5.12 / 3, 16, 1.0865345721786e-3, 1.038485928805e-3, 2.5290743893145e-4),
        (128 / 60000, 3.2, 24, 2.472800780888e-5, 2.2651967524372e-5, 5.6304574847574e-6),
        (0.2, 2, 5, 0.15684056950207, 0.1213890167089, 0.033024469537756),
        (0.05, 5, 10, 0.0060304764059696, 0.0021291259398793, 0.00051828048409795),
        (0.1, 1, 4, 0.14984091377951, 0.14984091377951, 0.058672606960081),
    ],
)
def test_one_step_vectors(q, z, alpha, lemma3, theorem27, poisson):
    close(at(subsampling.without_replacement, alpha, sampling_rate=q, curve=gaussian(z)), lemma3)
    close(at(subsampling.without_replacement_gaussian, alpha, sampling_rate=q, noise_multiplier=z), theorem27)
    close(at(subsampling.poisson_gaussian, alpha, sampling_rate=q, noise_multiplier=z), poisson)


def response(epsilon):
    """The curve of randomised response, from its two laws."""
    p = np.array([math.exp(epsilon), 1.0]) / (1 + math.exp(epsilon))
    return lambda orders: np.array([renyi(p, p[::-1], alpha=float(a)) for a in orders])


@pytest.mark.verifies("lee2020:lem3", "wbk2019:thm9", "berthier2019:rr")
@pytest.mark.parametrize(
    "curve, infinity, q, alpha, value",
    [  # V5b: Laplace noise in three cases of Lemma 3 (branches 3, 2, 3), and randomised response
        (lambda a: rdp.laplace(a, scale=2), 1 / 2, 0.1, 4, 0.010749831727906),
        (lambda a: rdp.laplace(a, scale=0.5), 2, 0.1, 4, 0.21395872376728),
        (lambda a: rdp.laplace(a, scale=10), 1 / 10, 0.01, 6, 3.3551981872601e-6),
        (response(1), 1, 0.25, 5, 0.44623495244243),
        (response(1), 1, 0.25, 2, 0.23172277130061),
    ],
)
def test_finite_epsilon_at_infinity(curve, infinity, q, alpha, value):
    close(at(subsampling.without_replacement, alpha, sampling_rate=q, curve=curve, epsilon_infinity=infinity), value)
    assert curve(np.array([2.0]))[0] < infinity


def test_randomised_response_vectors():
    assert response(1)([2, 5]).tolist() == pytest.approx([0.73532566405552, 0.92171542866788], rel=1e-13)
    assert float(rdp.laplace(np.array([2.0]), scale=2)[0]) == pytest.approx(0.200303896174, rel=1e-11)
    assert float(rdp.laplace(np.array([2.0]), scale=0.5)[0]) == pytest.approx(1.59577350059, rel=1e-11)


@pytest.mark.verifies("wbk2019:thm27")
@pytest.mark.parametrize(
    "j, z, value",
    [  # V5 and V5c
        (4, 1, 336.39633677074),
        (4, 2, 0.71784150401382),
        (3, 1, 13.930691437811),
        (6, 128 / 75, 64.3522661178),
        (8, 128 / 15, 7.35159860078e-6),
        (16, 128 / 15, 6.72949193011e-8),
        (24, 128 / 15, 1.41147756966e-8),
        (32, 128 / 15, 2.64185067345e-8),
    ],
)
def test_moments(j, z, value):
    assert math.exp(float(log_moment(j, noise_multiplier=z))) == pytest.approx(value, rel=1e-11)


@pytest.mark.verifies("lee2020:lem3")
@pytest.mark.parametrize("q, ratio", [(0.1, 0.0407775), (0.5, 1), (0.6, 1.4276377), (0.9, 3.1046602)])
def test_lemma_3_can_be_worse_than_no_sampling(q, ratio):
    """Lemma 3 can be worse than no sampling, as in E9 at alpha = 2, z = 5.

    The accountant takes the smaller of the two curves.
    """
    bound = at(subsampling.without_replacement, 2, sampling_rate=q, curve=gaussian(5))
    assert bound / 0.04 == pytest.approx(ratio, rel=2e-7)


@pytest.mark.verifies("lee2020:lem3")
@pytest.mark.parametrize("z, threshold", [(5, 0.5), (1.2012, 0.5), (1, 0.5622), (0.64, 0.6756), (0.5, 0.7006)])
def test_where_lemma_3_amplifies(z, threshold):
    for q, amplifies in ((threshold - 1e-4, True), (threshold + 1e-4, False)):
        bound = at(subsampling.without_replacement, 2, sampling_rate=q, curve=gaussian(z))
        assert (bound < 1 / z**2) == amplifies


@pytest.mark.verifies("berthier2019:thm3.2")
@pytest.mark.parametrize(
    "q, z, alpha, weaker, stronger",
    [  # E-F
        (1e-3, 1, 8, 2.7819619490089e-5, 2.2074368237644e-5),
        (0.01, 2, 16, 1.0699522e-3, 9.7296892e-4),
        (0.1, 0.5, 2, 1.145472, 0.738103),
    ],
)
def test_the_reports_form_of_the_bound(q, z, alpha, weaker, stronger):
    digits = 1e-12 if alpha == 8 else 5e-7
    bound = at(subsampling.without_replacement_berthier, alpha, sampling_rate=q, curve=gaussian(z))
    close(bound, weaker, digits)
    close(at(subsampling.without_replacement_gaussian, alpha, sampling_rate=q, noise_multiplier=z), stronger, digits)
    assert bound >= at(subsampling.without_replacement, alpha, sampling_rate=q, curve=gaussian(z))


# --- sixty digits, extreme settings

RATES = [1e-9, 1e-3, 0.1, 0.7, 1.0]
NOISES = [1e-3, 0.12, 1.7, 1e6, *(pytest.param(z, marks=pytest.mark.slow) for z in (0.05, 0.64, 8.5, 60, 1e3))]


@pytest.mark.verifies("lee2020:lem3", "lee2020:lem3-gauss", "wbk2019:thm9", "berthier2019:thm3.2")
@pytest.mark.parametrize("z", NOISES)
def test_lemma_3_at_sixty_digits(z):
    with mp.workdps(60):
        for q, alpha in itertools.product(RATES, (2, 3, 64)):
            exact = mp_thm9(alpha, q, lambda l: mp.mpf(l) / (2 * mp.mpf(z) ** 2))
            close(at(subsampling.without_replacement, alpha, sampling_rate=q, curve=gaussian(z)), exact)


@pytest.mark.verifies("lee2020:lem3", "wbk2019:thm9")
@pytest.mark.parametrize("scale", [1e-2, 0.5, 2, 1e3, 1e6])
def test_lemma_3_of_laplace_at_sixty_digits(scale):
    def curve(l):
        a, b = mp.mpf(l), mp.mpf(scale)
        return mp.log((a * mp.exp((a - 1) / b) + (a - 1) * mp.exp(-a / b)) / (2 * a - 1)) / (a - 1)

    with mp.workdps(60):
        for q, alpha in itertools.product((1e-6, 0.1, 0.9), (2, 3, 40)):
            ours = {"sampling_rate": q, "curve": lambda a: rdp.laplace(a, scale=scale)}
            exact = mp_thm9(alpha, q, curve, 1 / mp.mpf(scale))
            close(at(subsampling.without_replacement, alpha, **ours, epsilon_infinity=1 / scale), exact, 4e-12)
            close(at(subsampling.poisson, alpha, **ours), mp_poisson_general(alpha, q, curve), 4e-12)


@pytest.mark.verifies("wbk2019:thm27")
@pytest.mark.parametrize("z", NOISES)
def test_theorem_27_at_sixty_digits(z):
    with mp.workdps(60):
        for alpha in (2, 3, 4, 31, 64):
            moments = {j: mp_moment(j, z) for j in range(2, alpha + 2, 2)}
            for q in RATES:
                exact = mp_thm27(alpha, q, z, moments)
                close(at(subsampling.without_replacement_gaussian, alpha, sampling_rate=q, noise_multiplier=z), exact)


@pytest.mark.verifies("wbk2019:thm27")
@pytest.mark.parametrize("z", NOISES[1:])
def test_moments_at_many_digits(z):
    for j in (2, 4, 10, 32, 128, 256):
        if z == 1e6 and j > 128:
            continue
        exact = mp.log(mp_moment(j, z))
        assert float(log_moment(j, noise_multiplier=z)) == pytest.approx(
            float(exact), abs=float(2e-12 + 1e-15 * abs(exact))
        )


@pytest.mark.parametrize("z", [0.001, 0.03, 0.1, 0.25, 4.0, 50.0])
def test_even_moments_keep_their_digits_at_every_noise(z):
    """The computed moments of even order are precise for every noise.

    The tolerance is relative to the logarithm of the moment.
    One call computes all orders.
    """
    orders = [2, 4, 6, 64]
    want = [float(mp.log(mp_moment(j, z))) for j in orders]
    np.testing.assert_allclose(log_moment(np.array(orders), noise_multiplier=z), want, rtol=1e-13)


@pytest.mark.verifies("wbk2019:thm27")
def test_moments_by_quadrature_of_the_definition():
    with mp.workdps(30):
        for j, z in ((2, 1), (6, 0.5), (8, 128 / 15), (32, 128 / 15), (5, 2)):
            mu = 1 / mp.mpf(z)
            top = j * mu
            exact = mp.quad(
                lambda x, j=j, mu=mu: mp.npdf(x, 0, 1) * (mp.exp(mu * x - mu * mu / 2) - 1) ** j,
                sorted({mp.mpf(-40), mp.mpf(-8), mp.mpf(-3), mp.mpf(0), mu / 2, mp.mpf(8), top + 8, top + 40}),
            )
            assert math.exp(float(log_moment(j, noise_multiplier=z))) == pytest.approx(float(exact), rel=1e-11)


@pytest.mark.verifies("lee2020:fn1", "mironov2019:sec3.3")
@pytest.mark.parametrize("z", NOISES)
def test_poisson_at_sixty_digits(z):
    with mp.workdps(60):
        for q, alpha in itertools.product(RATES, (2, 3, 64, 256)):
            close(at(subsampling.poisson_gaussian, alpha, sampling_rate=q, noise_multiplier=z), mp_poisson(alpha, q, z))


@pytest.mark.verifies("lee2020:fn1", "mironov2019:sec3.3")
@pytest.mark.parametrize(
    "q, z, alpha",
    [
        (1e-4, 0.5, 2),
        (0.01, 1, 8),
        *(pytest.param(*setting, marks=pytest.mark.slow) for setting in ((0.3, 2, 20), (0.9, 4, 5), (1e-3, 20, 40))),
    ],
)
def test_poisson_is_the_definition_and_the_larger_way_round(q, z, alpha):
    value = at(subsampling.poisson_gaussian, alpha, sampling_rate=q, noise_multiplier=z)
    with mp.workdps(30):
        close(value, mp_quad_poisson(alpha, q, z), 1e-11)

        def back(x):  # E_P[(Q/P)^alpha]
            p = mp.npdf(x, 0, 1) * (1 - q) + q * mp.npdf(x, 1 / mp.mpf(z), 1)
            return mp.npdf(x, 0, 1) ** alpha * p ** (1 - alpha)

        other = mp.log(mp.quad(back, [-60, -20, -6, 0, 6, 20, 60])) / (alpha - 1)
    assert float(other) <= value * (1 + 1e-9)


@pytest.mark.verifies("zhuwang2019:thm5")
@pytest.mark.parametrize("z", [0.05, 0.64, 8.5, 1e3])
def test_poisson_general_at_sixty_digits(z):
    with mp.workdps(60):
        for q, alpha in itertools.product(RATES, (2, 3, 64)):
            exact = mp_poisson_general(alpha, q, lambda l: mp.mpf(l) / (2 * mp.mpf(z) ** 2))
            ours = at(subsampling.poisson, alpha, sampling_rate=q, curve=gaussian(z))
            close(ours, exact)
            assert ours >= at(subsampling.poisson_gaussian, alpha, sampling_rate=q, noise_multiplier=z) * (1 - 1e-12)


@pytest.mark.parametrize("z", [1e-200, 1e-80, 1e80, 1e200])
def test_beyond_floats_is_infinite_or_zero_never_nan(z):
    for values in (
        subsampling.without_replacement_gaussian([2, 3, 9], sampling_rate=0.1, noise_multiplier=z),
        subsampling.poisson_gaussian([2, 3, 9], sampling_rate=0.1, noise_multiplier=z),
    ):
        assert (values > 1e150).all() if z < 1 else (values < 1e-150).all()
    # The bounds for any mechanism have factors 2 and 3. For any noise, these factors remain in the terms from l = 3 on.
    values = subsampling.without_replacement([2, 3, 9], sampling_rate=0.1, curve=gaussian(z))
    expected = [0, math.log1p(2e-3) / 2, math.log1p(2 * (1.1**9 - 1 - 9 * 0.1 - 36 * 0.01)) / 8]
    assert (values > 1e150).all() if z < 1 else values.tolist() == pytest.approx(expected, abs=1e-12)
    values = subsampling.poisson([2, 3, 9], sampling_rate=0.1, curve=gaussian(z))
    three_or_more = 1 - 0.9**9 - 0.9 * 0.9**8 - 36 * 0.01 * 0.9**7
    expected = [0, math.log1p(2e-3) / 2, math.log1p(2 * three_or_more) / 8]
    assert (values > 1e150).all() if z < 1 else values.tolist() == pytest.approx(expected, abs=1e-12)


# --- exact laws: every batch of a few records


@pytest.mark.slow
@pytest.mark.verifies("lee2020:lem3", "wbk2019:thm9", "berthier2019:thm3.2")
def test_no_finite_mechanism_violates_the_bound_without_replacement():
    rng, orders, nearest = np.random.default_rng(7), np.array([2, 3, 5, 8]), 0.0
    for trial in range(100):
        n = int(rng.integers(2, 6))
        m = int(rng.integers(1, n + 1))
        own, other = fixed_batches(n, m)
        batches = set(itertools.combinations(range(n + 1), m))
        mechanism = random_mechanism(rng, sorted(batches), int(rng.integers(2, 5)), 10 ** rng.uniform(-1.5, 0.8))
        worst = worst_pairs(mechanism, lambda a, b: len(set(a) - set(b)) == 1, range(2, 9))
        P, Q = (law_without_replacement(mechanism, b) for b in (own, other))

        def curve(a, worst=worst):
            return np.array([worst[int(alpha)] for alpha in a])

        for infinity in (INF, worst[INF]):
            settings = {"sampling_rate": m / n, "curve": curve}
            bound = subsampling.without_replacement(orders, **settings, epsilon_infinity=infinity)
            assert (bound <= subsampling.without_replacement_berthier(orders, **settings) * (1 + 1e-12)).all()
            bound = np.minimum(bound, curve(orders))  # the accountant also uses the smaller of the two bounds
            for alpha, limit in zip(orders, bound, strict=True):
                exact = max(renyi(P, Q, alpha=alpha), renyi(Q, P, alpha=alpha))
                assert exact <= limit * (1 + 1e-9) + 1e-12, (trial, n, m, alpha)
                nearest = max(nearest, exact / max(limit, 1e-12))
    assert nearest > 0.9  # the search came near the bound, so it would detect a bound that is too small


@pytest.mark.verifies("zhuwang2019:thm5")
@pytest.mark.parametrize("trials", [12, pytest.param(100, marks=pytest.mark.slow)])
def test_no_finite_mechanism_violates_the_bound_for_poisson_batches(trials):
    rng, orders = np.random.default_rng(8), np.array([2, 3, 5, 8])
    for trial in range(trials):
        n, q = int(rng.integers(1, 5)), float(rng.uniform(0.02, 0.98))
        batches = [b for r in range(n + 1) for b in itertools.combinations(range(n), r)]
        mechanism = random_mechanism(rng, batches, int(rng.integers(2, 5)), 10 ** rng.uniform(-1.5, 0.8))
        worst = worst_pairs(mechanism, lambda a, b: len(set(a) ^ set(b)) == 1, range(2, 9))
        P, Q = law_poisson(mechanism, range(n), q), law_poisson(mechanism, range(n - 1), q)
        bound = subsampling.poisson(
            orders, sampling_rate=q, curve=lambda a, worst=worst: np.array([worst[int(alpha)] for alpha in a])
        )
        for alpha, limit in zip(orders, bound, strict=True):
            exact = max(renyi(P, Q, alpha=alpha), renyi(Q, P, alpha=alpha))
            assert exact <= limit * (1 + 1e-9) + 1e-12, (trial, n, q, alpha)


@pytest.mark.verifies("wbk2019:thm27", "lee2020:lem3")
@pytest.mark.parametrize("q, z, alpha", [(512 / 60000, 5.12 / 3, 7), (0.1, 1, 4), (0.3, 3, 12), (0.02, 0.64, 3)])
def test_an_explicit_pair_of_laws_stays_below(q, z, alpha):
    """The divergence of an explicit pair of laws is below the bound (E7).

    All other records of the two data sets are equal. The record that differs moves the mean by the sensitivity. The
    divergence of the pair is the Poisson sum.
    """
    with mp.workdps(30):
        pair = float(mp_quad_poisson(alpha, q, z))
    stronger = at(subsampling.without_replacement_gaussian, alpha, sampling_rate=q, noise_multiplier=z)
    assert (
        pair < stronger <= at(subsampling.without_replacement, alpha, sampling_rate=q, curve=gaussian(z)) * (1 + 1e-12)
    )
    if alpha == 7:
        assert pair == pytest.approx(1.065038e-4, rel=1e-6)


@pytest.mark.verifies("mironov2019:thm11")
def test_the_closed_form_is_above_the_exact_curve_where_its_conditions_hold():
    rng, covered = np.random.default_rng(9), 0
    for _ in range(300):
        q, z = 10 ** rng.uniform(-4, math.log10(0.2)), 10 ** rng.uniform(math.log10(4), 2)
        orders = np.unique(rng.integers(2, 200, 12))
        closed = subsampling.poisson_gaussian_closed_form(orders, sampling_rate=q, noise_multiplier=z)
        exact = subsampling.poisson_gaussian(orders, sampling_rate=q, noise_multiplier=z)
        assert (closed >= exact).all()
        covered += int(np.isfinite(closed).sum())
    assert covered > 1000


# --- dp-accounting


@pytest.mark.slow
@pytest.mark.verifies("wbk2019:thm27", "lee2020:fn1", "lee2020:lem1", "mironov2019:sec3.3")
def test_agrees_with_dp_accounting_on_a_random_grid():
    """The bounds agree with dp-accounting on 600 random settings with four orders each, to a relative 1e-7.

    If the terms of dp-accounting cancel, we compare with sixty digits instead. dp-accounting computes moments as
    differences, so few of its digits are correct for much noise and high orders. For tiny epsilons, its logarithm of 1
    + epsilon has an absolute error of about 1e-16.
    """
    from dp_accounting.rdp import rdp_privacy_accountant as theirs

    rng, compared, cancelled = np.random.default_rng(10), 0, 0
    for _ in range(600):
        q, z = 10 ** rng.uniform(-4, -0.05), 10 ** rng.uniform(-0.5, 1.5)
        orders = np.unique(rng.integers(2, 49, 4))
        ours = subsampling.without_replacement_gaussian(orders, sampling_rate=q, noise_multiplier=z)
        wor = np.array(theirs._compute_rdp_sample_wor_gaussian(q, z, orders.tolist()))
        compared += len(orders)
        for i in np.flatnonzero(np.abs(ours - wor) > 1e-7 * ours + 1e-12):
            alpha, cancelled = int(orders[i]), cancelled + 1
            with mp.workdps(60):
                moments = {j: mp_moment(j, z) for j in range(2, alpha + 2, 2)}
                close(ours[i], mp_thm27(alpha, q, z, moments))
        ours = subsampling.poisson_gaussian(orders, sampling_rate=q, noise_multiplier=z)
        poisson = theirs._compute_rdp_poisson_subsampled_gaussian(q, z, orders.tolist())
        assert ours == pytest.approx(poisson, rel=1e-7, abs=1e-12), (q, z, orders)
        full = theirs._compute_rdp_poisson_subsampled_gaussian(1.0, z, orders.tolist())
        assert rdp.gaussian(orders, noise_multiplier=z) == pytest.approx(full, rel=1e-14)
    assert compared > 2000
    assert cancelled < 0.05 * compared


# --- monotone


@pytest.mark.verifies("lee2020:lem3", "wbk2019:thm27", "lee2020:fn1", "zhuwang2019:thm5")
def test_more_sampling_and_less_noise_cost_more():
    orders = np.array([2, 3, 8, 33, 120])
    rates, noises = np.geomspace(1e-5, 1, 25), np.geomspace(30, 0.2, 25)

    def bounds(q, z):
        return (
            subsampling.without_replacement(orders, sampling_rate=q, curve=gaussian(z)),
            subsampling.without_replacement_gaussian(orders, sampling_rate=q, noise_multiplier=z),
            subsampling.poisson_gaussian(orders, sampling_rate=q, noise_multiplier=z),
            subsampling.poisson(orders, sampling_rate=q, curve=gaussian(z)),
        )

    for z in (0.3, 1.7, 12):
        assert (np.diff([bounds(q, z) for q in rates], axis=0) > 0).all()
    for q in (1e-4, 0.02, 0.6):
        assert (np.diff([bounds(q, z) for z in noises], axis=0) > 0).all()


# --- refusals

BOUNDS = [
    (lambda orders, q=0.1: subsampling.without_replacement(orders, sampling_rate=q, curve=gaussian(1)), "wbk2019:thm9"),
    (
        lambda orders, q=0.1: subsampling.without_replacement_berthier(orders, sampling_rate=q, curve=gaussian(1)),
        "berthier2019:thm3.2",
    ),
    (
        lambda orders, q=0.1: subsampling.without_replacement_gaussian(orders, sampling_rate=q, noise_multiplier=1),
        "wbk2019:thm27",
    ),
    (lambda orders, q=0.1: subsampling.poisson_gaussian(orders, sampling_rate=q, noise_multiplier=1), "lee2020:fn1"),
    (lambda orders, q=0.1: subsampling.poisson(orders, sampling_rate=q, curve=gaussian(1)), "zhuwang2019:thm5"),
]


@pytest.mark.parametrize("bound, theorem", BOUNDS)
def test_orders_and_rates_that_a_theorem_does_not_cover(bound, theorem):
    with pytest.raises(NoGuarantee, match=r"integer orders, got the order 2\.5") as caught:
        bound([2, 2.5])
    assert caught.value.id == theorem
    for orders in ([1], [0.5, 2], [math.nan], [INF]):
        with pytest.raises(ValueError, match="order"):
            bound(orders)
    for q in (0, -0.1, 1.0000001, math.nan):
        with pytest.raises(ValueError, match=r"sampling rate q must be in \(0, 1\]"):
            bound([2], q)


@pytest.mark.verifies("mironov2019:thm11")
@pytest.mark.parametrize("q, z, last", [(0.2, 10, 8), (0.2, 30, 16), (0.1, 20, 21), (0.05, 30, 45)])
def test_the_closed_form_ends_with_the_stricter_condition(q, z, last):
    """The closed form covers orders up to the limit of the stricter condition.

    The first condition alone would allow orders up to 12, 43, 39 and 87.
    """
    closed = subsampling.poisson_gaussian_closed_form(range(2, 100), sampling_rate=q, noise_multiplier=z)
    assert np.isfinite(closed).tolist() == [alpha <= last for alpha in range(2, 100)]
    assert closed[0] == pytest.approx(4 * q**2 / z**2, rel=1e-14)


@pytest.mark.verifies("mironov2019:thm11")
@pytest.mark.parametrize("q, z", [(0.2, 10.0), (0.1, 20.0), (0.05, 30.0), (1e-6, 4.0), (1e-4, 100.0)])
def test_the_closed_form_covers_real_orders_up_to_the_roots_of_its_conditions(q, z):
    """The closed form covers real orders up to the roots of its printed conditions, computed with thirty digits.

    We test orders a relative 1e-9 below and above each root, which we find by bisection.
    """

    def holds(alpha):
        with mp.workdps(30):
            A = mp.log(1 + 1 / (q * (alpha - 1)))
            least = (z**2 * A**2 / 2 - mp.log(5) - 2 * mp.log(z)) / (A + mp.log(q * alpha) + 1 / (2 * mp.mpf(z) ** 2))
            return alpha <= z**2 * A / 2 - 2 * mp.log(z) and alpha <= least

    low, high = mp.mpf("1.5"), mp.mpf(10) ** 7
    assert holds(low)
    assert not holds(high)
    while high > low * (1 + mp.mpf("1e-10")):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    orders = float(low) * np.array([1 - 1e-9, 1 + 1e-9])
    found = subsampling.poisson_gaussian_closed_form(orders, sampling_rate=q, noise_multiplier=z)
    assert found.tolist() == [pytest.approx(2 * q**2 * orders[0] / z**2, rel=1e-14), INF]


@pytest.mark.verifies("mironov2019:thm11")
def test_the_closed_form_is_refused_where_it_covers_nothing():
    for q, z in ((0.21, 5), (0.1, 3.9)):
        with pytest.raises(NoGuarantee, match="sampling rate q <= 1/5 and a noise multiplier z >= 4") as caught:
            subsampling.poisson_gaussian_closed_form([2], sampling_rate=q, noise_multiplier=z)
        assert caught.value.id == "mironov2019:thm11"


def test_bad_noise_and_bad_curves():
    for noise in (0, -1, math.nan, INF):
        with pytest.raises(ValueError, match="noise multiplier must be positive and finite"):
            subsampling.poisson_gaussian([2], sampling_rate=0.1, noise_multiplier=noise)
        with pytest.raises(ValueError, match="noise multiplier must be positive and finite"):
            subsampling.without_replacement_gaussian([2], sampling_rate=0.1, noise_multiplier=noise)
    for wrong in (-1.0, math.nan):
        with pytest.raises(ValueError, match="one number >= 0"):
            subsampling.poisson([2], sampling_rate=0.1, curve=lambda a, wrong=wrong: np.full(len(a), wrong))
    with pytest.raises(ValueError, match="epsilon_infinity must be at least 0"):
        subsampling.without_replacement([2], sampling_rate=0.1, curve=gaussian(1), epsilon_infinity=-1)
    for j in (1, 2.5):
        with pytest.raises(ValueError, match="must be an integer >= 2"):
            log_moment(j, noise_multiplier=1)


def test_an_infinite_curve_stays_infinite_from_its_order_on():
    def curve(a):
        return np.where(a > 4, INF, 0.1 * a)

    values = subsampling.without_replacement([2, 4, 5, 9], sampling_rate=0.1, curve=curve)
    assert np.isfinite(values).tolist() == [True, True, False, False]
    values = subsampling.poisson([2, 4, 5, 9], sampling_rate=0.1, curve=curve)
    assert np.isfinite(values).tolist() == [True, True, False, False]
    assert subsampling.poisson([5, 9], sampling_rate=1.0, curve=curve).tolist() == [INF, INF]
