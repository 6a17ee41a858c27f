"""Problems with their constants and minimisers, and noise in the objective, the output or the gradients.

These are the three methods of Berthier (2019, Section 3.2).
"""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize, stats

from nfa.clip import clip_l2
from nfa.mechanism import NoGuarantee
from nfa.papers.berthier2019.perturbation.gradient import (
    contraction,
    gradient_mechanism,
    gradient_perturbation,
    sgd_pass,
    simulate_pair,
)
from nfa.papers.berthier2019.perturbation.objective import (
    objective_descent,
    objective_mechanism,
    objective_perturbation,
    released_contraction,
)
from nfa.papers.berthier2019.perturbation.output import (
    claimed_output_variance,
    corrected_output_variance,
    feedback_release,
    output_gaps,
    output_perturbation,
    output_rdp,
    output_release,
)
from nfa.papers.berthier2019.perturbation.problem import Problem, minimise
from nfa.privacy.accountant import epsilon
from nfa.privacy.rdp import laplace
from nfa.privacy.theorems import choose

LOSSES = pytest.mark.parametrize("loss", ["logistic", "least-squares"])


def draw(loss, *, n=7, d=3, lam=0.2, radius=2.0, seed=0):
    """A random problem with records in the unit ball. The first record is on the boundary of the ball."""
    rng = np.random.default_rng(seed)
    x = clip_l2(rng.standard_normal((n, d)), 1.0)
    x[0] /= np.linalg.norm(x[0])
    y = rng.integers(0, 2, n).astype(float) if loss == "logistic" else rng.uniform(-1, 1, n)
    return Problem(loss=loss, x=x, y=y, lam=lam, x_bound=1.0, y_bound=1.0, radius=radius)


def one_record(problem, x, y):
    """A problem with the single record (x, y) and the constants of `problem`."""
    fixed = {"lam": problem.lam, "x_bound": problem.x_bound, "y_bound": problem.y_bound, "radius": problem.radius}
    return Problem(loss=problem.loss, x=np.array([x]), y=np.array([y]), **fixed)


# --- the problem ------------------------------------------------------------------------------------------------


@pytest.mark.verifies("berthier2019:erm")
@LOSSES
def test_gradients_and_curvature_are_the_differences_of_the_loss_written_by_hand(loss):
    """Gradients and curvature equal central differences of a loss that the test computes from its definition.

    The test computes the loss record by record, in extended precision.
    """
    problem = draw(loss)
    theta = np.array([0.3, -1.1, 0.7])

    def by_hand(i, u):
        z = sum(mpmath.mpf(a) * b for a, b in zip(problem.x[i], u, strict=True))
        y = mpmath.mpf(problem.y[i])
        fit = -y * mpmath.log(1 / (1 + mpmath.exp(-z))) - (1 - y) * mpmath.log(1 - 1 / (1 + mpmath.exp(-z)))
        fit = fit if loss == "logistic" else (z - y) ** 2 / 2
        return fit + mpmath.mpf(problem.lam) / 2 * sum(b * b for b in u)

    h = mpmath.mpf("1e-12")
    with mpmath.workdps(50):
        u = [mpmath.mpf(v) for v in theta]
        move = lambda j, s: [v + s * h * (i == j) for i, v in enumerate(u)]  # noqa: E731
        want = [[(by_hand(i, move(j, 1)) - by_hand(i, move(j, -1))) / (2 * h) for j in range(3)] for i in range(7)]
        value = sum(by_hand(i, u) for i in range(7)) / 7
    np.testing.assert_allclose(problem.gradients(theta), np.array(want, float), rtol=1e-12, atol=1e-15)
    assert problem.value(theta) == pytest.approx(float(value), rel=1e-14)
    np.testing.assert_allclose(problem.gradient(theta), np.array(want, float).mean(axis=0), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose([g(theta) for g in problem.steps(range(7))], np.array(want, float), rtol=1e-12)
    step = 1e-5 * np.eye(3)
    columns = [(problem.gradient(theta + s) - problem.gradient(theta - s)) / 2e-5 for s in step]
    np.testing.assert_allclose(problem.hessian(theta), np.array(columns), atol=1e-9)


@pytest.mark.verifies("berthier2019:erm")
@LOSSES
@given(seed=st.integers(0, 10**6))
@settings(derandomize=True, deadline=None, max_examples=25)
def test_no_record_within_the_bounds_exceeds_the_constants(loss, seed):
    problem, rng = draw(loss, n=1, seed=seed), np.random.default_rng(seed)
    theta = clip_l2(3 * rng.standard_normal((1, 3)), problem.radius)[0]
    curvature = np.linalg.eigvalsh(problem.hessian(theta))
    assert problem.mu - 1e-15 <= curvature[0]
    assert curvature[-1] <= problem.beta + 1e-15
    assert np.linalg.norm(problem.gradient(theta) - problem.lam * theta) <= problem.L * (1 + 1e-15)


def test_the_constants_are_attained():
    for loss, theta, y, beta, L in (("logistic", 0.0, 0.0, 0.45, 1.0), ("least-squares", 2.0, -1.0, 1.2, 3.0)):
        problem = one_record(draw(loss), [1.0, 0.0, 0.0], y)
        assert (problem.mu, problem.beta, problem.L) == pytest.approx((0.2, beta, L), rel=1e-15)
        curvature = np.linalg.eigvalsh(problem.hessian(np.array([theta, 0, 0])))
        assert (curvature[0], curvature[-1]) == pytest.approx((0.2, beta), rel=1e-15)
        far = 40.0 if loss == "logistic" else theta  # the prediction at theta = 40 is far from the label
        moved = np.array([far, 0, 0])
        assert np.linalg.norm(problem.gradient(moved) - 0.2 * moved) == pytest.approx(L, rel=1e-14)


@pytest.mark.verifies("berthier2019:erm", "berthier2019:outpert")
def test_a_regularised_gradient_is_no_multiple_of_the_record_and_has_no_bound():
    """A gradient with its regularisation term is not a multiple of the record, and it is unbounded.

    The report's remark and its bound L are correct only for the part of the gradient that depends on the record.
    """
    plain, ridge = draw("logistic", lam=0.0), draw("logistic", lam=0.2)
    theta = 1e4 * np.array([1.0, -2.0, 0.5])
    for problem, rank in ((plain, 1), (ridge, 2)):
        pairs = [np.array([g, x]) for g, x in zip(problem.gradients(theta / 1e4), problem.x, strict=True)]
        assert {int(np.linalg.matrix_rank(pair, tol=1e-9)) for pair in pairs} == {rank}
    assert np.linalg.norm(plain.gradients(theta), axis=1).max() <= plain.L == 1.0
    assert np.linalg.norm(ridge.gradients(theta), axis=1).min() > 4000


@pytest.mark.verifies("berthier2019:clip")
@given(seed=st.integers(0, 10**6))
@settings(derandomize=True, deadline=None, max_examples=50)
def test_the_clip_brings_no_two_vectors_further_apart(seed):
    u = np.random.default_rng(seed).standard_normal((2, 4)) * np.array([[3.0], [0.4]])
    v = clip_l2(u, 1.0)
    assert np.linalg.norm(v, axis=1).max() <= 1 + 1e-15
    assert np.linalg.norm(v[0] - v[1]) <= np.linalg.norm(u[0] - u[1]) * (1 + 1e-15)
    want = [w if np.linalg.norm(w) <= 1 else w / np.linalg.norm(w) for w in u]  # the clip by its definition
    np.testing.assert_allclose(v, want, rtol=1e-15)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"loss": "hinge"}, "loss must be one of logistic, least-squares, got 'hinge'"),
        ({"y": np.array([-1.0, 1.0])}, r"labels of the logistic loss must be 0 or 1, got -1: map -1 and 1 by \(y \+"),
        ({"y": np.array([0.0, 0.5])}, "must be 0 or 1, got 0.5"),
        ({"y": np.zeros(3)}, r"x must be \(n, d\) and y \(n,\) with n >= 1, got \(2, 2\) and \(3,\)"),
        ({"x": np.full((2, 2), np.nan)}, "x and y must hold finite numbers"),
        ({"lam": -0.1}, "lam must be at least 0 and finite, got -0.1"),
        ({"lam": math.nan}, "lam must be at least 0 and finite, got nan"),
        ({"x_bound": 0.5}, "x_bound must be at least the norm of every record, got 0.5 for norm 1"),
        ({"x_bound": math.inf}, "x_bound must be positive and finite, got inf"),
        ({"radius": 0.0}, "radius must be positive, got 0.0"),
        ({"loss": "least-squares", "y_bound": 0.5}, "y_bound must be at least the absolute value of every target"),
    ],
)
def test_a_problem_outside_its_bounds_is_refused(change, complaint):
    fine = {"loss": "logistic", "x": np.eye(2), "y": np.array([0.0, 1.0]), "lam": 0.1, "x_bound": 1.0}
    with pytest.raises(ValueError, match=complaint):
        Problem(**(fine | change))


# --- the minimiser, and noise in the objective ------------------------------------------------------------------


@pytest.mark.verifies("berthier2019:objpert")
def test_the_minimiser_is_that_of_an_independent_search():
    """`minimise` agrees with independent methods up to the stated tolerance.

    For least squares, we solve an augmented system of equations. For logistic regression, we use mpmath's root finder
    with 30 digits.
    """
    eta = np.array([0.3, -0.2, 0.1])
    problem = draw("least-squares")
    rows = np.vstack([problem.x / math.sqrt(7), math.sqrt(0.2) * np.eye(3)])
    targets = np.concatenate([problem.y / math.sqrt(7), -eta / math.sqrt(0.2)])
    np.testing.assert_allclose(minimise(problem, eta=eta), np.linalg.lstsq(rows, targets)[0], rtol=1e-13)
    problem = draw("logistic")

    def equations(*u):
        total = [mpmath.mpf(problem.lam) * v + mpmath.mpf(e) for v, e in zip(u, eta, strict=True)]
        for x, y in zip(problem.x, problem.y, strict=True):
            derivative = 1 / (1 + mpmath.exp(-sum(mpmath.mpf(a) * v for a, v in zip(x, u, strict=True)))) - y
            total = [s + derivative * mpmath.mpf(a) / 7 for s, a in zip(total, x, strict=True)]
        return total

    with mpmath.workdps(30):
        want = np.array(mpmath.findroot(equations, (0, 0, 0)).tolist(), float)[:, 0]
    # the tolerance of `minimise` divided by mu is 5e-9
    np.testing.assert_allclose(minimise(problem, eta=eta), want, atol=1e-8)
    # The noise is much larger than the gradients, so plain Newton steps would diverge.
    problem = draw("logistic", lam=1e-3)
    theta = minimise(problem, eta=np.array([5.0, -3.0, 2.0]))
    assert np.linalg.norm(problem.gradient(theta) + np.array([5.0, -3.0, 2.0])) < 1e-9
    assert 4000 < np.linalg.norm(theta) < 8000


@pytest.mark.parametrize(
    ("problem", "complaint"),
    [
        (draw("logistic", lam=0.0), "lam must be positive, because the logistic loss alone"),
        (draw("least-squares", n=2, lam=0.0), "lam must be positive, because the objective is not strongly convex"),
    ],
)
def test_an_objective_that_may_have_no_minimiser_is_refused(problem, complaint):
    with pytest.raises(ValueError, match=complaint):
        minimise(problem)
    with pytest.raises(ValueError, match=complaint):
        objective_perturbation(problem, b=1.0, rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"eta must have the shape of the parameters, \(3,\), got \(2,\)"):
        minimise(problem, eta=np.zeros(2))


@pytest.mark.verifies("berthier2019:objpert-close")
def test_the_noise_moves_the_minimiser_by_at_most_its_norm_over_the_strong_convexity():
    """Noise eta moves the minimiser by at most ||eta|| / mu, on random problems of both losses.

    For least squares, noise along an eigenvector of the Hessian attains the bound.
    """
    rng = np.random.default_rng(3)
    for loss in ("least-squares", "logistic"):
        problem = draw(loss)
        curvature, vectors = np.linalg.eigh(problem.hessian(np.zeros(3)))
        mu = curvature[0] if loss == "least-squares" else problem.mu
        plain = minimise(problem)
        ratios = []
        for eta in [*rng.standard_normal((100, 3)), vectors[:, 0]]:
            moved = np.linalg.norm(minimise(problem, eta=eta) - plain)
            ratios.append(moved * mu / np.linalg.norm(eta))
        assert max(ratios) <= 1 + 1e-7
        if loss == "least-squares":
            assert ratios[-1] == pytest.approx(1, rel=1e-12)


@pytest.mark.verifies("berthier2019:objpert-close")
def test_without_strong_convexity_the_noise_can_take_the_minimiser_away_and_a_regulariser_gives_it_back():
    """Without strong convexity, noise can move the minimiser to infinity. A regulariser prevents this move.

    For two equal records (1, 0), the loss is constant along (0, 1). So with noise, the objective has no lower bound.
    """
    settings = {"loss": "least-squares", "x": np.array([[1.0, 0], [1, 0]]), "y": np.ones(2), "x_bound": 1.0}
    eta = np.array([0.0, 0.3])
    flat = Problem(**settings, lam=0.0)
    values = [flat.value(theta) + eta @ theta for theta in (np.array([1.0, -(10.0**k)]) for k in range(1, 7))]
    assert values == pytest.approx([-0.3 * 10.0**k for k in range(1, 7)], rel=1e-12)
    with pytest.raises(ValueError, match="not strongly convex"):
        minimise(flat, eta=eta)
    np.testing.assert_allclose(minimise(Problem(**settings, lam=0.1), eta=eta), [1 / 1.1, -3.0], rtol=1e-12)


@pytest.mark.verifies("berthier2019:objpert")
def test_in_one_dimension_with_a_quadratic_loss_the_release_is_the_mean_with_laplace_noise():
    """In one dimension with a quadratic loss, the release is the mean plus Laplace noise, and its epsilon is exact.

    SciPy's scalar search finds the same minimiser. A ratio of densities on a grid gives the same epsilon.
    """
    rng, x, R, b = np.random.default_rng(1), np.array([0.0, 0.4, 1.0, 0.9]), 1.0, 0.5
    problem = Problem(loss="least-squares", x=np.ones((4, 1)), y=x, lam=0.0, x_bound=1.0, y_bound=R)
    theta, eta = objective_perturbation(problem, b=b, rng=rng)
    assert theta[0] == pytest.approx(x.mean() - eta[0], abs=1e-15)
    searched = optimize.minimize_scalar(lambda u: np.mean((u - x) ** 2) / 2 + eta[0] * u).x
    assert theta[0] == pytest.approx(searched, abs=1e-7)
    release = objective_mechanism(loss="quadratic", n=4, R=R, b=b)
    assert release.noise_std == pytest.approx(stats.laplace(scale=b).std(), rel=1e-14)
    # the record R replaces the record 0
    assert release.sensitivity == abs(x.mean() - np.array([1.0, 0.4, 1.0, 0.9]).mean())
    grid = np.linspace(-9, 9, 1001)
    law = [stats.laplace(loc, b).logpdf(grid) for loc in (x.mean(), x.mean() + release.sensitivity)]
    assert np.abs(law[0] - law[1]).max() == pytest.approx(R / (4 * b), rel=1e-12)  # epsilon is R / (n b)
    assert choose(release).id == "berthier2019:prop2.1"
    assert 0.4999 < float(laplace(np.array([1e5]), scale=b / release.sensitivity)[0]) <= R / (4 * b)


@pytest.mark.verifies("berthier2019:objpert")
@pytest.mark.parametrize("law", ["entries", "norm"])
def test_the_two_laws_of_the_noise_and_their_size(law):
    """Under both laws, the mean size of the noise is d b.

    The size is |eta|_1 for the law with independent entries, and |eta|_2 for the law of the norm. We average over 1,000
    samples. We allow 5 standard errors, so a false alarm has probability 6e-7. An error of 9.8 standard errors (18 % of
    the mean) is missed with probability 1e-6.
    """
    problem = Problem(loss="least-squares", x=np.eye(3), y=np.zeros(3), lam=0.5, x_bound=1.0)
    rng = np.random.default_rng(0)
    drawn = np.array([objective_perturbation(problem, b=0.7, law=law, rng=rng)[1] for _ in range(1000)])
    sizes = np.abs(drawn).sum(axis=1) if law == "entries" else np.linalg.norm(drawn, axis=1)
    assert abs(sizes.mean() - 2.1) < 5 * 0.7 * math.sqrt(3 / 1000)
    assert np.abs(drawn.mean(axis=0)).max() < 5 * drawn.std() / math.sqrt(1000)


@pytest.mark.verifies("berthier2019:objpert")
@pytest.mark.parametrize(("law", "s", "bound"), [("entries", math.sqrt(2), 1.286), ("norm", 1.0, 0.954)])
def test_under_both_laws_the_minimiser_of_a_regularised_logistic_loss_is_private(law, s, bound):
    """Under both laws of the noise, the minimiser of a regularised logistic loss is private.

    The density of the minimiser at theta is the density of the noise at minus the gradient, times a Jacobian. We
    compute this Jacobian by differences.
    """
    n, b, lam = 5, 0.5, 0.3
    assert 2 * s / (n * b) + math.log(1 + 1 / (4 * n * lam)) == pytest.approx(bound, abs=5e-4)
    rng = np.random.default_rng(4)
    x = rng.standard_normal((n, 2))
    x /= np.linalg.norm(x, axis=1)[:, None]
    x[0] = 1 / math.sqrt(2)
    y = np.array([0.0, 1, 0, 1, 1])

    def log_density(problem, theta):
        eta = problem.gradient(theta)
        size = np.abs(eta).sum() if law == "entries" else np.linalg.norm(eta)
        step = 1e-5 * np.eye(2)
        moved = [(problem.gradient(theta + h) - problem.gradient(theta - h)) / 2e-5 for h in step]
        return -size / b + math.log(abs(np.linalg.det(moved)))

    problems = [Problem(loss="logistic", x=x, y=np.append(label, y[1:]), lam=lam, x_bound=1.0) for label in (0.0, 1.0)]
    replaced = Problem(loss="logistic", x=np.vstack([-x[:1], x[1:]]), y=y, lam=lam, x_bound=1.0)
    thetas = [*rng.uniform(-6, 6, (300, 2)), *(r * np.ones(2) for r in np.linspace(-30, 30, 61))]
    apart = [
        abs(log_density(problems[0], t) - log_density(other, t)) for t in thetas for other in (problems[1], replaced)
    ]
    assert 0.4 * bound < max(apart) <= bound


def test_no_epsilon_is_claimed_for_any_other_objective():
    with pytest.raises(NoGuarantee, match="berthier2019:objpert"):
        objective_mechanism(loss="logistic", n=10, R=1.0, b=1.0)
    for change, complaint in (({"b": 0.0}, "scale b"), ({"law": "l1"}, "law must be one of entries, norm, got 'l1'")):
        with pytest.raises(ValueError, match=complaint):
            objective_perturbation(draw("logistic"), **({"b": 1.0, "rng": np.random.default_rng(0)} | change))
    with pytest.raises(ValueError, match="the number n of records must be at least 1, got 0"):
        objective_mechanism(loss="quadratic", n=0, R=1.0, b=1.0)


@pytest.mark.verifies("berthier2019:objpert")
def test_six_iterates_under_one_noise_give_the_second_moments_of_the_records_away():
    """If gradient descent adds one noise vector at all steps, six iterates reveal the second moments of the records.

    Differences of iterates do not contain the noise. They determine I - gamma H within 1e-13, and so the mean of
    x x^T.
    """
    problem = draw("least-squares", n=5)
    gamma, H = 0.7, problem.x.T @ problem.x / 5 + 0.2 * np.eye(3)
    for scale in (0.0, 1.0, 1e3):
        eta = scale * np.array([0.4, -1.0, 0.7])
        path = objective_descent(problem, eta=eta, gamma=gamma, steps=5, theta0=np.array([1.0, 1.0, -1.0]))
        assert path.shape == (6, 3)
        np.testing.assert_allclose(released_contraction(path), np.eye(3) - gamma * H, atol=1e-13 * max(1, scale / 10))
    np.testing.assert_allclose(
        (np.eye(3) - released_contraction(path)) / gamma - 0.2 * np.eye(3), problem.x.T @ problem.x / 5, atol=1e-11
    )
    with pytest.raises(ValueError, match=r"must have at least d \+ 2 = 5 rows, got 4"):
        released_contraction(path[:4])
    far = objective_descent(problem, eta=eta, gamma=gamma, steps=400, theta0=np.zeros(3))[-1]
    # the released minimiser is the limit of the path
    np.testing.assert_allclose(far, minimise(problem, eta=eta), rtol=1e-12)


# --- the contraction, and noise on the output -------------------------------------------------------------------


@pytest.mark.verifies("berthier2019:outpert")
@given(seed=st.integers(0, 10**6))
@settings(derandomize=True, deadline=None, max_examples=40)
def test_a_step_on_a_quadratic_with_its_spectrum_in_mu_beta_contracts_by_rho_at_most(seed):
    rng = np.random.default_rng(seed)
    mu, beta = np.sort(rng.uniform(0.1, 3, 2))
    gamma = rng.uniform(0.05, 2 / beta)
    axes = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    H = (axes * np.array([mu, rng.uniform(mu, beta), beta])) @ axes.T
    rho = contraction(gamma=gamma, mu=mu, beta=beta)
    # rho is attained, because mu and beta are eigenvalues of H
    assert np.linalg.norm(np.eye(3) - gamma * H, 2) == pytest.approx(rho, rel=1e-12)
    assert rho < 1
    best = contraction(gamma=2 / (mu + beta), mu=mu, beta=beta)
    assert best == pytest.approx((beta - mu) / (beta + mu), abs=1e-14)
    assert best <= rho + 1e-14


@pytest.mark.verifies("berthier2019:outpert", "berthier2019:fig3")
@LOSSES
def test_the_gap_of_two_passes_is_within_the_bound_at_every_step(loss):
    rng = np.random.default_rng(5)
    for trial in range(20):
        problem = draw(loss, n=12, lam=0.5, seed=trial)
        x, y = problem.x.copy(), problem.y.copy()
        t = trial % 12
        x[t], y[t] = -x[t], 1 - y[t] if loss == "logistic" else -np.sign(y[t])
        other = Problem(loss=loss, x=x, y=y, lam=0.5, x_bound=1.0, y_bound=1.0, radius=2.0)
        gamma = rng.uniform(0.1, 1.9) / problem.beta
        rho = contraction(gamma=gamma, mu=problem.mu, beta=problem.beta)
        start = {"theta0": rng.standard_normal(3), "gamma": gamma, "radius": problem.radius}
        pair = simulate_pair(problem.steps(range(12)), other.steps(range(12)), **start)
        gap = np.linalg.norm(pair[0] - pair[1], axis=1)
        assert gap[: t + 1].max() == 0
        bounds = [2 * gamma * problem.L * rho ** (k - t - 1) for k in range(t + 1, 13)]
        assert (gap[t + 1 :] <= np.array(bounds) * (1 + 1e-12)).all()
        gaps = output_gaps(12, gamma=gamma, L=problem.L, rho=rho)
        assert gaps[t] == pytest.approx(bounds[-1], rel=1e-13)
        assert gaps[-1] == 2 * gamma * problem.L


@pytest.mark.verifies("berthier2019:outpert")
def test_clipped_steps_do_not_contract_and_end_further_apart_than_the_bound():
    """Clipped steps do not contract, so the last iterates of two runs can be further apart than the bound.

    The losses are (theta - x)^2 / 2, and the runs start at 0. If theta is far from the record, a clipped step moves
    theta by gamma L.
    """
    gamma, L, n = 0.1, 1.0, 10

    def steps(first, bound):
        return [lambda theta, x=x: clip_l2((theta - x)[None], bound)[0] for x in (first, *[5.0] * (n - 1))]

    rho = contraction(gamma=gamma, mu=1.0, beta=1.0)
    bounds = output_gaps(n, gamma=gamma, L=L, rho=rho)  # one bound for each place of the record that differs
    pair = simulate_pair(steps(9.0, L), steps(-9.0, L), theta0=np.zeros(1), gamma=gamma)
    # the first step moves by +0.1 or -0.1, and all later steps move both runs by +0.1
    np.testing.assert_allclose(pair[0] - pair[1], [[0.0], *[[2 * gamma * L]] * n], rtol=1e-12)
    assert bounds[0] == pytest.approx(0.2 * 0.9**9, rel=1e-12)
    assert abs(pair[0] - pair[1])[-1] > 2.5 * bounds[0]
    free = simulate_pair(steps(9.0, np.inf), steps(-9.0, np.inf), theta0=np.zeros(1), gamma=gamma)
    gaps = abs(free[0] - free[1])[1:, 0]
    # without the clip, the gaps do not depend on L
    np.testing.assert_allclose(gaps, 18 * gamma * rho ** np.arange(n), rtol=1e-12)


@pytest.mark.verifies("berthier2019:outpert", "berthier2019:fig3")
def test_the_gap_is_attained_by_a_step_of_opposite_gradients_and_then_the_least_curvature():
    gamma, mu, L, n = Fraction(1, 4), Fraction(1, 2), 1, 6
    rho = max(abs(1 - gamma * mu), abs(1 - gamma * 2))  # with beta = 2
    u, v = Fraction(0), Fraction(0)
    for step in range(1, n + 1):
        pull = L if step == 3 else 0
        u, v = u - gamma * (mu * u + pull), v - gamma * (mu * v - pull)
    want = output_gaps(n, gamma=0.25, L=1.0, rho=contraction(gamma=0.25, mu=0.5, beta=2.0))
    assert want[2] == float(abs(u - v)) == float(2 * gamma * L * rho**3)


@pytest.mark.verifies("berthier2019:outpert")
def test_the_curve_of_a_shuffled_pass_to_15_digits_and_against_the_mixture_itself():
    gaps = output_gaps(10, gamma=0.1, L=1.0, rho=0.9)
    got = output_rdp(np.array([2.0]), gaps=gaps, sigma=1.0)[0]
    assert got == pytest.approx(0.0185514543754611, rel=1e-13)
    exact = [mpmath.mpf(2) / 10 * mpmath.mpf(9) ** (10 - t) / mpmath.mpf(10) ** (10 - t) for t in range(1, 11)]
    assert got == pytest.approx(float(mpmath.log(sum(mpmath.exp(s**2) for s in exact) / 10)), rel=1e-13)
    assert np.max(gaps**2) == pytest.approx(0.04)
    assert np.mean(gaps**2) == pytest.approx(0.0184931230612512)
    # By quadrature, the bound holds for the divergence of a mixture of Gaussians at all gaps from a Gaussian at 0.
    for alpha, sigma in ((2.0, 0.3), (5.0, 0.5)):

        def integrand(u, alpha=alpha, sigma=sigma):
            p, q = np.mean(stats.norm.pdf(u, gaps, sigma)), stats.norm.pdf(u, 0, sigma)
            return math.exp(alpha * math.log(p) + (1 - alpha) * math.log(q))

        true = math.log(integrate.quad(integrand, -4, 4)[0]) / (alpha - 1)
        bound = output_rdp(np.array([alpha]), gaps=gaps, sigma=sigma)[0]
        assert 0 < true <= bound <= alpha * 0.2**2 / (2 * sigma**2)


@pytest.mark.verifies("berthier2019:outpert")
def test_the_release_is_counted_and_drawn():
    problem = draw("logistic", n=50)
    release = output_release(problem, gamma=1.0, sigma=0.5)
    spent = epsilon([(release, 1)], delta=1e-5, conversion="mironov2017")
    assert (spent.bound, spent.adjacency, spent.sampling) == ("berthier2019:outpert", "replace-one", "none")
    assert (
        0
        < spent.epsilon
        < epsilon([(output_release(problem, gamma=1.0, sigma=0.4), 1)], delta=1e-5, conversion="mironov2017").epsilon
    )
    problem = draw("logistic", n=50, radius=0.1)  # the pass reaches the boundary of this small ball
    drawn = [
        output_perturbation(problem, gamma=1.0, sigma=s, theta0=np.zeros(3), rng=np.random.default_rng(3))
        for s in (0.5, 1.0)
    ]
    rng = np.random.default_rng(3)  # `output_perturbation` draws the order first, and then the noise
    path = sgd_pass(problem.steps(rng.permutation(50)), theta0=np.zeros(3), gamma=1.0, radius=0.1)
    assert np.linalg.norm(path, axis=1).max() == pytest.approx(0.1, rel=1e-12)
    far = sgd_pass(problem.steps(np.random.default_rng(3).permutation(50)), theta0=np.zeros(3), gamma=1.0)
    assert np.linalg.norm(far[-1] - path[-1]) > 0.01
    np.testing.assert_allclose(2 * drawn[0] - drawn[1], path[-1], atol=1e-14)
    np.testing.assert_allclose((drawn[1] - drawn[0]) / 0.5, rng.standard_normal(3), atol=1e-13)


@pytest.mark.parametrize(
    ("change", "settings", "complaint"),
    [
        ({"lam": 0.0}, {}, "output perturbation needs strongly convex losses: lam must be positive, got 0"),
        ({}, {"gamma": 5.0}, r"gamma must be below 2 / beta = 4\.44444 so that each step is a contraction, got 5.0"),
        ({}, {"gamma": 0.0}, "the learning rate gamma must be positive and finite, got 0.0"),
        ({}, {"sigma": 0.0}, "sigma must be positive and finite, got 0.0"),
        (
            {"loss": "least-squares", "radius": math.inf},
            {},
            "the gradients of least squares are bounded only in a ball",
        ),
    ],
)
def test_output_perturbation_outside_its_conditions_is_refused(change, settings, complaint):
    problem = draw(**({"loss": "logistic"} | change))
    given = {"gamma": 1.0, "sigma": 1.0} | settings
    with pytest.raises(ValueError, match=complaint):
        output_release(problem, **given)
    with pytest.raises(ValueError, match=complaint):
        output_perturbation(problem, theta0=np.zeros(3), rng=np.random.default_rng(0), **given)


# --- the variance, as printed and corrected ---------------------------------------------------------------------


def divergence(alpha, s, variance):
    """D_alpha of N(s, variance) from N(0, variance) by quadrature of its definition."""
    std = math.sqrt(variance)
    log_p, log_q = (lambda u, m=m: stats.norm.logpdf(u, m, std) for m in (s, 0.0))
    far = 12 * std + alpha * s
    value = integrate.quad(lambda u: math.exp(alpha * log_p(u) + (1 - alpha) * log_q(u)), -far, far, points=[alpha * s])
    return math.log(value[0]) / (alpha - 1)


@pytest.mark.verifies("berthier2019:outpert-var")
def test_the_printed_variance_is_too_small_for_epsilon_above_1():
    printed = claimed_output_variance(alpha=2, sensitivity=1, epsilon=2)
    assert printed == 0.25
    assert divergence(2, 1, printed) == pytest.approx(4, rel=1e-9)  # the target epsilon is 2
    printed = claimed_output_variance(alpha=2, sensitivity=1, epsilon=0.5)
    assert printed == 4
    assert divergence(2, 1, printed) == pytest.approx(0.25, rel=1e-9)  # more noise than necessary
    # The printed variance gives the divergence epsilon^2 for every sensitivity.
    for alpha, s, target in ((2, 3, 2), (3, 0.5, 1.5)):
        printed = claimed_output_variance(alpha=alpha, sensitivity=s, epsilon=target)
        assert divergence(alpha, s, printed) == pytest.approx(target**2, rel=1e-9)


@pytest.mark.verifies("berthier2019:outpert-var")
@pytest.mark.parametrize(("alpha", "s", "target"), [(2, 1, 2), (2, 1, 0.5), (3, 0.7, 1.3), (8, 2, 0.1)])
def test_the_corrected_variance_gives_what_is_asked_for(alpha, s, target):
    variance = corrected_output_variance(alpha=alpha, sensitivity=s, epsilon=target)
    assert divergence(alpha, s, variance) == pytest.approx(target, rel=1e-8)
    for name in (corrected_output_variance, claimed_output_variance):
        with pytest.raises(ValueError, match="alpha must be above 1, and sensitivity and epsilon must be positive"):
            name(alpha=1, sensitivity=s, epsilon=target)


# --- noise on every gradient ------------------------------------------------------------------------------------


@pytest.mark.verifies("berthier2019:gradpert", "berthier2019:fig4")
@LOSSES
def test_with_the_same_noise_two_passes_never_part_but_where_their_records_differ(loss):
    rng = np.random.default_rng(2)
    for trial in range(20):
        problem, t = draw(loss, n=12, lam=0.0, seed=trial), trial % 12
        x = problem.x.copy()
        x[t] = -x[t]
        other = Problem(loss=loss, x=x, y=problem.y, lam=0.0, x_bound=1.0, y_bound=1.0, radius=2.0)
        gamma = rng.uniform(0.5, 2) / problem.beta
        start = {"theta0": rng.standard_normal(3), "gamma": gamma, "radius": 2.0}
        pair = simulate_pair(
            problem.steps(range(12)), other.steps(range(12)), noise=rng.standard_normal((12, 3)), **start
        )
        gap = np.linalg.norm(pair[0] - pair[1], axis=1)
        assert gap[: t + 1].max() == 0
        assert gap[t + 1] <= 2 * gamma * problem.L
        assert (np.diff(gap[t + 1 :]) <= 1e-12).all()


@pytest.mark.verifies("berthier2019:gradpert")
def test_a_longer_step_stretches_distances():
    """A learning rate above 2 / beta increases distances, so the limit 2 / beta is sharp.

    For the loss beta u^2 / 2, the learning rate 2.1 / beta multiplies distances by 1.1. Up to the limit, distances do
    not increase, even if the loss is not strongly convex.
    """
    pair = np.array([[1.0], [0.0]])
    for gamma, stretched in ((1.05, 1.1), (1.0, 1.0), (0.5, 0.0)):  # beta = 2
        after = [sgd_pass([lambda u: 2 * u], theta0=theta, gamma=gamma)[-1, 0] for theta in pair]
        assert abs(after[0] - after[1]) == pytest.approx(stretched, abs=1e-15)
        assert contraction(gamma=gamma, mu=2, beta=2) == pytest.approx(stretched, abs=1e-15)
    assert contraction(gamma=1.0, mu=0, beta=2) == 1


@pytest.mark.verifies("berthier2019:gradpert")
def test_a_noisy_pass_is_the_equation_and_is_counted_as_a_gaussian_mechanism():
    problem = draw("logistic", n=6, lam=0.0)
    path = gradient_perturbation(problem, gamma=0.5, sigma=0.3, theta0=np.zeros(3), rng=np.random.default_rng(4))
    rng = np.random.default_rng(4)
    order, noise = rng.permutation(6), 0.3 * rng.standard_normal((6, 3))
    theta = np.zeros(3)
    for t in range(6):
        x, y = problem.x[order[t]], problem.y[order[t]]
        theta = theta - 0.5 * ((1 / (1 + math.exp(-x @ theta)) - y) * x + noise[t])
        theta *= min(1, 2.0 / np.linalg.norm(theta))
        np.testing.assert_allclose(path[t + 1], theta, rtol=1e-13)
    release = gradient_mechanism(problem, sigma=0.3)
    one, two = (epsilon([(release, steps)], delta=1e-5, conversion="mironov2017") for steps in (6, 12))
    assert (one.uses, two.uses) == (1, 2)  # a pass uses every record once
    np.testing.assert_allclose(one.rdp, one.orders * 4 / (2 * 0.3**2), rtol=1e-14)


@pytest.mark.parametrize(
    ("settings", "complaint"), [({"gamma": 8.1}, "here at most 8, got 8.1"), ({"sigma": 0.0}, "si")]
)
def test_gradient_perturbation_outside_its_conditions_is_refused(settings, complaint):
    problem, given = draw("logistic", lam=0.0), {"gamma": 1.0, "sigma": 1.0} | settings
    with pytest.raises(ValueError, match=complaint):
        gradient_perturbation(problem, theta0=np.zeros(3), rng=np.random.default_rng(0), **given)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: contraction(gamma=1.0, mu=2.0, beta=1.0), "mu and beta must satisfy 0 <= mu <= beta"),
        (lambda: contraction(gamma=-1.0, mu=0.0, beta=1.0), "the learning rate gamma must be positive"),
        (lambda: output_gaps(0, gamma=1.0, L=1.0, rho=0.5), "n must be at least 1"),
        (lambda: simulate_pair([np.sin], [], theta0=np.zeros(1), gamma=1.0), "the same number of steps, got 1 and 0"),
        (
            lambda: sgd_pass([np.sin], theta0=np.zeros(1), gamma=1.0, noise=np.zeros((2, 1))),
            r"each of the 1 steps, got",
        ),
        (lambda: sgd_pass([np.sin], theta0=np.zeros(1), gamma=0.0), "gamma must be positive"),
        (lambda: gradient_mechanism(draw("least-squares", radius=math.inf), sigma=1.0), "only in a ball"),
        (
            lambda: feedback_release(draw("least-squares"), gamma=1.0, sigma=1.0),
            "only the gradients of this loss are bounded",
        ),
        (lambda: feedback_release(draw("logistic"), gamma=9.0, sigma=1.0), "gamma must be in"),
    ],
)
def test_bad_arguments_are_one_sentence(call, complaint):
    with pytest.raises(ValueError, match=complaint) as caught:
        call()
    assert "\n" not in str(caught.value)
