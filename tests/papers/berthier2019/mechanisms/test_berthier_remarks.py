"""Remarks of Berthier (2019) on attacks, definitions, stability and secure sums (Sections 1, 2 and 5).

We enumerate laws on few outcomes, if possible in fractions. We integrate Gaussian laws.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from nfa import data
from nfa.audit.bounds import epsilon_lower_bound
from nfa.audit.membership import membership_by_loss
from nfa.network import mlp
from nfa.network.ops import gelu
from nfa.optim import Adam
from nfa.papers.berthier2019.mechanisms.neighbours import histograms, release_one, sensitivity
from nfa.papers.berthier2019.mechanisms.randomised_response import randomised_response_laws
from nfa.papers.berthier2019.mechanisms.testing import auc_of_laws, guess_bound
from nfa.papers.berthier2019.mechanisms.total_variation import apply_channel, best_coupling
from nfa.papers.berthier2019.perturbation.output import output_gaps
from nfa.papers.berthier2019.ring_sum.ring_sum import ring_views
from nfa.privacy.divergences import hockey_stick, renyi, total_variation
from nfa.privacy.gaussians import hockey_stick_gaussian
from nfa.privacy.rdp import mironov2017
from nfa.rules.bp import bp

INF = math.inf


# --- section 1 -------------------------------------------------------------------------------------------------


@pytest.mark.verifies("berthier2019:attacks")
def test_answers_to_queries_tell_no_more_than_the_weights():
    """Answers to queries reveal at most as much as the weights.

    We test every yes-no query on four outcomes, and random channels. We compute the area under the ROC curve as a sum
    over all pairs of outcomes.
    """
    p, q = np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.1, 0.2, 0.3, 0.4])

    def area(p, q):  # in each pair, the outcome with the larger q / p wins, and ties count half
        ratio = [b / a if a else INF for a, b in zip(p, q, strict=True)]
        pairs = itertools.product(range(len(p)), repeat=2)
        return sum(p[i] * q[j] * ((ratio[j] > ratio[i]) + 0.5 * (ratio[j] == ratio[i])) for i, j in pairs)

    assert auc_of_laws(p, q) == pytest.approx(area(p, q), rel=1e-12) == pytest.approx(0.75, rel=1e-12)
    found = {}
    for answers in itertools.product((0, 1), repeat=4):
        channel = np.eye(2)[list(answers)]
        seen = apply_channel(channel, p), apply_channel(channel, q)
        found[answers] = auc_of_laws(*seen)
        assert found[answers] <= 0.75 + 1e-12
    assert (found[0, 0, 1, 1], found[0, 1, 1, 0]) == (pytest.approx(0.7), pytest.approx(0.5))
    rng = np.random.default_rng(0)
    for _ in range(50):
        channel = rng.dirichlet(np.ones(3), size=4)
        assert auc_of_laws(apply_channel(channel, p), apply_channel(channel, q)) <= 0.75 + 1e-12


@pytest.mark.verifies("berthier2019:secret")
def test_how_often_a_secret_is_guessed():
    """An answer that equals one of m secrets with probability e^eps / m is eps-DP and attains the bound on guesses."""
    m, e = 4, Fraction(3)  # here e stands for e^epsilon
    without = [Fraction(1, m)] * m
    for secret in range(m):
        told = [e / m if k == secret else (1 - e / m) / (m - 1) for k in range(m)]
        assert sum(told) == 1
        assert all(1 / e <= a / b <= e for a, b in zip(told, without, strict=True))
    assert guess_bound(epsilon=math.log(3), candidates=m) == pytest.approx(float(e / m), rel=1e-12)
    assert guess_bound(epsilon=10, candidates=10**9, delta=1e-10) == pytest.approx(2.20266e-5, rel=1e-5)
    assert guess_bound(epsilon=20, candidates=10**9) == pytest.approx(0.485165, rel=1e-5)
    assert guess_bound(epsilon=math.log(1e9), candidates=10**9) == 1
    # A linear program for m = 3: the largest probability of a right guess that (epsilon, delta)-DP allows.
    m, eps, delta = 3, 0.5, 0.05
    best = optimize.linprog([-1.0], A_ub=[[1.0]], b_ub=[math.exp(eps) / m + delta]).fun
    assert guess_bound(epsilon=eps, candidates=m, delta=delta) == pytest.approx(-best, rel=1e-9)
    with pytest.raises(ValueError, match="candidates"):
        guess_bound(epsilon=1, candidates=0)


@pytest.mark.verifies("berthier2019:overconfident")
def test_losses_of_members_fall_below_those_of_others_as_a_network_overfits():
    """When a network overfits, members have smaller losses than records that it was not trained on.

    The area under the ROC curve is the share of pairs in which the member has the smaller loss. Before training, the
    area differs from 1/2 only by chance, by less than three standard errors. This check fails by chance with a
    probability of 0.3 %. It misses an area of 0.8 with a probability below 1e-4.
    """
    small = data.load("fashion-mnist-small")
    x, y = small.x_train[:200].reshape(200, 784) / 255.0, np.eye(10)[small.y_train[:200]]
    net, optimizer = mlp([784, 64, 10], gelu, rng=np.random.default_rng(0)), Adam(1e-3)
    sides = (x[:100], y[:100]), (x[100:], y[100:])
    found = []
    for t in range(1, 152):
        if t in (1, 151):
            attack = membership_by_loss(net, *sides)
            lower = np.subtract.outer(attack.member_losses, attack.other_losses) < 0
            assert attack.auc == pytest.approx(lower.mean(), abs=1e-12)
            found.append(attack.auc)
        dW, db = bp(net, *sides[0])
        optimizer.step(net, dW, db, t)
    assert abs(found[0] - 0.5) < 3 * attack.auc_error
    assert found == pytest.approx([0.5369, 0.8409], abs=0.02)


# --- section 2 -------------------------------------------------------------------------------------------------


@pytest.mark.verifies("berthier2019:rem-unlikely")
@pytest.mark.parametrize("eta", [0.1, 1e-12])
def test_an_unlikely_event_decides_about_epsilon(eta):
    mu, nu = np.array([1 - eta, eta]), np.array([1.0, 0.0])
    for epsilon in (0.0, 1.0, 100.0):
        assert hockey_stick(mu, nu, epsilon=epsilon) == pytest.approx(eta, rel=1e-3)
    assert total_variation(mu, nu) == pytest.approx(eta, rel=1e-3)
    assert renyi(mu, nu, alpha=INF) == INF


@pytest.mark.verifies("berthier2019:rem-high-prob")
def test_what_delta_says_of_the_privacy_loss():
    """For N(1, 1) and N(0, 1), delta is smaller than the probability that the privacy loss exceeds epsilon = 1.

    The privacy loss follows N(1/2, 1). We compute delta by a quadrature of the positive part of p - e^eps q.
    """
    delta = integrate.quad(lambda u: (1 - math.exp(1 - u)) * stats.norm.pdf(u, 0.5), 1, 40)[0]
    assert hockey_stick_gaussian(epsilon=1, noise_multiplier=1) == pytest.approx(delta, rel=1e-9)
    assert delta == pytest.approx(0.126937, abs=1e-6)
    # the probability of a loss above 1 is larger than delta
    assert stats.norm.sf(0.5) == pytest.approx(0.308538, abs=1e-6)
    assert 0.5 - stats.norm.ppf(delta) == pytest.approx(1.641, abs=1e-3)
    for t in (0.1, 1, 3):  # Markov's inequality
        assert stats.norm.sf(0.5 + t) <= delta / (1 - math.exp(-t))
    # If we move the mass of mu that is above e nu to places where mu is below e nu, the moved mass is delta.
    u = np.linspace(-12, 12, 200_001)
    mu, nu = stats.norm.pdf(u, 1), stats.norm.pdf(u)
    cut = np.minimum(mu, math.e * nu)
    moved = integrate.trapezoid(mu - cut, u)
    assert moved == pytest.approx(delta, abs=1e-8)
    assert integrate.trapezoid(math.e * nu - cut, u) > moved  # the moved mass fits below e nu


@pytest.mark.verifies("berthier2019:rem-eps-zero")
def test_epsilon_0_with_delta_can_use_the_data():
    p, q = release_one([2, 0]), release_one([1, 1])
    assert hockey_stick(p, q, epsilon=0.0) == hockey_stick(q, p, epsilon=0.0) == 0.5
    assert p.tolist() == [1, 0]  # the output depends on the data
    assert hockey_stick(p, p, epsilon=0.0) == 0


@pytest.mark.verifies("berthier2019:rem-dirac")
def test_an_answer_without_noise_has_no_epsilon():
    for epsilon in (0.0, 1.0, 100.0):
        assert hockey_stick(np.array([1.0, 0]), np.array([0.0, 1]), epsilon=epsilon) == 1


@pytest.mark.verifies("berthier2019:rem-gauss-pure")
def test_gaussian_noise_has_a_delta_at_every_epsilon():
    for epsilon, want in ((1, 0.126937), (5, 5.7937e-7), (10, 9.8127e-23)):
        by_parts = integrate.quad(
            lambda u, e=epsilon: -math.expm1(e - u) * stats.norm.pdf(u, 0.5), epsilon, epsilon + 20, epsabs=0
        )[0]
        got = hockey_stick_gaussian(epsilon=epsilon, noise_multiplier=1)
        assert got == pytest.approx(by_parts, rel=1e-7)
        assert got == pytest.approx(want, rel=1e-4)


@pytest.mark.verifies("berthier2019:rr-100")
def test_a_hundred_answers_of_one_person():
    """The majority of a person's 100 answers is the true answer, except with probability 4.4e-8.

    We sum over all possible numbers of false answers in exact fractions.
    """
    yes, no = randomised_response_laws(truth=0.5)
    assert {tuple(sorted(law)) for law in (yes, no)} == {(0.25, 0.75)}
    wrong = [math.comb(100, k) * Fraction(1, 4) ** k * Fraction(3, 4) ** (100 - k) for k in range(101)]
    assert float(sum(wrong[51:]) + wrong[50] / 2) == pytest.approx(4.3848e-8, rel=1e-4)
    assert 100 * renyi(yes, no, alpha=INF) == pytest.approx(109.86, abs=0.005)


@pytest.mark.verifies("berthier2019:rem-subsampling")
def test_an_inclusion_by_chance_preserves_more():
    p, u = np.array([0.75, 0.25]), np.array([0.5, 0.5])

    def epsilon(p):
        return max(renyi(p, u, alpha=INF), renyi(u, p, alpha=INF))

    assert epsilon(p) == pytest.approx(math.log(2), rel=1e-12)
    assert epsilon((p + u) / 2) == pytest.approx(math.log(4 / 3), rel=1e-12)
    for q in np.linspace(0.01, 0.99, 50):
        assert epsilon(q * p + (1 - q) * u) <= math.log1p(q * (2 - 1)) + 1e-12 < epsilon(p)


@pytest.mark.verifies("berthier2019:rem-close-diracs")
def test_close_diracs_are_clearly_distinguishable():
    """Dirac laws at two close points have total variation 1, but a small transport distance.

    Linear programs find the cheapest transport for two costs: the squared distance and 1[x != y].
    """
    places, p, q = np.array([0.0, 1e-6]), np.array([1.0, 0]), np.array([0.0, 1])
    rows = np.concatenate([np.kron(np.eye(2), np.ones(2)), np.kron(np.ones(2), np.eye(2))]).reshape(4, 4)

    def cheapest(cost):
        return optimize.linprog(cost.ravel(), A_eq=rows, b_eq=np.concatenate([p, q])).fun

    apart = np.subtract.outer(places, places)
    assert math.sqrt(cheapest((apart * 1e6) ** 2)) * 1e-6 == pytest.approx(1e-6)
    joint = best_coupling(p, q)
    assert total_variation(p, q) == 1 == cheapest((apart != 0).astype(float))
    assert joint[np.eye(2) == 0].sum() == 1


@pytest.mark.verifies("berthier2019:rdp-between")
def test_renyi_differential_privacy_is_in_between():
    yes, no = np.array([0.75, 0.25]), np.array([0.25, 0.75])
    for alpha, want in ((2, 0.847298), (8, 1.057515), (64, 1.094046)):
        by_sum = math.log(sum(p**alpha * q ** (1 - alpha) for p, q in ((0.75, 0.25), (0.25, 0.75)))) / (alpha - 1)
        got = renyi(yes, no, alpha=alpha)
        assert got == pytest.approx(by_sum, rel=1e-12)
        assert got == pytest.approx(want, abs=1e-6)
        assert got < math.log(3)
    one, other = release_one([1, 1]), release_one([2, 0])
    assert renyi(one, other, alpha=1.5) == INF
    # (alpha, eps)-RDP implies (eps', delta)-DP: the exact delta of `yes` and `no` at eps' is at most delta.
    for delta in (0.1, 1e-3):
        epsilon = mironov2017(np.array([2.0]), np.array([0.847298]), delta=delta)[0]
        assert hockey_stick(yes, no, epsilon=epsilon) <= delta


# --- section 5 -------------------------------------------------------------------------------------------------


@pytest.mark.verifies("berthier2019:stability-gap", "berthier2019:stability-noiseless")
def test_stability_bounds_the_generalization_error_and_needs_no_noise():
    """Stability bounds the generalization error, even without noise.

    For the mean of three fair coins, the generalization error is 1/6 and the stability is 5/9. We enumerate all eight
    data sets in fractions. With the absolute loss and n = 4, the stability is 1/n.
    """
    n, half = 3, Fraction(1, 2)

    def loss(theta, z):
        return (theta - z) ** 2

    error = Fraction(0)
    for sample in itertools.product((0, 1), repeat=n):
        theta = Fraction(sum(sample), n)
        fresh = half * (loss(theta, 0) + loss(theta, 1))
        error += half**n * (fresh - sum(loss(theta, z) for z in sample) / n)
    stability = max(
        abs(loss(Fraction(k, n), z) - loss(Fraction(k + 1, n), z)) for k in range(n) for z in (Fraction(0), Fraction(1))
    )
    assert (error, stability) == (Fraction(1, 6), Fraction(5, 9))
    sets = list(histograms(2, n))
    losses = lambda x: np.array([(x[1] / n - z) ** 2 for z in (0, 1)])  # noqa: E731
    got, _ = sensitivity(losses, sets, adjacency="replace-one", order=INF)
    assert got == pytest.approx(float(stability), rel=1e-12)
    sets = list(histograms(2, 4))
    got, (x, other) = sensitivity(
        lambda x: np.array([abs(x[1] / 4 - z) for z in (0, 1)]), sets, adjacency="replace-one", order=INF
    )
    assert got == pytest.approx(0.25, rel=1e-12)
    assert x[1] != other[1]  # the means of the neighbours differ, so the mean tells them apart


@pytest.mark.verifies("berthier2019:stability-passes")
@pytest.mark.parametrize("rho, gaps", [(1.0, (0.2, 0.6, 2.0)), (0.9, (0.2, 0.3878, 0.4859))])
def test_outputs_drift_apart_with_the_passes(rho, gaps):
    """The distance between the outputs of two runs grows with the number of passes.

    The data sets of the runs differ in the last of five records. The steps are theta <- rho theta -+ 0.1. The distance
    equals a sum of values of `output_gaps`.
    """
    n, gamma = 5, 0.1
    for passes, want in zip((1, 3, 10), gaps, strict=True):
        ends = []
        for sign in (1, -1):
            theta = 0.0
            for _ in range(passes):
                for t in range(1, n + 1):
                    theta = rho * theta - gamma * (sign if t == n else 1.0)
            ends.append(theta)
        got = output_gaps(n * passes, gamma=gamma, L=1.0, rho=rho)[n - 1 :: n].sum()
        assert got == pytest.approx(abs(ends[0] - ends[1]), rel=1e-12)
        assert got == pytest.approx(want, abs=5e-5)
    if rho < 1:
        assert 2 * gamma / (1 - rho**n) == pytest.approx(0.4884, abs=5e-5)


@pytest.mark.verifies("berthier2019:unmeasurable")
def test_one_output_bounds_nothing_and_many_runs_bound_from_below():
    """The output of one run gives no lower bound on epsilon, but the outputs of 1,000 runs do.

    This lower bound uses the Clopper-Pearson limit of the error rate: the root p of P(Bin(n, p) <= 0) = 0.025.
    """
    assert epsilon_lower_bound((0, 1), 1, delta=1e-5, confidence=0.95) == 0
    p = optimize.brentq(lambda p: (1 - p) ** 1000 - 0.025, 0, 0.1, xtol=1e-15)
    want = math.log((1 - p - 1e-5) / p)
    assert epsilon_lower_bound((0, 1000), 1000, delta=1e-5, confidence=0.95) == pytest.approx(want, rel=1e-6)
    assert want == pytest.approx(5.601, abs=5e-4)


@pytest.mark.verifies("berthier2019:poor-man")
def test_the_procedure_tells_the_sum_and_two_sums_tell_the_rest():
    """The procedure of the secure sum reveals only the sum, but two sums can reveal a node's number.

    We enumerate all 27 data sets of three numbers modulo 3 and all masks. The value that node 2 receives is uniform
    for every data set. A sum with node 3 and a sum without node 3 reveal its number.
    """
    for x in itertools.product(range(3), repeat=3):
        seen = [ring_views(np.array(x)[:, None], np.array([mask]), 3)[1][1]["received"][0] for mask in range(3)]
        assert sorted(seen) == [0, 1, 2]
    with_it, without = (ring_views(np.array(v)[:, None], np.array([2]), 5)[0][0] for v in ([0, 1, 3], [0, 1]))
    assert with_it - without == 3
