"""Shot noise: Poisson numbers that are a function of key and place, on all cores.

Twin in law of ``rng.poisson``, which `nfa.feedback.camera.Camera` counts photons with; they are other numbers, by
Philox. A device's noise is no noise of privacy, so secure runs take it too, under a key that they draw.
"""

import math

import numpy as np
from numba import njit

from nfa.kernels import cores
from nfa.kernels.philox import philox

f64, u32, u64 = np.float64, np.uint32, np.uint64

SHARED = 1 << 13  # numbers that one thread draws sooner than it wakes another
FEW = 10.0  # means below are found by going through the numbers
ATTEMPT = u32(1 << 20)  # what counters of a second, third, ... attempt are ahead by

single = njit(nogil=True, error_model="numpy")


@single
def _uniforms(place, attempt, key):
    """Two numbers in (0, 1) with 53 bits, a function of place, attempt and key."""
    ahead = u32(u32(place >> 32) + ATTEMPT * u32(attempt))
    a, b, c, d = philox(u32(place), ahead, key[2], key[3], key[0], key[1])
    x, y = (u64(a) << u64(32) | u64(b)) >> u64(11), (u64(c) << u64(32) | u64(d)) >> u64(11)
    return (f64(x) + 0.5) * 2.0**-53, (f64(y) + 0.5) * 2.0**-53


@single
def _few(mean, u):
    """The Poisson number whose distribution function passes u, for a small mean."""
    k, p = 0, math.exp(-mean)
    while u > p and k < 200:
        u -= p
        k += 1
        p *= mean / k
    return k


@single
def _many(mean, place, key):
    """A Poisson number by transformed rejection: PTRS of Hoermann (1993), for means of 10 and more."""
    b = 0.931 + 2.53 * math.sqrt(mean)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    inside = 0.9277 - 3.6224 / (b - 2)
    attempt = 0
    while True:
        u, v = _uniforms(place, attempt, key)
        attempt += 1
        u -= 0.5
        s = 0.5 - abs(u)
        k = math.floor((2 * a / s + b) * u + mean + 0.43)
        if s >= 0.07 and v <= inside:
            return k
        if k < 0 or (s < 0.013 and v > s):
            continue
        if math.log(v * inverse_alpha / (a / (s * s) + b)) <= k * math.log(mean) - mean - math.lgamma(k + 1):
            return k


@single
def _counts(mean, out, key, start, stop):
    for i in range(start, stop):
        x = f64(mean[i])
        if x < FEW:
            u, _ = _uniforms(i, 0, key)
            out[i] = _few(x, u)
        else:
            out[i] = _many(x, i, key)


def poisson(mean, rng):
    """Independent Poisson numbers of these means, in their shape and dtype: twin in law of ``rng.poisson``.

    Raises ValueError for a mean that is negative, not a number, or above 1e15, where neighbouring numbers are told
    apart no more.
    """
    flat = np.ascontiguousarray(mean).reshape(-1)
    if flat.size and not (0 <= flat.min() and flat.max() <= 1e15):
        raise ValueError("the mean of a Poisson number must be in [0, 1e15]")
    key = rng.integers(2**32, size=4, dtype=np.uint32)
    out = np.empty_like(flat)

    def work(start, stop):
        _counts(flat, out, key, start, stop)

    cores.share(work, flat.size, SHARED)
    return out.reshape(np.shape(mean))
