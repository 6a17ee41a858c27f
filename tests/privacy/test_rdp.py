"""Tests of Rényi curves, composition and conversions: 50-digit quadrature, the exact delta and dp-accounting."""

import math

import mpmath as mp
import numpy as np
import pytest

from nfa.privacy import rdp
from nfa.privacy.divergences import hockey_stick, renyi
from nfa.privacy.gaussians import hockey_stick_gaussian, renyi_gaussian

INF = math.inf


def one(curve, alpha, **settings):
    return float(curve(np.array([float(alpha)]), **settings)[0])


# --- curves


@pytest.mark.verifies("lee2020:lem1", "ohana2021:rem2.1", "berthier2019:prop2.6", "lee2020:def3")
@pytest.mark.parametrize("z", [0.05, 1, 6.25])
@pytest.mark.parametrize("alpha", [1.01, 2, 40])
def test_gaussian_curve_is_the_divergence(alpha, z):
    value = one(rdp.gaussian, alpha, noise_multiplier=z)
    assert value == pytest.approx(renyi_gaussian(1 / z, 1, 0, 1, alpha=alpha), rel=1e-12)
    with mp.workdps(25):
        mu, a = 1 / mp.mpf(z), mp.mpf(alpha)
        top = a * mu  # the position of the integrand's peak
        ends = [top + k for k in (-40, -8, 0, 8, 40)]
        total = mp.quad(lambda x: mp.npdf(x, mu, 1) ** a * mp.npdf(x, 0, 1) ** (1 - a), ends)
        exact = mp.log(total) / (a - 1)
    assert value == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.verifies("lee2020:lem1")
def test_lemma_1_vectors():
    z = 0.01 / (3 / 512)
    assert one(rdp.gaussian, 8, noise_multiplier=z) == pytest.approx(1.373291015625, rel=1e-13)
    sigma = math.sqrt(5.4931640625e-4)
    assert one(rdp.gaussian, 8, noise_multiplier=sigma / (3 / 512)) == pytest.approx(0.25, rel=1e-13)


@pytest.mark.verifies("berthier2019:prop2.1")
@pytest.mark.parametrize("scale", [1e-3, 0.1, 0.5, 2, 10, 1e3, 1e6])
@pytest.mark.parametrize("alpha", [1.001, 1.5, 2, 5, 64, 1e5])
def test_laplace_curve_is_the_divergence(alpha, scale):
    value = one(rdp.laplace, alpha, scale=scale)
    with mp.workdps(60):
        a, lam = mp.mpf(alpha), mp.mpf(scale)

        def log_integrand(x):  # log of p^a q^(1-a) for centres 1 and 0
            return (-a * abs(x - 1) + (a - 1) * abs(x)) / lam

        # the integrand is piecewise exponential, so the integral of each piece is a difference of two values divided by
        # the rate
        left = mp.exp(log_integrand(mp.mpf(0))) * lam / 1
        right = mp.exp(log_integrand(mp.mpf(1))) * lam / 1
        slope = (2 * a - 1) / lam
        middle = (mp.exp(log_integrand(mp.mpf(1))) - mp.exp(log_integrand(mp.mpf(0)))) / slope
        exact = mp.log((left + middle + right) / (2 * lam)) / (a - 1)
    assert value == pytest.approx(float(exact), rel=2e-12)
    assert value >= float(exact) * (1 - 1e-12)
    assert 0 < value <= 1 / scale * (1 + 1e-15)


def test_laplace_curve_far_below_floats_precision():
    """For much noise, the Laplace curve is alpha / (2 lambda^2), and the computation is precise even for tiny values.

    The terms of first order in 1 / lambda cancel, so only this term remains.
    """
    assert one(rdp.laplace, 3, scale=1e9) == pytest.approx(3 / 2e18, rel=1e-8)


@pytest.mark.parametrize("z", [1e-200, 1e200])
def test_extreme_noise_gives_no_nan(z):
    values = rdp.gaussian(np.array([1.5, 2, 300]), noise_multiplier=z)
    assert not np.isnan(values).any()
    assert ((values == INF) if z < 1 else (values == 0)).all()


# --- composition


@pytest.mark.verifies("lee2020:compose", "ohana2021:thm1", "berthier2019:rdp-comp", "dpulr2024:rdp-comp")
def test_composition_is_the_divergence_of_the_product():
    rng = np.random.default_rng(4)
    for _ in range(10):
        shifts, alpha = rng.normal(size=5), rng.uniform(1.1, 9)
        whole = renyi_gaussian(shifts, np.eye(5), np.zeros(5), np.eye(5), alpha=alpha)
        parts = [(rdp.gaussian(np.array([alpha]), noise_multiplier=1 / abs(s)), 1) for s in shifts]
        assert float(rdp.compose(parts)[0]) == pytest.approx(whole, rel=1e-12)
    repeated = rdp.compose([(np.array([0.25, 0.5]), 7), (np.array([1.0, 0.0]), 2)])
    assert repeated.tolist() == [3.75, 3.5]


# --- conversions


@pytest.mark.verifies("mironov2017:prop3", "lee2020:lem2", "ohana2021:thm2", "berthier2019:prop2.7", "dpulr2024:prop1")
@pytest.mark.verifies("canonne2020:prop12")
@pytest.mark.parametrize(
    "alpha, value, mironov, canonne",
    [  # E-7 and V-15 of ohana2021
        (2, 1, 12.5129254650, 11.1266311039),
        (8, 0.5, 2.14470363785, 1.71410916785),
        (32, 0.2, 0.571384692418, 0.427838061755),
        (1.5, 0.1, 23.1258509299, 21.2163084251),
        (16, 3, 3.767528, 3.518150),
    ],
)
def test_conversions_of_one_order(alpha, value, mironov, canonne):
    for convert, expected in ((rdp.mironov2017, mironov), (rdp.canonne2020, canonne)):
        epsilon = float(convert(np.array([float(alpha)]), np.array([float(value)]), delta=1e-5)[0])
        assert epsilon == pytest.approx(expected, rel=1e-11 if alpha != 16 else 2e-7)


@pytest.mark.verifies("lee2020:lem2")
def test_lemma_2_vector():
    epsilon = rdp.mironov2017(np.array([12.0]), np.array([0.3]), delta=1e-5)
    assert float(epsilon[0]) == pytest.approx(1.3466295877246, rel=1e-13)


def exact_epsilon(z, delta):
    low, high = 0.0, 1e4
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if hockey_stick_gaussian(epsilon=middle, noise_multiplier=z) > delta else (low, middle)
        )
    return high


@pytest.mark.verifies("mironov2017:prop3", "canonne2020:prop12", "ohana2021:thm2")
@pytest.mark.parametrize(
    "rho, mironov, canonne, exact",
    [(0.5, 5.298526, 4.728387, 4.377178), (2, 11.597052, 10.724824, 9.997256), (0.01, 0.688614, 0.545726, 0.496975)],
)
def test_conversions_of_a_gaussian_are_above_the_truth(rho, mironov, canonne, exact):
    """The conversions of a Gaussian are above the exact epsilon (E-7).

    In this test, delta is 1e-5, rho is 1 / (2 z^2), and the order is the best real order.
    """
    z = 1 / math.sqrt(2 * rho)
    orders = 1 + np.geomspace(0.05, 5000, 200_000)
    curve = rdp.gaussian(orders, noise_multiplier=z)
    assert exact_epsilon(z, 1e-5) == pytest.approx(exact, abs=6e-7)
    ours = {name: rdp.to_dp(orders, curve, delta=1e-5, conversion=name)[0] for name in rdp.CONVERSIONS}
    assert ours["mironov2017"] == pytest.approx(mironov, abs=1e-6)
    assert ours["canonne2020"] == pytest.approx(canonne, abs=1e-6)
    assert ours["mironov2017"] == pytest.approx(rho + 2 * math.sqrt(rho * math.log(1e5)), rel=1e-8)


@pytest.mark.verifies("mironov2017:prop3", "canonne2020:prop12")
@pytest.mark.parametrize("delta", [1e-300, 1e-12, 1e-5, 0.1, 0.9])
@pytest.mark.parametrize("z", [0.05, 0.5, 1, 4, 100])
def test_conversions_never_below_the_exact_delta(z, delta):
    """The epsilon of a conversion is never too small: at this epsilon, a Gaussian's exact delta is at most delta."""
    curve = rdp.gaussian(rdp.REAL_ORDERS, noise_multiplier=z)
    for convert in (rdp.mironov2017, rdp.canonne2020):
        epsilons = convert(rdp.REAL_ORDERS, curve, delta=delta)
        for epsilon in (epsilons.min(), epsilons[100], epsilons[500]):
            assert hockey_stick_gaussian(epsilon=max(float(epsilon), 0.0), noise_multiplier=z) <= delta * (1 + 1e-9)


@pytest.mark.verifies("mironov2017:prop3", "canonne2020:prop12")
def test_conversions_hold_for_discrete_laws():
    """At the epsilon that a conversion gives, the exact delta of two discrete laws is at most the given delta."""
    rng = np.random.default_rng(5)
    for _ in range(60):
        p, q = rng.dirichlet(np.full(4, 0.4), 2)
        orders = np.array([1.05, 1.5, 2, 4, 16, 128])
        curve = np.array([renyi(p, q, alpha=a) for a in orders])
        for delta in (1e-4, 0.05, 0.4):
            for convert in (rdp.mironov2017, rdp.canonne2020):
                for epsilon in convert(orders, curve, delta=delta):
                    assert hockey_stick(p, q, epsilon=max(float(epsilon), 0)) <= delta + 1e-12


@pytest.mark.verifies("canonne2020:prop12")
def test_the_improved_conversion_is_dp_accountings():
    from dp_accounting.rdp.rdp_privacy_accountant import compute_epsilon

    rng = np.random.default_rng(6)
    for _ in range(300):
        orders = np.sort(1.02 + rng.exponential(20, 12))
        curve = np.sort(rng.exponential(10.0 ** rng.uniform(-3, 2), 12)) + 1e-3
        delta = 10.0 ** rng.uniform(-12, -2)
        theirs, order = compute_epsilon(orders, curve, delta)
        epsilons = rdp.canonne2020(orders, curve, delta=delta)
        assert float(epsilons.min()) == pytest.approx(theirs, rel=1e-12, abs=1e-12)
        if theirs > 0:
            assert orders[epsilons.argmin()] == order


def test_infinite_orders_are_passed_over_and_an_infinite_curve_is_infinite():
    assert rdp.to_dp([2, 3, 4, 5], [INF, 1.0, INF, INF], delta=0.01)[1] == 3
    assert rdp.to_dp([2, 3], [INF, INF], delta=0.01) == (INF, None)


@pytest.mark.parametrize("rising, where", [(True, "2 is the smallest"), (False, "4 is the largest")])
def test_warns_at_either_end_of_the_grid(rising, where):
    curve = [0.0, 50.0, 100.0] if rising else [0.1, 0.1, 0.1]
    with pytest.warns(rdp.OrderAtGridEnd, match=where):
        rdp.to_dp([2, 3, 4], curve, delta=0.01)


def test_does_not_warn_inside_nor_where_nothing_is_left_to_gain():
    rdp.to_dp([2, 3, 4], [1.0, 0.1, 5.0], delta=0.5)
    assert rdp.to_dp([2, 3, 4], [0.0, 0.0, 0.0], delta=0.9, conversion="canonne2020")[0] == 0


@pytest.mark.parametrize(
    "call, told",
    [
        (lambda: rdp.gaussian(np.array([2.0]), noise_multiplier=0), "noise multiplier must be positive"),
        (lambda: rdp.gaussian(np.array([2.0]), noise_multiplier=math.nan), "noise multiplier must be positive"),
        (lambda: rdp.gaussian(np.array([2.0]), noise_multiplier=math.inf), "noise multiplier must be positive"),
        (lambda: rdp.laplace(np.array([2.0]), scale=0), "scale of the noise must be positive"),
        (lambda: rdp.compose([]), "no mechanism to count"),
        (lambda: rdp.compose([(np.ones(1), 0)]), "steps must be an integer and at least 1, got 0"),
        (lambda: rdp.compose([(np.ones(1), 1.5)]), "got 1.5"),
        (lambda: rdp.compose([(np.ones(1), INF)]), "got inf"),
        (lambda: rdp.to_dp([1.0], [1.0], delta=0.1), "greater than 1, got 1.0"),
        (lambda: rdp.to_dp([INF], [1.0], delta=0.1), "finite, got inf"),
        (lambda: rdp.to_dp([math.nan], [1.0], delta=0.1), "got nan"),
        (lambda: rdp.to_dp([3, 2], [1.0, 1.0], delta=0.1), "must increase"),
        (lambda: rdp.to_dp([], [], delta=0.1), "one-dimensional list of numbers"),
        (lambda: rdp.to_dp([2], [1.0, 2.0], delta=0.1), "one Renyi divergence >= 0"),
        (lambda: rdp.to_dp([2], [-1.0], delta=0.1), "one Renyi divergence >= 0"),
        (lambda: rdp.to_dp([2], [math.nan], delta=0.1), "one Renyi divergence >= 0"),
        (lambda: rdp.to_dp([2], [1.0], delta=0), r"delta must be in \(0, 1\), got 0"),
        (lambda: rdp.to_dp([2], [1.0], delta=1), r"delta must be in \(0, 1\), got 1"),
        (lambda: rdp.to_dp([2], [1.0], delta=0.1, conversion="mironov"), "conversion must be one of mironov2017"),
    ],
)
def test_bad_input_is_one_sentence(call, told):
    with pytest.raises(ValueError, match=told) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_no_curve_holds_nan():
    """A curve with NaN is refused, because a search for the smallest epsilon would ignore NaN."""
    bad, good = np.array([2.0, math.nan]), np.array([2.0, 3.0])
    for convert in (rdp.mironov2017, rdp.canonne2020):
        with pytest.raises(ValueError, match="orders must not contain NaN"):
            convert(bad, good, delta=0.1)
        with pytest.raises(ValueError, match="rdp must not contain NaN"):
            convert(good, bad, delta=0.1)
    with pytest.raises(ValueError, match="rdp must not contain NaN"):
        rdp.compose([(good, 1), (bad, 1)])
    with pytest.raises(ValueError, match="orders must not contain NaN"):
        rdp.gaussian(bad, noise_multiplier=1.0)
    with pytest.raises(ValueError, match="orders must not contain NaN"):
        rdp.laplace(bad, scale=1.0)
