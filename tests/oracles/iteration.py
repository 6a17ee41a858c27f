"""Oracles of privacy amplification by iteration: convex programs over transport plans, and exact densities."""

import math

import numpy as np
from scipy import optimize


def grid_gaussian(mean, sigma, grid):
    """The masses of a Gaussian on an even grid."""
    p = np.exp(-((grid - mean) ** 2) / (2 * sigma**2))
    return p / p.sum()


def shifted_by_plans(mu, nu, cells, alpha):
    """Lower and upper bound of the shifted Rényi divergence of two laws on a line of cells, over all transport plans.

    SLSQP optimises the plan. The lower bound subtracts the duality gap, which is the gain that a linear program finds
    at the solution.
    """
    k = len(mu)
    pairs = [(i, j) for i in np.flatnonzero(mu) for j in range(max(0, i - cells), min(k, i + cells + 1)) if nu[j] > 0]
    i, j = np.array(pairs).reshape(-1, 2).T
    if set(np.flatnonzero(mu)) - set(i):
        return np.array([math.inf, math.inf])
    rows = 1.0 * (i == np.arange(k)[:, None])
    support = np.where(nu > 0, nu, 1.0)

    def moment(plan):
        ratio = np.maximum(np.bincount(j, plan, k), 0) / support
        return float(nu @ ratio**alpha), (alpha * ratio ** (alpha - 1))[j]

    solution = optimize.minimize(
        moment,
        mu[i] / np.bincount(i, minlength=k)[i],
        jac=True,
        method="SLSQP",
        bounds=[(0, None)] * len(i),
        constraints={"type": "eq", "fun": lambda plan: rows @ plan - mu, "jac": lambda plan: rows},
        options={"ftol": 1e-15, "maxiter": 500},
    )
    plan = np.maximum(solution.x, 0)
    sums = rows @ plan
    plan *= np.divide(mu, sums, out=np.zeros(k), where=sums > 0)[i]
    value, gradient = moment(plan)
    gap = float(plan @ gradient) - sum(mu[r] * gradient[i == r].min() for r in np.flatnonzero(mu))
    return np.log(np.maximum([value - gap, value], 1e-300)) / (alpha - 1)


def shifted_by_frank_wolfe(mu, nu, cells, alpha, tolerance=1e-5):
    """The shifted divergence by pairwise Frank-Wolfe iterations, for laws with masses of very different magnitudes."""
    k, moves = len(mu), np.arange(-cells, cells + 1)
    target = np.arange(k)[:, None] + moves
    inside = (target >= 0) & (target < k)
    target = np.clip(target, 0, k - 1)
    plan = np.where(moves == 0, mu[:, None], 0.0)  # a plan that moves nothing
    rows = np.arange(k)
    for _ in range(20_000):
        p = np.bincount(target.ravel(), plan.ravel(), k)
        gradient = np.where(inside, (alpha * (p / nu) ** (alpha - 1))[target], math.inf)
        best, worst = gradient.argmin(1), np.where(plan > 0, gradient, -math.inf).argmax(1)
        value = float(nu @ (p / nu) ** alpha)
        gap = float((plan * np.where(inside, gradient, 0)).sum() - mu @ gradient[rows, best])
        if gap <= tolerance * value:
            return np.log([value - gap, value]) / (alpha - 1)
        step = np.zeros_like(plan)
        step[rows, best] += plan[rows, worst]
        step[rows, worst] -= plan[rows, worst]
        change = np.bincount(target.ravel(), step.ravel(), k)
        length = optimize.minimize_scalar(
            lambda x, p=p, change=change: float(nu @ (np.maximum(p + x * change, 0) / nu) ** alpha),
            bounds=(0, 1),
            method="bounded",
            options={"xatol": 1e-12},
        ).x
        plan = np.maximum(plan + length * step, 0)
    raise AssertionError("Frank-Wolfe does not converge")


def affine_pass(C, n, t, s, sigma, order):
    """Rényi divergence of the last iterates of two runs of an affine map, from the explicit sum of all iterations.

    Each step maps u to C u + noise. In one of the two runs, step t also adds s.
    """
    moves = np.tril(np.ones((n, n)))  # moves[k, j] is the factor of the noise of step j in iterate k
    for k in range(n):
        for j in range(k + 1):
            moves[k, j] = float(C) ** (k - j)
    covariance = sigma**2 * moves @ moves.T
    return order * (s * moves[n - 1, t - 1]) ** 2 / (2 * covariance[n - 1, n - 1])


def least_squares_of_shifts(C, n, t, s):
    """Smallest sum of squares of the shifts a_t .. a_n such that every z >= 0 and z_n = 0, by SLSQP."""
    m = n - t + 1
    z = np.array([[-(C ** float(k - j)) if j <= k else 0.0 for j in range(m)] for k in range(m)])  # z = start + z @ a
    start = s * float(C) ** np.arange(m)
    scale = s / m
    # an interior start: each a_t takes half of the remaining shift, and a_n takes the rest
    halves = np.zeros(m)
    for k in range(m):
        halves[k] = (start[k] + z[k] @ halves) / (1 if k == m - 1 else 2)
    solution = optimize.minimize(
        lambda a: (a @ a, 2 * a),
        halves / scale,
        jac=True,
        method="SLSQP",
        bounds=[(0, None)] * m,
        constraints=[
            {"type": "eq", "fun": lambda a: start[-1] / scale + z[-1] @ a, "jac": lambda a: z[-1]},
            {"type": "ineq", "fun": lambda a: (start / scale + z @ a)[:-1], "jac": lambda a: z[:-1]},
        ],
        options={"ftol": 1e-14, "maxiter": 200},
    )
    return scale**2 * float(solution.fun)


def densities_of_pass(steps, sigma, grid):
    """Density of the last iterate on the grid. It starts at 0, and each step maps u to step(u) + N(0, sigma^2)."""
    h = grid[1] - grid[0]
    p = np.exp(-((grid - steps[0](np.zeros(1))) ** 2) / (2 * sigma**2)) / math.sqrt(2 * math.pi) / sigma
    for step in steps[1:]:
        kernel = np.exp(-((grid[:, None] - step(grid)) ** 2) / (2 * sigma**2)) / math.sqrt(2 * math.pi) / sigma
        p = h * kernel @ p
    return p


def renyi_on_grid(p, q, h, alpha):
    """Rényi divergence of two densities on an even grid."""
    return math.log(h * float(np.exp(alpha * np.log(p) + (1 - alpha) * np.log(q)).sum())) / (alpha - 1)
