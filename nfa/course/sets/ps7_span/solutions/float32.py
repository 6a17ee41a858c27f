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
