"""Tests of zero-out, by exact laws of all batches, integrals of the definition, and fractions.

With zero-out, one record adds exactly 0 to every sum. In this file, the zero record is None. A step releases the sum of
the terms of its batch, plus noise.
"""

import itertools
import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from scipy import integrate, stats

from nfa import ledger, ops
from nfa.mechanism import Mechanism, NoGuarantee
from nfa.network import mlp
from nfa.papers.berthier2019.mechanisms.neighbours import neighbours, sensitivity
from nfa.papers.berthier2019.mechanisms.randomised_response import randomised_response_release
from nfa.papers.berthier2019.mechanisms.total_variation import tv_of_any_two
from nfa.privacy import rdp, subsampling, theorems
from nfa.privacy.accountant import epsilon, privacy_losses, renyi
from nfa.privacy.zeroed import amplified_zeroed, without_replacement_zeroed
from nfa.rules.spec import spec
from nfa.sampling import SAMPLERS, SCHEMES
from tests.oracles import accountant as oracles

SQUARE_ROOT_2 = math.sqrt(2)
PHOTONIC = {"net": mlp([3, 2], ops.tanh, rng=np.random.default_rng(0)), "sigma": 0.1, "sampling": "none"}
PHOTONIC |= {"sampling_rate": 1.0}


def release(z, q=1.0, *, sampling="without-replacement", adjacency="zero-out", law="gaussian"):
    return Mechanism(law=law, sensitivity=1.0, adjacency=adjacency, noise_std=z, sampling=sampling, sampling_rate=q)


def spend(m, steps=1, **settings):
    return renyi([(m, steps)], **{"delta": 1e-5} | settings)


def step(m, orders, bound=None):
    orders = np.asarray(orders, float)
    return theorems.one_step(m, orders, theorems.choose(m, bound))


def term_of(record):
    return 0 if record is None else record


def batches_without_replacement(n, m):
    """(probability, places) for every batch."""
    chosen = list(itertools.combinations(range(n), m))
    return [(Fraction(1, len(chosen)), places) for places in chosen]


def batches_poisson(n, q):
    for coins in itertools.product((False, True), repeat=n):
        weight = math.prod(q if coin else 1 - q for coin in coins)
        yield weight, tuple(i for i in range(n) if coins[i])


def sums(data, batches):
    """{sum of a batch's terms: its probability}."""
    law = {}
    for weight, places in batches:
        total = sum(term_of(data[i]) for i in places)
        law[total] = law.get(total, 0) + weight
    return law


def moment(p, q, noise, alpha, reach=14.0):
    """E_Q[(P / Q)^alpha] of two mixtures {place: weight} of a noise distribution, by the trapezoidal rule."""
    ends = [float(x) for x in (*p, *q)]
    width = reach * noise.std() + 2 * (max(ends) - min(ends)) * alpha
    x = np.linspace(min(ends) - width, max(ends) + width, 40001)

    def log_density(law):
        return np.logaddexp.reduce([math.log(w) + noise.logpdf(x - float(place)) for place, w in law.items()])

    logs = alpha * log_density(p) - (alpha - 1) * log_density(q)
    return float(np.exp(logs).sum() * (x[1] - x[0]))


def divergence(p, q, noise, alpha):
    return math.log(moment(p, q, noise, alpha)) / (alpha - 1)


# --- the theorem of each sampling scheme


@pytest.mark.verifies("ours:zero-out")
def test_every_scheme_counts_zero_out_and_by_what():
    for law, ids in (
        ("gaussian", ("lee2020:lem1", "lee2020:lem1", "ours:zero-out-drawn", "lee2020:fn1")),
        ("laplace", ("berthier2019:prop2.1", "berthier2019:prop2.1", "ours:zero-out-replaced", "zhuwang2019:thm5")),
    ):
        for sampling, id_ in zip(("none", "epoch-partition", "without-replacement", "poisson"), ids, strict=True):
            m = release(2.0, 1.0 if sampling == "none" else 0.01, sampling=sampling, law=law)
            assert theorems.choose(m).id == id_
            assert ledger.find(id_).id == id_
            assert theorems.counts_in_full(m)
    assert all("zero-out" in theorems.COVERAGE[scheme].in_full for scheme in SCHEMES)


@pytest.mark.verifies("ours:zero-out")
def test_samplers_without_a_theorem_stay_refused():
    refused = [name for name, one in SAMPLERS.items() if not one.theorems]
    assert refused
    for sampling in refused:
        with pytest.raises(NoGuarantee):
            release(2.0, 0.1, sampling=sampling)


@pytest.mark.verifies("ours:zero-out")
@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_it_costs_what_its_neighbours_cost(law):
    """With equal noise multipliers, zero-out has the same epsilon as another adjacency.

    Without sampling and for epochs, this adjacency is replace-one. For Poisson batches, it is add-remove. For batches
    without replacement, privacy losses give the epsilon of replace-one with half the noise multiplier.
    """
    for sampling, q, other in (
        ("none", 1.0, "replace-one"), ("epoch-partition", 0.1, "replace-one"), ("poisson", 0.01, "add-remove"),
    ):  # fmt: skip
        one, beside = (spend(release(3.0, q, sampling=sampling, adjacency=a, law=law), 25) for a in ("zero-out", other))
        assert (one.epsilon, one.bound, one.uses) == (beside.epsilon, beside.bound, beside.uses)
    one, beside = (
        privacy_losses([(release(3.0, 0.01, sampling="poisson", adjacency=a, law=law), 25)], delta=1e-5)
        for a in ("zero-out", "add-remove")
    )
    assert one.epsilon == beside.epsilon > 0
    # a zeroed-out record changes a batch by its whole term
    one = privacy_losses([(release(3.0, 0.01, law=law), 25)], delta=1e-5)
    beside = privacy_losses([(release(1.5, 0.01, adjacency="replace-one", law=law), 25)], delta=1e-5)
    assert one.epsilon == beside.epsilon > 0


@pytest.mark.verifies("ours:zero-out", "lee2020:fn1")
def test_dp_accounting_counts_a_special_record_in_poisson_batches_alike():
    from dp_accounting import NeighboringRelation, dp_event
    from dp_accounting.rdp import RdpAccountant

    orders = np.arange(2.0, 40)
    for q, z in ((0.01, 1.1), (0.2, 3.0), (1e-4, 0.7)):
        theirs = RdpAccountant(orders, NeighboringRelation.REPLACE_SPECIAL)
        theirs.compose(dp_event.PoissonSampledDpEvent(q, dp_event.GaussianDpEvent(z)))
        ours = step(release(z, q, sampling="poisson"), orders, "lee2020:fn1")
        np.testing.assert_allclose(ours, np.minimum(theirs._rdp, orders / (2 * z * z)), rtol=1e-7)


@pytest.mark.verifies("ours:zero-out")
def test_a_mechanism_with_an_adjacency_of_its_own_is_not_added_to_it():
    with pytest.raises(NoGuarantee, match="one adjacency, got replace-one and zero-out"):
        epsilon([(randomised_response_release(truth=0.1), 1), (release(2.0, sampling="none"), 1)], delta=1e-5)


@pytest.mark.verifies("ours:zero-out")
@pytest.mark.parametrize("bound", ["wbk2019:thm27", "wbk2019:thm9", "lee2020:lem3", "berthier2019:thm3.2"])
def test_the_bounds_for_a_record_replaced_ask_for_the_sensitivity_to_it(bound):
    with pytest.raises(NoGuarantee, match="Give the sensitivity for replace-one"):
        spend(release(2.0, 0.01), bound=bound)
    for id_ in ("ours:zero-out-drawn", "ours:zero-out-replaced"):
        with pytest.raises(NoGuarantee, match="Give the sensitivity for zero-out"):
            spend(release(2.0, 0.01, adjacency="replace-one"), bound=id_)


# --- Poisson batches: the law with the zero record is the law without the record


@pytest.mark.verifies("ours:zero-out")
@pytest.mark.parametrize("q", [Fraction(1, 2), Fraction(1, 7)])
def test_poisson_batches_with_the_zero_record_are_those_without_the_record(q):
    for data in itertools.product((1, -2, 5), repeat=3):
        zeroed, without = (*data[:2], None), data[:2]
        assert sums(zeroed, batches_poisson(3, q)) == sums(without, batches_poisson(2, q))


@pytest.mark.verifies("ours:zero-out", "lee2020:fn1", "zhuwang2019:thm5")
@pytest.mark.parametrize("law", ["gaussian", "laplace"])
def test_no_poisson_batches_are_told_apart_further_than_counted(law):
    rng, nearest = np.random.default_rng(1), 0.0
    for trial in range(20):
        q, z, alpha = Fraction(int(rng.integers(1, 8)), 8), float(10 ** rng.uniform(-0.3, 0.6)), int(rng.integers(2, 6))
        data = rng.uniform(-1, 1, 3) if trial else np.array([0.0, 0.0, 1.0])
        noise = stats.norm(0, z) if law == "gaussian" else stats.laplace(0, z / SQUARE_ROOT_2)
        whole, zeroed = (sums(d, list(batches_poisson(3, q))) for d in (tuple(data), (*data[:2], None)))
        (bound,) = step(release(z, float(q), sampling="poisson", law=law), [alpha])
        for pair in ((whole, zeroed), (zeroed, whole)):
            found = divergence(*pair, noise, alpha)
            assert found <= bound * (1 + 1e-6)
            nearest = max(nearest, found / bound)
    assert nearest > (0.999 if law == "gaussian" else 0.5)


# --- batches without replacement


@pytest.mark.verifies("ours:zero-out-drawn")
def test_the_bound_is_the_formula_at_eighty_digits_rounded_up():
    """The bound is the formula at eighty digits, rounded up, for random settings and for settings at its limits.

    At the limits, the term of l = 2 is about 1 and its logarithm loses digits, or s >= 1.
    """
    rng = np.random.default_rng(2)
    drawn = [
        (float(10 ** rng.uniform(-1.5, 3)), float(10 ** rng.uniform(-6, 0)), int(rng.integers(2, 120)))
        for _ in range(60)
    ]
    drawn += [(0.7, 0.3, 2), (1.0, 0.9, 2)]
    for z, q, alpha in [*drawn, *((float(z), 1.0, 2) for z in np.linspace(1.5, 2.2, 150))]:
        (ours,) = without_replacement_zeroed([alpha], sampling_rate=q, noise_multiplier=z)
        with mp.workdps(oracles.DIGITS):
            exact = oracles.without_replacement(alpha, q, oracles.zeroed(z, alpha))
            assert exact <= ours
            assert ours <= exact * (1 + mp.mpf("1e-9"))


def ball(rng, size=2):
    """A point of the unit ball; in three of four cases, it is on the surface."""
    v = rng.standard_normal(size)
    return v / np.linalg.norm(v) * (1.0 if rng.random() < 0.75 else rng.random())


def planar_moment(u, v, q, z, alpha):
    """E_Q[(P/Q)^alpha] and E_P[(Q/P)^alpha] for P = (1 - q) N(u) + q N(v), Q = (1 - q) N(u) + q N(0) in the plane."""
    reach = 10 * z + 3 * alpha
    x = np.arange(-reach, reach, z / 6)  # six nodes for each standard deviation
    X, Y = np.meshgrid(x, x)

    def log_gaussian(c):
        return -((X - c[0]) ** 2 + (Y - c[1]) ** 2) / (2 * z * z) - math.log(2 * math.pi * z * z)

    A = math.log1p(-q) + log_gaussian(u)
    P, Q = np.logaddexp(A, math.log(q) + log_gaussian(v)), np.logaddexp(A, math.log(q) + log_gaussian((0.0, 0.0)))
    cell = (x[1] - x[0]) ** 2
    return [float(np.exp(alpha * a - (alpha - 1) * b).sum() * cell) for a, b in ((P, Q), (Q, P))]


@pytest.mark.verifies("ours:zero-out-drawn")
@pytest.mark.parametrize("trials", [25, pytest.param(200, marks=pytest.mark.slow)])
def test_no_pair_of_laws_is_above_the_bound(trials):
    """The divergence of every tested pair of laws is at most the bound, by quadrature of the definition.

    The record has the term v. If the batch contains another record in its place, this record has the term u.
    """
    rng = np.random.default_rng(trials)
    for _ in range(trials):
        z, q, alpha = float(10 ** rng.uniform(-0.2, 0.8)), float(rng.uniform(0.01, 0.99)), int(rng.integers(2, 7))
        u = ball(rng)
        v = -u if rng.random() < 0.5 else ball(rng)
        (bound,) = without_replacement_zeroed([alpha], sampling_rate=q, noise_multiplier=z)
        for found in planar_moment(u, v, q, z, alpha):
            assert math.log(found) / (alpha - 1) <= bound * (1 + 1e-6), (u, v, q, z, alpha)


@pytest.mark.verifies("ours:zero-out-drawn")
@pytest.mark.parametrize("q, z", [(0.01, 2.0), (0.01, 10.0), (0.05, 3.0)])
def test_the_worst_case_comes_near(q, z):
    """The worst case comes near the bound: all other records add the opposite of the record's term.

    At order 2, the difference to the bound is of the order of q^3.
    """
    both = {alpha: divergence({-1: 1 - q, 1: q}, {-1: 1 - q, 0: q}, stats.norm(0, z), alpha) for alpha in (2, 3)}
    bounds = dict(zip((2, 3), without_replacement_zeroed([2, 3], sampling_rate=q, noise_multiplier=z), strict=True))
    assert 1 - 2 * q - 0.05 < both[2] / bounds[2] <= 1 + 1e-9
    assert both[3] <= bounds[3]
    # A wrong proof uses the distance 1 between all laws. Its bound is too small.
    assert math.log1p(q * q * math.expm1(1 / z**2)) < both[2]


@pytest.mark.verifies("ours:zero-out-drawn", "ours:zero-out-replaced")
@pytest.mark.parametrize("law", ["gaussian", "laplace"])
@pytest.mark.parametrize("n, m", [(2, 1), (4, 2), (5, 2), (5, 4), (3, 3)])
def test_no_small_data_is_told_apart_further_than_counted(law, n, m):
    """If one record of a small data set is zeroed out, the divergence is at most the counted value.

    We enumerate all batches of m of n records, and compute the divergence for (D, D') and for (D', D).
    """
    rng = np.random.default_rng(n + 10 * m)
    drawn = batches_without_replacement(n, m)
    for trial in range(12):
        z, alpha = float(10 ** rng.uniform(-0.3, 0.7)), int(rng.integers(2, 6))
        others = -np.ones(n - 1) if trial == 0 else np.sign(rng.standard_normal(n - 1)) * rng.choice([1, 0.3], n - 1)
        data, zeroed = (*others, 1.0), (*others, None)
        noise = stats.norm(0, z) if law == "gaussian" else stats.laplace(0, z / SQUARE_ROOT_2)
        laws = sums(data, drawn), sums(zeroed, drawn)
        (bound,) = step(release(z, m / n, law=law), [alpha])
        for pair in (laws, laws[::-1]):
            # the factor allows for quadrature errors at kinks of the densities
            assert divergence(*pair, noise, alpha) <= bound * (1 + 2e-5)


@pytest.mark.verifies("ours:zero-out-replaced")
def test_it_is_the_bound_for_a_record_replaced_at_twice_the_sensitivity():
    for law, z in (("gaussian", 4.0), ("laplace", 4.0)):
        orders = np.arange(2.0, 40)
        found = step(release(z, 0.01, law=law), orders, "ours:zero-out-replaced")
        beside = step(release(z / 2, 0.01, law=law, adjacency="replace-one"), orders, "wbk2019:thm9")
        full = theorems.unsampled_curve(release(z, 0.01, law=law), orders)
        np.testing.assert_array_equal(found, np.minimum(beside, full))
    assert theorems.choose(release(4.0, 0.01, law="laplace")).id == "ours:zero-out-replaced"


@pytest.mark.verifies("ours:zero-out-drawn", "wbk2019:thm27")
def test_it_is_never_above_what_a_record_replaced_costs_with_the_same_noise():
    orders = np.arange(2, 65)
    for z, q in itertools.product((0.05, 0.3, 1.0, 2.0, 8.0, 100.0), (1e-6, 1e-3, 0.1, 0.9)):
        ours, replaced = step(release(z, q), orders), step(release(z / 2, q, adjacency="replace-one"), orders)
        assert (ours <= replaced * (1 + 1e-12)).all()


@pytest.mark.verifies("ours:zero-out", "ours:zero-out-drawn")
def test_what_a_thousand_steps_cost():
    """A thousand steps have the ledger's epsilons: Poisson batches, and batches without replacement.

    We also compute the epsilon of this noise for replacing one record.
    """
    (once,) = without_replacement_zeroed([8], sampling_rate=0.01, noise_multiplier=2.0)
    assert once == pytest.approx(5.0574773e-4, rel=1e-8)
    for m, stated in (
        (release(2.0, 0.01, sampling="poisson"), 0.6860),
        (release(2.0, 0.01), 1.7199),
        (release(1.0, 0.01, adjacency="replace-one"), 3.5762),
    ):
        assert spend(m, 1000).epsilon == pytest.approx(stated, abs=1e-4)


# --- pure differential privacy


@pytest.mark.verifies("ours:zero-out-pure")
def test_pure_privacy_is_attained_in_fractions():
    """A mechanism attains the pure epsilon of zero-out, in exact fractions. All its ratios are at most e^epsilon.

    The first probabilities for the batches A, B' and B are a, e^epsilon a and e^(2 epsilon) a.
    """
    ratio, a = Fraction(3), Fraction(1, 100)
    A, B0, B = ((share, 1 - share) for share in (a, ratio * a, ratio**2 * a))
    for one, other in ((A, B0), (B0, B)):
        assert all(1 / ratio <= x / y <= ratio for x, y in zip(one, other, strict=True))
    for q in (Fraction(1, 2), Fraction(1, 7), Fraction(1)):
        P, Q = ([(1 - q) * x + q * y for x, y in zip(A, b, strict=True)] for b in (B, B0))
        worst = max(max(x / y, y / x) for x, y in zip(P, Q, strict=True))
        assert worst == (1 + q * (ratio**2 - 1)) / (1 + q * (ratio - 1))
        found = amplified_zeroed(math.log(3), sampling_rate=float(q))
        assert float(worst) * (1 - 1e-14) <= math.exp(found) <= float(worst) * (1 + 1e-13)


@pytest.mark.verifies("ours:zero-out-pure")
@pytest.mark.parametrize("n, m", [(3, 1), (4, 2), (5, 2), (4, 3), (3, 3)])
def test_pure_privacy_on_all_batches_of_small_data(n, m):
    """The bound of pure privacy holds on all batches of small data, with bits and zero records, by enumeration.

    We compute the largest log ratio of random mechanisms with and without sampling.
    """
    rng, ratios, q = np.random.default_rng(n + 10 * m), [], m / n
    values = (0, 1, None)
    for _ in range(15):
        law = {
            b: rng.dirichlet(np.full(4, 2.0)) for b in itertools.combinations_with_replacement((0, 1, 2), m)
        }  # 2 is the zero record
        near = max(
            float(np.abs(np.log(law[b] / law[tuple(sorted((*b[:i], 2, *b[i + 1 :])))])).max())
            for b in law
            for i in range(m)
        )
        assert near > 0
        for bits in itertools.product((0, 1, 2), repeat=n - 1):

            def drawn(last, bits=bits, law=law):
                data = (*bits, last)
                return np.mean([law[tuple(sorted(c))] for c in itertools.combinations(data, m)], axis=0)

            bound = amplified_zeroed(near, sampling_rate=q)
            for last in range(len(values) - 1):
                ratio = float(np.abs(np.log(drawn(last) / drawn(2))).max())
                assert ratio <= bound * (1 + 1e-12)
                ratios.append(ratio / bound)
    assert max(ratios) > 0.3  # some mechanisms come near the bound


@pytest.mark.verifies("ours:zero-out-pure")
def test_pure_amplification_at_all_sizes():
    for eps, q in itertools.product((0, 1e-12, 0.3, 1, 5, 299, 301, 1e5), (1e-15, 1e-3, 0.5, 1)):
        with mp.workdps(400):
            e, p = mp.mpf(eps), mp.mpf(q)
            exact = mp.log1p(p * mp.expm1(2 * e)) - mp.log1p(p * mp.expm1(e))
            found = amplified_zeroed(eps, sampling_rate=q)
            assert exact <= found <= exact * (1 + mp.mpf("1e-12")) + mp.mpf("1e-300")
            assert found <= subsampling.amplified(2 * eps, sampling_rate=q) * (1 + 1e-12)
    assert amplified_zeroed(math.inf, sampling_rate=0.1) == math.inf
    for wrong in ({"epsilon": -1, "sampling_rate": 0.1}, {"epsilon": 1, "sampling_rate": 0}):
        with pytest.raises(ValueError, match="must be"):
            amplified_zeroed(**wrong)


@pytest.mark.verifies("ours:zero-out-pure")
def test_few_steps_of_laplace_noise_are_counted_by_pure_composition():
    """For one step of Laplace noise (scale 10, q = 0.01), the smallest epsilon comes from pure composition.

    For this delta, no Rényi order gives a smaller epsilon.
    """
    g = spend(release(10 * SQUARE_ROOT_2, 0.01, law="laplace"), delta=1e-12)
    exact = math.log1p(0.01 * math.expm1(0.2)) - math.log1p(0.01 * math.expm1(0.1))
    assert (g.conversion, g.bound) == ("pure", "ours:zero-out-pure")
    assert g.epsilon == pytest.approx(exact, rel=1e-12)
    assert g.epsilon < 0.1


@pytest.mark.verifies("ours:zero-out")
def test_laplace_noise_without_sampling_is_the_integral():
    scale, alpha = 2.0, 3
    found = step(release(scale * SQUARE_ROOT_2, sampling="none", law="laplace"), [alpha])[0]

    def ratio(x):
        return math.exp(alpha * -abs(x - 1) / scale + (alpha - 1) * abs(x) / scale) / (2 * scale)

    total, _ = integrate.quad(ratio, -200, 200, points=(0, 1), limit=400)
    assert found == pytest.approx(math.log(total) / (alpha - 1), rel=1e-8)


def test_orders_and_numbers_out_of_range_get_a_sentence():
    with pytest.raises(NoGuarantee, match="give integer orders"):
        without_replacement_zeroed([2.5], sampling_rate=0.1, noise_multiplier=1.0)
    for wrong in ({"sampling_rate": 0.0}, {"sampling_rate": 1.1}, {"noise_multiplier": 0.0}):
        with pytest.raises(ValueError, match="must be"):
            without_replacement_zeroed([2], **{"sampling_rate": 0.1, "noise_multiplier": 1.0} | wrong)
    tiny = without_replacement_zeroed([2, 3], sampling_rate=0.1, noise_multiplier=1e-200)
    assert (tiny == math.inf).all()
    assert not np.isnan(rdp.gaussian(np.array([2.0]), noise_multiplier=1e-200)).any()


@pytest.mark.parametrize(
    "ask",
    [
        lambda: list(neighbours([1, 2], adjacency="zero-out")),
        lambda: sensitivity(len, [[1, 0]], adjacency="zero-out"),
        lambda: tv_of_any_two(0.1, n=3, adjacency="zero-out"),
        lambda: spec("pdfa_label").release("zero-out", PHOTONIC),
    ],
)
def test_mechanisms_of_other_adjacencies_refuse_it_in_a_sentence(ask):
    with pytest.raises((ValueError, NoGuarantee)) as caught:
        ask()
    assert "\n" not in str(caught.value)
    assert "adjacency must be one of" in str(caught.value) or caught.value.id == "ohana2021:prop3-cols"
