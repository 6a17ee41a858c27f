"""Right solutions in several styles, which get full marks."""

# %% loops score=20
# one record, one draw and one number at a time, lists in place of arrays
"""Loops over records, draws and numbers, with lists in place of arrays."""

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
def own_average():
    return ["B", "With K = 2, half of each loss is subtracted from itself, so half of the gradient is left."]


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
def controller(h, losses, K, C, sigma_0):
    total = np.zeros((len(h[0]), len(h[0])))
    for row, t in zip(h, losses):
        for i in range(len(row)):
            for j in range(len(row)):
                total[i, j] += t * t * row[i] * row[j]
    return math.sqrt(min(np.linalg.eigvalsh(total)) / (K * C**2 * sigma_0**2))


# %% printed
def printed(losses, xi, K, C, sigma_0):
    sigma = math.sqrt(sum(t * t for t in losses) / (K * C * C * sigma_0**2))
    sums = []
    for row in xi:
        total = 0.0
        for t, n in zip(losses, row):
            g = t * n / (sigma * math.sqrt(K))
            total += g / max(1, abs(g) / C)
        sums.append(total)
    return sums


# %% enough_records
def enough_records():
    return "C", "The trace of each covariance is at most C squared, and 500 is less than 330 times sixteen."


# %% guess
def guess():
    return 0, 1


# %% outlier
def outlier():
    return "B ", "Its loss is a million times larger, so sigma grows and all other estimates shrink to nearly nothing."


# %% sound
def sound(g, xi, C, sigma_0):
    total = [sigma_0 * C * t for t in xi]
    for row in g:
        norm = math.sqrt(sum(t * t for t in row))
        for j in range(len(total)):
            total[j] += row[j] * (C / norm if norm > C else 1)
    return total


# %% float32 score=20
# float32 throughout, einsum, predictions measured
"""Uses float32 throughout, with einsum, and measures the exponents."""

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
def own_average():
    return "b", "I measured the factors 0, 0.5 and 0.75 with K = 1, 2 and 4 draws."


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
def controller(h, losses, K, C, sigma_0):
    scaled = np.float32(h) * np.float32(losses)[:, None]
    return np.linalg.svd(scaled, compute_uv=False)[-1] / np.float32(np.sqrt(K) * C * sigma_0)


# %% printed
def printed(losses, xi, K, C, sigma_0):
    losses, xi = np.float32(losses), np.float32(xi)
    g = sigma_0 * C * losses * xi / np.linalg.norm(losses)
    return (g / np.maximum(1, np.abs(g) / C)).sum(axis=-1)


# %% guess
def guess():
    return np.float32([0.0004, 0.5])


# %% sound
def sound(g, xi, C, sigma_0):
    g = np.float32(g)
    scale = np.minimum(1, C / np.maximum(np.sqrt(np.einsum("md,md->m", g, g)), 1e-12))
    return np.einsum("m,md->d", scale, g) + np.float32(sigma_0 * C) * np.float32(xi)


# %% alone score=20
# each exercise stands alone and calls no earlier exercise
"""Each exercise stands alone and calls no earlier exercise."""

import numpy as np


# %% estimate
def estimate(loss, z, u, sigma):
    weights = np.asarray(loss(np.asarray(z)[None] + sigma * u)).T  # (m, K)
    return np.stack([w @ draws / len(w) for w, draws in zip(weights, np.swapaxes(u, 0, 1))]) * sigma**-1


# %% mean_of_quartic
def mean_of_quartic():
    z, sigma = 1, 1 / 2
    return 4 * z**3 + 12 * z * sigma**2


# %% baseline
def baseline(loss, z, u, sigma):
    news = loss(z + sigma * u) - loss(z)[None, :]
    return np.mean(news[..., None] * u, axis=0) / sigma


# %% antithetic
def antithetic(loss, z, u, sigma):
    both = np.concatenate((u, -u), axis=0)
    losses = loss(z + sigma * both)
    return np.tensordot(np.ones(len(both)), losses[..., None] * both, axes=1) / (len(both) * sigma)


# %% own_average
def own_average():
    return ("b", "Each draw has the weight 1 / K in the average, and this part of its loss cancels.")


# %% ulr
def ulr(W, b, x, y, u, sigma):
    z, h = forward(W, b, x)
    dW, db = [None], [None]
    for l, (w, v) in enumerate(zip(W[1:], b[1:]), start=1):
        up, down = (loss_above(W, b, l, z[l] + s * sigma * u[l], y) for s in (1, -1))
        g = ((up - down)[:, :, np.newaxis] * u[l]).sum(0) / (2 * sigma * u[l].shape[0])
        with_one = np.c_[h[l - 1], np.ones(len(x))]
        both = sum(np.outer(d, below) for d, below in zip(g, with_one)) / len(x)
        dW.append(both[:, :-1])
        db.append(both[:, -1])
    return tuple(dW), tuple(db)


# %% train
def train(W, b, x, y, steps, eta, sigma, K, rng):
    P = {l: np.column_stack([W[l], b[l]]) for l in range(1, len(W))}  # weights and biases in one matrix

    def lists():
        return [None, *(p[:, :-1] for p in P.values())], [None, *(p[:, -1] for p in P.values())]

    losses = []
    for _ in range(steps):
        W, b = lists()
        z, h = forward(W, b, x)
        losses.append(float(np.mean(loss_above(W, b, len(P), z[len(P)], y))))
        for l in reversed(P):
            u = rng.standard_normal((K, *z[l].shape))
            up, down = (loss_above(W, b, l, z[l] + s * sigma * u, y) for s in (1, -1))
            g = np.einsum("km,kmn->mn", up - down, u) / (2 * sigma * K)
            P[l] = P[l] - eta * g.T @ np.column_stack([h[l - 1], np.ones(len(x))]) / len(x)
    return *lists(), losses


# %% controller
def controller(h, losses, K, C, sigma_0):
    total = np.einsum("i,ij,ik->jk", np.square(losses), h, h)
    return (np.linalg.eigvals(total).real.min() / K) ** 0.5 / C / sigma_0


# %% printed
def printed(losses, xi, K, C, sigma_0):
    total = np.sqrt(np.sum(np.square(losses)))
    return np.sum(
        [np.minimum(C, np.maximum(-C, C * sigma_0 * t / total * n)) for t, n in zip(losses, np.transpose(xi))], axis=0
    )


# %% outlier
def outlier():
    return ["b", "Equation 8 sums squared losses, so one record determines sigma, and its estimate is clipped to one."]


# %% sound
def sound(g, xi, C, sigma_0):
    def clipped(v):
        return v if np.dot(v, v) <= C * C else C * v / np.linalg.norm(v)

    return sum(map(clipped, g), start=np.zeros(len(xi))) + np.multiply(sigma_0 * C, xi)


# %% one_draw_after_the_other score=20
# a running mean over the draws, and a clip with a comparison
import numpy as np


# %% estimate
def estimate(loss, z, u, sigma):
    mean = np.zeros_like(z, dtype=float)
    for n, direction in enumerate(u, start=1):
        term = direction * np.asarray(loss((z + sigma * direction)[None]))[0][:, None] / sigma
        mean = mean + (term - mean) / n
    return mean


# %% sound
def sound(g, xi, C, sigma_0):
    total = sigma_0 * C * np.asarray(xi, float)
    for row in g:
        long = np.sqrt(row @ row)
        total = total + (row if long <= C else row * (C / long))
    return total


# %% draws_in_a_loop score=20
# one draw after the other, running means, tensordot, float32, generators


# %% estimate
def estimate(loss, z, u, sigma):
    mean = np.zeros(np.shape(z))
    for count, draw in enumerate(u, start=1):
        one = np.einsum("mn,m->mn", draw, loss(z + sigma * draw)) / sigma
        mean += (one - mean) / count
    return mean


# %% baseline
def baseline(loss, z, u, sigma):
    rise = loss(z + sigma * np.asarray(u)) - loss(z)
    return np.einsum("kmn,km->mn", u, rise) / (len(u) * sigma)


# %% antithetic
def antithetic(loss, z, u, sigma):
    half = (loss(z + sigma * u) - loss(z - sigma * u)) / 2
    return np.mean([draw * rise[:, None] for draw, rise in zip(u, half)], axis=0) / sigma


# %% ulr
def ulr(W, b, x, y, u, sigma):
    z, h = forward(W, b, x)
    dW, db = [None], [None]
    for l in range(1, len(W)):
        g = antithetic(lambda v: loss_above(W, b, l, v, y), z[l], u[l], sigma)
        dW.append(np.mean([np.outer(a, c) for a, c in zip(g, h[l - 1])], axis=0))
        db.append(np.mean(g, axis=0))
    return dW, db


# %% controller
import scipy.linalg


def controller(h, losses, K, C, sigma_0):
    return scipy.linalg.svdvals(np.asarray(h) * np.reshape(losses, (-1, 1)))[-1] / (np.sqrt(K) * C * sigma_0)


# %% printed
def printed(losses, xi, K, C, sigma_0):
    spread = np.sqrt(np.sum(np.square(losses)) / K) / (C * sigma_0)
    return [sum(max(-C, min(C, l * t / (spread * K**0.5))) for l, t in zip(losses, row)) for row in xi]


# %% sound
def sound(g, xi, C, sigma_0):
    total = sigma_0 * C * np.array(xi, dtype=float)
    for row in g:
        long = np.sqrt(row @ row)
        total += row if long <= C else row * (C / long)
    return total
