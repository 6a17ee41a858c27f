"""Oracles of noisy softmax regression: its gradient by loops, and the law of the minimiser of a noisy objective.

The oracles do not call the code that they test.
"""

import math

import numpy as np


def joined(x, R, bias=True):
    """Append 1 to each record and clip it to norm R, with loops. A record that is not finite becomes zeros."""
    rows = [[float(v) for v in np.ravel(record)] + [1.0] * bias for record in x]
    found = []
    for row in rows:
        norm = math.hypot(*row)
        shorter = 1.0 if norm <= R else R / norm
        found.append([v * shorter for v in row] if math.isfinite(norm) else [0.0] * len(row))
    return found


def gradient(theta, rows, y, *, m, lam, linear=None):
    """The gradient (K, d) of the mean loss plus ridge and linear terms, one record and one number at a time."""
    K, d = np.shape(theta)
    terms = [[[] for _ in range(d)] for _ in range(K)]
    for row, target in zip(rows, y, strict=True):
        z = [math.fsum(float(theta[k][j]) * row[j] for j in range(d)) for k in range(K)]
        total = math.fsum(math.exp(v - max(z)) for v in z)
        for k in range(K):
            e = math.exp(z[k] - max(z)) / total - float(target[k])
            for j in range(d):
                terms[k][j].append(e * row[j])
    found = np.array([[math.fsum(terms[k][j]) / m for j in range(d)] for k in range(K)])
    return found + lam * np.asarray(theta, float) + (0.0 if linear is None else linear)


class Perturbed:
    """The minimisers of the noisy objective of a few records for many values of the noise, and their density.

    Parameters
    ----------
    x : (k, d) array, records in the form that theta multiplies
    labels : (k,) integers
    K, m, lam, sigma : as in the rule

    Notes
    -----
    The coordinates T (points, K - 1, d) are those of theta in an orthonormal basis of the space orthogonal to
    (1, ..., 1). Along (1, ..., 1), theta equals the noise divided by lam, for any records.
    """

    def __init__(self, x, labels, *, K, m, lam, sigma):
        self.x, self.K, self.m, self.lam, self.sigma = np.asarray(x, float), K, m, lam, sigma
        self.q = (K - 1) * self.x.shape[1]
        ones = np.ones((K, 1)) / math.sqrt(K)
        self.basis = np.linalg.svd(ones)[0][:, 1:].T  # (K - 1, K)
        self.y = np.eye(K)[labels].reshape(-1, K)

    def p(self, T):
        z = np.einsum("ak,tad,id->tik", self.basis, T, self.x)
        e = np.exp(z - z.max(axis=2, keepdims=True))
        return e / e.sum(axis=2, keepdims=True)

    def noise(self, T):
        """The noise (points, K - 1, d) for which T is the minimiser: minus the gradient without noise."""
        pull = np.einsum("ak,tik,id->tad", self.basis, self.p(T) - self.y, self.x)
        return -pull / self.m - self.lam * T

    def curvature(self, T):
        """Second derivatives (points, q, q) of the objective at T."""
        p = self.p(T)
        one = np.einsum("ak,tik,bk->tiab", self.basis, p, self.basis)
        one -= np.einsum("tia,tib->tiab", *[np.einsum("ak,tik->tia", self.basis, p)] * 2)
        H = np.einsum("tiab,id,ie->tadbe", one, self.x, self.x).reshape(len(T), self.q, self.q)
        return H / self.m + self.lam * np.eye(self.q)

    def solve(self, eta):
        """The minimisers for this noise (points, K - 1, d), by damped Newton iterations."""
        found, open_, T = np.empty_like(eta), np.arange(len(eta)), np.zeros_like(eta)
        for _ in range(200):
            g = eta[open_] - self.noise(T)  # the gradient
            size = np.sqrt(np.square(g).sum(axis=(1, 2)))
            done = size <= 1e-12 * (1 + np.abs(eta).max())
            found[open_[done]] = T[done]
            open_, T, g, size = open_[~done], T[~done], g[~done], size[~done]
            if len(open_) == 0:
                return found
            step = np.linalg.solve(self.curvature(T), g.reshape(len(T), self.q, 1)).reshape(T.shape)
            share, longer = np.ones(len(T)), np.arange(len(T))
            for _ in range(40):
                near = eta[open_[longer]] - self.noise(T[longer] - share[longer, None, None] * step[longer])
                longer = longer[np.sqrt(np.square(near).sum(axis=(1, 2))) > (1 - share[longer] / 1e4) * size[longer]]
                if len(longer) == 0:
                    break
                share[longer] /= 2
            T = T - share[:, None, None] * step
        raise AssertionError("the oracle finds no minimiser")

    def log_density(self, T):
        """The log density (points,) of the minimiser at T, up to a term that is the same for all data sets.

        The change of variables from the noise to T gives this density.
        """
        quadratic = np.square(self.noise(T)).sum(axis=(1, 2)) / (2 * self.sigma**2)
        return np.linalg.slogdet(self.curvature(T))[1] - quadratic


def losses(one, other, normals):
    """log(density for the data set ``one`` / density for the data set ``other``).

    ``normals`` (points, q) are the noise for ``one``, divided by its std.
    """
    T = one.solve(one.sigma * normals.reshape(len(normals), one.K - 1, -1))
    return one.log_density(T) - other.log_density(T)


def grid(q, *, reach=7.5, points=None):
    """Points of R^q, for q = 1 or 2, and the weights of a standard normal law at these points."""
    line = np.linspace(-reach, reach, points or (2001 if q == 1 else 121))
    weight = np.exp(-(line**2) / 2) / math.sqrt(2 * math.pi) * (line[1] - line[0])
    if q == 1:
        return line[:, None], weight
    return np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2), np.outer(weight, weight).ravel()
