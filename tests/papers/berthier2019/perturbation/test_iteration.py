"""Amplification by iteration.

We compare it with convex programs, exact Gaussian laws, exact densities, and sums at many digits.
"""

import math

import mpmath as mp
import numpy as np
import pytest

from nfa.clip import clip_l2
from nfa.mechanism import NoGuarantee
from nfa.papers.berthier2019.perturbation.iteration import best_shifts, iteration_bound, noise_share, rdp_iteration
from nfa.papers.berthier2019.perturbation.last_iterate import (
    _average,
    one_pass,
    rdp_shuffled_epoch,
    softmax_average,
    weak_convexity,
)
from nfa.papers.berthier2019.perturbation.shifted import after_noise, after_step, shift_cost, shifted_renyi_gaussian
from nfa.papers.berthier2019.shuffling.small_learning_rate import (
    asymptotic_mean_share,
    mean_share,
    rdp_small_learning_rate,
)
from nfa.privacy import accountant
from nfa.privacy.divergences import renyi
from tests.oracles.iteration import (
    affine_pass,
    densities_of_pass,
    grid_gaussian,
    least_squares_of_shifts,
    renyi_on_grid,
    shifted_by_frank_wolfe,
    shifted_by_plans,
)

# (alpha, L, sigma, C, n, t), the value of Theorem 3.6, and the exact divergence of the steps u -> C u
SETTINGS = [
    (2, 1, 2, 1.1, 10, 3, 0.22183049874121, 0.1392360816378),
    (4, 1, 2, 1.01, 50, 1, 0.062523563733036, 0.062523563733036),
    (3, 0.5, 1, 1.2, 8, 5, 0.59722992635325, 0.11268878356758),
    (2, 1, 2, 0.9, 10, 3, 0.0533521705859, 0.049481728703563),
    (2, 1, 2, 1, 10, 3, 0.125, 0.1),
]


# --- shifted divergences


@pytest.mark.verifies("berthier2019:shifted-renyi", "ours:shifted-gaussian")
@pytest.mark.parametrize("distance, z, alpha, value", [(1, 0.4, 2, 0.36), (1.5, 0.5, 3, 1.5)])
def test_shifted_divergence_is_the_best_of_all_transport_plans(distance, z, alpha, value):
    """The shifted divergence is the smallest over all transport plans, on a grid with cells of size z.

    The closed form has the same value on this grid.
    """
    closed = float(shifted_renyi_gaussian(alpha, distance=distance, sigma=1.0, z=z))
    assert closed == pytest.approx(value, abs=1e-15)
    grid = np.arange(-5, 9, z)
    low, high = shifted_by_frank_wolfe(grid_gaussian(distance, 1, grid), grid_gaussian(0, 1, grid), 1, alpha)
    assert low - 1e-5 <= closed <= high + 1e-5
    assert high - low < 2e-5
    assert float(shifted_renyi_gaussian(alpha, distance=z, sigma=1.0, z=z)) == 0
    assert float(shifted_renyi_gaussian(alpha, distance=z, sigma=1.0, z=3 * z)) == 0


@pytest.mark.verifies("berthier2019:lem3.3")
def test_noise_reduces_the_shift_of_gaussians_exactly():
    """Lemma 3.3 is exact for Gaussians: for the best a, the bound is alpha (m - z)^2 / (2 (s^2 + t^2))."""
    for m, s, t, z, alpha in ((2.0, 1.0, 0.7, 0.5, 2), (1.0, 0.3, 2.0, 0.0, 3.5)):
        exact = alpha * (m - z) ** 2 / (2 * (s**2 + t**2))
        assert shifted_renyi_gaussian(alpha, distance=m, sigma=math.hypot(s, t), z=z) == pytest.approx(exact, rel=1e-12)
        bounds = []
        for a in np.linspace(0, m, 801):
            before = shifted_renyi_gaussian(alpha, distance=m, sigma=s, z=z + a)
            left, bound = after_noise(z + a, before, alpha=alpha, a=a, sigma=t)
            assert left == pytest.approx(z, abs=1e-12)
            bounds.append(float(bound))
        assert exact * (1 - 1e-12) <= min(bounds) <= exact * (1 + 1e-4)


@pytest.mark.verifies("berthier2019:lem3.3")
def test_noise_reduces_the_shift_of_random_laws():
    """Lemma 3.3 holds for random laws on the integers, with shifts by whole cells and two-sided geometric noise.

    R_alpha is the divergence of the noise from the noise shifted by one cell.
    """
    rng, nearest, k = np.random.default_rng(33), 0.0, np.arange(-30, 31)
    for trial in range(21):
        alpha, ratio = (1.5, 2, 4)[trial % 3], rng.uniform(0.1, 0.3)
        noise = ratio ** np.abs(k) * (1 - ratio) / (1 + ratio)
        cost = math.log(np.sum(noise[:-1] ** alpha * noise[1:] ** (1 - alpha))) / (alpha - 1)
        mu, nu = rng.dirichlet(np.full(4, 0.5)), rng.dirichlet(np.full(4, 2.0))
        noisy = [np.bincount(np.clip(np.arange(64) - 27, 0, 9), np.convolve(law, noise)) for law in (mu, nu)]
        for z in (0, 1):  # we move mass beyond ten cells to the outer cells, which increases no distance
            low, _ = shifted_by_plans(*noisy, z, alpha)
            _, high = shifted_by_plans(mu, nu, z + 1, alpha)
            assert low <= high + cost + 1e-9
            nearest = max(nearest, low / (high + cost))
    assert nearest > 0.5


@pytest.mark.verifies("berthier2019:lem3.4")
def test_lipschitz_steps_of_random_laws():
    """Lemma 3.4 holds for Lipschitz steps of random laws.

    The map psi doubles distances, so C = 2. The map psi' differs from psi by at most s = 1 cell.
    """
    rng, nearest = np.random.default_rng(34), 0.0
    for trial in range(21):
        alpha, mu, nu = (1.5, 2, 4)[trial % 3], rng.dirichlet(np.full(5, 0.5)), rng.dirichlet(np.full(5, 2.0))
        psi = 2 * np.arange(5) + 1
        laws = [np.bincount(f, law, 12) for f, law in ((psi, mu), (psi + rng.integers(-1, 2, 5), nu))]
        for z in (0, 1):
            after, bound = after_step(z, shifted_by_plans(mu, nu, z, alpha)[1], C=2, s=1)
            low, _ = shifted_by_plans(*laws, int(after), alpha)
            assert low <= bound + 1e-6
            nearest = max(nearest, low / bound if bound > 1e-3 else 0)
    assert nearest > 0.9


@pytest.mark.verifies("berthier2019:lem3.4")
@pytest.mark.parametrize(("z", "C", "s"), [(1.0, 1.5, 0.25), (0.5, 2.0, 3.0), (3.0, 0.5, 1.0)])
def test_the_shift_after_a_step_is_attained(z, C, s):
    """The shift C z + s after a step is attained.

    Two points are z apart. The first map multiplies its point by C, and the second map also adds s. We compute the
    distance between the two images.
    """
    images = C * np.array([0.0, z]) + np.array([0.0, s])
    assert after_step(z, 0.5, C=C, s=s) == (images[1] - images[0], 0.5)


@pytest.mark.verifies("berthier2019:lem3.4")
def test_a_step_without_a_lipschitz_constant_may_lose_everything():
    """A step without a Lipschitz constant has no bound, because it can move two close points far apart.

    In this example, the shifted divergence is 0 before the step and infinite after it.
    """
    near, far = np.eye(2), np.eye(9)[[0, 8]]
    assert shifted_by_plans(*near, 1, 2).tolist() == [0, 0]
    assert shifted_by_plans(*far, 7, 2)[0] == math.inf


# --- Theorems 3.5 and 3.6


@pytest.mark.verifies("berthier2019:thm3.5")
def test_theorem_3_5_on_affine_steps_of_all_kinds():
    """Theorem 3.5 holds for random affine steps X_(t+1) = c_t X_t + b_t + noise with |c_t| <= C.

    In the second run, b_t is larger or smaller by s_t. We compute the exact laws of both runs.
    """
    rng, nearest = np.random.default_rng(35), 0.0
    for _ in range(400):
        n, C, alpha = int(rng.integers(1, 7)), rng.uniform(0.3, 1.6), rng.uniform(1.05, 8)
        s, sigma = rng.exponential(1, n) * (rng.random(n) < 0.5), rng.uniform(0.2, 3, n)
        z, a = 0.0, np.zeros(n)
        for t in range(n):
            a[t] = rng.choice([0, 1, rng.random()], p=[0.2, 0.2, 0.6]) * (C * z + s[t])
            z = C * z + s[t] - a[t]
        z_n, bound = iteration_bound(alpha, C=C, s=s, a=a, sigma=sigma)
        assert z_n == pytest.approx(z, abs=1e-12 * (1 + z))
        gap, variance = 0.0, 0.0
        for t in range(n):
            c = C * rng.choice([1, rng.uniform(-1, 1)])
            gap, variance = c * gap + s[t] * rng.choice([1, -1], p=[0.8, 0.2]), c**2 * variance + sigma[t] ** 2
        exact = alpha * max(abs(gap) - z_n, 0) ** 2 / (2 * variance)
        assert exact <= bound * (1 + 1e-12) + 1e-15
        nearest = max(nearest, exact / bound if bound > 0 else 0)
    assert nearest > 0.999


@pytest.mark.verifies("berthier2019:thm3.6", "berthier2019:thm3.5")
@pytest.mark.parametrize("alpha, L, sigma, C, n, t, bound, exact", SETTINGS)
def test_theorem_3_6(alpha, L, sigma, C, n, t, bound, exact):
    """The closed form of Theorem 3.6 equals the minimum of the quadratic program with z >= 0.

    Affine steps attain the closed form only at t = 1.
    """
    closed = float(rdp_iteration(alpha, L, sigma, C, n, t))
    assert closed == pytest.approx(bound, rel=1e-12)
    gamma = 0.25
    s, noise = 2 * gamma * L, gamma * sigma
    program = least_squares_of_shifts(C, n, t, s)
    assert closed == pytest.approx(alpha * program / (2 * noise**2), rel=1e-8)
    a = best_shifts(s=s, C=C, n=n, t=t)
    z_n, split = iteration_bound(alpha, C=C, s=s * (np.arange(1, n + 1) == t), a=a, sigma=noise)
    assert z_n == 0
    assert float(split) == pytest.approx(closed, rel=1e-12)
    affine = affine_pass(C, n, t, s, noise, alpha)
    assert affine == pytest.approx(exact, rel=1e-12)
    assert affine <= closed * (1 + 1e-12)
    assert (affine > closed * (1 - 1e-12)) == (t == 1)


@pytest.mark.verifies("berthier2019:thm3.6")
def test_the_last_step_has_the_curve_of_one_release():
    assert [float(rdp_iteration(2, 1, 2, C, 10, 10)) for C in (0, 0.5, 1, 1.1, 3)] == [1.0] * 5
    # noise before step t also reduces the divergence
    assert affine_pass(1.1, 10, 10, 2.0, 2.0, 2) == pytest.approx(0.0367, abs=5e-5)
    values = [float(rdp_iteration(2, 1, 2, 1.1, 10, t)) for t in range(1, 11)]
    assert values == sorted(values)  # a record has a smaller bound if it was used earlier
    together = rdp_iteration(np.array([1.5, 2.0, 9.0]), 1, 2, 1.1, 10, 3)
    assert together.tolist() == [float(rdp_iteration(a, 1, 2, 1.1, 10, 3)) for a in (1.5, 2, 9)]


@pytest.mark.verifies("berthier2019:thm3.6", "berthier2019:prop3.1")
@pytest.mark.parametrize("C", [0.0, 1e-3, 0.5, 1 - 1e-12, 1.0, 1 + 1e-15, 1 + 1e-9, 1.001, 7.0, 1e200])
def test_the_share_of_noise_at_sixty_digits(C):
    i = np.array([1, 2, 3, 10, 400])
    shares = noise_share(C, i)
    with mp.workdps(60):
        for k, share in zip(i.tolist(), shares.tolist(), strict=True):
            if C == 0:
                assert share == (k == 1)
                continue
            exact = 1 / mp.fsum(mp.mpf(C) ** (-2 * j) for j in range(k))
            assert share == pytest.approx(float(exact), rel=1e-12, abs=1e-300)


def smooth_pass(signs, sigma, L=1.0, beta=1.0, gamma=0.4):
    """The density of the last iterate for the non-convex losses L sin(beta u + phase) / beta, and the grid spacing.

    The gradients are in [-L, L].
    """
    grid = np.linspace(-9, 9, 361)
    steps = [lambda u, p=p: u - gamma * L * np.cos(beta * u + p) for p in signs]
    return densities_of_pass(steps, gamma * sigma, grid), grid[1] - grid[0]


@pytest.mark.verifies("berthier2019:thm3.6", "berthier2019:sec3.3.2-mean", "berthier2019:lem3.1")
@pytest.mark.parametrize("sigma", [1.0, 2.5])
def test_a_non_convex_pass_stays_below_the_bounds(sigma):
    """The divergence of a non-convex pass is below the bounds.

    We compute exact densities for each place of the replaced record. The losses are smooth. We also test shuffled
    records and passes that stop early.
    """
    C, n, orders = 1 + 0.4, 4, (1.5, 2.0, 6.0)
    common, record, other = 2.0, 0.0, math.pi  # phases; at u = 0 the two gradients are L and -L
    densities = {r: [] for r in (record, other)}
    for t in range(n):
        for r, rows in densities.items():
            rows.append(smooth_pass([r if k == t else common for k in range(n)], sigma)[0])
    h = smooth_pass([common], sigma)[1]
    near = 0.0
    for alpha in orders:
        exact = [
            max(renyi_on_grid(p, q, h, alpha), renyi_on_grid(q, p, h, alpha))
            for p, q in zip(densities[record], densities[other], strict=True)
        ]
        for t in range(1, n + 1):
            bound = float(rdp_iteration(alpha, 1.0, sigma, C, n, t))
            assert exact[t - 1] <= bound * (1 + 1e-9)
            near = max(near, exact[t - 1] / bound)
        mixed = [np.mean(densities[r], axis=0) for r in (record, other)]
        shuffled = max(renyi_on_grid(*mixed, h, alpha), renyi_on_grid(*mixed[::-1], h, alpha))
        assert shuffled <= softmax_average(alpha, exact) * (1 + 1e-9)
        assert softmax_average(alpha, exact) <= float(rdp_shuffled_epoch(alpha, 1.0, sigma, C, n))
        for k in (1, 3):  # stopped after k steps; one of these steps used the record, or none
            stopped = []
            for r in (record, other):
                used = [smooth_pass([r if j == t else common for j in range(k)], sigma)[0] for t in range(k)]
                unused = smooth_pass([common] * k, sigma)[0]
                stopped.append((sum(used) + (n - k) * unused) / n)
            assert renyi_on_grid(*stopped, h, alpha) <= float(rdp_shuffled_epoch(alpha, 1.0, sigma, C, n))
    assert near > 0.3


@pytest.mark.verifies("berthier2019:thm3.6")
def test_what_clipping_does_to_the_lipschitz_constant():
    """With clipped gradients of a convex quadratic in the plane, a step can multiply distances by up to 1 + gamma beta.

    So the constant C = 1 for convex losses needs gradients that are bounded without a clip. The report's constant
    C = 1 + gamma beta is also valid with a clip.
    """
    H, L = np.diag([1.0, 100.0]), 0.1
    gamma = 1 / 100
    rng, largest = np.random.default_rng(36), 0.0
    u = rng.normal(size=(4000, 2)) * [1, 0.05]
    v = u + rng.normal(size=(4000, 2)) * 10 ** rng.uniform(-4, 0, (4000, 1)) * [1, 0.05]
    moved = [w - gamma * clip_l2(w @ H, L) for w in (u, v)]
    ratio = np.linalg.norm(moved[0] - moved[1], axis=1) / np.linalg.norm(u - v, axis=1)
    largest = ratio.max()
    assert 1.0001 < largest <= 1 + gamma * 100


# --- one pass over shuffled records


@pytest.mark.verifies("berthier2019:sec3.3.2-mean", "berthier2019:weak-convexity", "berthier2019:lem3.1")
def test_the_three_averages_at_the_recorded_numbers():
    """The three averages of divergences, `softmax`, `mean` and `max`, have the recorded values.

    The method `mean` is twice the mean divergence and needs a condition on sigma. If this condition holds, `softmax` is
    smaller than `mean`. Otherwise, `softmax` can be larger than twice the mean divergence.
    """
    value = {m: float(rdp_shuffled_epoch(2, 1, 2, 1.001, 1000, method=m)) for m in ("softmax", "mean", "max")}
    assert value == pytest.approx({"softmax": 0.009675578021636, "mean": 0.0172755484, "max": 1.0}, rel=1e-8)
    assert float(rdp_shuffled_epoch(2, 1, 2, 1.01, 100)) == pytest.approx(0.071401754990632, rel=1e-12)
    assert float(rdp_shuffled_epoch(2, 1, 1, 1.001, 1000)) == pytest.approx(0.0888485, abs=5e-8)
    # twice the mean divergence is 4 alpha L^2 / sigma^2 times S
    assert 8 * mean_share(1.001, 1000) == pytest.approx(0.0691022, abs=5e-8)
    with pytest.raises(NoGuarantee, match="softmax average") as refused:
        rdp_shuffled_epoch(2, 1, 1, 1.001, 1000, method="mean")
    assert refused.value.id == "berthier2019:weak-convexity"
    # if the condition fails, the softmax comes near the largest divergence: at sigma = L / 2, the ratio is 0.57
    assert float(rdp_shuffled_epoch(2, 1, 0.5, 1.001, 1000)) / 16 == pytest.approx(0.57, abs=5e-3)


@pytest.mark.verifies("berthier2019:weak-convexity")
def test_the_condition_of_the_doubled_mean():
    """The condition sigma >= L sqrt(2 alpha (alpha - 1)) of the method `mean` means max D <= 1 / (alpha - 1).

    The method uses the inequality (e^y - 1) / y <= 1 + c for y <= c <= 1.
    """
    for alpha in (1.2, 2.0, 7.0):
        edge = math.sqrt(2 * alpha * (alpha - 1))
        assert float(rdp_shuffled_epoch(alpha, 1, edge, 1.2, 20, method="max")) == pytest.approx(1 / (alpha - 1))
        rdp_shuffled_epoch(alpha, 1, edge * 1.0001, 1.2, 20, method="mean")
        with pytest.raises(NoGuarantee):
            rdp_shuffled_epoch(alpha, 1, edge * 0.9999, 1.2, 20, method="mean")
    y = np.linspace(1e-6, 1, 10_000)
    for c, largest in ((1.0, 1.71828), (0.5, 1.29744)):  # recorded maxima of (e^y - 1) / y for 0 < y <= c
        inside = c * y
        assert (np.expm1(inside) / inside).max() == pytest.approx(largest, abs=6e-6)
        assert largest <= 1 + c
    # without the condition, the bound fails for mixtures, for example if the output reveals the component
    P, Q = np.eye(20)[::2], np.eye(20)[::2]  # ten components, each on its own two outcomes
    Q[-1, -1], Q[-1, -2] = 1 - 1e-9, 1e-9
    D = [renyi(p, q, alpha=2) for p, q in zip(P, Q, strict=True)]
    exact = renyi(P.mean(0), Q.mean(0), alpha=2)
    assert exact == pytest.approx(softmax_average(2, D), rel=1e-12)
    assert exact > 4 * (2 * np.mean(D))


@pytest.mark.verifies("berthier2019:lem3.1", "berthier2019:weak-convexity")
def test_the_averages_are_ordered_and_exact_in_their_limits():
    rng = np.random.default_rng(31)
    for _ in range(200):
        m, alpha, c = int(rng.integers(1, 6)), 1 + 10 ** rng.uniform(-3, 3), rng.uniform(0.05, 1)
        q = rng.dirichlet(np.ones(m))
        D = rng.random(m) * c / (alpha - 1)
        soft = softmax_average(alpha, D, q)
        with mp.workdps(50):
            a = mp.mpf(alpha)
            exact = mp.log(mp.fsum(mp.mpf(w) * mp.exp((a - 1) * mp.mpf(d)) for w, d in zip(q, D, strict=True))) / (
                a - 1
            )
        assert soft == pytest.approx(float(exact), rel=1e-11)
        assert q @ D * (1 - 1e-12) <= soft <= min(weak_convexity(alpha, D, q, c=c), D.max()) * (1 + 1e-12)
    assert softmax_average(2, [0.0, 1e4]) == pytest.approx(1e4 - math.log(2))  # no overflow
    assert softmax_average(1.5, [1e-14, 3e-14]) == pytest.approx(2e-14, rel=1e-9)  # no cancellation


def test_an_average_may_leave_a_divergence_out():
    weights = _average(2, [3.0, 5.0], [1, 0])[2]
    assert weights.dtype == float
    assert weights.tolist() == [1, 0]


@pytest.mark.verifies("berthier2019:sec3.3.2-mean", "berthier2019:prop3.1")
@pytest.mark.parametrize(
    "C, n, value", [(1.1, 100, 0.194331414834), (1.001, 1000, 0.00863777420745), (1.01, 10000, 0.0201494223376)]
)
def test_the_sum_at_thirty_digits(C, n, value):
    """`mean_share` agrees with a sum at 30 digits and with recorded values.

    The values of C are the report's 1 + 1/sqrt(n) and 1 + 1/n, as decimals.
    """
    with mp.workdps(30):
        q = mp.mpf(str(C)) ** -2
        total, power, geometric = mp.mpf(0), mp.mpf(1), mp.mpf(0)
        for _ in range(n):
            geometric += power
            power *= q
            total += 1 / geometric
        exact = float(total / n)
    assert exact == pytest.approx(value, rel=1e-11)
    assert mean_share(C, n) == pytest.approx(exact, rel=1e-12)
    half = 2 * 3 * (0.5 / 4) ** 2  # 2 alpha L^2 / sigma^2
    mean = float(rdp_shuffled_epoch(3, 0.5, 4.0, C, n, method="mean"))
    assert mean == pytest.approx(2 * half * exact, rel=1e-12)


# --- Proposition 3.1


@pytest.mark.verifies("berthier2019:prop3.1")
def test_the_rates_of_the_sum():
    """Convergence rates of the mean share S for C = 1 + 1/sqrt(n) and C = 1 + 1/n.

    For the first C, sqrt(n) S tends to 2, without a logarithm. For the second C, n S - log n tends to Euler's constant
    + log((e^2 - 1) / 2).
    """
    roots = [math.sqrt(n) * mean_share(1 + 1 / math.sqrt(n), n) for n in (10, 100, 10**3, 10**4, 10**5)]
    assert roots == pytest.approx([1.6552, 1.94331, 2.01227, 2.01494, 2.00834], abs=6e-6)
    offsets = [n * mean_share(1 + 1 / n, n) - math.log(n) for n in (100, 10**3, 10**4, 10**5)]
    assert offsets == pytest.approx([1.67597, 1.73002, 1.73756, 1.73852], abs=6e-6)
    limit = 10**4 * asymptotic_mean_share(10**4, rate="1/n") - math.log(10**4)
    assert limit == pytest.approx(1.73865502647, abs=1e-10)
    for n, value in zip((100, 10**3, 10**4, 10**5), offsets, strict=True):
        assert 0 < limit - value < 1.5 * math.log(n) / n
    for n in (10**3, 10**6):
        for rate, C in (("1/sqrt(n)", 1 + n**-0.5), ("1/n", 1 + 1 / n)):
            error = mean_share(C, n) / asymptotic_mean_share(n, rate=rate) - 1
            assert abs(error) < math.log(n) / math.sqrt(n) if rate == "1/sqrt(n)" else abs(error) < 2 / n


@pytest.mark.verifies("berthier2019:prop3.1")
def test_the_printed_rates_beside_the_sum_that_the_proof_bounds():
    """We compare the two printed rates with the sum S that the proof bounds.

    For C = 1 + 1/sqrt(n), the printed rate log n / sqrt(n) is above S from n = 5 on. For C = 1 + 1/n, the printed rate
    log n / n is below S for every n, by 20 % at n = 1000.
    """
    for n in range(2, 400):
        assert (mean_share(1 + n**-0.5, n) > math.log(n) / math.sqrt(n)) == (n in (2, 3, 4))
        assert mean_share(1 + 1 / n, n) > math.log(n) / n
    assert math.log(1000) / 1000 / mean_share(1.001, 1000) == pytest.approx(0.80, abs=5e-3)
    # the appendix has C^-2 = 1 - 1/sqrt(n), as if gamma were 1 / (2 beta sqrt(n)); then sqrt(n) S tends to 1
    halves = [math.sqrt(n) * mean_share((1 - n**-0.5) ** -0.5, n) for n in (100, 10**3, 10**4, 10**5)]
    assert halves == pytest.approx([1.27086, 1.12520, 1.05154, 1.01999], abs=6e-6)

    def last_line(n):  # the last line of Appendix A.5, times sqrt(n): log n + 4.54 instead of log n
        m = 2 * math.sqrt(n)
        return 2 + 2 * math.log(m) + 1 / (1 - (1 - 2 / m) ** (m - 1))

    assert [last_line(n) for n in (100, 1000, 10**4)] == pytest.approx([9.1476, 11.4505, 13.753], abs=5e-4)
    # The appendix states the inequality (1 + u)^p <= 1 + p u + p (p - 1) u^2 / 2 for p >= 1. The inequality is false
    # for p = 1.5, but true for integers.
    assert 0.5**1.5 == pytest.approx(0.353553, abs=1e-6)
    assert 1 - 0.75 + 0.75 / 8 == 0.34375
    u = np.linspace(-0.999, 0, 200)
    for p in range(1, 40):
        assert ((1 + u) ** p <= 1 + p * u + p * (p - 1) / 2 * u**2 + 1e-12).all()


@pytest.mark.verifies("berthier2019:prop3.1")
def test_proposition_3_1_holds_in_the_limit_without_a_condition_on_sigma():
    """As n tends to infinity, Proposition 3.1 holds without a condition on sigma.

    We compute ratios of Lemma 3.1 to the two printed bounds. At finite n, the value of Lemma 3.1 exceeds the second
    printed bound if sigma is too small.
    """

    def ratio(alpha, sigma, n, power):
        printed = 4 * alpha / sigma**2 * math.log(n) / n**power
        return float(rdp_shuffled_epoch(alpha, 1, sigma, 1 + n**-power, n)) / printed

    seconds = [ratio(2, 1, 100, 1.0), ratio(2, 1, 10**6, 1.0), ratio(8, 4, 10**6, 1.0)]
    assert seconds[0] == pytest.approx(1.659, abs=6e-4)
    assert seconds[0] > seconds[1] > 1
    assert seconds[2] > 1
    for alpha, sigma in ((2, 1), (8, 4)):
        assert max(ratio(alpha, sigma, n, 0.5) for n in (2, 10, 100, 10**3, 10**4, 10**5)) < 0.95
    # At log n = 10^5, the bound in the ledger's entry is below the second printed bound. Here l = 2 log(1 + 1/n), so
    # n l <= 2 and n l^2 <= 4 / n.
    for alpha, sigma in ((2, 1), (8, 4)):
        y = 2 * alpha * (alpha - 1) / sigma**2
        assert 2 + 1 + 1e5 + y * math.exp(y) * (1e-9 + math.pi**2 / 6) <= 2e5


@pytest.mark.verifies("berthier2019:prop3.1")
def test_proposition_3_1_holds_where_we_say_it_does():
    """Proposition 3.1 holds under our condition on sigma.

    At the smallest allowed sigma, y = (alpha - 1) 2 alpha L^2 / sigma^2 is 1. Then the ratio of the softmax average to
    the printed bound is largest. We compute this ratio below n = 110. From n = 110 on, we use the inequalities of the
    proof.
    """
    for rate, power, smallest in (("1/sqrt(n)", 0.5, 2), ("1/n", 1.0, 4)):
        for n in range(2, 110):
            soft = float(rdp_shuffled_epoch(2, 1, 2, 1 + n**-power, n))
            printed = 8 / 4 * math.log(n) / n**power
            assert (soft <= printed) == (n >= smallest)
            if n >= smallest:
                assert float(rdp_small_learning_rate(2, 1, 2, n, rate=rate)) == pytest.approx(printed, rel=1e-14)
            else:
                with pytest.raises(NoGuarantee, match=f"n >= {smallest}"):
                    rdp_small_learning_rate(2, 1, 2, n, rate=rate)
    # the ratio at the smallest allowed sigma; the ratio grows with y
    ratios = [float(rdp_shuffled_epoch(2, 1, 2, 1 + 1 / n, n)) / (2 * math.log(n) / n) for n in (20, 100, 1000, 10**5)]
    assert ratios == pytest.approx([0.838, 0.775, 0.700, 0.622], abs=6e-4)
    for n in (5, 50, 500):
        by_y = [float(rdp_shuffled_epoch(2, 1, 2 / y**0.5, 1 + 1 / n, n)) / y for y in (1e-3, 0.1, 0.5, 1)]
        assert by_y == sorted(by_y)
    for n in (100, 1000, 10**5, 10**9):  # the last steps of the proof; both sides are monotone in n
        assert 2 / math.sqrt(n) + (1 + math.log(n)) / n <= math.log(n) / math.sqrt(n)
        assert math.log(n) + 3 + 0.72 * (math.pi**2 / 6 + (4 * math.log(n) + 8) / n) <= 2 * math.log(n)
    for n in (100, 2000):
        w, i = noise_share(1 + 1 / n, np.arange(1, n + 1)), np.arange(1, n + 1)
        assert (w <= 1 / i + 2 * math.log1p(1 / n)).all()
        assert (np.expm1(w) <= w + 0.72 * w**2).all()
    with pytest.raises(NoGuarantee, match="sigma >= L sqrt") as refused:
        rdp_small_learning_rate([1.5, 3.0], 1, 3.46, 1000, rate="1/n")
    assert refused.value.id == "berthier2019:prop3.1"


# --- the accountant


@pytest.mark.verifies("berthier2019:thm3.6", "berthier2019:sec3.3.2-mean", "berthier2019:lem3.1")
def test_the_accountant_counts_passes_and_refuses_released_iterates():
    setting = {"L": 1.0, "sigma": 4.0, "C": 1.01, "n": 50}
    shuffled = one_pass(**setting, order="shuffled", released="last")
    orders = [1.5, 3.0, 12.0, 60.0]
    for steps, passes in ((50, 1), (51, 2), (100, 2), (7, 1)):
        g = accountant.epsilon([(shuffled, steps)], delta=1e-4, conversion="mironov2017", orders=orders)
        assert (g.uses, g.bound, g.adjacency) == (passes, "berthier2019:sec3.3.2-mean", "replace-one")
        assert g.rdp == pytest.approx(passes * rdp_shuffled_epoch(orders, **setting), rel=1e-14)
    fixed = one_pass(**setting, order="fixed", released="last")
    g = accountant.epsilon([(fixed, 50)], delta=1e-4, conversion="mironov2017", orders=orders)
    assert g.rdp == pytest.approx(np.array(orders) / 8, rel=1e-14)
    for order in ("shuffled", "fixed"):
        with pytest.raises(NoGuarantee, match="only for the last iterate of a pass") as refused:
            one_pass(**setting, order=order, released="all")
        assert refused.value.id == "berthier2019:thm3.6"
    with pytest.raises(NoGuarantee):  # no theorem on subsampling covers a pass
        accountant.epsilon([(shuffled, 50)], delta=1e-4, conversion="mironov2017", bound="wbk2019:thm9", orders=[2, 3])


# --- bad input: one sentence names the argument


def test_a_pass_over_one_record_is_one_release():
    """A pass over one record has the divergence of one release, alpha (2 L)^2 / (2 sigma^2), for any constant C."""
    assert [float(rdp_iteration(3, 1, 2, C, 1, 1)) for C in (0, 0.5, 2)] == [1.5] * 3


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: rdp_iteration(1, 1, 1, 1, 5, 2), "alpha must be greater than 1"),
        (lambda: rdp_iteration([2, math.inf], 1, 1, 1, 5, 2), "alpha must be finite"),
        (lambda: rdp_iteration(2, 0, 1, 1, 5, 2), "the Lipschitz constant L of the losses must be positive"),
        (lambda: rdp_iteration(2, 1, math.nan, 1, 5, 2), "sigma must be positive"),
        (lambda: rdp_iteration(2, 1, 1, -0.1, 5, 2), "the Lipschitz constant C of a step must be at least 0"),
        (
            lambda: rdp_iteration(2, 1, 1, 1, 5, 6),
            "the step t must be an integer between 1 and the number n = 5 of steps",
        ),
        (lambda: rdp_iteration(2, 1, 1, 1, 5.5, 2), "the number n of steps must be an integer"),
        (lambda: rdp_iteration(2, 1, 1, 1, 5, 0), "t must be an integer"),
        (lambda: noise_share(1.0, [0]), "noises i must be at least 1"),
        (lambda: best_shifts(s=1, C=0, n=3, t=1), "the Lipschitz constant C of a step must be positive"),
        (
            lambda: after_noise(1.0, 0.0, alpha=2, a=1.5, sigma=1),
            "the reduction a of the shift must be at most the shift",
        ),
        (lambda: after_noise(1.0, 0.0, alpha=2, a=-0.5, sigma=1), "a must be at least 0"),
        (lambda: after_step(-1.0, 0.5, C=1.5, s=0.25), "z must be at least 0"),
        (lambda: shift_cost(2, a=1, sigma=0), "sigma must be positive"),
        (lambda: shifted_renyi_gaussian(2, distance=-1, sigma=1, z=0), "distance must be at least 0"),
        (
            lambda: iteration_bound(2, C=1, s=[1, 0], a=[0.5, 0.6], sigma=1),
            "each shift a_t must be at most the remaining distance",
        ),
        (lambda: iteration_bound(2, C=1, s=[1, 0], a=[0.5], sigma=1), "one length"),
        (lambda: softmax_average(2, [1.0, -1.0]), "at least 0"),
        (lambda: softmax_average(2, [1.0, 1.0], [0.5, 0.6]), "add up to 1"),
        (lambda: weak_convexity(2, [0.1], c=2), "c must be in"),
        (lambda: rdp_shuffled_epoch(2, 1, 1, 1, 5, method="median"), "method must be one of"),
        (lambda: asymptotic_mean_share(10, rate="n"), "rate must be one of"),
        (lambda: mean_share(1.0, 0), "the number n of steps must be an integer"),
        (lambda: one_pass(L=1, sigma=1, C=1, n=5, order="poisson", released="last"), "order must be"),
        (lambda: one_pass(L=1, sigma=0, C=1, n=5, order="fixed", released="last"), "sigma must be positive"),
        (lambda: one_pass(L=1, sigma=1, C=1, n=5, order="fixed", released="some"), "released must be"),
    ],
)
def test_bad_input_is_one_sentence(call, words):
    with pytest.raises(ValueError, match=words):
        call()
