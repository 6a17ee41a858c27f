"""Right solutions in several styles, which get full marks."""

# %% loops score=20
# one record and one entry at a time, lists instead of arrays, the span by rotations, bounds by bisection
"""Loops over records and entries, with lists instead of arrays. Rotations of the rows give the span."""

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


# %% larger_noise
def larger_noise():
    return [" C ", "the noise only changes how much of each input of the batch is in a row"]


# %% guess
def guess():
    return 0, np.float32(0.97), [0.97]


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


# %% never_wrong
def never_wrong():
    letter, reason = "B", "zero of a thousand is also likely for a small probability above zero, so no infinity"
    return [letter, reason]


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


def clopper_pearson(alarms, trials, error):
    low = bisect(lambda p: at_least(alarms, trials, p) - error) if alarms else 0
    high = bisect(lambda p: at_least(alarms + 1, trials, p) - (1 - error)) if alarms < trials else 1
    return [low, high]


# %% epsilon_bound
def epsilon_bound(false_alarms, true_alarms, trials, delta, confidence):
    none, high = clopper_pearson(false_alarms, trials, (1 - confidence) / 2)
    low, none = clopper_pearson(true_alarms, trials, (1 - confidence) / 2)
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


# %% float32 score=20
# all results in float32, sums with einsum
"""All results are in float32."""

import numpy as np


# %% update
def update(u, dphi, h, m, g, G):
    u, dphi, h, g, G = (np.asarray(a, np.float32) for a in (u, dphi, h, g, G))
    v = np.einsum("kj,kj->kj", u + g, dphi)
    return np.column_stack([np.einsum("kj,kc->jc", v, h), v.sum(axis=0)]) / np.float32(m) + G


# %% span
def span(dW, rank=None, tol=1e-5):
    dW = np.asarray(dW, np.float32)
    s, Vt = np.linalg.svd(dW, full_matrices=False)[1:]
    r = np.count_nonzero(s > np.float32(tol) * s.max())
    if rank is not None:
        r = min(r, rank)
    return Vt[:r, :]


# %% residuals
def residuals(h, basis):
    v = np.pad(np.asarray(h, np.float32), ((0, 0), (0, 1)), constant_values=1)
    v = v / np.linalg.norm(v, axis=1)[:, None]
    basis = np.asarray(basis, np.float32)
    P = np.eye(v.shape[1], dtype=np.float32) - np.einsum("ra,rb->ab", basis, basis)
    return np.sqrt(np.square(v @ P).sum(axis=1))


# %% typical_residual
def typical_residual(r, N):
    return np.float32((N - r) / N) ** np.float32(0.5)


# %% recover_one
def recover_one(dW):
    dW = np.asarray(dW, np.float32)
    b = dW[:, -1]
    return b @ dW[:, :-1] / (b @ b)


# %% clopper_pearson
def clopper_pearson(alarms, trials, error):
    low = np.float32(0) if alarms == 0 else np.float32(stats.beta(alarms, trials - alarms + 1).ppf(error))
    high = np.float32(1) if alarms == trials else np.float32(stats.beta(alarms + 1, trials - alarms).isf(error))
    return low, high


# %% epsilon_bound
def epsilon_bound(false_alarms, true_alarms, trials, delta, confidence):
    error = (1 - confidence) / 2
    ratio = (clopper_pearson(true_alarms, trials, error)[0] - delta) / clopper_pearson(false_alarms, trials, error)[1]
    return np.log(np.maximum(ratio, 1)).astype(np.float32)


# %% hits
def hits(h, target, u, dphi, sigma, s, trials, t, rng):
    k, n = h.shape
    units = u.shape[1]
    g = sigma * rng.standard_normal((trials, k, units), dtype=np.float32)
    G = s * rng.standard_normal((trials, units, n + 1), dtype=np.float32)
    spans = [span(update(u, dphi, h, k, g[i], G[i]), k) for i in range(trials)]
    return np.sum([residuals(target.reshape(1, -1), basis)[0] <= t for basis in spans], dtype=np.float32)


# %% sensitivity
def sensitivity(tau, c, m):
    return np.float32(tau) * np.float32(c) * np.float32(2 / m)


# %% apart score=20
# eigenvectors, least squares and SciPy's intervals; no exercise uses an earlier one
"""Eigenvectors, least squares and SciPy's intervals. No exercise uses an earlier one."""

import numpy as np


# %% update
def update(u, dphi, h, m, g, G):
    v = np.multiply(np.add(u, g), dphi)
    with_bias = np.c_[h, np.ones(len(h))]
    return G + sum((np.outer(v[i], with_bias[i]) for i in range(len(h))), np.zeros_like(G)) * (1 / m)


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


# %% clopper_pearson
def clopper_pearson(alarms, trials, error):
    return tuple(stats.binomtest(alarms, trials).proportion_ci(1 - 2 * error, method="exact"))


# %% epsilon_bound
def epsilon_bound(false_alarms, true_alarms, trials, delta, confidence):
    high = stats.binomtest(false_alarms, trials).proportion_ci(confidence).high
    low = stats.binomtest(true_alarms, trials).proportion_ci(confidence).low
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


# %% columns
def columns():
    return "A", "The theorem on composition needs independent noise, but here every column contains the same g."


# %% by_eigenvectors score=20
# the span from the eigenvectors of the small Gram matrix of the rows
import numpy as np


# %% span
def span(dW, rank=None, tol=1e-5):
    squares, U = np.linalg.eigh(dW @ dW.T)
    long = np.sqrt(np.maximum(squares, 0))[::-1]
    kept = [i for i in range(len(long)) if long[i] > tol * long[0]][:rank]
    return np.array([U[:, ::-1][:, i] @ dW / long[i] for i in kept]).reshape(-1, dW.shape[1])


# %% typical_residual
def typical_residual(r, N):
    return ((N - r) / N) ** 0.5


# %% scaled_svd score=20
# the SVD of the scaled update, projections one vector at a time, least squares for the record, SciPy's interval


# %% update
def update(u, dphi, h, m, g, G):
    weights = np.einsum("ku,ku,kn->un", np.add(u, g), dphi, h)
    return np.column_stack([weights, np.einsum("ku,ku->u", np.add(u, g), dphi)]) / m + G


# %% span
import scipy.linalg


def span(dW, rank=None, tol=1e-5):
    if not np.any(dW):
        return np.zeros((0, np.shape(dW)[1]))
    _, s, Vt = scipy.linalg.svd(dW / np.abs(dW).max(), full_matrices=False, lapack_driver="gesvd")
    kept = int((s / s.max() > tol).sum())
    return Vt[: kept if rank is None else min(kept, rank)]


# %% residuals
def residuals(h, basis):
    far = []
    for v in np.pad(h, ((0, 0), (0, 1)), constant_values=1.0):
        inside = sum((np.dot(v, row) * row for row in basis), np.zeros(len(v)))
        far.append(math.dist(v, inside) / math.hypot(*v))
    return far


# %% recover_one
def recover_one(dW):
    return np.linalg.lstsq(dW[:, -1:], dW[:, :-1], rcond=None)[0][0]


# %% clopper_pearson
def clopper_pearson(alarms, trials, error):
    both = stats.binomtest(alarms, trials).proportion_ci(confidence_level=1 - 2 * error, method="exact")
    return both.low, both.high


# %% hits
def hits(h, target, u, dphi, sigma, s, trials, t, rng):
    k, found = len(h), []
    for _ in range(trials):
        G, g = s * rng.standard_normal((u.shape[1], h.shape[1] + 1)), sigma * rng.standard_normal(u.shape)
        found.append(residuals(target.reshape(1, -1), span(update(u, dphi, h, k, g, G), k))[0] <= t)
    return np.count_nonzero(found)
