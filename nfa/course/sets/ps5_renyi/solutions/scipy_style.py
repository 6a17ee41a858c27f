"""SciPy's special functions; one comprehension a function."""

import numpy as np


# %% renyi
from scipy import special, stats


def renyi(p, q, alpha):
    if alpha == 1:
        return special.rel_entr(p, q).sum()
    if any(s > 0 == t for s, t in zip(p, q)):
        return np.inf
    return special.logsumexp([a * np.log(s) + (1 - a) * np.log(t) for s, t in zip(p, q) for a in [alpha] if s > 0]) / (
        alpha - 1
    )


# %% renyi_gauss
def renyi_gauss(mean_p, std_p, mean_q, std_q, alpha):
    mix = alpha * std_q**2 - (alpha - 1) * std_p**2
    if mix <= 0:
        return np.inf
    return (
        np.log(std_q / std_p) + np.log(std_q**2 / mix) / (2 * (alpha - 1)) + alpha * (mean_p - mean_q) ** 2 / (2 * mix)
    )


# %% step_cost
def step_cost(alpha, q, z):
    k = np.arange(alpha + 1)
    return special.logsumexp(stats.binom.logpmf(k, alpha, q) + k * (k - 1) / (2 * z**2)) / (alpha - 1)


# %% better
def better(cost, alpha, delta):
    return np.clip(cost + np.log1p(-1 / alpha) - np.log(alpha * delta) / (alpha - 1), 0, None)


# %% run_epsilon
def run_epsilon(costs, orders, steps, delta):
    every = sorted((mironov(steps * c, a, delta), a) for c, a in zip(costs, orders))
    return *every[0], every[0][1] in (orders[0], orders[-1])


# %% noise_for
def noise_for(target, q, steps, delta):
    k = np.arange(33)
    chances = [stats.binom.logpmf(k, a, q) for a in ORDERS]

    def enough(z):
        costs = np.array([special.logsumexp(c + k * (k - 1) / (2 * z**2)) / (a - 1) for c, a in zip(chances, ORDERS)])
        return run_epsilon(costs, ORDERS, steps, delta)[0] <= target

    z, step = 0.2, 100.0
    while step > 1e-5:
        if not enough(z + step):
            z += step
        step /= 2
    return z + 2 * step
