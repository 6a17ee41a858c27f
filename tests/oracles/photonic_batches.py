"""Batches (u, dphi, h) for the tests of the photonic privacy analysis, and bounds that these batches satisfy."""

import math

import numpy as np

from nfa.papers.ohana2021.column_bound import Clips


def S(shape, p, s):
    """s sin(p + 2 i + 3 j), a matrix of rank 2."""
    i, j = np.indices(shape)
    return s * np.sin(p + 2 * i + 3 * j)


def F(shape, p, s):
    """s sin(p + i + 2 j + i j), a matrix of full rank."""
    i, j = np.indices(shape)
    return s * np.sin(p + i + 2 * j + i * j)


def v3():
    """Vector V-3 of the ledger: three records, two units, two inputs. The neighbour D' replaces record 1."""
    u, dphi, h = (
        S((3, 2), 1, 0.5),
        0.6 + 0.4 * np.sin(2 + np.add.outer(2 * np.arange(3), 3 * np.arange(2))) ** 2,
        S((3, 2), 3, 0.8),
    )
    u2, dphi2, h2 = u.copy(), dphi.copy(), h.copy()
    u2[1], dphi2[1], h2[1] = -u[1], (0.7, 0.9), (0.3, -0.5)
    return (u, dphi, h), (u2, dphi2, h2)


def v7():
    """Vector V-7 of the ledger: five records, two units, three inputs."""
    dphi = 0.6 + 0.4 * np.sin(5 + np.add.outer(2 * np.arange(5), 3 * np.arange(2))) ** 2
    return F((5, 2), 3, 0.5), dphi, F((5, 3), 4, 0.6)


def flat(h):
    """A batch of one unit with u = 0 and phi' = 1, for these inputs."""
    h = np.array(h, float)
    return np.zeros((len(h), 1)), np.ones((len(h), 1)), h


def relabelled(batch, record):
    """The batch with the reversed projected error of one record."""
    u = batch[0].copy()
    u[record] *= -1
    return u, *batch[1:]


def clips(r, **others):
    """Clips for which the entries of h differ by at most the factor sqrt(r), and phi' = 1.

    ``others`` replaces or adds clips.
    """
    ends = {"gamma_min": 1.0, "gamma_max": 1.0, "tau_h_min": 1 / math.sqrt(r), "tau_h_max": 1.0, "tau_B": 1.0}
    return Clips(**ends | others)


def bounds(r, *, m, sigma, **others):
    """The arguments of a bound with the clips of `clips`."""
    return {"m": m, "sigma": sigma, "clips": clips(r, **others)}


def random_neighbours(rng, *, corners=None):
    """Two batches of one column that differ in record 0, and the arguments of a bound that they satisfy.

    Sizes, ratios, orders and sigma vary by powers of ten. With ``corners``, every abs(h) and abs(phi') is at an end of
    its range.
    """
    m, n_l = int(rng.integers(1, 40)), int(rng.integers(1, 12))
    gamma_max, tau_h_max, tau_B = rng.uniform(0.2, 2, 3)
    r = 1 + 10 ** rng.uniform(-2, 2.5)
    share = rng.random()
    gamma_min, tau_h_min = gamma_max * r ** (-share / 2), tau_h_max * r ** ((share - 1) / 2)
    corners = rng.random() < 0.6 if corners is None else corners

    def within(low, high, shape):
        sizes = np.where(rng.random(shape) < rng.random(), low, high) if corners else rng.uniform(low, high, shape)
        return sizes * np.where(rng.random(shape) < 0.5, -1, 1)

    def errors(k):
        u = rng.normal(size=(k, n_l)) * (rng.random((k, n_l)) < rng.uniform(0.2, 1))
        norms = np.linalg.norm(u, axis=1, keepdims=True)
        return tau_B * u / np.where(norms > 0, norms, 1)

    D = errors(m), within(gamma_min, gamma_max, (m, n_l)), within(tau_h_min, tau_h_max, (m, 1))
    new = errors(1), within(gamma_min, gamma_max, (1, n_l)), within(tau_h_min, tau_h_max, (1, 1))
    # the largest change of one record: from one end of its range to the other end, with the opposite error
    if rng.random() < 0.3:
        ends = (gamma_max, tau_h_max), (gamma_min, tau_h_min)
        (old_g, old_h), (new_g, new_h) = ends if rng.random() < 0.5 else ends[::-1]
        D[1][0], D[2][0] = old_g, old_h
        new = -D[0][:1], np.full((1, n_l), new_g), np.full((1, 1), new_h)
    D2 = tuple(np.concatenate([first, part[1:]]) for first, part in zip(new, D, strict=True))
    alpha = 1 + 10 ** rng.uniform(-2, 3)
    if rng.random() < 0.5:  # near the Rényi order at which the divergence of the worst column becomes infinite
        alpha = 1 + m / (r - 1) * rng.uniform(0.3, 1)
    sigma = 10 ** rng.uniform(-2, 2)
    kept = Clips(gamma_min=gamma_min, gamma_max=gamma_max, tau_h_min=tau_h_min, tau_h_max=tau_h_max, tau_B=tau_B)
    return D, D2, {"alpha": alpha, "m": m, "n_l": n_l, "sigma": sigma, "clips": kept}
