"""Oracles of the forward-learning rules: given noise, quadrature, full passes, and loops over single records.

We pass the nodes of a quadrature to a rule as its noise, one node for each example. The rule then returns its estimate
at every node. With the weights of the quadrature, we get exact moments of the rule without using its formulas.
"""

import itertools
import math

import numpy as np

from nfa.network import Net, forward
from nfa.network.dense import Dense
from nfa.network.ops import Loss
from tests.oracles.private_rules import clip_weight, norm


class Given:
    """A generator with given normal samples: each call returns the next array, of the requested shape."""

    def __init__(self, *arrays):
        self.arrays = list(arrays)

    def standard_normal(self, shape, dtype=float):
        """The next given array."""
        array = self.arrays.pop(0)
        assert array.shape == tuple(shape), (array.shape, shape)
        return array.astype(dtype)


def hermite(n, d):
    """Nodes (n^d, d) and weights of the quadrature against N(0, I_d), exact for polynomials up to degree 2n - 1."""
    u, w = np.polynomial.hermite_e.hermegauss(n)
    nodes = np.array(list(itertools.product(u, repeat=d)))
    return nodes, np.prod(list(itertools.product(w / w.sum(), repeat=d)), axis=1)


def moments(values, weights):
    """Weighted mean and covariance of the rows of ``values``."""
    mean = weights @ values
    return mean, (values - mean).T @ (weights[:, None] * (values - mean))


# --- networks ------------------------------------------------------------------------------------------------


def loss_of(value, name="given"):
    """A loss without a derivative, which is enough for a forward rule."""
    return Loss(name, lambda z: z, value, None)


def one_layer(v, loss, n_in=1):
    """A network of one layer with pre-activation v for the input 0."""
    net = Net((n_in,), [(Dense(len(v)),)], loss=loss, rng=np.random.default_rng(0))
    net.W[1][:], net.b[1][:] = 0, v
    return net


def given_losses(n_in, n_out):
    """A network of one layer whose loss does not depend on the noise: the target is y = (loss, 0, ...)."""
    return Net((n_in,), [(Dense(n_out),)], loss=loss_of(lambda z, y: y.sum(axis=1)), rng=np.random.default_rng(0))


def linear(n_in, n_out, loss=None):
    """A network of one layer. By default, its loss is the squared distance of the first output from 1."""
    loss = loss or loss_of(lambda z, y: (z[:, 0] - 1) ** 2)
    return Net((n_in,), [(Dense(n_out),)], loss=loss, rng=np.random.default_rng(2))


# --- full passes ---------------------------------------------------------------------------------------------


class Shifted:
    """A layer's map that adds a vector to its output."""

    def __init__(self, map_, zeta):
        self.map, self.zeta = map_, zeta

    def affine(self, W, b, h):
        """W h + b + zeta."""
        return self.map.affine(W, b, h) + self.zeta

    def __getattr__(self, name):
        return getattr(self.map, name)


def loss_with_noise(net, l, x, y, zeta):
    """The losses (m,) of a pass through the whole network with zeta added at layer l."""
    twin = net.copy()
    twin.map = list(net.map)
    twin.map[l] = Shifted(net.map[l], zeta)
    return net.loss.value(forward(twin, x)[0][net.L], y)


def proxy_by_records(net, l, x, y, u, sigma, *, baseline=False, antithetic=False):
    """Lines 203 and 204 of the algorithm, with a full pass for each noise vector u[k, i] and each record."""
    total = np.zeros(u.shape[1:])
    for k, i in np.ndindex(u.shape[:2]):
        one = x[i : i + 1], y[i : i + 1]
        zeta = sigma * u[k, i]
        loss = float(loss_with_noise(net, l, *one, zeta[None])[0])
        if antithetic:
            loss = (loss - float(loss_with_noise(net, l, *one, -zeta[None])[0])) / 2
        if baseline:
            loss -= 0 if antithetic else float(loss_with_noise(net, l, *one, 0)[0])
        total[i] += zeta * loss / sigma**2 / len(u)
    return total


def estimates(net, x, y, u, sigma, **how):
    """The estimates of every record, as a list of (dW, db), for the noise u[l] (K, m, n_l) and one sigma per layer."""
    _, h = forward(net, x)
    dz = [None] + [proxy_by_records(net, l, x, y, u[l], sigma[l], **how) for l in range(1, net.L + 1)]
    found = []
    for i in range(len(x)):
        pairs = [net.map[l].outer(dz[l][i : i + 1], net.input(l, h)[i : i + 1]) for l in range(1, net.L + 1)]
        found.append(([None] + [p[0] for p in pairs], [None] + [p[1] for p in pairs]))
    return found


def add_clipped(net, found, C, m, joint):
    """The sum over records of their clipped estimates, divided by m.

    If ``joint``, the clip applies to all layers together. Otherwise it applies to each layer.
    """
    total = [None] + [np.zeros_like(W) for W in net.W[1:]], [None] + [np.zeros_like(b) for b in net.b[1:]]
    for dW, db in found:
        for l in range(1, net.L + 1):
            size = norm(*dW[1:], *db[1:]) if joint else norm(dW[l], db[l])
            for into, g in ((total[0], dW), (total[1], db)):
                into[l] += clip_weight(size, C) * g[l] / m
    return total


def draws(net, K, m, seed=0):
    """Standard normals u[l] for every layer. ``Given(*u[:0:-1])`` returns them from the top layer down."""
    rng = np.random.default_rng(seed)
    return [None] + [rng.standard_normal((K, m, *net.shape_z[l])) for l in range(1, net.L + 1)]


# --- the controller ------------------------------------------------------------------------------------------


def jacobian(map_, W, b, h):
    """The Jacobian (n_l, parameters) of one record's z by W and b.

    We compute each column exactly, because z is affine.
    """
    at = np.zeros(W.size + b.size)

    def z(theta):
        return map_.affine(theta[: W.size].reshape(W.shape), theta[W.size :], h[None]).ravel()

    columns = []
    for j in range(len(at)):
        e = at.copy()
        e[j] = 1
        columns.append(z(e) - z(at))
    return np.array(columns).T


def covariance(net, l, h_in, weight):
    """Sum over records of weight^2 J^T J, for all parameters of a layer (Equation 26), W before b."""
    total = 0.0
    for h, w in zip(h_in, weight, strict=True):
        J = jacobian(net.map[l], net.W[l], net.b[l], h)
        total = total + w**2 * J.T @ J
    return total


# --- sampling ------------------------------------------------------------------------------------------------


def accepted_subsets(N, q, N_B):
    """Every set of at least N_B of N records, with its probability if smaller sets are rejected."""
    sets = [s for k in range(N_B, N + 1) for s in itertools.combinations(range(N), k)]
    p = np.array([math.prod(q if i in s else 1 - q for i in range(N)) for s in sets])
    return sets, p / p.sum(), p.sum()
