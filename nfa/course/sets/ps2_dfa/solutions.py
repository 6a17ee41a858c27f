"""Right solutions in several styles, which get all points."""

# %% loops score=20
# one record and one number at a time, lists in place of arrays
"""One record and one number at a time, and lists in place of arrays."""

import numpy as np


# %% forward
import math


def forward(W, b, x):
    L = len(W) - 1
    z, h = [None] + [[] for _ in range(L)], [x.tolist()] + [[] for _ in range(L)]
    for record in h[0]:
        below = record
        for l in range(1, L + 1):
            a = [sum(w * v for w, v in zip(row, below)) + c for row, c in zip(W[l].tolist(), b[l].tolist())]
            if l < L:
                below = [math.tanh(t) for t in a]
            else:
                powers = [math.exp(t - max(a)) for t in a]
                below = [p / sum(powers) for p in powers]
            z[l].append(a)
            h[l].append(below)
    return z, h


# %% dfa
def dfa(W, b, B, x, y, m):
    L = len(W) - 1
    dW, db = [0] + [np.zeros(w.shape) for w in W[1:]], [0] + [np.zeros(v.shape) for v in b[1:]]
    for r in range(len(x)):
        z, h = forward(W, b, x[r : r + 1])
        e = [p - t for p, t in zip(h[L][0], y[r])]
        for l in range(1, L + 1):
            for i in range(len(b[l])):
                if l == L:
                    d = e[i]
                else:
                    d = sum(B[l][i][c] * e[c] for c in range(len(e))) / math.cosh(z[l][0][i]) ** 2
                db[l][i] += d / m
                for j in range(W[l].shape[1]):
                    dW[l][i, j] += d * h[l - 1][0][j] / m
    return dW, db


# %% transported
def transported(W):
    B = [None] * len(W)
    for l in range(1, len(W) - 1):
        product = np.eye(W[l].shape[0])
        for k in range(l + 1, len(W)):
            product = W[k] @ product
        B[l] = product.T
    return B


# %% transposes
def transposes():
    return ["A", "Only one matrix and one derivative lie between e and layer 2, so nothing is left out there."]


# %% decreases
def decreases():
    return "c ", "The derivative of the loss along minus the direction is minus their inner product with the gradient."


# %% guess
def guess():
    return 0, np.float32(0.9), 1


# %% fresh
def fresh():
    return ("B", "The weights move towards one fixed B, and here there is no fixed matrix to move to.")


# %% cosine
def cosine(a, b):
    a, b = np.ravel(a).tolist(), np.ravel(b).tolist()
    return sum(s * t for s, t in zip(a, b)) / math.sqrt(sum(s * s for s in a)) / math.sqrt(sum(t * t for t in b))


# %% train
def train(W, b, B, x, y, steps, eta):
    rows = []
    for _ in range(steps):
        dW, db = dfa(W, b, B, x, y, m=len(x))
        g = gradient(W, b, x, y)
        rows.append([cosine(dW[l], g[l]) for l in range(1, len(W))])
        W = [None] + [W[l] - eta * dW[l] for l in range(1, len(W))]
        b = [None] + [b[l] - eta * db[l] for l in range(1, len(b))]
    return W, b, rows


# %% float32 score=20
# float32 in all functions, einsum, negative indices
"""float32 in all functions."""

import numpy as np


# %% forward
def forward(W, b, x):
    z, h = [None], [np.asarray(x, np.float32)]
    for l in range(1, len(W)):
        z += [h[-1] @ np.float32(W[l]).T + np.float32(b[l])]
        if l < len(W) - 1:
            h += [np.tanh(z[-1])]
    top = z[-1] - z[-1].max(axis=-1)[:, None]
    return z, h + [np.exp(top - np.log(np.exp(top).sum(axis=-1))[:, None])]


# %% dfa
def dfa(W, b, B, x, y, m):
    z, h = forward(W, b, x)
    e = h[-1] - np.float32(y)
    top = len(W) - 1
    dz = {top: e} | {l: e @ np.float32(B[l]).T * (1 - h[l] ** 2) for l in range(1, top)}
    dW = [None, *(np.einsum("ri,rj->ij", dz[l], h[l - 1]) / np.float32(m) for l in range(1, top + 1))]
    return dW, [None, *(dz[l].sum(0) / np.float32(m) for l in range(1, top + 1))]


# %% transported
def transported(W):
    B = [None, *(np.float32(w) for w in W[2:])]
    for l in range(len(B) - 2, 0, -1):
        B[l] = B[l + 1] @ B[l]
    return [None, *(b.T for b in B[1:]), None]


# %% cosine
def cosine(a, b):
    a, b = np.float32(a).ravel(), np.float32(b).ravel()
    return (a / np.linalg.norm(a)) @ (b / np.linalg.norm(b))


# %% train
def train(W, b, B, x, y, steps, eta):
    W = [None] + [np.array(w, np.float32) for w in W[1:]]
    b = [None] + [np.array(v, np.float32) for v in b[1:]]
    cosines = np.empty((steps, len(W) - 1), np.float32)
    for t in range(steps):
        (dW, db), g = dfa(W, b, B, x, y, len(x)), gradient(W, b, x, y)
        for l in range(1, len(W)):
            cosines[t, l - 1] = cosine(dW[l], g[l])
            W[l] = W[l] - np.float32(eta) * dW[l]
            b[l] = b[l] - np.float32(eta) * db[l]
    return W, b, cosines


# %% columns score=20
# columns are records inside the functions, and later exercises do not use earlier ones
"""Columns are records, as in a textbook. Each exercise has its own helpers and uses no earlier exercise."""

import numpy as np


# %% forward
def run_columns(W, b, X):
    Z, H = {}, {0: X}
    L = max(i for i in range(len(W)))
    for l in range(1, L + 1):
        Z[l] = W[l] @ H[l - 1] + b[l].reshape(-1, 1)
        H[l] = np.tanh(Z[l])
    shifted = Z[L] - Z[L].max(axis=0)
    H[L] = np.exp(shifted) / np.sum(np.exp(shifted), axis=0)
    return Z, H


def forward(W, b, x):
    Z, H = run_columns(W, b, x.T)
    L = len(W) - 1
    return [None] + [Z[l].T for l in range(1, L + 1)], [H[l].T for l in range(L + 1)]


# %% dfa
def dfa(W, b, B, x, y, m):
    Z, H = run_columns(W, b, x.T)
    L = len(W) - 1
    E = H[L] - y.T
    dW, db = [None], [None]
    for l in range(1, L + 1):
        D = E if l == L else np.diag(np.ones(len(b[l]))) @ (B[l] @ E) * np.cosh(Z[l]) ** -2
        dW.append(1 / m * D @ H[l - 1].T)
        db.append(1 / m * np.sum(D, axis=1))
    return dW, db


# %% transported
def transported(W):
    def product(l):
        return np.linalg.multi_dot([*(W[k].T for k in range(l + 1, len(W)))]) if l < len(W) - 2 else W[-1].T

    return [None] + [product(l) for l in range(1, len(W) - 1)] + [None]


# %% with_a_class score=20
# an object that stores the forward pass, and tuples in place of lists
import numpy as np


# %% dfa
class Pass:
    def __init__(self, W, b, x):
        self.z, self.h = forward(W, b, x)

    def signal(self, l, B, y):
        e = self.h[-1] - y
        if l == len(self.z) - 1:
            return e
        t = np.tanh(self.z[l])
        return np.einsum("kc,jc->kj", e, B[l]) * (1 + t) * (1 - t)


def dfa(W, b, B, x, y, m):
    one = Pass(W, b, x)
    signals = {l: one.signal(l, B, y) / m for l in range(1, len(W))}
    dW = (None, *(np.tensordot(s, one.h[l - 1], axes=(0, 0)) for l, s in signals.items()))
    return dW, (None, *(np.ones(len(x)) @ s for s in signals.values()))


# %% one_record_after_the_other score=20
# a generator of single records, with their directions added in float32
import numpy as np


# %% dfa
def alone(W, b, B, x, y):
    for i in range(len(x)):
        z, h = forward(W, b, x[i : i + 1])
        e = (h[-1] - y[i]).ravel()
        for l in reversed(range(1, len(W))):
            yield l, e if l == len(W) - 1 else (B[l] @ e) / np.cosh(z[l][0]) ** 2, np.ravel(h[l - 1])


def dfa(W, b, B, x, y, m):
    dW = [None, *(np.zeros(np.shape(w), np.float32) for w in W[1:])]
    db = [None, *(np.zeros(np.shape(v), np.float32) for v in b[1:])]
    for l, dz, below in alone(W, b, B, x, y):
        dW[l] += (np.outer(dz, below) / m).astype(np.float32)
        db[l] += (dz / m).astype(np.float32)
    return dW, db


# %% biases_as_weights score=20
# the bias as a last column with the input 1, layers by recursion, tuples in place of lists
import numpy as np


# %% forward
def forward(W, b, x):
    def run(l, below):
        if l == len(W):
            return (), ()
        joint = np.concatenate([W[l], np.reshape(b[l], (-1, 1))], axis=1)
        z = np.concatenate([below, np.ones((len(below), 1))], axis=1) @ joint.T
        top = l + 1 == len(W)
        h = np.exp(z - np.logaddexp.reduce(z, axis=1)[:, None]) if top else 2 / (1 + np.exp(-2 * z)) - 1
        above = run(l + 1, h)
        return (z, *above[0]), (h, *above[1])

    z, h = run(1, np.asarray(x, float))
    return (None, *z), (x, *h)


# %% dfa
def dfa(W, b, B, x, y, m):
    _, h = forward(W, b, x)
    e = np.subtract(h[-1], y)

    def joint(l):
        back = e if B[l] is None else np.tensordot(e, B[l], axes=(1, 1)) * (1 + h[l]) * (1 - h[l])
        return np.tensordot(back, np.c_[h[l - 1], np.ones(len(e))], axes=(0, 0)) / m

    every = [joint(l) for l in range(1, len(W))]
    return (None, *(one[:, :-1] for one in every)), (None, *(one[:, -1] for one in every))


# %% transported
def transported(W):
    from functools import reduce

    return [None, *(reduce(np.matmul, W[:l:-1]).T for l in range(1, len(W) - 1)), None]


# %% cosine
def cosine(a, b):
    unit = [np.divide(v, np.sqrt(np.sum(np.square(v, dtype=float)))) for v in (a, b)]
    return 1 - np.sum((unit[0] - unit[1]) ** 2) / 2


# %% padded_with_ones score=20
# a column of ones for the biases, scipy.special, B as functions


# %% forward
from scipy import special


def forward(W, b, x):
    z, h = [None], [x]
    for w, c in zip(W[1:], b[1:]):
        both = np.column_stack([w, c])
        z.append(np.pad(h[-1], ((0, 0), (0, 1)), constant_values=1.0) @ both.T)
        h.append(np.tanh(z[-1]))
    h[-1] = special.softmax(z[-1], axis=1)
    return z, h


# %% dfa
def dfa(W, b, B, x, y, m):
    z, h = forward(W, b, x)
    e = h[-1] - y
    dW, db = [None], [None]
    for l in range(1, len(W)):
        back = e if B[l] is None else np.tensordot(e, B[l], axes=(1, 1)) / np.cosh(z[l]) ** 2
        both = np.einsum("ko,ki->oi", back, np.pad(h[l - 1], ((0, 0), (0, 1)), constant_values=1.0)) / m
        dW.append(both[:, :-1])
        db.append(both[:, -1])
    return dW, db


# %% transported
from functools import reduce


def transported(W):
    L = len(W) - 1
    return [None] + [reduce(np.matmul, W[L:l:-1]).T for l in range(1, L)] + [None]


# %% cosine
from scipy.spatial import distance


def cosine(a, b):
    return 1 - distance.cosine(np.ravel(a), np.ravel(b))
