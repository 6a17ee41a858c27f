"""Biases as columns of the weights, columns as examples, and the chain rule as products of Jacobian matrices."""

import numpy as np


# %% forward
def joined(W, b):
    return [None] + [np.hstack([w, v[:, None]]) for w, v in zip(W[1:], b[1:])]


def run(V, X):
    Z, H = {}, {0: X}
    for l in range(1, len(V)):
        Z[l] = V[l] @ np.vstack([H[l - 1], np.ones(X.shape[1])])
        H[l] = 1 / (1 + np.exp(-Z[l]))
    powers = np.exp(Z[len(V) - 1])
    H[len(V) - 1] = powers / powers.sum(axis=0)
    return Z, H


def forward(W, b, x):
    Z, H = run(joined(W, b), x.T)
    return [None] + [Z[l].T for l in sorted(Z)], [H[l].T for l in sorted(H)]


# %% loss
def loss(y_hat, y):
    return float(np.mean([-target @ np.log(outputs) for outputs, target in zip(y_hat, y)]))


# %% deltas
def record_deltas(W, h, target, i):
    L = len(W) - 1
    by_outputs = -target / h[L][i]
    matrix = np.diag(h[L][i]) - np.outer(h[L][i], h[L][i])
    found = [matrix @ by_outputs]
    for l in range(L - 1, 0, -1):
        matrix = np.diag(h[l][i] * (1 - h[l][i])) @ W[l + 1].T @ matrix
        found.append(matrix @ by_outputs)
    return found[::-1]


def deltas(W, z, h, y):
    records = [record_deltas(W, h, y[i], i) for i in range(len(y))]
    return [None] + [np.array([record[l] for record in records]) for l in range(len(W) - 1)]


# %% gradient
def gradient(W, b, x, y):
    V = joined(W, b)
    _, H = run(V, x.T)
    L, k = len(V) - 1, len(x)
    D = (H[L] - y.T) / k
    dV = {}
    for l in range(L, 0, -1):
        dV[l] = D @ np.vstack([H[l - 1], np.ones(k)]).T
        D = W[l].T @ D * H[l - 1] * (1 - H[l - 1])
    return [None] + [dV[l][:, :-1] for l in range(1, L + 1)], [None] + [dV[l][:, -1] for l in range(1, L + 1)]


# %% lengths
def lengths(dz, h):
    gram = (dz @ dz.T) * (h @ h.T)
    with_bias = (dz @ dz.T) * (h @ h.T + 1)
    return np.sqrt(np.diag(gram)), np.sqrt(np.diag(with_bias))


# %% from_zero
def from_zero():
    found = {}
    for name, y in {"sigmoid": y_more, "even classes": y_even}.items():
        counts = []
        for steps in (1, 2, 3):
            W, _ = descend(*zero_net([3, 4, 4, 2]), x_zero, y, steps)
            counts.append(sum(int(np.any(np.abs(w) > 1e-9)) for w in W[1:]))
        found[name] = counts
    W, _ = descend(*zero_net([3, 4, 4, 2]), x_zero, y_more, 100)
    found["different rows"] = len(np.unique(np.round(W[1], 9), axis=0))
    found["tanh"] = [0] * 3
    return found
