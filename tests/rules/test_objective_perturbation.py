"""Tests of objective perturbation: its minimiser, exact small cases for each step of its proof, its mechanism.

`tests.oracles.softmax_regression` gives the laws of minimisers. The tests integrate over the noise on a grid, or draw
it.
"""

import functools
import math

import mpmath as mp
import numpy as np
import pytest
from scipy import integrate, stats

from nfa import ledger, ops
from nfa.mechanism import NoGuarantee
from nfa.network import Net, mlp
from nfa.network.dense import Dense
from nfa.noise import add_normal as numpy_normal
from nfa.privacy.accountant import epsilon
from nfa.privacy.theorems import choose
from nfa.rules.objective_perturbation import SHARE, SoftmaxObjective, mechanism, objective_perturbation
from nfa.rules.output_perturbation import output_perturbation
from tests.oracles import chance
from tests.oracles.softmax_regression import Perturbed, gradient, grid, joined, losses
from tests.rules.test_output_perturbation import BAD, arrived, data, net_of

rng = np.random.default_rng
WHERE = {"adjacency": "add-remove", "sampling": "none", "sampling_rate": 1.0}


class Spy:
    """A noise function that records its noise and the requested standard deviation."""

    def __init__(self):
        self.added = []

    def __call__(self, out, std, rng):
        before = out.copy()
        numpy_normal(out, std, rng)
        self.added.append((std, out - before))


# --- the minimiser ------------------------------------------------------------------------------------------------


@pytest.mark.verifies("ours:softmax-objective")
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    "R, lam, m, k", [(1.0, 0.1, 20, 20), (0.3, 1e-3, 7.5, 20), (40.0, 2.0, 20, 20), (1.0, 0.1, 3, 0)]
)
def test_it_leads_to_the_minimiser_of_the_perturbed_objective_by_loops(bias, R, lam, m, k):
    """The rule computes the minimiser of the perturbed objective. We check this by loops.

    We leave out the noise that hides the remaining gradient. At the minimiser, the gradient and the noise of the
    objective cancel, up to a norm of tolerance R.
    """
    net, spy = net_of(bias=bias), Spy()
    x, y = data(20)
    how = {"m": m, "lam": lam, "R": R, "sigma": 0.2 * R, "add_normal": spy, "rng": rng(3)}
    theta = arrived(net, objective_perturbation(net, x[:k], y[:k], **how))
    (std, eta), (hiding, hidden) = spy.added
    assert std == 0.2 * R
    assert hiding == pytest.approx(2 * 1e-10 * R / lam / (math.sqrt(2 * SHARE) * R / (m * std)), rel=1e-12)
    left = gradient(theta - hidden, joined(x[:k], R, bias), y[:k], m=m, lam=lam, linear=eta)
    assert np.linalg.norm(left) <= R * 1.2e-10


def test_without_noise_it_is_output_perturbation_without_noise():
    net, (x, y) = net_of(dtype=np.float32), data(20)
    how = {"m": 20, "lam": 0.1, "sigma": 0.0, "rng": rng(0)}
    for ours, theirs in zip(
        objective_perturbation(net, x, y, **how), output_perturbation(net, x, y, **how), strict=True
    ):
        assert ours[1].dtype == np.float32
        np.testing.assert_array_equal(ours[1], theirs[1])


def test_wherever_the_weights_are():
    x, y = data(20)
    how = {"m": 20, "lam": 0.1, "sigma": 0.1}
    nets = net_of(seed=0), net_of(seed=5)
    here, there = (arrived(net, objective_perturbation(net, x, y, rng=rng(0), **how)) for net in nets)
    np.testing.assert_allclose(here, there, rtol=0, atol=1e-14)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_record_that_is_not_finite_teaches_nothing(bad):
    net, (x, y) = net_of(), data(20)
    x[3], others = bad, np.arange(20) != 3
    how = {"m": 20, "lam": 0.1, "sigma": 0.1}
    here = objective_perturbation(net, x, y, rng=rng(0), state=(state := {}), **how)
    there = objective_perturbation(net, x[others], y[others], rng=rng(0), **how)
    np.testing.assert_allclose(arrived(net, here), arrived(net, there), rtol=0, atol=4e-9)
    assert state["clipped"][0] >= 1 / 20


# --- the law of the minimiser -------------------------------------------------------------------------------------


def neighbours(K, d, n, *, m=1.0, lam, sigma, seed=1):
    """The laws of the minimiser for two neighbours, with n + 1 and with n records of norm 1."""
    r = rng(seed)
    x = r.standard_normal((n + 1, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    labels, how = r.integers(K, size=n + 1), {"K": K, "m": m, "lam": lam, "sigma": sigma}
    return Perturbed(x, labels, **how), Perturbed(x[:n], labels[:n], **how)


def cost(one, *, stretched=True):
    """The proof's bound for two neighbours, without the noise that hides the remaining gradient."""
    stretch = (one.K - 1) * math.log1p(1 / (one.K * one.m * one.lam)) if stretched else 0.0
    return SoftmaxObjective(classes=one.K, shift=math.sqrt(2) / (one.m * one.sigma), stretch=stretch, share=0.0)


@pytest.mark.verifies("ours:softmax-objective")
def test_the_rule_draws_from_the_law_that_is_judged_below():
    """For equal noise, the rule's minimiser equals that of the oracle, except along (1, ..., 1).

    Along (1, ..., 1), the result contains only noise.
    """
    net, spy, (x, y) = net_of(2, 3, bias=False), Spy(), data(6, 2, 3, size=0.4)
    how = {"m": 4.0, "lam": 0.3, "sigma": 0.2}
    theta = arrived(net, objective_perturbation(net, x, y, add_normal=spy, rng=rng(3), **how))
    (_, eta), (_, hidden) = spy.added
    law = Perturbed(x * np.minimum(1, 1 / np.linalg.norm(x, axis=1))[:, None], y.argmax(axis=1), K=3, **how)
    np.testing.assert_allclose(law.basis @ (theta - hidden), law.solve((law.basis @ eta)[None])[0], rtol=0, atol=1e-9)
    np.testing.assert_allclose((theta - hidden).sum(axis=0), -eta.sum(axis=0) / 0.3, rtol=0, atol=1e-9)


@pytest.mark.parametrize("K, d", [(2, 1), (3, 1), (2, 3), (4, 2)])
def test_the_noise_is_a_function_of_the_minimiser_whose_derivative_is_its_curvature(K, d):
    """The noise is a function of the minimiser. Its derivative is minus the objective's second derivatives.

    We compute the oracle's derivative by differences. The second derivatives are symmetric, with eigenvalues of at
    least lam.
    """
    law, _ = neighbours(K, d, 3, lam=0.3, sigma=0.5)
    T = rng(5).standard_normal((1, K - 1, d))
    unit = 1e-5 * np.eye(law.q).reshape(law.q, K - 1, d)
    derivatives = (law.noise(T + unit) - law.noise(T - unit)).reshape(law.q, law.q) / 2e-5
    np.testing.assert_allclose(derivatives, -law.curvature(T)[0], rtol=0, atol=1e-9)
    assert np.linalg.eigvalsh(law.curvature(T)[0]).min() >= 0.3 - 1e-12


@pytest.mark.verifies("ours:softmax-objective")
@pytest.mark.parametrize("K, d, n", [(2, 1, 0), (2, 1, 4), (2, 2, 2), (3, 1, 2)])
def test_the_densities_add_up(K, d, n):
    """The mean of the ratio of two densities is 1, so the volumes in the change of variables are correct."""
    more, fewer = neighbours(K, d, n, lam=2.0, sigma=0.6)
    points, weights = grid(more.q)
    for one, other in ((more, fewer), (fewer, more)):
        assert weights @ np.exp(-losses(one, other, points)) == pytest.approx(1, abs=1e-6)


@pytest.mark.verifies("ours:softmax-objective")
@pytest.mark.parametrize("K, d", [(2, 1), (2, 3), (3, 2), (5, 1)])
def test_the_ratio_of_volumes_is_bounded_and_attains_its_bound(K, d):
    """The ratio of volumes is at most its bound at 1,000 points of 20 pairs for each lam, and attains the bound.

    The ratio attains the bound at theta = 0 without other records, because all classes are equally likely there.
    """
    for seed in range(20):
        for lam in (1e-3, 0.1, 10.0):
            more, fewer = neighbours(K, d, seed % 4, lam=lam, sigma=1.0, seed=seed)
            T = 10.0 ** rng(seed).uniform(-2, 2, (1000, 1, 1)) * rng(seed).standard_normal((1000, K - 1, d))
            stretch = (np.linalg.slogdet(law.curvature(T))[1] for law in (more, fewer))
            found = next(stretch) - next(stretch)
            assert found.min() >= -1e-9
            assert found.max() <= cost(more).stretch * (1 + 1e-9)
    more, fewer = neighbours(K, d, 0, lam=0.1, sigma=1.0)
    at_0 = [np.linalg.slogdet(law.curvature(np.zeros((1, K - 1, d))))[1][0] for law in (more, fewer)]
    assert at_0[0] - at_0[1] == pytest.approx(cost(more).stretch, rel=1e-12)


# --- the bound ----------------------------------------------------------------------------------------------------

SMALL = [(2, 1, 0), (2, 1, 2), (3, 1, 0)]
MORE = [(2, 1, 5), (2, 2, 0), (2, 2, 2), (2, 2, 5), (3, 1, 2), (3, 1, 5)]
NOISES = [(0.05, 1.0), (0.1, 0.5), (2.0, 0.3), (30.0, 0.4)]  # lam, sigma


@pytest.mark.verifies("ours:softmax-objective")
@pytest.mark.parametrize("K, d, n", [*SMALL, *(pytest.param(*case, marks=pytest.mark.slow) for case in MORE)])
def test_no_two_laws_are_further_apart_than_the_bound(K, d, n):
    """For neighbours, delta at five epsilons and the Rényi divergence at four orders are at most the bound.

    One record is added or removed, and we integrate over the noise. If the record is removed, the bound needs no ratio
    of volumes.
    """
    for lam, sigma in NOISES:
        more, fewer = neighbours(K, d, n, lam=lam, sigma=sigma)
        points, weights = grid(more.q)
        for one, other, said in ((more, fewer, cost(more)), (fewer, more, cost(more, stretched=False))):
            loss = losses(one, other, points)
            for left in (0.0, 0.2, 1.0, 3.0, 6.0):
                delta = weights @ np.clip(-np.expm1(said.stretch + left - loss), 0, None)
                assert delta <= said.delta(said.stretch + left) * (1 + 1e-4) + 1e-9, (lam, sigma, left)
            for order in (1.5, 2.0, 3.0, 6.0):
                renyi = math.log(weights @ np.exp((order - 1) * loss)) / (order - 1)
                assert renyi <= said(np.array([order]))[0] + 1e-6, (lam, sigma, order)


@pytest.mark.verifies("ours:softmax-objective")
def test_of_two_classes_the_bound_is_attained():
    """For two classes, the bound is attained.

    There is no other record, and lam is small. If the record is removed, delta is that of the Gaussian mechanism, to
    0.1 %.
    """
    more, fewer = neighbours(2, 1, 0, lam=1e-3, sigma=1.0)
    points, weights = grid(1, points=20001)
    loss = losses(fewer, more, points)
    for left in (1.0, 3.0, 6.0):
        delta = weights @ np.clip(-np.expm1(left - loss), 0, None)
        assert 0.999 < delta / cost(more, stretched=False).delta(left) <= 1 + 1e-4


@pytest.mark.verifies("ours:softmax-objective")
def test_each_further_class_costs_its_own():
    """For three classes, delta is 1.75 to 2 times the delta of one Gaussian shift, at the epsilons 3, 5 and 7.

    So the proof needs more than one of its corners (the cases of the largest loss, one for each other class).
    """
    more, fewer = neighbours(3, 1, 0, lam=1e-3, sigma=1.0)
    points, weights = grid(2, points=241)
    loss = losses(fewer, more, points)
    shift = SoftmaxObjective(classes=2, shift=math.sqrt(2), stretch=0.0, share=0.0)
    for left in (3.0, 5.0, 7.0):
        delta = weights @ np.clip(-np.expm1(left - loss), 0, None)
        assert 1.75 < delta / shift.delta(left) <= 2 + 1e-3


@pytest.mark.slow
@pytest.mark.verifies("ours:softmax-objective")
@pytest.mark.parametrize("K, d, n", [(4, 3, 0), (4, 3, 3), (6, 2, 3)])
def test_losses_are_exceeded_no_more_often_than_the_corners_allow(K, d, n):
    """In 8,000 samples, the privacy loss exceeds a threshold at most as often as the sum over corners allows.

    The space has 9 or 10 dimensions. The bound is P(loss > c + t) <= (K - 1) P(N(s^2/2, s^2) > t). We choose t so that
    the bound is 0.02.
    """
    more, fewer = neighbours(K, d, n, lam=0.01, sigma=0.7, seed=3)
    said = cost(more)
    t = stats.norm.isf(0.02 / (K - 1), said.shift**2 / 2, said.shift)
    draws = rng(8).standard_normal((8000, more.q))
    for one, other, stretch in ((more, fewer, said.stretch), (fewer, more, 0.0)):
        count = int((losses(one, other, draws) > stretch + t).sum())
        chance.is_at_most(count, 8000, 0.02, sees=0.02, tests=6)


# --- epsilon and delta --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 1e-3, 0.5])
def test_delta_is_that_of_the_sum_of_corners_by_quadrature(share):
    """The delta of the sum over corners agrees with a quadrature.

    We integrate (1 - e^(epsilon - loss))_+ over a normal loss. The variance of this loss is that of the two noises
    together, and the mean is half of the variance.
    """
    said = SoftmaxObjective(classes=7, shift=0.8, stretch=0.3, share=share)

    def corner(left, variance):
        if variance == 0:
            return 0.0
        std = math.sqrt(variance)
        density = functools.partial(stats.norm.pdf, loc=variance / 2, scale=std)
        return integrate.quad(lambda v: -math.expm1(left - v) * density(v), left, left + 12 * std, epsabs=1e-13)[0]

    for left in (0.0, 0.5, 2.0, 4.0):
        by_hand = 6 * corner(left, 0.64 * (1 + share)) + corner(left, 0.64 * share)
        assert said.delta(0.3 + left) == pytest.approx(min(by_hand, 1), rel=1e-7, abs=1e-11)
    assert said.delta(0.29) == 1


def test_the_curve_by_hand():
    """The Rényi curve agrees with a hand computation: K = 3, s^2 = 2 and order 2 give c + log(1 + 2 e^2) + 0.2.

    The last term comes from the additional shift, a tenth of 2. Large orders do not overflow.
    """
    said = SoftmaxObjective(classes=3, shift=math.sqrt(2), stretch=0.3, share=0.1)
    np.testing.assert_allclose(said(np.array([2.0])), [0.3 + math.log(1 + 2 * math.exp(2)) + 0.2], rtol=1e-14)
    np.testing.assert_allclose(said(np.array([1e6])), [0.3 + 1.1e6 + math.log(2) / 1e6], rtol=1e-9)


def test_what_the_accountant_counts_is_above_delta():
    """The epsilon from Rényi orders is at least the smallest epsilon that satisfies delta, and at most 8 % larger."""
    said = mechanism(net=net_of(classes=10), m=60000, lam=1e-3, sigma=4e-5, **WHERE)
    counted = epsilon([(said, 1)], delta=1e-5).epsilon
    assert said.curve.delta(counted) < 1e-5 < said.curve.delta(counted / 1.08)


def test_epsilon_is_where_delta_is_kept():
    """For any stretch and number of classes, epsilon is the smallest value that satisfies delta.

    If the shift is tiny, epsilon equals the stretch.
    """
    for said in (
        SoftmaxObjective(classes=K, shift=shift, stretch=stretch, share=SHARE)
        for K, shift, stretch in [(2, 0.5, 0.0), (10, 0.58, 1.3), (1000, 8.0, 50.0), (10, 1e-3, 0.2)]
    ):
        for delta in (1e-10, 1e-5, 0.3):
            found = said.epsilon(delta)
            assert found >= said.stretch
            assert said.delta(found) <= delta
            assert found == said.stretch or said.delta(found - 1e-9 * (found - said.stretch) - 1e-11 * found) > delta
    assert SoftmaxObjective(classes=2, shift=1e-6, stretch=0.7, share=SHARE).epsilon(1e-3) == 0.7
    assert SoftmaxObjective(classes=2, shift=1e200, stretch=0.0, share=SHARE).epsilon(1e-3) == math.inf
    with pytest.raises(ValueError, match=r"delta must be in \(0, 1\), got 1"):
        said.epsilon(1.0)


def test_the_numbers_of_the_statement():
    """nfa gives the epsilons of the statement: 3.00257 by Rényi orders on a fine grid, and 2.81 by quadrature.

    The quadrature sums over nine corners and the noise that hides the remaining gradient.
    """
    said = mechanism(net=net_of(classes=10), m=60000, lam=1e-4, sigma=4.04e-5, **WHERE)
    s, c = math.sqrt(2) / (60000 * 4.04e-5), 9 * math.log1p(1 / 60)
    assert epsilon([(said, 1)], delta=1e-5).epsilon == pytest.approx(3.00257, abs=5e-6)
    orders = 1 + np.geomspace(0.1, 30, 20_000)
    curve = c + np.log1p(9 * np.exp(orders * (orders - 1) * s**2 / 2)) / (orders - 1) + 1e-3 * orders * s**2 / 2
    by_orders = curve + np.log1p(-1 / orders) - np.log(1e-5 * orders) / (orders - 1)
    assert by_orders.min() == pytest.approx(3.00257, rel=1e-4)

    def corner(left, shift):
        loss = stats.norm(shift**2 / 2, shift)
        return integrate.quad(lambda v: -math.expm1(left - v) * loss.pdf(v), left, left + 12 * shift, epsabs=1e-13)[0]

    tight = said.curve.epsilon(1e-5)
    assert tight == pytest.approx(2.81, abs=5e-3)
    by_hand = 9 * corner(tight - c, s * math.sqrt(1.001)) + corner(tight - c, s * math.sqrt(0.001))
    assert by_hand == pytest.approx(1e-5, rel=1e-6)


@pytest.mark.verifies("ours:softmax-objective")
def test_the_mechanism_by_hand():
    """The mechanism agrees with a hand computation: R = 2, m = 10, lam = 1/2, sigma = 3/10.

    The result is s = 2 sqrt(2) / 3 and c = 3 log(1 + 4 / 20).
    """
    how = {"m": 10, "lam": 0.5, "R": 2.0, "sigma": 0.3, "adjacency": "add-remove", "sampling": "poisson"}
    said = mechanism(net=net_of(), sampling_rate=0.1, **how)
    assert said.id == "ours:softmax-objective"
    assert said.curve.shift == pytest.approx(2 * math.sqrt(2) / 3, rel=1e-15)
    assert said.curve.stretch == pytest.approx(3 * math.log(1.2), rel=1e-14)
    assert (said.curve.classes, said.curve.share) == (4, 1e-3)
    assert (said.adjacency, said.sampling, said.sampling_rate) == ("add-remove", "poisson", 0.1)


@pytest.mark.verifies("ours:softmax-objective")
@pytest.mark.parametrize("share", [0.0, 1e-3, 0.5, 3.0])
def test_delta_is_the_sum_of_two_gaussian_profiles(share):
    """delta is the sum of K - 1 Gaussian profiles of the shift s sqrt(1 + share) and one of s sqrt(share).

    Each profile is computed by mpmath at 40 digits.
    """
    curve = SoftmaxObjective(classes=4, shift=0.8, stretch=0.25, share=share)
    for spent in (0.25, 1.0, 2.5):
        with mp.workdps(40):
            left, total = mp.mpf(spent) - mp.mpf("0.25"), mp.mpf(0)
            for times, part in ((3, 1 + mp.mpf(share)), (1, mp.mpf(share))):
                s = mp.mpf(0.8) * mp.sqrt(part)
                if s > 0:
                    total += times * (mp.ncdf(s / 2 - left / s) - mp.exp(left) * mp.ncdf(-s / 2 - left / s))
        assert curve.delta(spent) == pytest.approx(min(1.0, float(total)), rel=1e-9)


@pytest.mark.parametrize("sampling", ["none", "epoch-partition", "without-replacement", "poisson"])
def test_the_accountant_counts_what_it_has_a_theorem_for(sampling):
    """The accountant composes steps, uses a general bound for Poisson batches, and refuses batches of a fixed size."""
    rate = 1.0 if sampling == "none" else 0.1
    how = {"m": 10, "lam": 1.0, "sigma": 1.0, "adjacency": "add-remove", "sampling": sampling, "sampling_rate": rate}
    said = mechanism(net=net_of(), **how)
    if sampling not in ("none", "poisson"):
        with pytest.raises(NoGuarantee):
            epsilon([(said, 5)], delta=1e-5)
        return
    five = epsilon([(said, 5)], delta=1e-5)
    assert five.bound == choose(said).id == ("ours:softmax-objective" if sampling == "none" else "zhuwang2019:thm5")
    assert epsilon([(said, 1)], delta=1e-5).epsilon < five.epsilon < math.inf
    if sampling == "none":
        np.testing.assert_allclose(five.rdp, 5 * said.curve(five.orders), rtol=1e-15)


@pytest.mark.parametrize(
    "change, id, why",
    [
        ({"sigma": 0.0}, "lee2020:lem1", "sigma is 0, so the release has no noise"),
        (
            {"adjacency": "replace-one"},
            "ours:softmax-objective",
            r"only the adjacencies add-remove and zero-out, got replace-one\. Use",
        ),
        ({"adjacency": "replace-label"}, "ours:softmax-objective", "Use add-remove or zero-out"),
        ({"net": mlp([3, 5, 4], ops.tanh, rng=rng(0))}, "ours:softmax-objective", "needs softmax regression"),
        (
            {"net": Net((3,), [(Dense(4),)], loss=ops.logistic, rng=rng(0))},
            "ours:softmax-objective",
            "loss sigmoid-cross",
        ),
    ],
)
def test_what_has_no_proof_is_refused_by_name(change, id, why):
    with pytest.raises(NoGuarantee, match=why) as refusal:
        mechanism(**{"net": net_of(), "m": 4, "lam": 0.1, "sigma": 1.0, **WHERE} | change)
    assert refusal.value.id == id == ledger.find(id).id


@pytest.mark.parametrize("change, sentence", BAD, ids=lambda v: str(v)[:20])
def test_bad_settings_get_a_sentence(change, sentence):
    net, (x, y) = net_of(), data(4)
    how = {"m": 4, "lam": 0.1, "sigma": 1.0} | change
    for call in (
        functools.partial(objective_perturbation, net, x, y, rng=rng(0)),
        functools.partial(mechanism, net=net, **WHERE),
    ):
        with pytest.raises(ValueError) as refused:
            call(**how)
        assert str(refused.value) == sentence.replace("output_", "objective_")


@pytest.mark.parametrize(
    "call, sentence",
    [
        (
            lambda: mechanism(net=net_of(), m=4, lam=0.1, sigma=1e-320, **WHERE),
            r"sqrt\(2\) R / \(m sigma\) must be pos",
        ),
        (lambda: SoftmaxObjective(classes=1, shift=1.0, stretch=0.0, share=0.0), "classes must be a whole number >= 2"),
        (lambda: SoftmaxObjective(classes=2, shift=1.0, stretch=-1.0, share=0.0), "the ratio of volumes must be at le"),
        (lambda: SoftmaxObjective(classes=2, shift=1.0, stretch=0.0, share=math.nan), "the share must be at least 0"),
    ],
)
def test_what_would_cost_anything_gets_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_bad_input_gets_a_sentence():
    net, (x, y) = net_of(), data(4)
    rule = functools.partial(objective_perturbation, m=4, lam=0.1, sigma=1.0, rng=rng(0))
    with pytest.raises(ValueError, match="objective_perturbation needs softmax regression"):
        rule(mlp([3, 5, 4], ops.tanh, rng=rng(0)), x, y)
    with pytest.raises(ValueError, match="y must be one-hot"):
        rule(net, x, y / 2)
