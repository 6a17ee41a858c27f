"""Records one after the other; each exercise stands alone and calls none of the earlier ones; helpers in the cell."""

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
def own_average(K):
    independent_of_its_own_draw = K - 1
    return independent_of_its_own_draw / K


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
def controller(h, loss, K, C, sigma_0):
    total = np.einsum("i,ij,ik->jk", np.square(loss), h, h)
    return (np.linalg.eigvals(total).real.min() / K) ** 0.5 / C / sigma_0


# %% printed
def printed(loss, xi, K, C, sigma_0):
    total = np.sqrt(np.sum(np.square(loss)))
    return np.sum(
        [np.minimum(C, np.maximum(-C, C * sigma_0 * t / total * n)) for t, n in zip(loss, np.transpose(xi))], axis=0
    )


# %% outlier
def outlier():
    return 0.8


# %% sound
def sound(g, xi, C, sigma_0):
    def clipped(v):
        return v if np.dot(v, v) <= C * C else C * v / np.linalg.norm(v)

    return sum(map(clipped, g), start=np.zeros(len(xi))) + np.multiply(sigma_0 * C, xi)
