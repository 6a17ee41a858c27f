"""Standard normals in float32 that are a function of key, tile and place: Philox, and the method of Box and Muller.

Twins of `nfa.philox`, and the tiles of noise that `nfa.kernels.ulr` reads. For seeded runs: Philox is no cipher.
"""

import numpy as np

from nfa.kernels import cores, noise
from nfa.kernels.functions import inlined, log, loop

f32, i32, u32, u64 = np.float32, np.int32, np.uint32, np.uint64

LANES = 256  # counters of a tile of `add_keyed`; each gives four normals
ALONE = 128  # tiles that one thread adds sooner than it wakes another


@loop
def _add_tiles(out, std, key, tile, g):
    """Add std times the normals of tiles tile, tile + 1, ... to out; g has room for those of one."""
    for start in range(0, len(out), 4 * LANES):
        _tile(g, key, tile)
        part = out[start : start + 4 * LANES]
        for j in range(len(part)):
            part[j] += std * g[j]
        tile += 1


@loop
def _tile(g, key, tile):
    """The normals of a tile: in g's four quarters what the first, second, third and fourth of LANES counters give."""
    k0, k1, k2, k3 = key[0], key[1], key[2], key[3]
    g0, g1, g2, g3 = g[:LANES], g[LANES : 2 * LANES], g[2 * LANES : 3 * LANES], g[3 * LANES :]
    for c in range(LANES):
        a, b, d, e = philox(u32(c), u32(tile), k2, k3, k0, k1)
        g0[c], g1[c] = pair(a, b)
        g2[c], g3[c] = pair(d, e)


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


def add_keyed(out, std, key, tile=0):
    """Twin of `nfa.philox.add_keyed`."""
    _add_tiles(out, f32(std), key, tile, cores.aligned(4 * LANES))
    return out


def add_normal(out, std, rng):
    """Twin of `nfa.philox.add_normal`."""
    if out.dtype != np.float32:
        noise.add_normal(out, std, rng)
        return
    noise.check_noise(std, out.dtype)
    if std == 0:
        return
    key = rng.integers(2**32, size=4, dtype=np.uint32)
    whole = out.flags.c_contiguous
    flat = out.reshape(-1) if whole else np.zeros(out.size, f32)
    size = 4 * LANES

    def work(start, stop):
        add_keyed(flat[start * size : stop * size], std, key, start)

    cores.share(work, -(-out.size // size), ALONE)
    if not whole:
        out += flat.reshape(out.shape)
