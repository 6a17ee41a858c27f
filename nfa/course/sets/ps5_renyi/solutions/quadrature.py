"""Integrals in place of formulas, SciPy's solver in place of halving; later parts use nothing of earlier ones."""

import numpy as np


# %% renyi
def renyi(p, q, alpha):
    alpha = 1 + 1e-6 if alpha == 1 else alpha
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.where(np.array(p) > 0, np.log(p) - np.log(q), -np.inf)
    if np.isposinf(loss).any():
        return np.inf
    return np.logaddexp.reduce(
        np.log(p, where=np.array(p) > 0, out=np.full(len(p), -np.inf))
        + (alpha - 1) * np.where(np.isfinite(loss), loss, 0)
    ) / (alpha - 1)


# %% renyi_gauss
def renyi_gauss(mean_p, std_p, mean_q, std_q, alpha):
    def exponent(x):
        log_p = -(((x - mean_p) / std_p) ** 2) / 2 - np.log(std_p)
        log_q = -(((x - mean_q) / std_q) ** 2) / 2 - np.log(std_q)
        return alpha * log_p + (1 - alpha) * log_q

    if exponent(1e4) > exponent(1e3) or exponent(-1e4) > exponent(-1e3):
        return np.inf
    x = np.linspace(-200, 200, 200_001)
    e = exponent(x)
    return (e.max() + np.log(np.trapezoid(np.exp(e - e.max()), x) / np.sqrt(2 * np.pi))) / (alpha - 1)


# %% step_cost
def step_cost(alpha, q, z):
    x = np.linspace(-12, alpha / z + 12, 4001)
    with_me = np.logaddexp(np.log(1 - q) - x**2 / 2, np.log(q) - (x - 1 / z) ** 2 / 2)
    e = alpha * with_me + (1 - alpha) * (-(x**2) / 2)
    return (e.max() + np.log(np.exp(e - e.max()).sum() * (x[1] - x[0]) / np.sqrt(2 * np.pi))) / (alpha - 1)


# %% run_epsilon
def run_epsilon(costs, orders, steps, delta):
    table = {float(a): steps * float(c) + np.log(1 / delta) / (a - 1) for a, c in zip(orders, costs)}
    best = min(table, key=table.get)
    return table[best], best, best in (min(table), max(table))


# %% misprint
def misprint():
    return 13.75


# %% noise_for
def noise_for(target, q, steps, delta):
    from scipy.optimize import brentq

    a = np.array(ORDERS)[:, None]

    def too_much(log_z):
        z = np.exp(log_z)
        x = np.linspace(-12, 32 / z + 12, 3001)
        e = a * np.logaddexp(np.log(1 - q), np.log(q) + x / z - 0.5 / z**2) - x**2 / 2
        top = e.max(axis=1, keepdims=True)
        logs = top[:, 0] + np.log(np.exp(e - top).sum(axis=1) * (x[1] - x[0]) / np.sqrt(2 * np.pi))
        return ((steps * logs + np.log(1 / delta)) / (a[:, 0] - 1)).min() - target

    return np.exp(brentq(too_much, np.log(0.2), np.log(200)))


# %% doubled
def doubled():
    return 2**0.5, "less"


# %% two_answers
def two_answers(scheme):
    channel = np.array([[0.75, 0.25], [0.25, 0.75]])
    truths = {"poisson": np.full((2, 2), 1 / 4), "shuffled": np.array([[0, 1 / 2], [1 / 2, 0]])}[scheme]
    nobody = np.array([[1, 0], [0, 0]])
    return tuple((channel.T @ law @ channel).reshape(4) for law in (truths, nobody))


# %% verdict
def verdict():
    return "both happen"
