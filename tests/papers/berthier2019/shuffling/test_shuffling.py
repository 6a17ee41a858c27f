"""The printed conjectures on SGD with shuffling, the bound that implies them, and the accountants."""

import ast
import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from scipy import optimize

from nfa.mechanism import Mechanism, NoGuarantee
from nfa.papers.berthier2019.shuffling import our_bound
from nfa.papers.berthier2019.shuffling.conjectures import (
    conjectured_epsilon,
    conjectured_rdp,
    conjectured_sigma2,
    conjectured_step_rdp,
)
from nfa.papers.berthier2019.shuffling.exact import mixture_renyi, pass_renyi, worst_pair
from nfa.papers.berthier2019.shuffling.our_bound import (
    corrected_epsilon,
    corrected_pass_rdp,
    corrected_step_rdp,
    remainder_constant,
)
from nfa.privacy import accountant, theorems

RUN = {"n": 1000, "L": 1.0, "sigma": 2.0, "delta": 1e-4}  # the setting of Figure 12: x = (2 L / sigma)^2 = 1
FEW = range(2, 65)  # Renyi orders; the best order in these tests is at most 13
LOG = math.log(1e4)


# ---------------------------------------------------------------- the conjectures as printed


@pytest.mark.verifies("berthier2019:conj2")
def test_conjecture_2_as_printed():
    assert conjectured_sigma2(epsilon=0.5, alpha=8, n=1000, e=10, tau=0.5, L=1.0) == pytest.approx(5.12, rel=1e-12)
    assert conjectured_sigma2(epsilon=0.5, alpha=2, n=1000, e=1, tau=0.5, L=1.0) == 4.0
    assert conjectured_sigma2(epsilon=0.5, alpha=8, n=1000, e=10, tau=0.5, L=3.0) == pytest.approx(46.08, rel=1e-12)
    assert conjectured_sigma2(epsilon=0.5, alpha=2, n=1000, e=1, tau=0.5, L=3.0) == 36.0
    spent = conjectured_rdp([8.0], n=1000, e=10, tau=0.5, L=1.0, sigma=math.sqrt(5.12))
    assert spent[0] == pytest.approx(0.5, rel=1e-12)


@pytest.mark.verifies("berthier2019:conj2")
@pytest.mark.parametrize(("n", "k"), [(1000, 500), (1000, 1), (10, 9), (7, 3), (1000, 999)])
def test_conjecture_2_follows_from_conjecture_1_by_its_sum(n, k):
    total = sum(Fraction(1, (n - j + 1) ** 2) for j in range(1, k + 1))
    assert total <= Fraction(k, n * (n - k))
    if (n, k) == (1000, 500):
        assert float(total) == pytest.approx(0.000998501166665633, rel=1e-15)
    tau, steps = k / n, range(1, k + 1)
    summed = sum(conjectured_step_rdp([4.0], n=n, t=t, L=1.0, sigma=2.0)[0] for t in steps) / tau
    closed = conjectured_rdp([4.0], n=n, e=1, tau=tau, L=1.0, sigma=2.0)[0]
    assert summed == pytest.approx(16 * float(total) / tau, rel=1e-12)
    assert summed <= closed * (1 + 1e-12)


def test_conjecture_2_is_worse_than_no_conjecture_where_a_pass_leaves_few_records():
    for tau in (0.5, 0.99, 0.992, 0.993, 0.999):
        per_pass = tau * conjectured_rdp([4.0], n=1000, e=1, tau=tau, L=1.0, sigma=2.0)[0]
        assert (per_pass > 2 * 4 / 4) == (1000 * (1 - tau) < 8 * tau)


@pytest.mark.verifies("berthier2019:conj2")
@pytest.mark.parametrize(
    ("tau", "epsilons"),
    [
        (0.001, (0.38807816, 1.25458917, 2.91601462)),
        (0.1, (0.40909168, 1.32405135, 3.08351026)),
        (0.5, (0.55089123, 1.79677282, 4.23882073)),
        (0.9, (1.25394170, 4.23882073, 10.5838641)),
    ],
)
def test_the_leading_term_alone(tau, epsilons):
    for e, printed in zip((1, 10, 50), epsilons, strict=True):
        epsilon, order = conjectured_epsilon(e=e, tau=tau, **RUN)
        assert epsilon == pytest.approx(printed, abs=6e-8)
        R = 4 * e / (1000 * (1 - tau))
        found = optimize.minimize_scalar(lambda a, R=R: R * a + LOG / (a - 1), bounds=(1.01, 500), method="bounded")
        assert found.fun == pytest.approx(epsilon, rel=1e-9)
        assert found.x == pytest.approx(order, rel=1e-4)


@pytest.mark.verifies("berthier2019:conj1")
def test_the_leading_term_alone_uses_orders_where_it_is_no_bound():
    order = conjectured_epsilon(e=1, tau=0.001, **RUN)[1]
    assert order == pytest.approx(48.96, abs=5e-3)
    assert worst_pair([49], c=1 / 1000, x=1.0)[0] > conjectured_step_rdp([49], n=1000, t=1, L=1.0, sigma=2.0)[0]
    assert conjectured_epsilon(e=1, tau=0.001, largest_order=13, **RUN)[0] == pytest.approx(0.81958042, abs=5e-9)
    summed = [conjectured_epsilon(e=e, tau=0.001, summed=True, **RUN)[0] for e in (1, 10, 50)]
    assert summed == pytest.approx([0.38788, 1.25394, 2.91446], abs=5e-6)


# ---------------------------------------------------------------- the bound with every term


def mp_bound(c, alpha, x, cap):
    """The bound at thirty digits, term by term."""
    with mp.workdps(30):
        c, x = mp.mpf(c), mp.mpf(x)
        second = 4 * (mp.exp(x) - 1)
        total = c**2 * mp.binomial(alpha, 2) * (min(second, 2 * mp.exp(x)) if cap else second)
        total += 2 * mp.fsum(c**j * mp.binomial(alpha, j) * mp.exp(j * (j - 1) * x / 2) for j in range(3, alpha + 1))
        bound = mp.log(1 + total) / (alpha - 1)
        return min(bound, alpha * x / 2) if cap else bound


@pytest.mark.verifies("berthier2019:conj1", "ours:conjecture-1")
@pytest.mark.parametrize(
    ("c", "noise", "alpha", "uncapped", "capped"),
    [
        (1e-3, 1, 2, 6.8731036940e-6, 5.4365488788595e-6),
        (1e-3, 1, 8, 2.7819619490089e-5, 2.2074368237644e-5),
        (0.1, 0.5, 3, 2.9039831904533, 2.899221178865),
        (0.05, 1, 5, 0.057980797485508, 0.050757408880176),
        (1, 1, 2, math.log(1 + 4 * math.expm1(1)), 1.0),
        (0.5, 4, 64, None, None),
        (1e-6, 0.2, 200, None, None),
    ],
)
def test_the_bound_of_a_step(c, noise, alpha, uncapped, capped):
    for cap, printed in ((False, uncapped), (True, capped)):
        bound = corrected_step_rdp([alpha], c=c, L=1.0, sigma=2 * noise, cap=cap)[0]
        assert bound == pytest.approx(float(mp_bound(c, alpha, 1 / noise**2, cap)), rel=1e-12)
        if printed is not None:
            assert bound == pytest.approx(printed, rel=1e-11)


@pytest.mark.verifies("berthier2019:conj1")
def test_the_literal_conjecture_follows_from_the_bound():
    """The bound implies the conjecture as printed, with C = 16 and a remainder. Step t + 1 has c = 1 / (n - t).

    The constant of the remainder depends on the order.
    """
    assert 2 * math.expm1(1.256431) <= 4 * 1.256431 < 2 * math.expm1(1.256432) + 1e-5
    alphas = np.arange(2, 11)
    for sigma in (2.0, 2.5, 10.0):
        K = np.array([remainder_constant(a, L=1.0, sigma=sigma) for a in alphas])
        K_1 = np.array([remainder_constant(a, L=1.0, sigma=2.0) for a in alphas])
        x = 4 / sigma**2
        for k in (2, 3, 5, 10, 100, 1000):  # here k is n - t + 1
            c = 1 / (k - 1)
            bound = corrected_step_rdp(alphas, c=c, L=1.0, sigma=sigma, cap=False)
            assert (bound <= 2 * alphas * math.expm1(x) * c**2 + K * c**3).all()
            assert (bound <= 16 * alphas * c**2 / sigma**2 + K_1 * c**3).all()
            assert (bound <= 16 * alphas / (k**2 * sigma**2) + (24 * alphas + 8 * K_1) / k**3).all()


@pytest.mark.verifies("berthier2019:conj1", "ours:conjecture-1")
@pytest.mark.parametrize(("L", "sigma"), [(1.0, 2.0), (1.0, 5.0), (3.0, 7.0)])
def test_the_constant_of_the_remainder_by_hand(L, sigma):
    """The constants of the remainder at the orders 2, 3 and 4 equal formulas derived by hand.

    The constants are K_2 = 0, K_3 = e^(3x) and K_4 = (2/3) (4 e^(3x) + e^(6x)), with x = (2 L / sigma)^2.
    """
    x = (2 * L / sigma) ** 2
    by_hand = [0, math.exp(3 * x), 2 / 3 * (4 * math.exp(3 * x) + math.exp(6 * x))]
    assert [remainder_constant(a, L=L, sigma=sigma) for a in (2, 3, 4)] == pytest.approx(by_hand, rel=1e-13)


@pytest.mark.verifies("berthier2019:conj1")
@pytest.mark.parametrize(
    ("n", "alpha", "exact", "holds"),
    [
        (3, 2, 0.17472628826469, True),
        (5, 4, 0.29132308006677, True),
        (4, 8, 2.41883940, False),
        (5, 8, 2.16490023828, False),
        (10, 8, 1.37836141135, False),
        (1000, 8, 6.98794165e-6, True),
        (1000, 13, None, True),
        (1000, 14, 2.75553e-4, False),
        (1000, 16, 0.632060008, False),
        (1000, 64, 24.98, False),
    ],
)
def test_the_leading_term_alone_fails_at_large_orders(n, alpha, exact, holds):
    """At large orders, the leading term alone is not a bound.

    We know the exact divergence of the first step of a pass, because this step samples like a step with replacement.
    """
    found = worst_pair([alpha], c=1 / n, x=1.0)[0]
    if exact is not None:
        assert found == pytest.approx(exact, rel=2e-6 if alpha in (8, 14) else 2e-4 if alpha == 64 else 2e-9)
    leading = conjectured_step_rdp([alpha], n=n, t=1, L=1.0, sigma=2.0)[0]
    assert (found <= leading) == holds
    assert found <= corrected_step_rdp([alpha], c=1 / n, L=1.0, sigma=2.0)[0] * (1 + 1e-12)


@pytest.mark.verifies("berthier2019:conj1")
def test_up_to_which_order_sixteen_is_enough_without_a_remainder():
    """Without a remainder, the constant C = 16 is enough at orders up to 5 for every m, but not at order 6.

    The necessary constant is D_alpha sigma^2 / (alpha L^2 c^2) at c = 1 / m.
    """
    m = np.arange(1, 300)
    D = np.array([worst_pair(np.arange(2, 7), c=1 / k, x=1.0) for k in m])
    constant = 4 * D * m[:, None] ** 2 / np.arange(2, 7)
    assert constant.max(axis=0)[:4] == pytest.approx([3.44, 4.60, 7.28, 12.92], abs=5e-3)
    assert m[constant[:, 4] > 16].tolist() == list(range(5, 16))
    assert 4 * worst_pair([8], c=0.1, x=1.0)[0] * 100 / 8 == pytest.approx(68.9181, abs=5e-5)
    assert 4 * worst_pair([8], c=0.25, x=1.0)[0] * 16 / 8 == pytest.approx(19.3507, abs=5e-5)


@pytest.mark.verifies("berthier2019:conj1")
def test_where_the_remainder_overtakes_the_leading_term():
    first = next(
        a
        for a in range(3, 64)
        if math.expm1((a - 1) * corrected_step_rdp([a], c=1e-3, L=1.0, sigma=2.0, cap=False)[0])
        > 2 * 4 * 1e-6 * math.comb(a, 2) * math.expm1(1)
    )
    assert first == 14


# ---------------------------------------------------------------- passes and whole runs (Figure 12)

FULL = {  # tau: epsilons with the cap, their orders, epsilons without the cap, their orders; after 1, 10, 50 epochs
    0.001: ((0.80523107, 1.14455544, 2.39615953), (13, 13, 9), (0.81456399, 1.23788461, 2.70674388), (13, 13, 8)),
    0.1: ((0.81077599, 1.20000461, 2.53437872), (13, 13, 9), (0.82113417, 1.30358646, 2.86068524), (13, 13, 8)),
    0.5: ((0.90850458, 1.53966491, 3.47096421), (12, 11, 7), (0.92569951, 1.69732143, 3.92529221), (12, 11, 6)),
    0.9: ((1.41875347, 3.54394710, 8.57951077), (9, 6, 4), (1.47672003, 3.96721263, 9.74297911), (9, 6, 3)),
}


@pytest.mark.verifies("berthier2019:conj2")
@pytest.mark.parametrize("tau", FULL)
def test_every_term_over_passes(tau):
    capped, orders, uncapped, uncapped_orders = FULL[tau]
    for cap, epsilons, best in ((True, capped, orders), (False, uncapped, uncapped_orders)):
        for e, printed, order in zip((1, 10, 50), epsilons, best, strict=True):
            spent = corrected_epsilon(e=e, tau=tau, cap=cap, orders=FEW, **RUN)
            assert spent.epsilon == pytest.approx(printed, abs=6e-9)
            assert spent.order == order
            assert (spent.adjacency, spent.steps_per_pass) == ("replace-one", round(1000 * tau))
            assert "unreviewed" in spent.bound


@pytest.mark.verifies("berthier2019:conj2")
def test_every_term_over_passes_at_thirty_digits():
    total = mp.fsum(mp_bound(mp.mpf(1) / (1000 - j), 7, 1, True) for j in range(500))
    assert float(100 * total + mp.log(10**4) / 6) == pytest.approx(3.47096421, abs=6e-9)
    assert float(total) == pytest.approx(corrected_pass_rdp([7], n=1000, k=500, L=1.0, sigma=2.0)[0], rel=1e-12)


def test_without_the_cap_a_part_of_a_pass_costs_no_more_than_its_share():
    share = np.array(
        [corrected_pass_rdp(range(2, 20), n=50, k=k, L=1.0, sigma=2.0, cap=False) / k for k in range(1, 46, 4)]
    )
    assert (np.diff(share, axis=0) >= 0).all()  # the curve of k steps divided by k never decreases


def divergence_of_a_pass(n, k, alpha, x):
    """The exact divergence after k steps over n records, from the moments of a mixture.

    Under D, record 0 has the gradient L, and all other records have -L. Record 0 is at each of the k places with
    probability 1 / n. Under D', the k outputs are independent Gaussians with mean -L.
    """
    counts = np.array(np.meshgrid(*[range(alpha + 1)] * (k + 1))).reshape(k + 1, -1).T
    counts = counts[counts.sum(axis=1) == alpha]  # how often record 0 is unused (column 0) or at each place
    ways = [math.factorial(alpha) / math.prod(map(math.factorial, row)) for row in counts.tolist()]
    weight = np.where(counts[:, 0] > 0, ((n - k) / n) ** counts[:, 0], 1.0) / n ** counts[:, 1:].sum(axis=1)
    moment = float((ways * weight * np.exp((counts[:, 1:] * (counts[:, 1:] - 1) * x / 2).sum(axis=1))).sum())
    return math.log(moment) / (alpha - 1)


@pytest.mark.filterwarnings("ignore::nfa.privacy.rdp.OrderAtGridEnd")
@pytest.mark.verifies("berthier2019:conj2", "ours:conjecture-1")
@pytest.mark.parametrize("cap", [True, False])
@pytest.mark.parametrize("noise", [0.5, 1.0, 2.0, 6.0])
@pytest.mark.parametrize(("n", "tau"), [(1, 1), (2, 0.5), (2, 1), (3, 0.4), (3, 0.7), (3, 1), (5, 0.8), (40, 0.1)])
def test_a_run_spends_no_more_than_is_said_wherever_it_stops(n, tau, noise, cap):
    """Whichever step a run stops at, the exact divergence of the run is at most the stated divergence.

    A run consists of whole passes and a part of the last pass. For linear losses, passes are independent, so their
    divergences add up.
    """
    L, orders, k = 1.5, (2, 3, 4), math.floor(tau * n + 1e-9)
    exact = {
        steps: np.array([divergence_of_a_pass(n, steps, a, 4 / noise**2) for a in orders]) for steps in range(1, k + 1)
    }
    for steps in range(1, 2 * k + 2):  # steps of the run: inside the first pass, inside the second, and one more
        passes, rest = divmod(steps, k)
        spent = corrected_epsilon(
            n=n, e=steps * tau / k, tau=tau, L=L, sigma=noise * L, delta=1e-5, cap=cap, orders=orders
        )
        assert spent.steps == steps
        truth = passes * exact[k] + (exact[rest] if rest else 0)
        assert (spent.rdp >= truth * (1 - 1e-12)).all()


def hockey_stick_of_a_first_step(epsilon, n, x):
    """Delta of the first step of a pass, by quadrature of mixtures of N(1, 4 / x) and N(-1, 4 / x).

    We return the largest delta over the two possible centres of the other records.
    """
    std = 2 / math.sqrt(x)
    grid = np.linspace(-2 - 12 * std, 2 + 12 * std, 200_001)
    near, far = (np.exp(-(((grid - centre) / std) ** 2) / 2) / (std * math.sqrt(2 * math.pi)) for centre in (1, -1))
    pairs = [((1 - 1 / n) * other + near / n, (1 - 1 / n) * other + far / n) for other in (near, far)]
    ordered = [pair[::way] for pair in pairs for way in (1, -1)]
    return max(float(np.trapezoid(np.maximum(p - math.exp(epsilon) * q, 0), grid)) for p, q in ordered)


@pytest.mark.filterwarnings("ignore::nfa.privacy.rdp.OrderAtGridEnd")
@pytest.mark.verifies("berthier2019:conj2", "ours:conjecture-1")
@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-8])
@pytest.mark.parametrize("n", [2, 3, 10, 100])
def test_no_delta_of_a_run_of_one_step_is_above_what_is_said(n, delta):
    """At the stated epsilon, the true delta of a run of one step is at most the stated delta.

    The run is the first step of a pass over n records, so it is a share 1 / n of the pass.
    """
    for sigma in (0.5, 1.0, 2.0, 5.0):
        for conversion in ("mironov2017", "canonne2020"):
            spent = corrected_epsilon(n=n, e=1 / n, tau=1, L=1.0, sigma=sigma, delta=delta, conversion=conversion)
            assert spent.steps == 1
            assert hockey_stick_of_a_first_step(spent.epsilon, n, 4 / sigma**2) <= delta * (1 + 1e-9)


@pytest.mark.filterwarnings("ignore::nfa.privacy.rdp.OrderAtGridEnd")
@pytest.mark.parametrize("cap", [True, False])
def test_a_run_is_the_sum_of_its_steps(cap):
    """The stated divergence of a run is the sum of the bounds of its steps.

    We compute the sum step by step at 30 digits, for random settings. With the cap, a whole pass counts at most as one
    release.
    """
    draws = np.random.default_rng(5)
    for _ in range(30):
        n, tau = int(draws.integers(1, 60)), float(draws.uniform(0.02, 1))
        k = max(math.floor(tau * n), 1)
        tau, steps = max(tau, 1 / n), int(draws.integers(1, 4 * k + 1))
        L, sigma, alpha = float(draws.uniform(0.3, 3)), float(draws.uniform(0.5, 9)), int(draws.integers(2, 9))
        x = 4 * (L / sigma) ** 2
        spent = corrected_epsilon(
            n=n, e=(steps - 0.5) * tau / k, tau=tau, L=L, sigma=sigma, delta=1e-6, cap=cap, orders=[alpha, 300]
        )
        assert (spent.steps, spent.passes) == (steps, pytest.approx((steps - 0.5) / k, rel=1e-12))
        want = mp.mpf(0)
        for begun in range(0, steps, k):
            one = mp.fsum(mp_bound(mp.mpf(1) / (n - j), alpha, x, cap) for j in range(min(k, steps - begun)))
            want += min(one, alpha * x / 2) if cap else one
        assert spent.rdp[0] == pytest.approx(float(want), rel=1e-10)


def test_the_cap_of_a_pass_is_the_full_release():
    orders = np.arange(2, 9)
    assert corrected_pass_rdp(orders, n=1000, k=1000, L=1.0, sigma=2.0).tolist() == (orders / 2).tolist()
    assert (corrected_pass_rdp(orders, n=1000, k=990, L=1.0, sigma=2.0) < orders / 2).any()


@pytest.mark.verifies("berthier2019:conj1")
@pytest.mark.parametrize(
    ("gradients", "k", "alpha", "exact"),
    [
        ((1, -1, -1), 3, 2, 0.452832425263941),
        ((1, -1, -1), 3, 3, 0.725354300469798),
        ((1, -1, -1), 3, 4, 1.0557656),
        ((1, -1, -1), 2, 2, 0.32341624),
        ((1, -1, -1), 2, 4, 0.92301582),
        ((1, -1, -1, -1), 3, 2, 0.279280),
    ],
)
def test_whole_passes_stay_below_the_sum_of_their_steps(gradients, k, alpha, exact):
    """For linear losses and sigma = 2 L, the divergence of k steps of a pass is below the sum of the steps' bounds.

    One gradient changes from 1 to -1, and all other gradients are -1. This case has a closed form.
    """
    n = len(gradients)
    found = pass_renyi([float(g) for g in gradients], -1.0, k=k, sigma=2.0, alpha=alpha)
    assert found == pytest.approx(exact, rel=2e-6)
    assert found == pytest.approx(divergence_of_a_pass(n, k, alpha, 1.0), rel=1e-9)
    assert found <= corrected_pass_rdp([alpha], n=n, k=k, L=1.0, sigma=2.0)[0]
    assert found <= alpha / 2  # the bound for a known permutation, 2 alpha L^2 / sigma^2


@pytest.mark.verifies("berthier2019:conj1")
def test_the_worst_pass_of_two_steps_over_three_records():
    for alpha, exact in ((2, 0.32341624), (4, 0.92301582)):
        found = max(
            pass_renyi([first, *rest], other, k=2, sigma=2.0, alpha=alpha)
            for first, other in ((1.0, -1.0), (1.0, 0.0), (0.0, 1.0))
            for rest in ((-1.0, -1.0), (-1.0, 0.0), (-1.0, 1.0), (0.0, 0.0), (0.0, 1.0), (1.0, 1.0))
        )  # all gradients in {-1, 0, 1}, up to a common sign
        assert found == pytest.approx(exact, rel=1e-7)
        assert found < corrected_pass_rdp([alpha], n=3, k=2, L=1.0, sigma=2.0)[0]


def test_the_divergence_of_a_pass_has_no_origin_and_no_unit():
    """The divergence of a pass does not depend on the origin or the unit of the gradients.

    The divergence stays the same if we add 400 to all gradients, or if we multiply all gradients and sigma by 1,000.
    """
    gradients, replaced = np.array([1.0, -1.0, 10.0]), -10.0
    want = pass_renyi(gradients, replaced, k=1, sigma=1.0, alpha=2)
    assert pass_renyi(gradients + 400, replaced + 400, k=1, sigma=1.0, alpha=2) == pytest.approx(want, rel=1e-10)
    assert pass_renyi(1e3 * gradients, 1e3 * replaced, k=1, sigma=1e3, alpha=2) == pytest.approx(want, rel=1e-10)


@pytest.mark.verifies("berthier2019:conj1")
def test_step_by_step_is_lossy():
    steps = [worst_pair([2], c=c, x=1.0)[0] for c in (1 / 3, 1 / 2, 1.0)]
    assert sum(steps) == pytest.approx(1.532, abs=5e-4)
    assert sum(1 / k**2 for k in range(1, 100_000)) == pytest.approx(math.pi**2 / 6, abs=2e-5)


# ---------------------------------------------------------------- the text about Figure 12


def test_growth_with_the_epochs():
    """With all terms, epsilon grows roughly linearly with the number of epochs.

    With the leading term alone, epsilon grows roughly like a square root.
    """
    lead = [conjectured_epsilon(e=e, tau=0.001, **RUN)[0] for e in range(1, 51)]
    full = [corrected_epsilon(e=e, tau=0.001, orders=FEW, **RUN).epsilon for e in range(1, 51)]
    slopes = [math.log(conjectured_epsilon(e=e * 1.001, tau=0.001, **RUN)[0] / lead[e - 1]) for e in (1, 50)]
    assert np.array(slopes) / math.log(1.001) == pytest.approx([0.505, 0.534], abs=1e-3)
    e = np.arange(1, 51)
    assert np.corrcoef(e, full)[0, 1] ** 2 == pytest.approx(0.996, abs=5e-4)
    assert np.corrcoef(e, lead)[0, 1] ** 2 == pytest.approx(0.971, abs=5e-4)
    assert np.polyfit(e[:10], full[:10], 1) == pytest.approx([0.03770, 0.76753], abs=5e-6)


def test_the_factor_between_two_shares_of_a_pass():
    lead = [
        conjectured_epsilon(e=e, tau=0.5, **RUN)[0] / conjectured_epsilon(e=e, tau=0.001, **RUN)[0] for e in (1, 10, 50)
    ]
    assert lead == pytest.approx([1.420, 1.432, 1.454], abs=6e-4)
    full = [a / b for a, b in zip(FULL[0.5][0], FULL[0.001][0], strict=True)]
    assert full == pytest.approx([1.128, 1.345, 1.449], abs=6e-4)


SETTINGS = {
    "replace-one": {"sampling": "without-replacement", "sensitivity": 2.0},
    "add-remove": {"sampling": "poisson", "sensitivity": 1.0},
}


@pytest.mark.parametrize(
    ("adjacency", "conversion", "epsilons"),
    [
        ("replace-one", "mironov2017", (0.80523107, 1.14455544, 2.39615953)),
        ("replace-one", "canonne2020", (0.51144258, 0.85076695, 1.98888685)),
        ("add-remove", "mironov2017", (0.18158033, 0.25178332, 0.52146701)),
    ],
)
def test_the_accountants_of_sampling_with_replacement(adjacency, conversion, epsilons):
    """With tau = 1 / n, each step samples with replacement, so accountants for this sampling apply.

    The report cites the method of Abadi et al. (2016) as [1]. Their method is for add-remove, and its epsilon is
    smaller.
    """
    given = {"law": "gaussian", "adjacency": adjacency, "noise_std": 2.0, "sampling_rate": 1e-3}
    for e, expected in zip((1, 10, 50), epsilons, strict=True):
        spent = accountant.epsilon(
            [(Mechanism(**given, **SETTINGS[adjacency]), 1000 * e)], delta=1e-4, conversion=conversion
        )
        # dp-accounting rounds each step by about 1e-12, and this adds up over about 10^4 steps
        assert spent.epsilon == pytest.approx(expected, abs=5e-8)


@pytest.mark.slow
def test_what_a_draw_with_replacement_really_spends():
    """For sampling with replacement, privacy losses give an epsilon of 0.1122 after one epoch and 0.9388 after 50.

    The privacy losses are those of the worst known pair of data sets. The leading term gives the larger epsilon 0.388
    after one epoch, although it is not a proved bound.
    """
    from dp_accounting import dp_event
    from dp_accounting.pld import PLDAccountant

    for e, tight in ((1, 0.1122), (50, 0.9388)):
        account = PLDAccountant(value_discretization_interval=5e-5)
        account.compose(dp_event.PoissonSampledDpEvent(1e-3, dp_event.GaussianDpEvent(1.0)), 1000 * e)
        assert account.get_epsilon(1e-4) == pytest.approx(tight, abs=3e-4)  # get_epsilon returns an upper bound


# ---------------------------------------------------------------- the accountant: tau = 1, without a conjecture


def shuffled(sigma=2.0, n=1000):
    return Mechanism(
        law="gaussian",
        sensitivity=2.0,
        adjacency="replace-one",
        noise_std=sigma,
        sampling="epoch-partition",
        sampling_rate=1 / n,
    )


@pytest.mark.verifies("berthier2019:conj1", "berthier2019:conj2")
def test_a_whole_pass_has_a_bound_without_any_conjecture():
    """A whole pass has the bound 2 alpha L^2 / sigma^2 without any conjecture, even for a known permutation.

    At the best order, epsilon is R + 2 (R l)^(1/2) with R = 1/2 and l = log(1 / delta).
    """
    best = 1 + math.sqrt(2 * LOG)
    exact = accountant.epsilon([(shuffled(), 1000)], delta=1e-4, conversion="mironov2017", orders=[2, best, 9])
    assert (exact.bound, exact.uses) == ("lee2020:lem1", 1)
    assert exact.epsilon == pytest.approx(4.79193205257869, rel=1e-13)
    assert exact.order == pytest.approx(5.29193205257869, rel=1e-13)
    for sigma, e, alpha in ((2.0, 1, 2.0), (3.0, 7, 4.5)):
        spent = accountant.epsilon(
            [(shuffled(sigma), 1000 * e)], delta=1e-4, conversion="mironov2017", orders=[1.5, alpha, 300]
        )
        assert spent.rdp[1] == pytest.approx(2 * e * alpha / sigma**2, rel=1e-14)
    assert (
        exact.epsilon
        <= accountant.epsilon([(shuffled(), 1000)], delta=1e-4, conversion="mironov2017").epsilon
        <= exact.epsilon * (1 + 1e-4)
    )


def test_a_pass_that_stops_part_way_counts_as_one_release():
    spent = accountant.epsilon([(shuffled(), 1000)], delta=1e-4, conversion="mironov2017", steps_per_epoch=100)
    assert spent.uses == 10


@pytest.mark.verifies("berthier2019:conj1", "berthier2019:conj2")
@pytest.mark.parametrize("id_", ["berthier2019:conj1", "berthier2019:conj2"])
def test_no_accountant_takes_a_conjecture(id_):
    for ask in (
        lambda: theorems.choose(shuffled(), id_),
        lambda: accountant.epsilon([(shuffled(), 1000)], delta=1e-4, conversion="mironov2017", bound=id_),
        lambda: accountant.calibrate(
            target_epsilon=1, delta=1e-4, steps=10, adjacency="replace-one", sampling="none", bound=id_
        ),
    ):
        with pytest.raises(NoGuarantee, match="a conjecture is not a theorem") as refused:
            ask()
        assert refused.value.id == id_
    assert id_ not in {bound.id for bound in theorems.BOUNDS}


def test_no_accountant_imports_a_conjecture():
    for module in (accountant, theorems):
        with open(module.__file__, encoding="utf-8") as file:
            names = {n.module or "" for n in ast.walk(ast.parse(file.read())) if isinstance(n, ast.ImportFrom)}
        assert not any("shuffling" in name for name in names)


@pytest.mark.parametrize("gap", [0.02, 1.0, 9.0])
def test_a_pass_over_one_record_is_one_gaussian(gap):
    """A pass over one record is one Gaussian release, with the divergence alpha gap^2 / (2 sigma^2).

    The gap is the distance between the two gradients. The test has sigma = 1 and alpha = 3.
    """
    assert pass_renyi([gap / 2], -gap / 2, k=1, sigma=1.0, alpha=3) == pytest.approx(1.5 * gap**2, rel=1e-6, abs=1e-9)


def test_the_conjecture_has_a_last_step():
    """At the last step (n - t + 1 = 1), the conjectured value is four times the value at the step before."""
    last, before = (conjectured_step_rdp([3.0], n=5, t=t, L=1.0, sigma=2.0)[0] for t in (5, 4))
    assert last == pytest.approx(4 * before, rel=1e-14)


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (
            lambda: conjectured_step_rdp([2], n=5, t=0, L=1.0, sigma=2.0),
            "the step t must be a whole number between 1 and",
        ),
        (
            lambda: conjectured_step_rdp([2], n=5, t=6, L=1.0, sigma=2.0),
            "the step t must be a whole number between 1 and",
        ),
        (lambda: conjectured_step_rdp([2], n=5, t=1, L=math.inf, sigma=2.0), "L must be positive and finite, got inf"),
        (lambda: conjectured_step_rdp([2], n=5, t=1, L=1.0, sigma=1.9), "sigma >= 2 L, got sigma=1.9"),
        (lambda: conjectured_step_rdp([1], n=5, t=1, L=1.0, sigma=2.0), "order alpha must be greater than 1"),
        (lambda: conjectured_rdp([2], n=5, e=1, tau=1, L=1.0, sigma=2.0), "tau must be less than 1"),
        (lambda: conjectured_rdp([2], n=5, e=0, tau=0.5, L=1.0, sigma=2.0), "the number e of epochs must be positive"),
        (
            lambda: conjectured_rdp([2], n=5.5, e=1, tau=0.5, L=1.0, sigma=2.0),
            "the number n of records must be a whole number",
        ),
        (lambda: conjectured_sigma2(epsilon=0, alpha=2, n=5, e=1, tau=0.5, L=1.0), "epsilon must be positive"),
        (lambda: conjectured_sigma2(epsilon=1, alpha=2, n=5, e=1, tau=0.5, L=0.0), "clip norm L must be positive"),
        (lambda: conjectured_epsilon(e=1, tau=0.5, n=5, L=1.0, sigma=2.0, delta=1.0), r"delta must be in \(0, 1\)"),
        (lambda: conjectured_epsilon(e=1, tau=0.5, largest_order=1, **RUN), "largest_order must be greater than 1"),
        (lambda: corrected_step_rdp([2], c=0.0, L=1.0, sigma=2.0), r"that a step uses the record must be in \(0, 1\]"),
        (lambda: corrected_step_rdp([2], c=0.5, L=1.0, sigma=0.0), "sigma must be positive"),
        (
            lambda: corrected_pass_rdp([2], n=5, k=6, L=1.0, sigma=2.0),
            "must be a whole number between 1 and the number n of records, got k=6",
        ),
        (lambda: corrected_epsilon(e=1, tau=0.0005, **RUN), "tau must be at least 1/n"),
        (lambda: corrected_epsilon(e=1, tau=1.5, **RUN), r"tau, the share .* must be in \(0, 1\]"),
        (
            lambda: mixture_renyi(([1.0], [0.0]), ([1.0], [1.0]), sigma=0.0, alpha=2),
            "sigma must be positive and finite",
        ),
        (lambda: pass_renyi([1.0], 0.0, k=2, sigma=1.0, alpha=2), "the number k of steps must be between 1"),
        (lambda: pass_renyi([1.0, -1.0, 2.0, 0.0], -1.0, k=4, sigma=9.0, alpha=2), "between 1 and 3, got 4"),
        (lambda: pass_renyi([1.0] * 3, 0.0, k=3, sigma=0.01, alpha=2), "the grid would have"),
    ],
)
def test_bad_input_is_told_in_a_sentence(call, told):
    with pytest.raises(ValueError, match=told):
        call()


def test_real_orders_have_no_proof():
    with pytest.raises(NoGuarantee, match=r"for integer orders, got 2\.5"):
        corrected_step_rdp([2.5], c=0.5, L=1.0, sigma=2.0)


def test_the_bound_says_that_nobody_has_reviewed_it():
    assert our_bound.UNREVIEWED.startswith("our own proof")
