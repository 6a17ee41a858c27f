"""One record, one pixel and one mirror at a time, lists in place of arrays."""

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


# %% speckle
def speckle(n):
    # the mean of an exponential law is its standard deviation
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


# %% read
def read(I, top, bits):
    step = top / (2**bits - 1)
    return [[min(math.floor(i / step + 0.5), 2**bits - 1) * step for i in row] for row in I.tolist()]


# %% best_top
def best_top():
    return 120.0


# %% shot_variance
def shot_variance(I_xa, I_x, I_a, photons):
    return [(u / photons + v / photons) / (2 * math.sqrt(a)) ** 2 for u, v, a in zip(I_xa, I_x, I_a)]


# %% scale
def scale(p, s):
    rows = []
    for row in p:
        length = math.sqrt(sum(c * c for c in row))
        rows.append([c * s / length for c in row] if length > s else list(row))
    return rows


# %% step
def step(see, e, I_a, dphi, h, t, s, m):
    dW = np.zeros((len(I_a), h.shape[1]))
    for i in range(len(e)):
        p = scale(project(see, ternarise(e[i : i + 1], t), I_a), s)[0]
        for j in range(len(p)):
            for k in range(h.shape[1]):
                dW[j][k] += p[j] * dphi[i][j] * h[i][k] / m
    return dW.tolist()


# %% noise_length
def noise_length(sigma, n, projections):
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
