"""Ternary errors by the columns of B, found by lighting mirror by mirror; later parts use nothing of earlier ones."""

import numpy as np


# %% intensity
def intensity(R, mirrors):
    return np.array([np.abs(R[:, np.flatnonzero(pattern)].sum(axis=1)) ** 2 for pattern in mirrors])


# %% speckle
from math import gamma, sqrt


def speckle(n):
    # moments of the exponential law of rate 1 / n
    first, second = gamma(2) * n, gamma(3) * n**2
    return first, sqrt(second - first**2)


# %% overexposed
def overexposed(n, top):
    # a good simulation
    rng = np.random.default_rng(0)
    E = rng.normal(scale=np.sqrt(n / 2), size=(2, 200_000))
    return np.mean((E**2).sum(axis=0) > top)


# %% linear
def linear(see, x, I_a):
    interference = see(x, anchor=True) - (see(x, anchor=False) + I_a)
    return np.divide(interference, np.sqrt(4 * I_a))


# %% matrix
def matrix(R, n_anchor):
    # twice the cosine theorem: |u + v|^2 - |u - v|^2 = 4 Re(conj(v) u)
    u, v = R[:, : R.shape[1] - n_anchor], R[:, R.shape[1] - n_anchor :].sum(axis=1, keepdims=True)
    return (np.abs(u + v) ** 2 - np.abs(u - v) ** 2) / (4 * np.abs(v))


# %% ternarise
def ternarise(e, t):
    found = np.zeros_like(e)
    found[e > t] = 1
    found[-e > t] = -1
    return found


# %% project
def columns(see, n_in, I_a):
    unit = np.identity(n_in)
    return ((see(unit, True) - see(unit, False) - I_a) / (2 * I_a**0.5)).T


def project(see, e, I_a):
    B = columns(see, e.shape[1], I_a)
    p = np.zeros((len(e), len(I_a)))
    for record, signs in enumerate(e):
        for mirror, c in enumerate(signs):
            if c:
                p[record] += c * B[:, mirror]
    return p


# %% read
def read(I, top, bits):
    levels = np.linspace(0, top, 2**bits)
    return levels[np.abs(np.asarray(I)[..., None] - levels).argmin(axis=-1)]


# %% best_top
def best_top():
    return TOPS[-2]


# %% shot_variance
def shot_variance(I_xa, I_x, I_a, photons):
    def of_reading(I):
        return photons * I / photons**2

    return (of_reading(I_xa) + of_reading(I_x)) / np.square(2 * np.sqrt(I_a))


# %% scale
def scale(p, s):
    found = np.array(p, dtype=float)
    for row in found:
        norm = np.linalg.norm(row)
        if norm:
            row *= min(s, norm) / norm
    return found


# %% step
def step(see, e, I_a, dphi, h, t, s, m):
    T = np.sign(e) * (np.abs(e) > t)
    P = T @ columns(see, e.shape[1], I_a).T
    lengths = np.linalg.norm(P, axis=1)
    P[lengths > s] *= (s / lengths[lengths > s])[:, None]
    return np.tensordot(P * dphi, h, axes=(0, 0)) / m


# %% noise_length
def noise_length(sigma, n, projections):
    # by simulation
    g = np.random.default_rng(1).normal(scale=sigma, size=(projections, 2000, n)).sum(axis=0)
    return np.sqrt(np.mean(np.sum(g**2, axis=1)))


# %% noisy_rank
def noisy_rank(m, n_h, n_out):
    rng = np.random.default_rng(2)
    return np.linalg.matrix_rank(rng.normal(size=(n_out, m)) @ rng.normal(size=(m, n_h)))
