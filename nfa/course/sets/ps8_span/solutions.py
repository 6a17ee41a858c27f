"""Right solutions in several styles, which get full marks."""

# %% loops score=20
# one record and one number at a time, lists in place of arrays, the span by rotations, bounds by bisection
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


# %% float32 score=20
# float32 throughout, einsum
"""Works in float32 throughout."""

import numpy as np


# %% update
def update(u, dphi, h, m, g, G):
    u, dphi, h, g, G = (np.asarray(a, np.float32) for a in (u, dphi, h, g, G))
    v = np.einsum("kj,kj->kj", u + g, dphi)
    return np.column_stack([np.einsum("kj,kc->jc", v, h), v.sum(axis=0)]) / np.float32(m) + G


# %% predicted_rank
def predicted_rank(k, units, N, noise):
    return {"error": np.float32(np.min([k, units, N])), "update": np.float32(np.min([units, N]))}[noise]


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


# %% recover_two
def recover_two(dW):
    dW = np.asarray(dW, np.float32)
    V = np.linalg.svd(dW, full_matrices=False)[2][:2]
    turn = V[:, -1] / np.linalg.norm(V[:, -1])
    point = turn @ V / (turn @ V[:, -1])
    along = np.array([-turn[1], turn[0]]) @ V
    j = np.abs(along[:-1]).argmax()
    black = point - point[j] / along[j] * along
    white = black + along / along[j]
    return black[:-1], white[:-1]


# %% advantage
def advantage(members, others):
    members, others = np.float32(members), np.float32(others)
    t = np.concatenate([members, others])
    gap = np.mean(members[:, None] <= t, axis=0) - np.mean(others[:, None] <= t, axis=0)
    return np.float32(max(gap.max(), 0))


# %% advantage_epsilon
def advantage_epsilon(a):
    return np.float32(np.log1p(a) - np.log1p(-a))


# %% clopper_pearson
def clopper_pearson(k, n, error):
    low = np.float32(0) if k == 0 else np.float32(stats.beta(k, n - k + 1).ppf(error))
    high = np.float32(1) if k == n else np.float32(stats.beta(k + 1, n - k).isf(error))
    return low, high


# %% epsilon_bound
def epsilon_bound(k0, k1, n, delta, confidence):
    error = (1 - confidence) / 2
    ratio = (clopper_pearson(k1, n, error)[0] - delta) / clopper_pearson(k0, n, error)[1]
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


# %% noise_needed
def noise_needed(epsilon, delta, Delta):
    lam = np.float32(-np.log(delta))
    root = np.float32(epsilon) / (np.sqrt(lam + np.float32(epsilon)) + np.sqrt(lam))
    return np.float32(Delta) / (np.float32(np.sqrt(2)) * root)


# %% apart score=20
# eigenvectors, least squares, SciPy's searches; later exercises use nothing of the earlier ones
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


# %% by_eigenvectors score=20
# the span from eigenvectors of the small Gram matrix of the rows, and the best test by searching sorted residuals
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


# %% advantage
def advantage(members, others):
    members, others = np.sort(np.ravel(members)), np.sort(np.ravel(others))
    t = np.concatenate([members, others])
    below = [np.searchsorted(of, t, side="right") / len(of) for of in (members, others)]
    return max(0.0, float(np.max(below[0] - below[1])))


# %% sorted_and_counted score=20
# thresholds just below every residual, a least-squares residual, an inverse hyperbolic tangent
import numpy as np


# %% residuals
def residuals(h, basis):
    read = np.c_[h, np.ones(len(h))].T
    if not len(basis):
        return np.ones(read.shape[1])
    rest = read - np.transpose(basis) @ np.linalg.lstsq(np.transpose(basis), read, rcond=None)[0]
    return np.hypot.reduce(rest, axis=0) / np.hypot.reduce(read, axis=0)


# %% advantage
def advantage(members, others):
    members, others = sorted(members), sorted(others)
    shares = [
        np.searchsorted(members, t) / len(members) - np.searchsorted(others, t) / len(others)
        for t in [*members, *others, np.inf]
    ]
    return max(shares)


# %% advantage_epsilon
def advantage_epsilon(a):
    return 2 * np.arctanh(a)


# %% eigenvectors_and_lstsq score=20
# eigenvectors for singular ones, least squares for a projector, scipy's interval, sorting for thresholds


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


# %% advantage
def advantage(members, others):
    places = np.unique(np.concatenate([members, others]))
    true, false = (np.searchsorted(np.sort(v), places, side="right") / len(v) for v in (members, others))
    return max(0, (true - false).max())


# %% clopper_pearson
def clopper_pearson(k, n, error):
    both = stats.binomtest(k, n).proportion_ci(confidence_level=1 - 2 * error, method="exact")
    return both.low, both.high


# %% hits
def hits(h, target, u, dphi, sigma, s, trials, t, rng):
    k, found = len(h), []
    for _ in range(trials):
        g, G = sigma * rng.standard_normal(u.shape), s * rng.standard_normal((u.shape[1], h.shape[1] + 1))
        found.append(residuals(target.reshape(1, -1), span(update(u, dphi, h, k, g, G), k))[0] <= t)
    return np.count_nonzero(found)


# %% noise_needed
from scipy import optimize


def noise_needed(epsilon, delta, Delta):
    def found(log_s):
        rho = (Delta / math.exp(log_s)) ** 2 / 2
        return rho + 2 * math.sqrt(rho * math.log(1 / delta)) - epsilon

    return math.exp(optimize.bisect(found, -20, 20, xtol=1e-8))
