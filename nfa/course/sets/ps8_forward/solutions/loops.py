"""One record, one draw and one number at a time; lists in place of arrays."""

import numpy as np

# %% estimate
import math


def estimate(loss, z, u, sigma):
    K, m, n = u.shape
    g = [[0.0] * n for _ in range(m)]
    for k in range(K):
        zeta = sigma * u[k]
        losses = loss(z + zeta)
        for i in range(m):
            for j in range(n):
                g[i][j] += zeta[i, j] * losses[i] / sigma**2 / K
    return g


# %% mean_of_quartic
def mean_of_quartic():
    g = estimate(lambda v: v[..., 0] ** 4, np.array([[1.0]]), exact_draws(1)[:, None, :], 0.5)
    return g[0][0]


# %% baseline
def baseline(loss, z, u, sigma):
    K, m, n = u.shape
    calm = [float(t) for t in loss(z)]
    g = np.zeros((m, n))
    for k in range(K):
        losses = loss(z + sigma * u[k])
        for i in range(m):
            for j in range(n):
                g[i, j] += u[k, i, j] * (losses[i] - calm[i])
    return g / K / sigma


# %% antithetic
def antithetic(loss, z, u, sigma):
    g = []
    for i in range(len(z)):
        row = [0.0] * len(z[i])
        for k in range(len(u)):
            difference = loss(z + sigma * u[k])[i] - loss(z - sigma * u[k])[i]
            for j in range(len(row)):
                row[j] += u[k][i][j] * difference / 2 / sigma / len(u)
        g.append(row)
    return g


# %% own_average
def own_average(K):
    return (K - 1) / K


# %% exponents
def exponents():
    powers = dict.fromkeys(("K", "sigma", "loss", "baseline_sigma", "bias_sigma"), 0)
    powers["K"] -= 1
    powers["sigma"] -= 2
    powers["loss"] += 2
    powers["bias_sigma"] += 2
    return powers


# %% ulr
def ulr(W, b, x, y, u, sigma):
    L = len(W) - 1
    dW, db = [0] + [np.zeros(w.shape) for w in W[1:]], [0] + [np.zeros(v.shape) for v in b[1:]]
    z, h = forward(W, b, x)
    for l in range(1, L + 1):
        g = antithetic(lambda v: loss_above(W, b, l, v, y), z[l], u[l], sigma)
        for i in range(len(x)):
            for j in range(len(b[l])):
                db[l][j] += g[i][j] / len(x)
                for k in range(len(h[l - 1][i])):
                    dW[l][j, k] += g[i][j] * h[l - 1][i][k] / len(x)
    return dW, db


# %% train
def train(W, b, x, y, steps, eta, sigma, K, rng):
    L, losses = len(W) - 1, []
    while len(losses) < steps:
        z, h = forward(W, b, x)
        every = loss_above(W, b, L, z[L], y)
        losses.append(sum(every) / len(every))
        u = [None]
        for l in range(1, L + 1):
            u.append(rng.normal(size=(K, len(x), len(b[l]))))
        dW, db = ulr(W, b, x, y, u, sigma)
        W = [None] + [W[l] - eta * dW[l] for l in range(1, L + 1)]
        b = [None] + [b[l] - eta * db[l] for l in range(1, L + 1)]
    return W, b, losses


# %% controller
def controller(h, loss, K, C, sigma_0):
    total = np.zeros((len(h[0]), len(h[0])))
    for row, t in zip(h, loss):
        for i in range(len(row)):
            for j in range(len(row)):
                total[i, j] += t * t * row[i] * row[j]
    return math.sqrt(min(np.linalg.eigvalsh(total)) / (K * C**2 * sigma_0**2))


# %% records_needed
def records_needed(d, sigma_0):
    n = 1
    while n / d < sigma_0**2:
        n += 1
    return n


# %% printed
def printed(loss, xi, K, C, sigma_0):
    sigma = math.sqrt(sum(t * t for t in loss) / (K * C * C * sigma_0**2))
    sums = []
    for row in xi:
        total = 0.0
        for t, n in zip(loss, row):
            g = t * n / (sigma * math.sqrt(K))
            total += g / max(1, abs(g) / C)
        sums.append(total)
    return sums


# %% outlier
def outlier():
    return math.erfc(1 / 4 / math.sqrt(2))


# %% sound
def sound(g, xi, C, sigma_0):
    total = [sigma_0 * C * t for t in xi]
    for row in g:
        norm = math.sqrt(sum(t * t for t in row))
        for j in range(len(total)):
            total[j] += row[j] * (C / norm if norm > C else 1)
    return total
