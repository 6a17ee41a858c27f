"""Shot noise: Poisson samples as a function of key, tile and place, on all cores.

We do not count the noise of a device as privacy noise. So secure runs also use Philox, with a random key. For means of
10 or more, the method is transformed rejection (PTRS, Hoermann 1993). A hat function maps a uniform number u to a whole
number k. A second uniform number v determines whether k is accepted. Long loops have no branches, so the compiler can
process several samples at a time.
"""

import math

import numpy as np
from numba import njit

from nfa.kernels import cores, noise
from nfa.kernels.philox import LANES, philox

f64, i32, i64, u32 = np.float64, np.int32, np.int64, np.uint32

TILE = 2 * LANES  # number of samples in a tile; a counter gives two samples, from two words each
ALONE = 16  # smallest number of tiles for each thread, if several threads share the work
FEW = 10.0  # for smaller means, the loop tries the numbers 0, 1, 2, ...
NEAR = 0.4  # if |mean - k| / k is at most this value, a logarithm is computed by a series

loop = njit(nogil=True, error_model="numpy")


@loop
def _draw(mean, out, key, tile, room, where):
    """Draw Poisson samples for tiles tile, tile + 1, ... into out. room and where are working memory."""
    u, v, x, k, margin = room[0], room[1], room[2], room[3], room[4]
    for start in range(0, len(mean), TILE):
        means, found = mean[start : start + TILE], out[start : start + TILE]
        _uniforms(u, v, key, tile)
        for j in range(len(means)):
            b, _, candidate = _candidate(f64(means[j]), u[j])
            sure = (means[j] >= FEW) & (abs(u[j]) <= 0.43) & (v[j] <= 0.9277 - 3.6224 / (b - 2))
            found[j] = candidate if sure else -1.0
        n = 0
        for j in range(len(means)):
            if means[j] < FEW:
                found[j] = _few(f64(means[j]), u[j] + 0.5)
            where[n], u[n], v[n] = j, u[j], v[j]
            n += found[j] < 0
        counter = LANES
        while n:
            for i in range(n):
                x[i] = means[where[i]]
            _margins(x[:n], u, v, k, margin)
            still = 0
            for i in range(n):
                found[where[i]] = k[i] if _stands(x[i], u[i], v[i], k[i], margin[i]) else -1.0
                where[still] = where[i]
                still += found[where[i]] < 0
            n = still
            for i in range(n):
                word0, word1, _, _ = philox(u32(counter + where[i]), u32(tile), key[2], key[3], key[0], key[1])
                u[i], v[i] = _centred(word0), _centred(word1) + 0.5
            counter += TILE
        tile += 1


@loop
def _uniforms(u, v, key, tile):
    """Fill u with numbers in (-1/2, 1/2) and v with numbers in (0, 1), of 32 bits each, for a tile's first attempts."""
    k0, k1, k2, k3 = key[0], key[1], key[2], key[3]
    u0, u1, v0, v1 = u[:LANES], u[LANES:], v[:LANES], v[LANES:]
    for c in range(LANES):
        word0, word1, word2, word3 = philox(u32(c), u32(tile), k2, k3, k0, k1)
        u0[c], v0[c] = _centred(word0), _centred(word1) + 0.5
        u1[c], v1[c] = _centred(word2), _centred(word3) + 0.5


@loop
def _centred(word):
    """A number in (-1/2, 1/2) from a random word."""
    return (f64(i32(word)) + 0.5) * 2.0**-32


@loop
def _few(mean, u):
    """The smallest Poisson number with a distribution function of at least u, for a small mean."""
    k, p = 0.0, math.exp(-mean)
    while u > p:
        u -= p
        k += 1
        p *= mean / k
    return k


@loop
def _candidate(mean, u):
    """The constants b and a of the hat function of PTRS, and the whole number k for u."""
    b = 0.931 + 2.53 * math.sqrt(mean)
    a = -0.059 + 0.02483 * b
    return b, a, math.floor((2 * a / (0.5 - abs(u)) + b) * u + mean + 0.43)


@loop
def _level(mean, u, v):
    """The level that the probability of the candidate must reach for acceptance, and the candidate."""
    b, a, k = _candidate(mean, u)
    s = 0.5 - abs(u)
    return v * (1.1239 + 1.1328 / (b - 3.4)) / (a / (s * s) + b), k


@loop
def _margins(x, u, v, k, margin):
    """Candidates k, and the logarithms of their probabilities minus the logarithms of their levels.

    The function uses Stirling's series for k!, whose first omitted term is below 1e-10, and series for logarithms. The
    result is valid for k >= 10 with |mean - k| <= NEAR k.
    """
    for i in range(len(x)):
        level, k[i] = _level(x[i], u[i], v[i])
        inverse = 1 / k[i]
        d = x[i] - k[i]
        t = d * inverse
        s = t / (2 + t)
        factorial = (1 / 12 - (1 / 360 - 1 / 1260 * inverse * inverse) * inverse * inverse) * inverse
        level *= np.sqrt(2 * math.pi * k[i])  # for k < 0 the result is NaN, which has no effect
        margin[i] = k[i] * (_rest(s) - s * t) - factorial - _log(level)


@loop
def _rest(s):
    """log((1 + s) / (1 - s)) - 2 s, for small s."""
    q = s * s
    p = 1 / 13 + q * (1 / 15)
    p = 1 / 7 + q * (1 / 9 + q * (1 / 11 + q * p))
    return 2 * s * q * (1 / 3 + q * (1 / 5 + q * p))


@loop
def _log(x):
    """log(x) for normal x > 0, with an error of at most 1e-12, by x = 2^e m with sqrt(1/2) <= m < sqrt(2)."""
    bits = f64(x).view(i64)
    e = (bits - i64(0x3FE6A09E667F3BCD)) >> i64(52)
    m = i64(bits - (e << i64(52))).view(f64)
    s = (m - 1) / (m + 1)
    return f64(i32(e)) * 0.6931471805599453 + 2 * s + _rest(s)


@loop
def _stands(mean, u, v, k, margin):
    """Whether PTRS accepts the candidate k. If k is not near the mean, the margin is not used."""
    s = 0.5 - abs(u)
    if k < 0 or (s < 0.013 and v > s):
        return False
    if k >= 10 and abs(mean - k) <= NEAR * k:
        return margin >= 0
    level, _ = _level(mean, u, v)
    return math.log(level) <= k * math.log(mean) - mean - math.lgamma(k + 1)


def poisson(mean, rng):
    """Twin of `nfa.feedback.camera.poisson`."""
    tile, skip = divmod(noise.first_entry(mean, rng), TILE)
    # The first ``skip`` values of the tile belong to another part of the batch.
    flat = np.zeros(skip + mean.size, mean.dtype)
    flat[skip:] = mean.reshape(-1)
    if flat.size and not (0 <= flat.min() and flat.max() <= 1e18):
        raise ValueError("the mean of a Poisson variable must be in [0, 1e18]")
    key = rng.integers(2**32, size=4, dtype=np.uint32)
    out = np.empty_like(flat)

    def work(start, stop):
        room, where = cores.aligned((5, TILE), f64), np.empty(TILE, np.int64)
        _draw(flat[start * TILE : stop * TILE], out[start * TILE : stop * TILE], key, tile + start, room, where)

    cores.share(work, -(-flat.size // TILE), ALONE)
    return out[skip:].reshape(mean.shape)
