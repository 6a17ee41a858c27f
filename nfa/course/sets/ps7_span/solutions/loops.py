"""One record and one number at a time, lists in place of arrays; the span by rotating the rows."""

import math
import random

import numpy as np


# %% update
def update(u, dphi, h, m, g, G):
    dW = [list(map(float, row)) for row in G]
    for i in range(len(h)):
        inputs = list(h[i]) + [1]
        for j in range(len(dW)):
            v = (u[i][j] + g[i][j]) * dphi[i][j]
            for c in range(len(inputs)):
                dW[j][c] += v * inputs[c] / m
    return dW


# %% predicted_rank
def predicted_rank(k, units, N, noise):
    rank = units
    if N < rank:
        rank = N
    if noise == "error" and k < rank:
        rank = k
    return rank


# %% span
def dot(a, b):
    return sum(p * q for p, q in zip(a, b))


def span(dW, rank=None, tol=1e-5):
    rows = [[float(a) for a in row] for row in dW]
    largest = max(abs(a) for row in rows for a in row)
    if largest == 0:
        return np.zeros((0, len(rows[0])))
    rows = [[a / largest for a in row] for row in rows]
    for sweep in range(30):
        turned = False
        for i in range(len(rows)):
            for j in range(i):
                p, q, r = dot(rows[i], rows[i]), dot(rows[j], rows[j]), dot(rows[i], rows[j])
                if abs(r) <= 1e-14 * math.sqrt(p * q) + 1e-26:
                    continue
                turned = True
                angle = math.atan2(2 * r, p - q) / 2
                c, s = math.cos(angle), math.sin(angle)
                rows[i], rows[j] = (
                    [c * a + s * b for a, b in zip(rows[i], rows[j])],
                    [c * b - s * a for a, b in zip(rows[i], rows[j])],
                )
        if not turned:
            break
    sized = sorted(((math.sqrt(dot(row, row)), row) for row in rows), key=lambda one: -one[0])
    kept = [[a / size for a in row] for size, row in sized if size > tol * sized[0][0]]
    return kept if rank is None else kept[:rank]


# %% residuals
def residuals(h, basis):
    found = []
    for candidate in h:
        v = [float(a) for a in candidate] + [1.0]
        rest = v
        for b in basis:
            along = sum(p * q for p, q in zip(v, b))
            rest = [r - along * q for r, q in zip(rest, b)]
        found.append(math.sqrt(sum(r * r for r in rest) / sum(a * a for a in v)))
    return found


# %% typical_residual
def typical_residual(r, N):
    outside = 0
    for axis in range(N):
        if axis >= r:
            outside += 1 / N
    return math.sqrt(outside)


# %% recover_one
def recover_one(dW):
    for row in dW.tolist():
        if row[-1] != 0:
            return [a / row[-1] for a in row[:-1]]


# %% recover_two
def recover_two(dW):
    rows = [[a / row[-1] for a in row[:-1]] for row in dW.tolist()]
    n = len(rows[0])
    i, j, at = max(
        ((i, j, c) for i in range(len(rows)) for j in range(i) for c in range(n)),
        key=lambda one: abs(rows[one[0]][one[2]] - rows[one[1]][one[2]]),
    )
    p, q = rows[i], rows[j]
    records = []
    for pixel in (0.0, 1.0):
        share = (pixel - p[at]) / (q[at] - p[at])
        records.append([(1 - share) * a + share * b for a, b in zip(p, q)])
    return records


# %% advantage
def advantage(members, others):
    best = 0.0
    for t in list(members) + list(others):
        true, false = 0, 0
        for rho in members:
            true += rho <= t
        for rho in others:
            false += rho <= t
        best = max(best, true / len(members) - false / len(others))
    return best


# %% advantage_epsilon
def advantage_epsilon(a):
    return 2 * math.atanh(a)


# %% clopper_pearson
def at_least(k, n, p):
    total = 0.0
    for j in range(k, n + 1):
        ways = math.lgamma(n + 1) - math.lgamma(j + 1) - math.lgamma(n - j + 1)
        total += math.exp(ways + j * math.log(p) + (n - j) * math.log(1 - p))
    return total


def bisect(f):
    a, b = 0.0, 1.0
    for _ in range(45):
        middle = (a + b) / 2
        if f(middle) < 0:
            a = middle
        else:
            b = middle
    return (a + b) / 2


def clopper_pearson(k, n, error):
    low = bisect(lambda p: at_least(k, n, p) - error) if k else 0
    high = bisect(lambda p: at_least(k + 1, n, p) - (1 - error)) if k < n else 1
    return [low, high]


# %% epsilon_bound
def epsilon_bound(k0, k1, n, delta, confidence):
    none, high = clopper_pearson(k0, n, (1 - confidence) / 2)
    low, none = clopper_pearson(k1, n, (1 - confidence) / 2)
    if low - delta <= high:
        return 0
    return math.log(low - delta) - math.log(high)


# %% hits
def hits(h, target, u, dphi, sigma, s, trials, t, rng):
    k, units, N = len(h), len(u[0]), len(h[0]) + 1
    alarms = 0
    for trial in range(trials):
        g = [[sigma * rng.normal() for j in range(units)] for i in range(k)]
        G = [[s * rng.normal() for c in range(N)] for j in range(units)]
        basis = span(update(u, dphi, h, k, g, G), k)
        if residuals([target], basis)[0] <= t:
            alarms += 1
    return alarms


# %% sensitivity
def sensitivity(tau, c, m):
    return (tau * c - -tau * c) / m


# %% noise_needed
def noise_needed(epsilon, delta, Delta):
    def least(s):
        # the derivative is 0 at this order
        alpha = 1 + s / Delta * math.sqrt(2 * math.log(1 / delta))
        return alpha * Delta**2 / (2 * s**2) + math.log(1 / delta) / (alpha - 1)

    low, high = 1e-6, 1e6
    while high / low > 1.00001:
        middle = math.sqrt(low * high)
        if least(middle) > epsilon:
            low = middle
        else:
            high = middle
    return high
