"""Remarks of Berthier (2019) in Section 3: clipping, Langevin noise, Lemma 3.1, the constant C, and feedback."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from nfa.clip import clip_l2
from nfa.noise import Streams
from nfa.papers.berthier2019.perturbation.last_iterate import rdp_shuffled_epoch, softmax_average, weak_convexity
from nfa.papers.berthier2019.perturbation.noise_feedback import affine_covariances, corrected_feedback_covariances
from nfa.papers.berthier2019.perturbation.problem import Problem
from nfa.papers.berthier2019.shuffling.small_learning_rate import mean_share
from nfa.rules.shuffled_sgd import mechanism, private_sgd_shuffling
from tests.oracles.chance import follows, has_rate, has_variance


@pytest.mark.verifies("berthier2019:rem-clip")
def test_clipped_gradients_cancel_elsewhere():
    """The mean of the clipped gradients is zero at the minimum of Huber's loss, not at the mean of the records.

    For the records 0, 0 and 10 with L = 1, this minimum is 0.5, and the mean is 10/3.
    """
    records = np.array([0.0, 0.0, 10.0])

    def mean_clipped(theta):
        return clip_l2((theta - records)[:, None], 1.0).mean()

    def huber(theta):
        r = np.abs(theta - records)
        return np.where(r <= 1, r**2 / 2, r - 0.5).sum()

    got = optimize.brentq(mean_clipped, 0, 10, xtol=1e-12)
    assert got == pytest.approx(optimize.minimize_scalar(huber, bounds=(0, 10), method="bounded").x, abs=1e-4)
    assert got == pytest.approx(0.5, abs=1e-9)
    assert records.mean() == pytest.approx(10 / 3)


@pytest.mark.verifies("berthier2019:rem-langevin")
@pytest.mark.parametrize("gamma, noise", [(1000**-0.5, 0.251), (1e-3, 1.414), (1e-4, 4.472)])
def test_the_noise_of_langevin_dynamics_depends_on_the_learning_rate(gamma, noise):
    """The noise of Langevin dynamics depends on the learning rate gamma.

    With the standard deviation sqrt(2 / (n gamma)) on the gradient, the variance of the iterate is 1/n up to a relative
    error of about gamma / 2. The posterior of a mean has the variance 1/n.
    """
    n, steps = 1000, int(12 / gamma)
    sigma = math.sqrt(2 / (n * gamma))
    assert sigma == pytest.approx(noise, abs=5e-4)
    steps = min(steps, 20_000)
    variance = affine_covariances(np.ones((steps, 1, 1)), gamma=gamma, sigma=gamma * sigma)[-1, 0, 0]
    left = 1 - (1 - gamma) ** (2 * steps)  # share of the stationary variance
    assert variance * n == pytest.approx(left / (1 - gamma / 2), rel=1e-9)


@pytest.mark.verifies("berthier2019:rem-softmax")
@pytest.mark.parametrize("n, of_mean, of_largest", [(10, 0.543, 0.948), (100, 0.568, 0.896), (1000, 0.560, 0.845)])
def test_lemma_3_1_is_the_stronger_one_where_both_are_allowed(n, of_mean, of_largest):
    """Lemma 3.1 gives a smaller bound than weak convexity, if sigma satisfies the condition of weak convexity.

    We apply the two bounds to the divergences of Theorem 3.6. The bound from weak convexity is twice the mean
    divergence. If its condition on sigma fails, the value of Lemma 3.1 is near the largest divergence.
    """
    C = 1 + 1 / n
    share = np.array([(1 - C**-2) / (1 - C ** (-2 * i)) for i in range(1, n + 1)])
    calm, loud = 2 * 2 * share / 2.0**2, 2 * 2 * share / 0.3**2  # 2 alpha L^2 / sigma^2 for alpha = 2
    assert calm.max() <= 1 < loud.max()
    softmax = softmax_average(2, calm)
    assert softmax == pytest.approx(math.log(np.mean(np.exp(calm))), rel=1e-12)
    assert weak_convexity(2, calm) == pytest.approx(2 * calm.mean(), rel=1e-12)
    assert softmax / (2 * calm.mean()) == pytest.approx(of_mean, abs=6e-4)
    assert softmax_average(2, loud) / loud.max() == pytest.approx(of_largest, abs=6e-4)


@pytest.mark.verifies("berthier2019:rem-softmax")
def test_no_weakest_guarantee_dominates_a_mixture_with_much_noise():
    """With much noise, the divergence of a mixture is far below the largest divergence of its components.

    The components are Gaussians at the distances from N(0, 1) that Theorem 3.6 allows for each place. We compute the
    divergence of the mixture by quadrature.
    """
    n, order = 30, 2
    C = 1 + 1 / n
    # the divergences for each place of the record, at sigma = 2 L
    D = np.array([(1 - C**-2) / (1 - C ** (-2 * i)) for i in range(1, n + 1)])
    centres = np.sqrt(2 * D / order)
    assert D == pytest.approx(order * centres**2 / 2)
    x = np.linspace(-12, 16, 28_001)
    density = np.exp(-((x[:, None] - centres) ** 2) / 2).mean(axis=1)
    moment = integrate.simpson(density**order * np.exp((order - 1) * x**2 / 2), x=x) / math.sqrt(2 * math.pi)
    exact = math.log(moment) / (order - 1)
    assert exact == pytest.approx(math.log(np.exp(np.outer(centres, centres)).mean()), rel=1e-9)  # the closed form
    softmax, twice = softmax_average(order, D), weak_convexity(order, D)
    assert exact < softmax < twice
    assert softmax < D.max() / 4
    assert softmax / twice == pytest.approx(0.57, abs=0.02)


@pytest.mark.verifies("berthier2019:sec3.3.3")
def test_the_mean_share_grows_with_C():
    """The mean share increases with C. For C > 1, it tends to 1 - 1/C^2 as n grows.

    In exact fractions, each share is 1 over a geometric sum.
    """

    def exactly(C, n):
        x = 1 / Fraction(C) ** 2
        total, power, geometric = Fraction(0), Fraction(1), Fraction(0)
        for _ in range(n):
            geometric += power
            power *= x
            total += 1 / geometric
        return float(total / n)

    assert [exactly(C, 20) for C in (1, 2)] == pytest.approx([mean_share(C, 20) for C in (1, 2)], rel=1e-12)
    shares = [mean_share(C, 1000) for C in (1, 1.001, 1.01, 1.1, 2)]
    assert shares == pytest.approx([0.007485, 0.008638, 0.024159, 0.175631, 0.750316], abs=1e-6)
    assert (np.diff(shares) > 0).all()
    for C in (1.1, 2):
        assert mean_share(C, 10**6) == pytest.approx(1 - C**-2, abs=1e-5)


@pytest.mark.verifies("berthier2019:rem-feedback-private")
@pytest.mark.parametrize("gamma, std, divergence", [(0.1, 0.20520, 0.950), (0.01, 0.02005, 0.995)])
def test_feedback_on_the_gradient_converges_and_the_last_iterate_is_private(gamma, std, divergence):
    """With feedback on the gradient, the iterate converges, and the last iterate is private.

    We write the last iterate as a sum of independent noises. The last step moves two runs apart by at most 2 gamma L,
    with L = 1.
    """
    T, sigma = 2000, 2.0
    weights = np.zeros(T + 1)  # coefficients of eta_1 .. eta_T in theta_T
    for t in range(T):
        weights *= 1 - gamma
        weights[t + 1] -= 1
        if t:
            weights[t] += 1
    variance = (gamma * sigma) ** 2 * (weights**2).sum()
    got = corrected_feedback_covariances(np.ones((T, 1, 1)), gamma=gamma, sigma=gamma * sigma)[-1, 0, 0]
    assert got == pytest.approx(variance, rel=1e-9)
    assert math.sqrt(got) == pytest.approx(std, abs=1e-5)
    assert got >= (gamma * sigma) ** 2
    D2 = 2 * (2 * gamma) ** 2 / (2 * got)
    assert D2 == pytest.approx(divergence, abs=6e-4)
    assert D2 <= 2 * 2 / sigma**2  # the bound 2 alpha L^2 / sigma^2
    on_the_iterate = corrected_feedback_covariances(np.ones((50, 1, 1)), gamma=gamma, sigma=sigma)
    assert (on_the_iterate[1:, 0, 0] >= sigma**2).all()


@pytest.mark.verifies("berthier2019:rem-feedback-private")
def test_who_sees_a_converged_last_iterate_guesses_the_last_record_hardly_better_than_from_one_release():
    """A guess of the last record from a converged last iterate is no better than a guess from one release.

    We simulate 20,000 runs of the update for each of two last records. The guess is the likelier record.
    """
    T, gamma, sigma, L, runs = 200, 0.05, 2.0, 1.0, 20_000
    rng = np.random.default_rng(11)
    ends = []
    for last in (0.0, 2 * L):  # the gradient theta - x of the last record moves by 2 L
        theta, eta = np.full(runs, 10.0), np.zeros(runs)
        for t in range(1, T + 1):
            fresh = sigma * rng.standard_normal(runs)
            theta, eta = theta - gamma * (theta - last * (t == T) + fresh - eta), fresh
        ends.append(theta)
    std = math.sqrt(corrected_feedback_covariances(np.ones((T, 1, 1)), gamma=gamma, sigma=gamma * sigma)[-1, 0, 0])
    left, gap = 10 * (1 - gamma) ** T, 2 * gamma * L
    follows(ends[0], stats.norm(left, std).cdf, sees=0.04, tests=2)
    follows(ends[1], stats.norm(left + gap, std).cdf, sees=0.04, tests=2)
    assert math.hypot(left + gap, std) < 0.16  # the runs start at 10
    right = (ends[0] < left + gap / 2).sum() + (ends[1] > left + gap / 2).sum()
    has_rate(right, 2 * runs, stats.norm.cdf(gap / (2 * std)), sees=0.04)
    # a guess from one release with gap 2 L is right more often
    assert stats.norm.cdf(gap / (2 * std)) < stats.norm.cdf(L / sigma)


@pytest.mark.verifies("berthier2019:linreg")
def test_the_gradient_of_linear_regression():
    x, y, theta = np.array([[1.0, 2.0]]), np.array([3.0]), np.array([0.5, -1.0])
    problem = Problem(loss="least-squares", x=x, y=y, lam=0, x_bound=3, y_bound=3)
    steps = 1e-5 * np.eye(2)
    differences = [((x[0] @ (theta + h) - 3) ** 2 - (x[0] @ (theta - h) - 3) ** 2) / 4e-5 for h in steps]
    got = problem.gradients(theta)[0]
    np.testing.assert_allclose(got, differences, atol=1e-8)
    np.testing.assert_allclose(got, [-4.5, -9.0], rtol=1e-12)
    ridge = Problem(loss="least-squares", x=x, y=y, lam=0.5, x_bound=3, y_bound=3).gradients(theta)[0]
    np.testing.assert_allclose(ridge, [-4.5 + 0.5 * 0.5, -9.0 - 0.5 * 1.0], rtol=1e-12)


@pytest.mark.verifies("berthier2019:rem-largest-rate")
@pytest.mark.parametrize("gamma, floor", [(0.1, 0.0526316), (1.0, 1.0), (1.9, 19.0)])
def test_the_noise_leaves_a_floor_that_grows_with_the_rate(gamma, floor):
    """With noise, the final error has a positive limit that grows with the learning rate.

    The noise N(0, 1) is added to the gradient of (theta - x)^2 / 2. The limit is the sum of the squared weights of all
    noises. Epsilon is the same for all learning rates.
    """
    weights = gamma * (1 - gamma) ** np.arange(600.0)
    got = affine_covariances(np.ones((600, 1, 1)), gamma=gamma, sigma=gamma)[-1, 0, 0]
    assert got == pytest.approx((weights**2).sum(), rel=1e-9)
    assert got == pytest.approx(floor, rel=1e-6)
    assert affine_covariances(np.ones((600, 1, 1)), gamma=2.01, sigma=2.01)[-1, 0, 0] > 1e6
    step = mechanism(L=1.0, sigma=2.0, adjacency="replace-one", sampling="epoch-partition", sampling_rate=1e-3)
    # sensitivity and noise of the gradient do not depend on the learning rate
    assert (step.sensitivity, step.noise_std) == (2.0, 2.0)


@pytest.mark.verifies("berthier2019:rem-largest-rate")
def test_algorithm_1_ends_nearer_at_a_rate_far_below_the_largest():
    """Algorithm 1 ends nearer to the minimum with a learning rate far below the largest stable rate.

    The parameter has 2,000 coordinates, which start at 10. The only record is 0, and gradients are not clipped. We
    compute the mean and the variance of the last iterate in exact fractions.
    """
    square = {}
    for gamma in (Fraction(1, 10), Fraction(19, 10)):
        given = {"gamma": float(gamma), "grad": lambda theta, x: theta - x, "L": math.inf, "tau": 1, "sigma": 1.0}
        end = private_sgd_shuffling(np.zeros((1, 2000)), np.full(2000, 10.0), e=100, streams=Streams(7), **given)
        mean, variance = Fraction(10), Fraction(0)
        for _ in range(100):
            mean, variance = (1 - gamma) * mean, (1 - gamma) ** 2 * variance + gamma**2
        has_variance(((end - float(mean)) ** 2).sum() / float(variance), 2000, sees=0.4, tests=2)
        square[gamma] = (end**2).mean()
    small, large = square.values()
    assert large > 100 * small
    assert large < 10**2  # the run with the large rate does not diverge


@pytest.mark.verifies("berthier2019:rem-largest-rate")
def test_the_guarantee_of_the_last_iterate_depends_on_the_rate():
    """The guarantee of the last iterate depends on the learning rate gamma, unlike the guarantee of one step.

    For losses with smoothness 1, the bound increases with gamma, because C = 1 + gamma.
    """
    last = [float(rdp_shuffled_epoch(2, 1.0, 4.0, 1 + gamma, 1000)) for gamma in (0.001, 0.01, 0.1)]
    assert last == sorted(last)
    assert last[-1] > 10 * last[0]
    shares = [np.array([1 - C**-2]) / (1 - C ** (-2.0 * np.arange(1, 1001))) for C in (1.001, 1.01, 1.1)]
    typed = [math.log(np.exp(2 * 2 * share / 4**2).mean()) for share in shares]
    assert last == pytest.approx(typed, rel=1e-12)
