"""Right solutions in several styles, which get full marks."""

# %% loops score=20
# one number at a time, lists and the math module only
"""One number at a time, with lists and the math module only."""


# %% renyi
import math


def renyi(p, q, alpha):
    if alpha == 1:
        total = 0.0
        for s, t in zip(p, q):
            if s > 0 and t == 0:
                return math.inf
            if s > 0:
                total += s * math.log(s / t)
        return total
    total = 0.0
    for s, t in zip(p, q):
        if s == 0:
            continue
        if t == 0:
            return float("inf")
        total += s**alpha * t ** (1 - alpha)
    return math.log(total) / (alpha - 1)


# %% renyi_gauss
def renyi_gauss(mean_p, std_p, mean_q, std_q, alpha):
    # p^alpha q^(1-alpha) = C exp(-a x^2 / 2 + b x - c / 2), completed to a square
    a = alpha / std_p**2 + (1 - alpha) / std_q**2
    if a <= 0:
        return float("inf")
    b = alpha * mean_p / std_p**2 + (1 - alpha) * mean_q / std_q**2
    c = alpha * mean_p**2 / std_p**2 + (1 - alpha) * mean_q**2 / std_q**2
    log_integral = -alpha * math.log(std_p) - (1 - alpha) * math.log(std_q) - math.log(a) / 2 + (b * b / a - c) / 2
    return log_integral / (alpha - 1)


# %% step_cost
def step_cost(alpha, q, z):
    log_binomial, log_sum = 0.0, None
    for k in range(0, alpha + 1):
        if k > 0:
            log_binomial += math.log((alpha - k + 1) / k)
        term = log_binomial + (alpha - k) * math.log(1 - q) + k * math.log(q) + k * (k - 1) / 2 / z / z
        if log_sum is None:
            log_sum = term
        elif term > log_sum:
            log_sum = term + math.log(1 + math.exp(log_sum - term))
        else:
            log_sum = log_sum + math.log(1 + math.exp(term - log_sum))
    return log_sum / (alpha - 1)


# %% mironov
def mironov(cost, alpha, delta):
    return cost - math.log(delta) / (alpha - 1)


# %% run_epsilon
def run_epsilon(costs, orders, steps, delta):
    best, where = math.inf, 0
    for i in range(len(orders)):
        epsilon = mironov(costs[i] * steps, orders[i], delta)
        if epsilon < best:
            best, where = epsilon, i
    return [best, orders[where], where == 0 or where == len(orders) - 1]


# %% misprint
def misprint():
    wrong = None
    for epochs in PRINTED:
        epsilon = run_epsilon(fixed_batches(ORDERS, 128 / 60000, 0.64), ORDERS, epochs * 468, DELTA)[0]
        if int(epsilon * 100) / 100 != PRINTED[epochs]:
            wrong = PRINTED[epochs]
    return wrong


# %% noise_for
def noise_for(target, q, steps, delta):
    low, high = 0.2, 200.0
    for _ in range(60):
        z = (low + high) / 2
        costs = []
        for alpha in ORDERS:
            costs.append(step_cost(alpha, q, z))
        if run_epsilon(costs, ORDERS, steps, delta)[0] <= target:
            high = z
        else:
            low = z
    return high


# %% guess
def guess():
    return 0.5, np.float32(2), 300


# %% smallest
def smallest():
    return ["B", "Every one of the 31 upper bounds holds for this run, and so does the least of them."]


# %% doubled
def doubled():
    return "c ", "I tried it: with sqrt(2) times the noise, the epsilon of 11,700 steps is 2.02 and not 2.14."


# %% two_answers
def two_answers(scheme):
    P, Q = [0, 0, 0, 0], [0, 0, 0, 0]
    for i in range(2):
        for j in range(2):
            for there, chance in [((0, 0), 1 / 4), ((0, 1), 1 / 4), ((1, 0), 1 / 4), ((1, 1), 1 / 4)]:
                if scheme == "shuffled":
                    chance = 1 / 2 if there[0] != there[1] else 0
                P[2 * i + j] += chance * (3 / 4 if there[0] == i else 1 / 4) * (3 / 4 if there[1] == j else 1 / 4)
            Q[2 * i + j] = (3 / 4 if i == 0 else 1 / 4) * (3 / 4 if j == 0 else 1 / 4)
    return P, Q


# %% float32 score=20
# float32 throughout, arrays
"""Works in float32 throughout, with arrays."""

import numpy as np


# %% renyi
def renyi(p, q, alpha):
    p, q = np.float32(p), np.float32(q)
    if np.any(q[p > 0] == 0):
        return np.inf
    q = q[p > 0]
    p = p[p > 0]
    if alpha == 1:
        return np.sum(p * np.log(p / q))
    return np.log(np.sum(q * (p / q) ** np.float32(alpha))) / np.float32(alpha - 1)


# %% renyi_gauss
def renyi_gauss(mean_p, std_p, mean_q, std_q, alpha):
    a = np.float32(alpha)
    vp, vq = np.float32(std_p) ** 2, np.float32(std_q) ** 2
    v = a * vq + (1 - a) * vp
    if not v > 0:
        return np.float32(np.inf)
    first = a / 2 * np.float32(mean_p - mean_q) ** 2 / v
    return first - (np.log(v) - (1 - a) * np.log(vp) - a * np.log(vq)) / (2 * (a - 1))


# %% step_cost
def step_cost(alpha, q, z):
    from scipy.special import gammaln

    k = np.arange(alpha + 1, dtype=np.float32)
    a, q, z = np.float32(alpha), np.float32(q), np.float32(z)
    logs = (gammaln(a + 1) - gammaln(k + 1) - gammaln(a - k + 1)).astype(np.float32)
    logs = logs + (a - k) * np.log1p(-q) + k * np.log(q) + k * (k - 1) / (2 * z * z)
    return (logs.max() + np.log(np.exp(logs - logs.max()).sum())) / (a - 1)


# %% mironov
def mironov(cost, alpha, delta):
    return np.float32(cost) + np.log(np.float32(1) / np.float32(delta)) / np.float32(alpha - 1)


# %% run_epsilon
def run_epsilon(costs, orders, steps, delta):
    orders = np.float32(orders)
    total = np.float32(steps) * np.float32(costs) - np.log(np.float32(delta)) / (orders - 1)
    i = total.argmin()
    return total[i], orders[i], i in [0, orders.size - 1]


# %% noise_for
def noise_for(target, q, steps, delta):
    low, high = np.float32(0.2), np.float32(200)
    for _ in range(24):
        middle = np.float32((low + high) / 2)
        costs = np.array([step_cost(a, q, middle) for a in ORDERS], np.float32)
        enough = run_epsilon(costs, ORDERS, steps, delta)[0] <= target
        low, high = (low, middle) if enough else (middle, high)
    return high


# %% two_answers
def two_answers(scheme):
    no, yes = np.float32([0.75, 0.25]), np.float32([0.25, 0.75])
    mixed = np.einsum("i,j->ij", no + yes, no + yes) / 4
    swapped = (np.einsum("i,j->ij", no, yes) + np.einsum("i,j->ij", yes, no)) / 2
    return np.stack([(mixed if scheme == "poisson" else swapped).ravel(), np.einsum("i,j->ij", no, no).ravel()])


# %% quadrature score=20
# integrals in place of formulas, a solver in place of halving; later exercises use nothing of the earlier ones
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

    if exponent(1e4) > exponent(1e3) - 1 or exponent(-1e4) > exponent(-1e3) - 1:
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


# %% two_answers
def two_answers(scheme):
    channel = np.array([[0.75, 0.25], [0.25, 0.75]])
    truths = {"poisson": np.full((2, 2), 1 / 4), "shuffled": np.array([[0, 1 / 2], [1 / 2, 0]])}[scheme]
    nobody = np.array([[1, 0], [0, 0]])
    return tuple((channel.T @ law @ channel).reshape(4) for law in (truths, nobody))


# %% scipy_style score=20
# SciPy's special functions and binomial law
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


# %% special_functions score=20
# logarithms of binomials by gammaln, sums by logsumexp, the noise by a root finder
import numpy as np


# %% step_cost
from scipy import special


def step_cost(alpha, q, z):
    k = np.arange(alpha + 1.0)
    logs = special.gammaln(alpha + 1) - special.gammaln(k + 1) - special.gammaln(alpha - k + 1)
    logs += special.xlog1py(alpha - k, -q) + special.xlogy(k, q) + k * (k - 1) / (2 * z * z)
    return special.logsumexp(logs) / (alpha - 1)


# %% noise_for
from scipy import optimize


def noise_for(target, q, steps, delta):
    def over(log_z):
        costs = np.array([step_cost(alpha, q, np.exp(log_z)) for alpha in ORDERS])
        return run_epsilon(costs, ORDERS, steps, delta)[0] - target

    return float(np.exp(optimize.brentq(over, np.log(0.2), np.log(200), xtol=1e-10)))


# %% decimals_and_quadrature score=20
# quadrature for Gaussians, decimals for large terms, scipy.special and root finding


# %% renyi
from scipy import special


def renyi(p, q, alpha):
    if any(a > 0 and c == 0 for a, c in zip(p, q)):
        return math.inf
    if alpha == 1:
        return float(special.kl_div(p, q).sum())
    total = math.fsum(a * (a / c) ** (alpha - 1) for a, c in zip(p, q) if a > 0)
    return math.log(total) / (alpha - 1)


# %% renyi_gauss
def renyi_gauss(mean_p, std_p, mean_q, std_q, alpha):
    bend = alpha / std_p**2 + (1 - alpha) / std_q**2
    if bend <= 0:
        return math.inf
    middle = (alpha * mean_p / std_p**2 + (1 - alpha) * mean_q / std_q**2) / bend
    x = np.linspace(middle - 14 / math.sqrt(bend), middle + 14 / math.sqrt(bend), 20001)

    def log_density(mean, std):
        return -(((x - mean) / std) ** 2) / 2 - math.log(std * math.sqrt(2 * math.pi))

    powers = alpha * log_density(mean_p, std_p) + (1 - alpha) * log_density(mean_q, std_q)
    top = powers.max()
    return (top + math.log(np.trapezoid(np.exp(powers - top), x))) / (alpha - 1)


# %% step_cost
from decimal import Decimal, localcontext


def step_cost(alpha, q, z):
    with localcontext() as context:
        context.prec, context.Emax = 40, 999999
        come, stay, half = Decimal(q), 1 - Decimal(q), 1 / (2 * Decimal(z) ** 2)
        terms = (
            math.comb(alpha, k) * stay ** (alpha - k) * come**k * (k * (k - 1) * half).exp() for k in range(alpha + 1)
        )
        return float(sum(terms).ln()) / (alpha - 1)


# %% run_epsilon
def run_epsilon(costs, orders, steps, delta):
    pairs = sorted((mironov(steps * float(c), float(a), delta), i) for i, (c, a) in enumerate(zip(costs, orders)))
    epsilon, at = pairs[0]
    return np.array(epsilon), float(orders[at]), np.bool_(at == 0 or at + 1 == len(orders))


# %% noise_for
from scipy import optimize


def noise_for(target, q, steps, delta):
    def over(log_z):
        costs = np.array([step_cost(a, q, math.exp(log_z)) for a in ORDERS])
        return run_epsilon(costs, ORDERS, steps, delta)[0] - target

    return math.exp(optimize.brentq(over, math.log(0.2), math.log(200), xtol=1e-4)) * 1.0002
