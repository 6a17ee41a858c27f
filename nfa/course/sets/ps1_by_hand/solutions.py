"""Right solutions in several styles, which get all points."""

# %% loops score=20
# one record and one number at a time, lists in place of arrays, decimals with three digits on paper
"""One record and one number at a time, and lists in place of arrays."""

import numpy as np


# %% by_hand
def by_hand():
    return dict(
        z1=[1.099, 0.0],
        h1=[0.75, 0.5],
        z2=[1.099, 3.296],
        y_hat=[0.1, 0.9],
        e=[-0.9, 0.9],
        dW2=[[-0.675, -0.45], [0.675, 0.45]],
        dz1=[-0.742, 1.483],
        dW1=[[-1.483, -0.742], [2.966, 1.483]],
    )


# %% forward
import math


def forward(W, b, x):
    L = len(W) - 1
    z, h = [None] + [[] for _ in range(L)], [[list(record) for record in x]] + [[] for _ in range(L)]
    for record in h[0]:
        below = record
        for l in range(1, L + 1):
            a = [sum(w * v for w, v in zip(row, below)) + c for row, c in zip(W[l], b[l])]
            if l < L:
                below = [1 / (1 + math.exp(-t)) for t in a]
            else:
                powers = [math.exp(t) for t in a]
                below = [p / sum(powers) for p in powers]
            z[l].append(a)
            h[l].append(below)
    return z, h


# %% loss
def loss(y_hat, y):
    total = 0.0
    for outputs, target in zip(y_hat, y):
        for p, t in zip(outputs, target):
            if t == 1:
                total -= math.log(p)
    return total / len(y)


# %% numerical_gradient
def numerical_gradient(f, v, shift):
    flat = v.reshape(-1)
    found = []
    for i in range(flat.size):
        kept = flat[i]
        flat[i] = kept + shift
        above = f(v)
        flat[i] = kept - shift
        below = f(v)
        flat[i] = kept
        found.append((above - below) / shift / 2)
    return np.reshape(found, v.shape)


# %% guess
def guess():
    return 6, np.float32(7), 2.5


# %% rounding
def rounding():
    return ["B ", "The rounding error of each f stays the same, but we divide it by a much smaller number."]


# %% confident
def confident():
    return "C", "With the squared error, each entry of dz has the factor y_hat (1 - y_hat), which tends to zero."


# %% deltas
def deltas(W, z, h, y):
    L = len(W) - 1
    dz = [None] + [[] for _ in range(L)]
    for i in range(len(y)):
        d = [p - t for p, t in zip(h[L][i], y[i])]
        dz[L].append(d)
        for l in range(L - 1, 0, -1):
            back = []
            for j in range(len(z[l][i])):
                s = 0.0
                for a in range(len(d)):
                    s += W[l + 1][a][j] * d[a]
                back.append(s * math.exp(-z[l][i][j]) / (1 + math.exp(-z[l][i][j])) ** 2)
            d = back
            dz[l].append(d)
    return dz


# %% gradient
def gradient(W, b, x, y):
    L, k = len(W) - 1, len(x)
    dW, db = [0] + [np.zeros(w.shape) for w in W[1:]], [0] + [np.zeros(v.shape) for v in b[1:]]
    z, h = forward(W, b, x)
    dz = deltas(W, z, h, y)
    for r in range(k):
        for l in range(1, L + 1):
            for i in range(len(b[l])):
                db[l][i] += dz[l][r][i] / k
                for j in range(W[l].shape[1]):
                    dW[l][i, j] += dz[l][r][i] * h[l - 1][r][j] / k
    return dW, db


# %% kernel_gradient
def kernel_gradient(x, dz):
    s, t = x.shape[1] - dz.shape[1] + 1, x.shape[2] - dz.shape[2] + 1
    total = np.zeros((s, t))
    for i in range(len(x)):
        for a in range(dz.shape[1]):
            for b in range(dz.shape[2]):
                total += dz[i, a, b] * x[i, a : a + s, b : b + t]
    return total / len(x)


# %% norms
def norms(dz, h):
    by_W, both = [], []
    for d, t in zip(dz, h):
        a, c = math.sqrt(sum(v * v for v in d)), math.sqrt(sum(v * v for v in t))
        by_W.append(a * c)
        both.append(math.hypot(a * c, a))
    return by_W, both


# %% from_zero
def from_zero():
    return {"sigmoid": (1, 2, 3), "tanh": np.zeros(3)}


# %% fading
def fading():
    return ("A", "Equation 2 has one factor of at most 1/4 for every hidden layer and none at the top.")


# %% float32 score=20
# float32 where the text allows it, einsum, the gradient of every record separately
"""float32 where the text allows it, einsum, negative indices."""

import numpy as np


# %% forward
def forward(W, b, x):
    z, h = [None], [np.asarray(x, np.float32)]
    for l in range(1, len(W)):
        z += [np.einsum("ij,rj->ri", np.float32(W[l]), h[-1]) + np.float32(b[l])]
        if l < len(W) - 1:
            h += [np.float32(1) / (1 + np.exp(-z[-1]))]
    top = z[-1] - z[-1].max(axis=-1)[:, None]
    return z, h + [np.exp(top - np.log(np.exp(top).sum(axis=-1))[:, None])]


# %% loss
def loss(y_hat, y):
    picked = np.float32(y_hat)[np.arange(len(y)), np.argmax(y, axis=1)]
    return np.mean(-np.log(picked))


# %% numerical_gradient
def numerical_gradient(f, v, shift):
    units = np.eye(v.size).reshape(-1, *v.shape)
    return np.array([f(v + shift * u) - f(v - shift * u) for u in units]).reshape(v.shape) / (2 * shift)


# %% deltas
def deltas(W, z, h, y):
    dz = [np.float32(h[-1]) - np.float32(y)]
    for w, t in zip(W[:1:-1], z[-2:0:-1]):
        dz.insert(0, np.einsum("ri,ij->rj", dz[0], np.float32(w)) * np.float32(sigmoid(t) * sigmoid(-t)))
    return [None, *dz]


# %% gradient
def gradient(W, b, x, y):
    z, h = forward(W, b, x)
    dz = deltas(W, z, h, y)
    each = [np.einsum("ri,rj->rij", d, below) for d, below in zip(dz[1:], h)]
    return [None, *(g.mean(axis=0) for g in each)], [None, *(np.mean(d, 0) for d in dz[1:])]


# %% kernel_gradient
def kernel_gradient(x, dz):
    s, t = x.shape[1] - dz.shape[1] + 1, x.shape[2] - dz.shape[2] + 1
    windows = np.lib.stride_tricks.sliding_window_view(np.float32(x), (s, t), axis=(1, 2))
    return np.einsum("kab,kabpq->kpq", np.float32(dz), windows).mean(axis=0)


# %% norms
def norms(dz, h):
    dz, h = np.float32(dz), np.float32(h)
    with_one = np.concatenate([h, np.ones((len(h), 1), np.float32)], axis=1)
    size = np.linalg.norm(dz, axis=1)
    return size * np.linalg.norm(h, axis=1), size * np.linalg.norm(with_one, axis=1)


# %% jacobians score=20
# biases as columns of the weights, products of Jacobian matrices, counts from a training run
"""Biases as columns of the weights, columns as records, and the chain rule as products of Jacobian matrices."""

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


# %% kernel_gradient
def kernel_gradient(x, dz):
    """A matrix product: each position is a row of the patches."""
    size = x.shape[1] - dz.shape[1] + 1, x.shape[2] - dz.shape[2] + 1
    patches = [image[a : a + size[0], b : b + size[1]].ravel() for image in x for a, b in np.ndindex(dz.shape[1:])]
    return (dz.ravel() @ np.array(patches)).reshape(size) / x.shape[0]


# %% norms
def norms(dz, h):
    gram = (dz @ dz.T) * (h @ h.T)
    with_bias = (dz @ dz.T) * (h @ h.T + 1)
    return np.sqrt(np.diag(gram)), np.sqrt(np.diag(with_bias))


# %% from_zero
def from_zero():
    counts = []
    for steps in (1, 2, 3):
        W, _ = descend(*zero_net([3, 4, 4, 2]), x_zero, y_more, steps)
        counts.append(sum(int(np.any(np.abs(w) > 1e-9)) for w in W[1:]))
    return {"sigmoid": counts, "tanh": [0] * 3}


# %% recursive score=20
# recursion over the layers in place of loops, and np.einsum in place of @
import numpy as np


# %% forward
def forward(W, b, x):
    def up(l):
        if l == 0:
            return [None], [x]
        z, h = up(l - 1)
        z_l = np.einsum("kj,ij->ki", h[-1], W[l]) + b[l]
        if l < len(W) - 1:
            return [*z, z_l], [*h, sigmoid(z_l)]
        odds = np.exp(z_l - z_l.max(axis=-1)[:, None])
        return [*z, z_l], [*h, odds / odds.sum(-1)[:, None]]

    return up(len(W) - 1)


# %% deltas
def deltas(W, z, h, y):
    def down(l):
        if l == len(W) - 1:
            return [h[l] - y]
        below = down(l + 1)
        return [np.einsum("ki,ij,kj,kj->kj", below[0], W[l + 1], h[l], 1 - h[l]), *below]

    return [None, *down(1)]


# %% einsum_and_special score=20
# einsum, scipy.special, float32 where it is enough, a generator of unit vectors


# %% forward
import scipy.special as special


def forward(weights, offsets, inputs):
    pre, post = [None], [inputs]
    for number, (w, c) in enumerate(zip(weights[1:], offsets[1:]), start=2):
        pre.append(np.einsum("oi,ri->ro", w, post[-1]) + c)
        last = number == len(weights)
        post.append(special.softmax(pre[-1], axis=-1) if last else special.expit(pre[-1]))
    return tuple(pre), tuple(post)


# %% loss
import scipy.special as special


def loss(guess, truth):
    return np.float32(special.xlogy(truth, 1 / guess).sum(-1).mean())


# %% numerical_gradient
def numerical_gradient(f, v, shift):
    units = np.eye(v.size).reshape(v.size, *v.shape)
    return np.reshape([f(v + shift * e) / (2 * shift) - f(v - shift * e) / (2 * shift) for e in units], v.shape)


# %% deltas
def deltas(W, z, h, y):
    back = [h[-1] - y]
    for w, t in zip(W[:1:-1], z[-2:0:-1]):
        back.insert(0, np.einsum("ko,oi,ki->ki", back[0], w, 1 / (2 + 2 * np.cosh(t))))
    return [None, *back]


# %% gradient
def gradient(W, b, x, y):
    z, h = forward(W, b, x)
    dz = deltas(W, z, h, y)
    share = np.full(len(x), 1 / len(x))
    dW = [None] + [np.einsum("k,ko,ki->oi", share, d, below) for d, below in zip(dz[1:], h)]
    return dW, [None] + [share @ d for d in dz[1:]]


# %% norms
def norms(dz, h):
    wider = np.pad(h, ((0, 0), (0, 1)), constant_values=1)
    return [[np.linalg.norm(d) * np.linalg.norm(t) for d, t in zip(dz, read)] for read in (h, wider)]
