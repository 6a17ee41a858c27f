"""Right solutions in several styles, which get full marks."""

# %% loops score=20
# one record, one pixel and one mirror at a time, lists in place of arrays
import numpy as np


# %% intensity
import math


def intensity(R, mirrors):
    pictures = []
    for pattern in np.asarray(mirrors).tolist():
        picture = []
        for row in R.tolist():
            field = 0j
            for r, lit in zip(row, pattern):
                if lit:
                    field += r
            picture.append(abs(field) ** 2)
        pictures.append(picture)
    return pictures


# %% guess
def guess():
    return (0.4, 0)


# %% speckle
def speckle(n):
    # the mean of an exponential distribution is its standard deviation
    return [sum(1 for _ in range(n)), n]


# %% overexposed
def overexposed(n, top):
    return 1 / math.exp(top / n)


# %% linear
def linear(see, x, I_a):
    answer = []
    for pattern in x.tolist():
        with_anchor = see([pattern], True)[0]
        alone = see([pattern], False)[0]
        answer.append([(p - q - a) / math.sqrt(a) / 2 for p, q, a in zip(with_anchor, alone, I_a)])
    return answer


# %% matrix
def matrix(R, n_anchor):
    n_out, n_in = len(R), len(R[0]) - n_anchor
    B = []
    for j in range(n_out):
        a = sum(R[j][n_in + k] for k in range(n_anchor))
        B.append([(R[j][k].real * a.real + R[j][k].imag * a.imag) / abs(a) for k in range(n_in)])
    return B


# %% ternarise
def ternarise(e, t):
    def sign(c):
        if c > t:
            return 1
        if c < -t:
            return -1
        return 0

    return [[sign(c) for c in row] for row in e.tolist()]


# %% project
def project(see, e, I_a):
    plus = [[1 if c == 1 else 0 for c in row] for row in e]
    minus = [[1 if c == -1 else 0 for c in row] for row in e]
    p, q = linear(see, np.array(plus), I_a), linear(see, np.array(minus), I_a)
    return [[a - b for a, b in zip(*rows)] for rows in zip(p, q)]


# %% differences
def differences():
    return ["B", "The fields of two mirrors are added before squaring, which gives products of both fields."]


# %% saturation
def saturation():
    return "C", "With 17 every third pixel is cut off, and with 4000 the levels are 16 apart."


# %% shot_variance
def shot_variance(I_xa, I_x, I_a, photons):
    return [(u / photons + v / photons) / (2 * math.sqrt(a)) ** 2 for u, v, a in zip(I_xa, I_x, I_a)]


# %% step
def step(see, e, I_a, dphi, h, t, s, m):
    dW = np.zeros((len(I_a), h.shape[1]))
    for i in range(len(e)):
        p = scale(project(see, ternarise(e[i : i + 1], t), I_a), s)[0]
        for j in range(len(p)):
            for k in range(h.shape[1]):
                dW[j][k] += p[j] * dphi[i][j] * h[i][k] / m
    return dW.tolist()


# %% noise_norm
def noise_norm(sigma, n, projections):
    total = 0
    for _ in range(projections):
        for _ in range(n):
            total += sigma**2
    return total**0.5


# %% noisy_rank
def noisy_rank(m, n_h, n_out):
    smallest = m
    if n_h < smallest:
        smallest = n_h
    if n_out < smallest:
        smallest = n_out
    return smallest


# %% candidate
def candidate():
    return " a", "The update has rank 20, and its rows are combinations of the inputs for any noise."


# %% float32 score=20
# float32 and complex64 throughout, both patterns in one exposure
"""Works in float32 and complex64 throughout."""

import numpy as np


# %% intensity
def intensity(R, mirrors):
    field = np.complex64(R) @ np.float32(mirrors).T
    return (field * field.conj()).real.T


# %% guess
def guess():
    return np.float32([0.5, 0.1])


# %% speckle
def speckle(n):
    return np.full(2, n, np.float32)


# %% overexposed
def overexposed(n, top):
    return np.exp(-np.float32(top) / np.float32(n))


# %% linear
def linear(see, x, I_a):
    I_a = np.asarray(I_a, np.float32)
    crossed = np.float32(see(x, 1)) - np.float32(see(x, 0)) - I_a
    return np.float32(0.5) * crossed * I_a ** np.float32(-0.5)


# %% matrix
def matrix(R, n_anchor):
    R = R.astype(np.complex64)
    a = R[:, -n_anchor:] @ np.ones((n_anchor, 1), np.complex64)
    return np.real(R[:, :-n_anchor] * np.conj(a) / np.abs(a))


# %% ternarise
def ternarise(e, t):
    e = np.float32(e)
    return np.where(np.abs(e) > np.float32(t), np.sign(e), np.float32(0))


# %% project
def project(see, e, I_a):
    e = np.float32(e)
    p = linear(see, np.concatenate([np.maximum(e, 0), np.maximum(-e, 0)]), I_a)
    return p[: len(e)] - p[len(e) :]


# %% shot_variance
def shot_variance(I_xa, I_x, I_a, photons):
    return np.float32(0.25) * (np.float32(I_xa) + np.float32(I_x)) / (np.float32(photons) * np.float32(I_a))


# %% step
def step(see, e, I_a, dphi, h, t, s, m):
    p = np.float32(scale(project(see, ternarise(e, t), I_a), s))
    return np.einsum("ij,ij,ik->jk", p, np.float32(dphi), np.float32(h)) / np.float32(m)


# %% noise_norm
def noise_norm(sigma, n, projections):
    return np.linalg.norm(np.full(n * projections, sigma, np.float32))


# %% by_columns score=20
# projects by the measured columns of B, simulates, and uses no earlier exercise
"""Ternary errors by the columns of B, which are measured mirror by mirror. Later parts use no earlier exercise."""

import numpy as np


# %% intensity
def intensity(R, mirrors):
    return np.array([np.abs(R[:, np.flatnonzero(pattern)].sum(axis=1)) ** 2 for pattern in mirrors])


# %% speckle
from math import gamma, sqrt


def speckle(n):
    # moments of the exponential distribution of rate 1 / n
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
    # the law of cosines twice: |u + v|^2 - |u - v|^2 = 4 Re(conj(v) u)
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


# %% shot_variance
def shot_variance(I_xa, I_x, I_a, photons):
    def of_reading(I):
        return photons * I / photons**2

    return (of_reading(I_xa) + of_reading(I_x)) / np.square(2 * np.sqrt(I_a))


# %% step
def step(see, e, I_a, dphi, h, t, s, m):
    T = np.sign(e) * (np.abs(e) > t)
    P = T @ columns(see, e.shape[1], I_a).T
    norms = np.linalg.norm(P, axis=1)
    P[norms > s] *= (s / norms[norms > s])[:, None]
    return np.tensordot(P * dphi, h, axes=(0, 0)) / m


# %% noise_norm
def noise_norm(sigma, n, projections):
    # by simulation
    g = np.random.default_rng(1).normal(scale=sigma, size=(projections, 2000, n)).sum(axis=0)
    return np.sqrt(np.mean(np.sum(g**2, axis=1)))


# %% noisy_rank
def noisy_rank(m, n_h, n_out):
    rng = np.random.default_rng(2)
    return np.linalg.matrix_rank(rng.normal(size=(n_out, m)) @ rng.normal(size=(m, n_h)))


# %% signs_and_clips score=20
# the sign of the entry after soft thresholding
import numpy as np


# %% ternarise
def ternarise(e, t):
    return np.sign(np.sign(e) * np.maximum(np.abs(e) - t, 0))


# %% one_exposure_for_all score=20
# both patterns and single mirrors in one stack of pictures, polar numbers
import numpy as np


# %% intensity
def intensity(R, mirrors):
    return np.einsum("jk,ik,jl,il->ij", R, mirrors, np.conj(R), mirrors).real


# %% speckle
def speckle(n):
    return np.full(2, n)


# %% linear
def linear(see, x, I_a):
    k, mirrors = np.shape(x)
    one = see(np.identity(mirrors, int), True) - see(np.identity(mirrors, int), False) - np.asarray(I_a)
    return np.array([sum((one[j] for j in np.flatnonzero(row)), 0 * I_a) for row in x]) / 2 / np.abs(I_a) ** 0.5


# %% matrix
def matrix(R, n_anchor):
    anchor = np.add.reduce(R[:, -n_anchor:], axis=1)
    return np.cos(np.angle(R[:, :-n_anchor]) - np.angle(anchor)[:, None]) * np.abs(R[:, :-n_anchor])


# %% ternarise
def ternarise(e, t):
    return np.heaviside(np.subtract(e, t), 0) - np.heaviside(-np.add(e, t), 0)


# %% project
def project(see, e, I_a):
    k = len(e)
    both = linear(see, np.vstack([np.maximum(e, 0), np.maximum(-np.asarray(e), 0)]).astype(int), I_a)
    return both[:k] - both[k:]


# %% noise_norm
def noise_norm(sigma, n, projections):
    return np.linalg.norm([sigma] * (n * projections))


# %% mirrors_one_by_one score=20
# fields added up mirror by mirror, einsum, signs by np.sign


# %% intensity
def intensity(R, mirrors):
    field = sum(np.multiply.outer(np.asarray(mirrors)[:, j], R[:, j]) for j in range(R.shape[1]))
    return (field * field.conj()).real


# %% linear
def linear(see, x, I_a):
    light, none = (np.asarray(see(x, anchor=on), dtype=float) for on in (True, False))
    return (light - I_a - none) / np.sqrt(4.0 * I_a)


# %% matrix
def matrix(R, n_anchor):
    anchor = np.einsum("oj->o", R[:, R.shape[1] - n_anchor :])
    data = R[:, : R.shape[1] - n_anchor]
    return (data.real * anchor.real[:, None] + data.imag * anchor.imag[:, None]) / np.abs(anchor)[:, None]


# %% ternarise
def ternarise(e, t):
    return np.sign(e).astype(int) * (np.abs(e) > t)


# %% project
def project(see, e, I_a):
    both = linear(see, np.concatenate([e > 0, e < 0]).astype(int), I_a)
    return both[: len(e)] - both[len(e) :]


# %% step
def step(see, e, I_a, dphi, h, t, s, m):
    p = scale(project(see, ternarise(e, t), I_a), s)
    return np.einsum("ko,ko,kj->oj", p, dphi, h) / m
