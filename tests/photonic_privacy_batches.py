"""Batches (u, dphi, h) for the tests of the photonic privacy analysis, and the bounds that they keep."""

import math

import numpy as np


def S(shape, p, s):
    """s sin(p + 2 i + 3 j), a matrix of rank 2."""
    i, j = np.indices(shape)
    return s * np.sin(p + 2 * i + 3 * j)


def F(shape, p, s):
    """s sin(p + i + 2 j + i j), a matrix of full rank."""
    i, j = np.indices(shape)
    return s * np.sin(p + i + 2 * j + i * j)


def v3():
    """V-3: three records, two units, two inputs; under D' record 1 is another."""
    u, dphi, h = (
        S((3, 2), 1, 0.5),
        0.6 + 0.4 * np.sin(2 + np.add.outer(2 * np.arange(3), 3 * np.arange(2))) ** 2,
        S((3, 2), 3, 0.8),
    )
    u2, dphi2, h2 = u.copy(), dphi.copy(), h.copy()
    u2[1], dphi2[1], h2[1] = -u[1], (0.7, 0.9), (0.3, -0.5)
    return (u, dphi, h), (u2, dphi2, h2)


def v7():
    """V-7: five records, two units, three inputs."""
    dphi = 0.6 + 0.4 * np.sin(5 + np.add.outer(2 * np.arange(5), 3 * np.arange(2))) ** 2
    return F((5, 2), 3, 0.5), dphi, F((5, 3), 4, 0.6)


def flat(h):
    """A batch of one unit without signal, phi' = 1."""
    h = np.array(h, float)
    return np.zeros((len(h), 1)), np.ones((len(h), 1)), h


def relabelled(batch, record):
    """The batch with the projected error of one record turned round."""
    u = batch[0].copy()
    u[record] *= -1
    return u, *batch[1:]


def bounds(r, *, m, sigma, tau_B=1.0):
    """The arguments of a bound for entries of h within a ratio of sqrt(r), and phi' = 1."""
    return {
        "m": m,
        "sigma": sigma,
        "gamma_min": 1.0,
        "gamma_max": 1.0,
        "tau_h_min": 1 / math.sqrt(r),
        "tau_h_max": 1.0,
        "tau_B": tau_B,
    }
