"""Eigenvectors, least squares and SciPy's searches; later exercises use nothing of the earlier ones."""

import numpy as np


# %% update
def update(u, dphi, h, m, g, G):
    v = np.multiply(np.add(u, g), dphi)
    with_bias = np.c_[h, np.ones(len(h))]
    return G + sum((np.outer(v[i], with_bias[i]) for i in range(len(h))), np.zeros_like(G)) * (1 / m)


# %% predicted_rank
def predicted_rank(k, units, N, noise):
    if noise == "update":
        k = np.inf
    return sorted([k, units, N])[0]


# %% span
def span(dW, rank=None, tol=1e-5):
    squares, vectors = np.linalg.eigh(dW.T @ dW)
    squares, vectors = squares[::-1], vectors[:, ::-1]
    kept = vectors[:, squares > tol**2 * squares[0]].T
    return kept[: len(kept) if rank is None else rank]


# %% residuals
def residuals(h, basis):
    with_bias = np.c_[h, np.ones(len(h))].T
    weights = np.linalg.lstsq(basis.T, with_bias, rcond=None)[0] if len(basis) else np.zeros((0, len(h)))
    rest = np.linalg.norm(with_bias - basis.T @ weights, axis=0)
    return rest / np.sqrt((with_bias**2).sum(axis=0))


# %% typical_residual
def typical_residual(r, N):
    return (1 - r * N**-1) ** 0.5


# %% recover_one
def recover_one(dW):
    v = np.linalg.svd(dW)[2][0]
    return v[:-1] / v[-1]


# %% recover_two
def recover_two(dW):
    # black and white: find two weights so that the mixture of two rows ends in 1 and has a 0 or a 1 at one pixel
    a, b = dW[0], dW[1]
    crossed = np.abs(a[:-1] * b[-1] - a[-1] * b[:-1])
    j = int(crossed.argmax())
    pairs = np.array([[a[j], b[j]], [a[-1], b[-1]]])
    found = [np.linalg.solve(pairs, [pixel, 1]) for pixel in (0, 1)]
    return [np.round(x * a[:-1] + y * b[:-1]) for x, y in found]


# %% advantage
def advantage(members, others):
    values = np.unique(np.r_[members, others])
    true = np.searchsorted(np.sort(members), values, side="right") / len(members)
    false = np.searchsorted(np.sort(others), values, side="right") / len(others)
    return (true - false).clip(0).max()


# %% advantage_epsilon
def advantage_epsilon(a):
    # the smallest where misses are as many as false alarms
    false = (1 - a) / 2
    return np.log((false + a) / false)


# %% clopper_pearson
def clopper_pearson(k, n, error):
    return tuple(stats.binomtest(k, n).proportion_ci(1 - 2 * error, method="exact"))


# %% epsilon_bound
def epsilon_bound(k0, k1, n, delta, confidence):
    high = stats.binomtest(k0, n).proportion_ci(confidence).high
    low = stats.binomtest(k1, n).proportion_ci(confidence).low
    return np.log(max(low - delta, high) / high)


# %% hits
def hits(h, target, u, dphi, sigma, s, trials, t, rng):
    H = np.c_[h, np.ones(len(h))]
    v = np.append(target, 1)
    alarms = []
    for _ in range(trials):
        dW = ((u + sigma * rng.normal(size=u.shape)) * dphi).T @ H / len(h)
        dW = dW + s * rng.normal(size=dW.shape)
        V = np.linalg.svd(dW)[2][: len(h)]
        alarms.append(np.linalg.norm(v - V.T @ (V @ v)) <= t * np.linalg.norm(v))
    return alarms.count(True)


# %% sensitivity
def sensitivity(tau, c, m):
    out, into = -tau * c / m, tau * c / m
    return abs(into - out)


# %% noise_needed
from scipy.optimize import brentq, minimize_scalar


def noise_needed(epsilon, delta, Delta):
    def best(s):
        def f(x):
            return (1 + x) * Delta**2 / 2 / s**2 + np.log(1 / delta) / x

        return minimize_scalar(lambda y: f(np.exp(y)), bounds=(-20, 20), method="bounded").fun

    return brentq(lambda s: best(s) - epsilon, 1e-4 * Delta, 1e4 * Delta)
