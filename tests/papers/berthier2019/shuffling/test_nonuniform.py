"""Subsampling with unequal weights.

We compare it with exact finite mechanisms, quadratures of mixtures, and sums at many digits.
"""

import math

import mpmath as mp
import numpy as np
import pytest
from dp_accounting.rdp import rdp_privacy_accountant as theirs
from scipy import optimize

from nfa import ledger
from nfa.mechanism import NoGuarantee
from nfa.papers.berthier2019.shuffling.nonuniform import (
    high_noise_limit,
    printed_nonuniform,
    subsampled_nonuniform,
    ternary_chi,
)
from nfa.privacy.divergences import renyi, renyi_density, total_variation
from nfa.privacy.gaussians import renyi_gaussian
from nfa.privacy.rdp import gaussian
from nfa.privacy.subsampling import poisson_gaussian, without_replacement, without_replacement_berthier
from tests.oracles.subsampling import mp_thm9


def curve(z):
    return lambda orders: gaussian(orders, noise_multiplier=z)


# --- Lemma 4.1


@pytest.mark.verifies("berthier2019:lem4.1")
def test_ternary_divergence_is_its_definition():
    p, q, r = np.array([0.5, 0.5, 0.0]), np.array([0.25, 0.5, 0.25]), np.array([0.25, 0.25, 0.5])
    with mp.workdps(40):
        for j in (1, 2, 2.5, 7):
            exact = mp.fsum(abs(mp.mpf(a) - b) ** j / mp.mpf(c) ** (j - 1) for a, b, c in zip(p, q, r, strict=True))
            assert ternary_chi(p, q, r, j=j) == pytest.approx(float(exact), rel=1e-13)
    assert ternary_chi(p, q, r, j=1) == pytest.approx(2 * total_variation(p, q), rel=1e-14)
    # for order 2 and r = q, this is the chi-squared divergence, e^{D_2} - 1
    assert ternary_chi(p, q, q, j=2) == pytest.approx(math.expm1(renyi(p, q, alpha=2)), rel=1e-13)
    assert ternary_chi(p, q, np.array([0.5, 0.5, 0.0]), j=2) == math.inf
    assert ternary_chi(p, p, r, j=3) == 0


@pytest.mark.verifies("berthier2019:lem4.1")
def test_lemma_4_1_on_finite_mechanisms():
    """Lemma 4.1 holds on finite mechanisms, for three data sets that differ only in record i.

    The bound is c^j times the largest ternary divergence of the laws of three records.
    """
    rng, nearest = np.random.default_rng(41), 0.0
    for _ in range(60):
        n, k, j = int(rng.integers(1, 5)), int(rng.integers(2, 5)), rng.uniform(1, 8)
        weights = rng.dirichlet(np.ones(n))
        laws = rng.dirichlet(
            np.full(k, 10 ** rng.uniform(-0.5, 1)), n + 2
        )  # laws of the n - 1 other records, and three laws of record i
        own = laws[n - 1 :]
        mixed = [weights[: n - 1] @ laws[: n - 1] + weights[n - 1] * law for law in own]
        zeta_j = max(
            ternary_chi(p, q, r, j=j) for a, p in enumerate(laws) for q in laws[a + 1 :] for r in laws
        )  # zeta(j)^j of the lemma
        exact = max(ternary_chi(mixed[a], mixed[b], mixed[3 - a - b], j=j) for a, b in ((0, 1), (0, 2), (1, 2)))
        assert exact <= weights.max() ** j * zeta_j * (1 + 1e-9)
        nearest = max(nearest, exact / (weights.max() ** j * zeta_j))
    assert nearest > 0.8
    # the bound is attained if all other records have the third law r
    p, q, r = rng.dirichlet(np.full(4, 2.0), 3)
    for j in (2, 3.5, 6):
        mixed = [0.3 * law + 0.7 * r for law in (p, q, r)]
        assert ternary_chi(*mixed, j=j) == pytest.approx(0.3**j * ternary_chi(p, q, r, j=j), rel=1e-12)


@pytest.mark.verifies("berthier2019:lem4.1")
def test_ternary_divergence_of_gaussian_mixtures():
    """The ternary divergence of Gaussian mixtures is at most its bound, at the orders 2, 3 and 5.

    At order 2, the bound is 4 (e^x - 1) times the squared weight, with x = 1. The means are in [-1, 1], and the noise
    has standard deviation 2. We compute the masses on a grid.
    """
    grid = np.linspace(-22, 22, 4401)

    def masses(means, weights):
        density = weights @ np.exp(-((grid - np.asarray(means, float)[:, None]) ** 2) / 8)
        return density / density.sum()

    weights = np.array([0.05, 0.15, 0.2, 0.6])
    others = [-1, 1, 0.3]
    for i_weight in (0.05, 0.6):
        w = np.append(np.delete(weights, np.flatnonzero(weights == i_weight)), i_weight)
        p, q, r = (masses([*others, mean], w) for mean in (1, -1, 0.2))
        for j in (2, 3, 5):
            largest = math.log(2) + j * (j - 1) / 2 if j > 2 else math.log(4 * math.expm1(1))
            assert ternary_chi(p, q, r, j=j) <= i_weight**j * math.exp(largest)
    one = np.ones(1)
    exact = ternary_chi(masses([1], one), masses([-1], one), masses([-1], one), j=2)
    assert exact == pytest.approx(math.e - 1, rel=1e-9)  # e^{D_2} - 1 with D_2 = (2/2)^2


# --- Theorem 4.2


@pytest.mark.verifies("berthier2019:thm4.2", "berthier2019:thm3.2")
@pytest.mark.parametrize(
    "c, z, alpha, bound, with_min",
    [
        (1e-3, 1, 2, 6.8731036940e-6, 5.4365488788595e-6),
        (1e-3, 1, 8, 2.7819619490089e-5, 2.2074368237644e-5),
        (0.1, 0.5, 3, 2.9039831904533, 2.899221178865),
        (0.05, 1, 5, 0.057980797485508, 0.050757408880176),
    ],
)
def test_theorem_4_2_at_the_recorded_numbers(c, z, alpha, bound, with_min):
    value = float(subsampled_nonuniform([alpha], c=c, curve=curve(z))[0])
    assert value == pytest.approx(bound, rel=2e-10)
    uniform = [f([alpha], sampling_rate=c, curve=curve(z)) for f in (without_replacement_berthier, without_replacement)]
    assert [float(rdp[0]) for rdp in uniform] == pytest.approx([value, with_min], rel=2e-10)
    with mp.workdps(50):
        x = 1 / mp.mpf(z) ** 2
        terms = [2 * mp.mpf(c) ** j * mp.binomial(alpha, j) * mp.exp(j * (j - 1) * x / 2) for j in range(alpha + 1)]
        total = 1 + 4 * mp.mpf(c) ** 2 * mp.binomial(alpha, 2) * (mp.exp(x) - 1) + mp.fsum(terms[3:])
        assert value == pytest.approx(float(mp.log(total) / (alpha - 1)), rel=1e-12)
        printed = mp.log(total + terms[1] + terms[2]) / (alpha - 1)
        assert float(printed_nonuniform([alpha], c=c, curve=curve(z))[0]) == pytest.approx(float(printed), rel=1e-12)
        assert with_min == pytest.approx(float(mp_thm9(alpha, c, lambda l: l * x / 2)), rel=1e-12)
    # dp-accounting computes the bound `with_min`. Its forward differences make this bound even smaller.
    assert theirs._compute_rdp_sample_wor_gaussian(c, z, [alpha])[0] <= with_min * (1 + 1e-9)
    if c == 1e-3:
        assert theirs._compute_rdp_sample_wor_gaussian(c, z, [alpha])[0] == pytest.approx(with_min, rel=1e-9)


@pytest.mark.verifies("berthier2019:thm4.2")
@pytest.mark.parametrize(
    "alpha, printed, right, factor", [(2, 0.00400428184, 6.8731037e-6, 582.6), (8, 0.00231640095, 2.78196195e-5, 83.3)]
)
def test_the_misprint_of_theorem_4_2(alpha, printed, right, factor):
    """Theorem 4.2 has a misprint: the sum starts at j = 1.

    The printed bound is valid, but it is proportional to c instead of c^2. At c = 0.001, it is 582.6 times (order 2)
    and 83.3 times (order 8) the intended bound.
    """
    values = [float(f([alpha], c=1e-3, curve=curve(1))[0]) for f in (printed_nonuniform, subsampled_nonuniform)]
    assert values == pytest.approx([printed, right], rel=1e-8)
    assert values[0] / values[1] == pytest.approx(factor, abs=0.05)
    # if c is ten times smaller, the printed bound falls to a tenth, and the intended bound to a hundredth
    tenth = [float(f([alpha], c=1e-4, curve=curve(1))[0]) for f in (printed_nonuniform, subsampled_nonuniform)]
    assert values[0] / tenth[0] == pytest.approx(10, rel=0.02)
    assert values[1] / tenth[1] == pytest.approx(100, rel=0.02)


@pytest.mark.verifies("berthier2019:thm4.2")
def test_no_finite_mechanism_with_unequal_weights_violates_theorem_4_2():
    rng, orders, nearest = np.random.default_rng(42), np.array([2, 3, 5, 8]), 0.0
    for _ in range(80):
        n, k = int(rng.integers(1, 6)), int(rng.integers(2, 5))
        weights = rng.dirichlet(np.ones(n))
        laws = rng.dirichlet(np.full(k, 10 ** rng.uniform(0, 2)), n + 1)
        worst = {a: math.log((laws**a @ (laws ** (1 - a)).T).max()) / (a - 1) for a in range(2, 9)}
        i = int(rng.integers(n))  # the replaced record, which gets the last law
        P, Q = weights @ laws[:n], weights @ np.vstack([laws[:i], laws[n:], laws[i + 1 : n]])
        bound = subsampled_nonuniform(
            orders, c=weights.max(), curve=lambda a, w=worst: np.array([w[int(x)] for x in a])
        )
        for alpha, limit in zip(orders.tolist(), bound.tolist(), strict=True):
            exact = max(renyi(P, Q, alpha=alpha), renyi(Q, P, alpha=alpha))
            assert exact <= limit * (1 + 1e-9) + 1e-12
            nearest = max(nearest, exact / max(min(limit, worst[alpha]), 1e-12))
    assert nearest > 0.5


@pytest.mark.verifies("berthier2019:thm4.2", "berthier2019:thm3.2")
@pytest.mark.parametrize(
    "n, alpha, exact",
    [
        (3, 2, 0.17472628826469),
        (5, 4, 0.29132308006677),
        (5, 8, 2.16490023828),
        (10, 8, 1.37836141135),
        (1000, 8, 6.98794165e-6),
        (1000, 16, 0.632060008),
    ],
)
def test_the_exact_divergence_of_one_record_among_many(n, alpha, exact):
    """The exact divergence of one record among n, by quadrature and as a binomial sum, is at most the bound.

    One record is at +1 or -1, and all other records are at -1. The noise has standard deviation 2, so x = 1. The weight
    c of each record is 1/n.
    """
    c = 1 / n

    def log_normal(u, mean):
        return -((u - mean) ** 2) / 8 - math.log(8 * math.pi) / 2

    def log_mixture(u):
        return float(np.logaddexp(math.log1p(-c) + log_normal(u, -1), math.log(c) + log_normal(u, 1)))

    assert float(poisson_gaussian([alpha], sampling_rate=c, noise_multiplier=1)[0]) == pytest.approx(exact, rel=2e-8)
    other_way = renyi_density(lambda u: log_normal(u, -1), log_mixture, alpha=alpha, lower=-60, upper=60)
    value = renyi_density(log_mixture, lambda u: log_normal(u, -1), alpha=alpha, lower=-60, upper=60)
    assert value == pytest.approx(exact, rel=2e-8 if n < 1000 else 1e-5)
    bound = float(subsampled_nonuniform([alpha], c=c, curve=curve(1))[0])
    assert max(value, other_way) <= bound
    weights = np.append(np.full(3, c / 2), c)  # three smaller weights and one weight c give the same bound
    assert float(subsampled_nonuniform([alpha], c=weights.max(), curve=curve(1))[0]) == bound


@pytest.mark.verifies("berthier2019:thm4.2")
def test_weights_that_depend_on_the_data_void_theorem_4_2():
    """If the weights depend on the data, Theorem 4.2 fails. The report excludes such weights.

    Of 100 records, half are at -1 and half at +1. One record decides which half has the weights 1/50. The output
    reveals this half, so sampling does not improve privacy at all.
    """
    bound = float(subsampled_nonuniform([2], c=1 / 50, curve=curve(1))[0])  # the noise multiplier 1 is sigma = 2
    half = np.where(np.arange(100) % 2 == 0, 1.0, -1.0)
    weights = [np.where(half == side, 1 / 50, 0.0) for side in (1, -1)]
    assert [w.sum() for w in weights] == pytest.approx([1, 1])
    means = [set(half[w > 0]) for w in weights]  # each mixture has only one centre
    assert means == [{1.0}, {-1.0}]
    assert renyi_gaussian(1.0, 4.0, -1.0, 4.0, alpha=2) > 300 * bound


# --- the high-noise regime


@pytest.mark.verifies("berthier2019:rem-8sigma")
def test_from_which_noise_on_the_factor_8_holds():
    """The factor 8 is large enough if the noise is large enough.

    With sensitivity 1, the factor 8 needs sigma^2 >= 0.7959. With sensitivity 2 L, the factor is 32 L^2, which needs
    sigma^2 >= 3.1836 L^2.
    """
    limit = high_noise_limit()
    assert limit == pytest.approx(optimize.brentq(lambda x: math.expm1(x) - 2 * x, 0.5, 3), rel=1e-12)
    assert limit == pytest.approx(1.256431, abs=1e-6)
    assert [1 / limit, 4 / limit] == pytest.approx([0.7959, 3.18362], abs=5e-5)
    for x, true in ((limit * 0.999, True), (limit * 1.001, False), (1e-6, True), (3, False)):
        assert (4 * math.expm1(x) <= 8 * x) == true
    for sigma in (2.0, 20.0):  # for L = 1, a factor of 32 is large enough, and 8 is too small for any noise
        two = float(gaussian(np.array([2.0]), noise_multiplier=sigma / 2)[0])
        assert 4 * math.expm1(two) > 8 / sigma**2
        assert 4 * math.expm1(two) <= 32 / sigma**2
    # the report takes n steps with c = 1 / n; then n times the bound is nearly a constant divided by n
    rates = [n * n * float(subsampled_nonuniform([2], c=1 / n, curve=curve(2))[0]) for n in (10**3, 10**5)]
    assert rates == pytest.approx([4 * math.expm1(0.25)] * 2, rel=1e-5)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: subsampled_nonuniform([2], c=0, curve=curve(1)), "c must be in"),
        (lambda: printed_nonuniform([2], c=1.5, curve=curve(1)), "c must be in"),
        (lambda: ternary_chi([0.5, 0.5], [1.0], [1.0], j=2), "one-dimensional arrays of the same size"),
        (lambda: ternary_chi([0.5, 0.6], [0.5, 0.5], [0.5, 0.5], j=2), "p must hold probabilities"),
        (lambda: ternary_chi([1.0], [1.0], [1.0], j=0.5), "j must be at least 1"),
    ],
)
def test_bad_input_is_one_sentence(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_orders_must_be_integers():
    for f in (subsampled_nonuniform, printed_nonuniform):
        with pytest.raises(NoGuarantee, match="integer orders") as refused:
            f([2.5], c=0.1, curve=curve(1))
        assert ledger.find(refused.value.id).id == refused.value.id
