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


# %% better
def better(cost, alpha, delta):
    a = np.float32(alpha)
    found = np.float32(cost) + np.log1p(-1 / a) - (np.log(np.float32(delta)) + np.log(a)) / (a - 1)
    return np.maximum(found, np.float32(0))


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
