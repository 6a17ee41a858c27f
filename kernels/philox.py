"""Standard normals in float32 that are a function of key, tile and place: Philox, and the method of Box and Muller."""

import numpy as np
from numba import njit

from nfa.kernels.functions import log, loop

f32, i32, u32, u64 = np.float32, np.int32, np.uint32, np.uint64

inlined = njit(inline="always")


@loop
def normals(out, size, key, tile):
    """Fill out[:size], and up to three numbers more, with standard normals that are a function of key, tile and place.

    Box and Muller (1958): a radius by -2 log of one uniform number, an angle by another. Every number is below 6.77 in
    size; of a normal's, 1.3e-11 are not.
    """
    n = -(-size // 4)
    out_0, out_1, out_2, out_3 = out[:n], out[n : 2 * n], out[2 * n : 3 * n], out[3 * n : 4 * n]
    for c in range(n):
        a, b, d, e = philox(u32(c), u32(tile), u32(0), u32(0), key[0], key[1])
        out_0[c], out_1[c] = pair(a, b)
        out_2[c], out_3[c] = pair(d, e)


@loop
def pair(a, b):
    """Two independent normals of two random words: 32 bits for the radius, 30 for the angle, 2 for the signs."""
    radius = np.sqrt(f32(-2) * log((f32(a) + f32(0.5)) * f32(2.0**-32)))
    turn = f32(i32(b >> u32(2))) * f32(2.0**-30)
    x, y = radius * quarter_sine(turn), radius * quarter_sine(f32(1) - turn)
    return (x if b & u32(1) else -x), (y if b & u32(2) else -y)


@loop
def quarter_sine(x):
    """sin(pi x / 2) for 0 <= x <= 1, to 2e-7: Hastings, Approximations for Digital Computers (1955), sheet 15."""
    s = x * x
    p = f32(0.00015148419)
    p = p * s + f32(-0.00467376557)
    p = p * s + f32(0.07968967928)
    p = p * s + f32(-0.64596371106)
    return x * (p * s + f32(1.57079631847))


@inlined
def philox(c0, c1, c2, c3, k0, k1):
    """Four random words of a counter and a key: Philox4x32-10 of Salmon et al. (2011)."""
    for _ in range(10):
        p, q = u64(0xD2511F53) * u64(c0), u64(0xCD9E8D57) * u64(c2)
        c0, c1, c2, c3 = u32(q >> u64(32)) ^ c1 ^ k0, u32(q), u32(p >> u64(32)) ^ c3 ^ k1, u32(p)
        k0, k1 = u32(u64(k0) + u64(0x9E3779B9)), u32(u64(k1) + u64(0xBB67AE85))
    return u32(c0), u32(c1), u32(c2), u32(c3)
