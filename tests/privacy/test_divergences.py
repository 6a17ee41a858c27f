"""Divergences compared with their definitions: exact sums, enumerated events, independent quadrature."""

import math
from itertools import chain, combinations

import mpmath as mp
import numpy as np
import pytest

from nfa.privacy.divergences import (
    _integral,
    hockey_stick,
    hockey_stick_density,
    renyi,
    renyi_density,
    total_variation,
)
from nfa.privacy.gaussians import critical_order, hockey_stick_gaussian, renyi_gaussian

INF = math.inf


def log_normal(mean, variance):
    return lambda x: -((x - mean) ** 2) / (2 * variance) - 0.5 * math.log(2 * math.pi * variance)


def random_laws(rng, k, zeros=False):
    p, q = rng.dirichlet(np.full(k, 0.5), 2)
    if zeros:
        p[0] = 0
        p /= p.sum()
    return p, q


def events(k):
    return chain.from_iterable(combinations(range(k), r) for r in range(k + 1))


# --- discrete laws


@pytest.mark.verifies("lee2020:def1", "ohana2021:def2.2", "dpulr2024:def1")
@pytest.mark.verifies("berthier2019:def2.1", "berthier2019:def-tv")
def test_hockey_stick_is_the_worst_event():
    rng = np.random.default_rng(1)
    for trial in range(40):
        p, q = random_laws(rng, 6, zeros=trial % 3 == 0)
        for epsilon in (0.0, 0.3, 2.0):
            worst = max(sum(p[list(e)]) - math.exp(epsilon) * sum(q[list(e)]) for e in events(6))
            assert hockey_stick(p, q, epsilon=epsilon) == pytest.approx(worst, abs=1e-14)
        assert total_variation(p, q) == pytest.approx(hockey_stick(p, q, epsilon=0.0), abs=1e-14)


@pytest.mark.verifies("lee2020:def1", "ohana2021:def2.2", "dpulr2024:def1")
def test_hockey_stick_of_disjoint_laws_is_1_and_never_above():
    """The hockey-stick divergence of disjoint laws is 1, and never above 1.

    Some sums of 7 rounded probabilities exceed 1 in the last bit, but the computed delta does not.
    """
    rng, nothing = np.random.default_rng(3), np.zeros(7)
    sums = []
    for _ in range(100):
        p = rng.dirichlet(np.ones(7))
        p /= p.sum()
        sums.append(p.sum())
        delta = hockey_stick(np.concatenate([p, nothing]), np.concatenate([nothing, p]), epsilon=1.0)
        assert 1 - 1e-14 <= delta <= 1
    assert max(sums) > 1


@pytest.mark.verifies("lee2020:def1", "ohana2021:def2.2", "berthier2019:def2.1", "dpulr2024:def1")
def test_hockey_stick_beyond_floats():
    p, q = np.array([0.5, 0.5, 0.0]), np.array([0.0, 0.5, 0.5])
    assert hockey_stick(p, q, epsilon=1e4) == 0.5
    assert hockey_stick(p, q, epsilon=INF) == 0.5


@pytest.mark.verifies("lee2020:def2", "ohana2021:def2.3", "berthier2019:def2.2", "dpulr2024:def2")
def test_renyi_of_discrete_laws_at_fifty_digits():
    rng = np.random.default_rng(2)
    with mp.workdps(50):
        for trial in range(60):
            p, q = random_laws(rng, 5, zeros=trial % 4 == 0)
            for alpha in (1.0001, 1.5, 2.0, 17.0, 300.0, 1e6):
                a, over_p, over_q = mp.mpf(alpha), mp.fsum(map(mp.mpf, p)), mp.fsum(map(mp.mpf, q))
                total = mp.fsum((x / over_p) ** a * (y / over_q) ** (1 - a) for x, y in zip(p, q, strict=True) if x)
                exact = mp.log(total) / (a - 1)
                assert renyi(p, q, alpha=alpha) == pytest.approx(float(exact), rel=1e-12, abs=1e-15 / (alpha - 1))


def test_renyi_limits_of_the_order():
    p, q = np.array([0.7, 0.2, 0.1]), np.array([0.3, 0.3, 0.4])
    assert renyi(p, q, alpha=1 + 1e-7) == pytest.approx(float((p * np.log(p / q)).sum()), abs=1e-6)
    assert renyi(p, q, alpha=INF) == pytest.approx(math.log(7 / 3), rel=1e-15)
    assert renyi(p, q, alpha=1e7) == pytest.approx(math.log(7 / 3), rel=1e-6)
    orders = [1.01, 1.5, 2, 5, 50, INF]
    values = [renyi(p, q, alpha=a) for a in orders]
    assert values == sorted(values)


def test_renyi_is_infinite_without_absolute_continuity():
    p, q = np.array([0.5, 0.5]), np.array([1.0, 0.0])
    assert renyi(p, q, alpha=2) == INF
    assert renyi(q, p, alpha=2) == pytest.approx(math.log(2), rel=1e-15)
    assert renyi(p, p, alpha=3) == 0


# --- Gaussians


@pytest.mark.verifies("ohana2021:prop1", "lee2020:def2")
@pytest.mark.parametrize(
    "alpha, m1, v1, m2, v2, value",
    [  # the ledger's vectors V4 and V-1
        (3.5, 0.7, 1.69, -0.2, 1.69, 0.838757396449704),
        (1.7, 0.3, 1.21, -0.4, 1.96, 0.239247557543872),
        (2, 0.3, 1.21, -0.2, 0.81, 0.749523946083),
        (3, 0, 1, 0.5, 0.81, 0.925044767343),
        (1.5, 1, 4, 0, 2.25, 0.750248958101),
        (8, 0, 1, 0.1, 0.9409, 0.0867888181454),
        (3.999, 0, 1, 0, 0.75, 1.19099850490),
        (4, 0, 1, 0, 0.75, INF),
        (2, 1, 1, 0, 1, 1.0),
        (3, 2, 16, 0, 16, 0.375),
    ],
)
def test_renyi_of_gaussians_on_the_line(alpha, m1, v1, m2, v2, value):
    assert renyi_gaussian(m1, v1, m2, v2, alpha=alpha) == pytest.approx(value, rel=1e-11)
    by_quadrature = renyi_density(log_normal(m1, v1), log_normal(m2, v2), alpha=alpha)
    assert by_quadrature == pytest.approx(value, rel=1e-9)
    if value < INF and alpha != 3.999:  # at the order 3.999, the integrand is too wide for this quadrature
        with mp.workdps(25):
            a, center = mp.mpf(alpha), (m1 + m2) / 2

            def integrand(x):
                return mp.npdf(x, m1, mp.sqrt(mp.mpf(v1))) ** a * mp.npdf(x, m2, mp.sqrt(mp.mpf(v2))) ** (1 - a)

            total = mp.quad(integrand, [-60, -10, center, 10, 60])
            assert float(mp.log(total) / (a - 1)) == pytest.approx(value, rel=1e-11)


V2 = {
    "mean_p": [0.2, -0.1],
    "cov_p": [[1, 0.3], [0.3, 0.8]],
    "mean_q": [0.0, 0.3],
    "cov_q": [[1.2, -0.2], [-0.2, 0.9]],
}  # the ledger's vector V-2 of ohana2021


@pytest.mark.verifies("ohana2021:prop1")
@pytest.mark.parametrize("alpha, value", [(1.5, 0.324485430166), (2, 0.424654174395), (3, 0.991769260135), (4, INF)])
def test_renyi_of_gaussians_in_the_plane(alpha, value):
    assert renyi_gaussian(**V2, alpha=alpha) == pytest.approx(value, rel=1e-11)


def plane_sum(mean_p, cov_p, mean_q, cov_q, alpha):
    """The divergence by its definition, as a sum over a lattice (exponentially accurate for Gaussian integrands)."""
    t = np.arange(-14, 14, 0.08)
    x = np.stack(np.meshgrid(t, t), -1)

    def log_density(mean, cov):
        d, cov = x - np.asarray(mean), np.asarray(cov)
        inverse, det = np.linalg.inv(cov), np.linalg.det(cov)
        return -0.5 * np.einsum("abi,ij,abj->ab", d, inverse, d) - math.log(2 * math.pi) - 0.5 * math.log(det)

    lp, lq = log_density(mean_p, cov_p), log_density(mean_q, cov_q)
    return math.log(np.exp(lq + alpha * (lp - lq)).sum() * 0.08**2) / (alpha - 1)


@pytest.mark.verifies("ohana2021:prop1", "ohana2021:fn3")
def test_renyi_of_gaussians_is_the_definition_below_the_critical_order_and_infinite_from_there():
    rng = np.random.default_rng(3)
    for _ in range(12):
        spread = rng.uniform(0.6, 1.2, 2)
        cov_p, cov_q = (a @ a.T + 0.3 * np.eye(2) for a in rng.normal(size=(2, 2, 2)) * spread[:, None, None] * 0.5)
        mean_p, mean_q = rng.normal(size=(2, 2)) * 0.5
        critical = critical_order(cov_p, cov_q)
        for alpha in (1.2, 1.7, 3.0):
            value = renyi_gaussian(mean_p, cov_p, mean_q, cov_q, alpha=alpha)
            if alpha < 0.8 * critical:
                assert value == pytest.approx(plane_sum(mean_p, cov_p, mean_q, cov_q, alpha), rel=1e-9)
            assert (value == INF) == (alpha >= critical)
        if critical < INF:
            assert renyi_gaussian(mean_p, cov_p, mean_q, cov_q, alpha=1 + (critical - 1) * (1 - 1e-9)) < INF
            assert renyi_gaussian(mean_p, cov_p, mean_q, cov_q, alpha=critical) == INF


@pytest.mark.verifies("ohana2021:fn3")
def test_critical_order():
    assert critical_order(1.0, 0.75) == 4
    assert critical_order(0.75, 1.0) == INF
    assert critical_order(1.0, 1.0) == INF
    order = critical_order(V2["cov_p"], V2["cov_q"])
    S_star = order * np.array(V2["cov_q"]) + (1 - order) * np.array(V2["cov_p"])
    assert np.linalg.eigvalsh(S_star)[0] == pytest.approx(0, abs=1e-14)
    assert np.linalg.eigvalsh(S_star)[1] > 0.1
    at_4 = 4 * np.array(V2["cov_q"]) - 3 * np.array(V2["cov_p"])
    assert np.linalg.eigvalsh(at_4)[0] == pytest.approx(-0.22626765, abs=1e-8)


def test_renyi_of_many_independent_gaussians_adds_up():
    k = 30
    scales = np.geomspace(1e-8, 1e8, k)  # standard deviations of very different sizes
    shift = np.linspace(-1, 1, k)
    value = renyi_gaussian(shift * scales, np.diag(scales**2), np.zeros(k), np.diag(1.5 * scales**2), alpha=2.5)
    parts = [renyi_gaussian(s, 1.0, 0.0, 1.5, alpha=2.5) for s in shift]
    assert value == pytest.approx(sum(parts), rel=1e-12)


def test_singular_gaussians_pass_a_support_test():
    flat = np.array([[1.0, 1.0], [1.0, 1.0]])
    same = {"cov_p": flat, "cov_q": 2 * flat, "alpha": 2}
    one_dimensional = renyi_gaussian(0.5, 1.0, 0.0, 2.0, alpha=2)
    assert renyi_gaussian([0.5, 0.5], mean_q=[0, 0], **same) == pytest.approx(one_dimensional, rel=1e-12)
    assert renyi_gaussian([0.5, 0.4], mean_q=[0, 0], **same) == INF  # the shift leaves the affine subspace
    assert renyi_gaussian([0, 0], np.eye(2), [0, 0], flat, alpha=2) == INF  # P has more dimensions than Q
    assert renyi_gaussian([0, 0], flat, [0, 0], np.eye(2), alpha=2) == INF  # Q gives the support of P probability 0
    assert renyi_gaussian([0, 0], flat, [0, 0], [[1, -1], [-1, 1]], alpha=2) == INF
    none = np.zeros((2, 2))
    assert renyi_gaussian([1, 2], none, [1, 2], none, alpha=2) == 0
    assert renyi_gaussian([1, 2], none, [1, 2 + 1e-15], none, alpha=2) == INF
    # P and Q on one affine subspace of dimension 3 in a space of 6 dimensions
    tilted = np.random.default_rng(12).normal(size=(6, 3))
    value = renyi_gaussian(tilted @ [1, 0, 2], tilted @ tilted.T, np.zeros(6), 1.5 * tilted @ tilted.T, alpha=2)
    assert value == pytest.approx(
        renyi_gaussian([1, 0, 2], np.eye(3), np.zeros(3), 1.5 * np.eye(3), alpha=2), rel=1e-12
    )
    thin = tilted[:3, :2] @ tilted[:3, :2].T  # P is singular up to rounding, and Q is not singular
    assert renyi_gaussian(np.zeros(3), thin, np.zeros(3), np.eye(3) * 9, alpha=1.2) == INF
    tiny = np.diag([1.0, 1e-30])
    assert renyi_gaussian([0, 1e-10], tiny, [0, 0], tiny, alpha=2) == pytest.approx(1e10, rel=1e-12)


# --- the delta of one Gaussian release


@pytest.mark.verifies("lee2020:def1", "ohana2021:def2.2", "dpulr2024:def1")
@pytest.mark.verifies("berthier2019:def2.1", "berthier2019:prop2.2")
@pytest.mark.parametrize("z", [0.01, 0.3, 1, 7, 1e3])
@pytest.mark.parametrize("epsilon", [0, 1e-3, 0.5, 3, 40])
def test_delta_of_a_gaussian_release(epsilon, z):
    with mp.workdps(60):
        mu = 1 / mp.mpf(z)
        exact = mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)
        value = hockey_stick_gaussian(epsilon=epsilon, noise_multiplier=z)
        assert value == pytest.approx(float(exact), rel=1e-9, abs=1e-300)
        edge = epsilon / mu + mu / 2  # p > e^epsilon q to the right of this edge
        if exact > 1e-300:
            scale = 1 / (1 + max(edge - mu, 0))  # the scale on which the density of P decreases at the edge
            with mp.workdps(30):  # the tolerance needs 30 digits
                by_definition = mp.quad(
                    lambda x: mp.npdf(x, mu, 1) - mp.exp(epsilon) * mp.npdf(x, 0, 1),
                    [edge + k * scale for k in (0, 1, 2, 4, 7, 12, 20, 40)] + [edge + mu + k for k in (41, 60)],
                )
            assert abs(by_definition - exact) <= 1e-9 * exact
    if z in (0.3, 1, 7) and epsilon <= 3:
        ours = hockey_stick_density(log_normal(1 / z, 1), log_normal(0, 1), epsilon=epsilon)
        assert ours == pytest.approx(float(exact), abs=1e-10)


@pytest.mark.verifies("lee2020:def1")
def test_delta_of_a_gaussian_release_gives_the_ledgers_epsilon():
    assert hockey_stick_gaussian(epsilon=4.37717810, noise_multiplier=1) == pytest.approx(1e-5, rel=1e-7)


# --- difficult densities


@pytest.mark.verifies("lee2020:def2", "ohana2021:def2.3", "berthier2019:def2.2", "dpulr2024:def2")
def test_renyi_of_densities_with_edges_and_heavy_tails():
    def log_exponential(rate):
        return lambda x: math.log(rate) - rate * x if x >= 0 else -INF

    # alpha r1 + (1 - alpha) r2 must be positive
    value = renyi_density(log_exponential(2.0), log_exponential(1.0), alpha=3, lower=0)
    assert value == pytest.approx(math.log(8 / 4) / 2, rel=1e-10)
    assert renyi_density(log_exponential(1.0), log_exponential(2.0), alpha=2, lower=0) == INF
    assert renyi_density(log_exponential(1.0), log_exponential(2.0), alpha=1.9, lower=0) == pytest.approx(
        math.log(1 * 2**-0.9 / 0.1) / 0.9, rel=1e-10
    )

    def log_cauchy(scale):
        return lambda x: math.log(scale / math.pi) - math.log(x * x + scale * scale)

    with mp.workdps(30):
        exact = mp.log(
            2 * mp.quad(lambda x: (1 / (1 + x * x) / mp.pi) ** 2 / (2 / (4 + x * x) / mp.pi), [0, 1, 10, mp.inf])
        )
    assert renyi_density(log_cauchy(1), log_cauchy(2), alpha=2) == pytest.approx(float(exact), rel=1e-9)

    def log_uniform(a, b):
        return lambda x: -math.log(b - a) if a <= x <= b else -INF

    assert renyi_density(log_uniform(0, 1), log_uniform(0, 2), alpha=2, lower=-1, upper=3) == pytest.approx(
        math.log(2), rel=1e-6
    )
    assert renyi_density(log_uniform(0, 2), log_uniform(0, 1), alpha=2, lower=-1, upper=3) == INF


@pytest.mark.verifies("lee2020:def2", "ohana2021:def2.3", "berthier2019:def2.2", "dpulr2024:def2")
@pytest.mark.parametrize("mean, std", [(-1000.0, 1.0), (1000.0, 1.0), (5000.0, 200.0), (2.0**-8, 2.0**-9)])
def test_renyi_of_densities_far_from_zero_and_of_narrow_ones(mean, std):
    """Rényi divergences of narrow Gaussians and of Gaussians far from zero are alpha (m_P - m_Q)^2 / (2 std^2).

    The quadrature finds the peak at any location, because it searches on both sides of 0.
    """
    d = renyi_density(log_normal(mean + std, std**2), log_normal(mean, std**2), alpha=3.0)
    assert d == pytest.approx(1.5, rel=1e-6)


def test_a_quadrature_that_does_not_settle_is_refused():
    """A quadrature that does not converge is refused. The integrand of this test oscillates ever faster near 0.

    The quadrature estimates that its error is about 1e-5.
    """
    with pytest.raises(ValueError, match="the quadrature does not converge"):
        _integral(lambda x: math.sin(1 / x), 0.0, 1.0)


# --- refusals


@pytest.mark.parametrize(
    "call, told",
    [
        (lambda: renyi([0.5, 0.5], [0.5, 0.5], alpha=1), "greater than 1, got 1"),
        (lambda: renyi([0.5, 0.5], [0.5, 0.5], alpha=math.nan), "greater than 1, got nan"),
        (lambda: renyi([0.5, 0.6], [0.5, 0.5], alpha=2), "p must hold probabilities"),
        (lambda: renyi([0.5, math.nan], [0.5, 0.5], alpha=2), "p must hold probabilities"),
        (lambda: renyi([0.5, 0.5], [1.5, -0.5], alpha=2), "q must hold probabilities"),
        (lambda: renyi([1.0], [0.5, 0.5], alpha=2), "must be one-dimensional"),
        (lambda: hockey_stick([1.0], [1.0], epsilon=-1), "epsilon must be at least 0"),
        (lambda: hockey_stick_gaussian(epsilon=math.nan, noise_multiplier=1), "epsilon must be at least 0"),
        (lambda: hockey_stick_gaussian(epsilon=1, noise_multiplier=0), "noise multiplier must be positive"),
        (lambda: hockey_stick_density(log_normal(0, 1), log_normal(0, 1), epsilon=-1), "epsilon must be at least 0"),
        (lambda: renyi_density(log_normal(0, 1), log_normal(0, 1), alpha=0.5), "greater than 1"),
        (lambda: renyi_density(log_normal(0, 1), log_normal(0, 1), alpha=INF), "finite order"),
        (lambda: renyi_density(lambda x: math.nan, log_normal(0, 1), alpha=2), "a log density must not be NaN"),
        (lambda: renyi_gaussian(0, 1, 0, 1, alpha=1), "greater than 1"),
        (lambda: renyi_gaussian(0, 1, 0, 1, alpha=INF), "finite order"),
        (lambda: renyi_gaussian(0, math.nan, 0, 1, alpha=2), "cov_p holds NaN or infinity"),
        (lambda: renyi_gaussian(0, 1, 0, INF, alpha=2), "cov_q holds NaN or infinity"),
        (lambda: renyi_gaussian(math.nan, 1, 0, 1, alpha=2), "mean_p holds NaN or infinity"),
        (lambda: renyi_gaussian([0, 0], 1, [0, 0], np.eye(2), alpha=2), "with the same k"),
        (lambda: renyi_gaussian([0, 0], [[1, 2], [0, 1]], [0, 0], np.eye(2), alpha=2), "cov_p must be symmetric"),
        (lambda: renyi_gaussian([0, 0], np.eye(2), [0, 0], [[1, 2], [2, 1]], alpha=2), "cov_q must be positive semi"),
        (lambda: renyi_gaussian([0, 0], [[1, 2], [2, 1]], [0, 0], np.eye(2), alpha=2), "cov_p must be positive semi"),
        (lambda: renyi_gaussian(0, np.ones((1, 2)), 0, 1, alpha=2), "square"),
        (lambda: critical_order(0.0, 1.0), "positive definite"),
        (lambda: critical_order(1.0, 0.0), "positive definite"),
        (lambda: critical_order(np.eye(2), 1.0), "the same shape"),
        (lambda: critical_order(math.nan, 1.0), "cov_p holds NaN"),
    ],
)
def test_bad_input_is_one_sentence(call, told):
    with pytest.raises(ValueError, match=told) as caught:
        call()
    assert "\n" not in str(caught.value)
