"""Standard normals in float32 as a function of key, tile and place, by Philox and the method of Box and Muller.

The module has kernels for `nfa.philox`, and the tiles of noise that `nfa.kernels.ulr` reads. Use them only for seeded
runs, because Philox is not a cipher. A separate loop converts the words to normals in place. It processes twice as many
words at once as a loop that also computes the 64-bit products of Philox.
"""

import numpy as np

from nfa.kernels import cores, noise
from nfa.kernels.functions import inlined, log, loop

f32, i32, u32, u64 = np.float32, np.int32, np.uint32, np.uint64

LANES = 256  # number of counters in a tile of `add_keyed`; each counter gives four normals
ALONE = 128  # smallest number of tiles for each thread, if several threads share the work


@loop
def _add_tiles(out, std, key, tile, skip, words, g):
    """Add std times the normals of tiles tile, tile + 1, ..., except the first ``skip``, to out.

    words is memory for the words of a tile, and g is a view of this memory. A tile has four quarters: the first,
    second, third and fourth normals of the LANES counters.
    """
    k0, k1, k2, k3 = key[0], key[1], key[2], key[3]
    start = 0
    while start < len(out):
        w0, w1, w2, w3 = words[0], words[1], words[2], words[3]
        for c in range(len(w0)):
            w0[c], w1[c], w2[c], w3[c] = philox(u32(c), u32(tile), k2, k3, k0, k1)
        for i in range(0, len(words), 2):
            a, b = words[i], words[i + 1]
            for c in range(len(a)):
                x, y = pair(a[c], b[c])
                a[c], b[c] = f32(x).view(u32), f32(y).view(u32)
        part, g_part = out[start : start + len(g) - skip], g[skip:]
        for j in range(len(part)):
            part[j] += std * g_part[j]
        start += len(part)
        tile, skip = tile + 1, 0


@loop
def normals(words, size, key, example, tile):
    """Fill words[:size], and up to three more words, with the bits of standard normals for key, example and tile.

    The method of Box and Muller (1958) computes a radius from -2 log of one uniform value, and an angle from another
    uniform value. Every result is below 6.77 in absolute value. A normal exceeds this bound with probability 1.3e-11.
    """
    n = -(-size // 4)
    w0, w1, w2, w3 = words[:n], words[n : 2 * n], words[2 * n : 3 * n], words[3 * n : 4 * n]
    for c in range(n):
        w0[c], w1[c], w2[c], w3[c] = philox(u32(c), u32(tile), u32(example), u32(0), key[0], key[1])
    for i in range(2):
        a, b = words[2 * i * n : (2 * i + 1) * n], words[(2 * i + 1) * n : (2 * i + 2) * n]
        for c in range(n):
            x, y = pair(a[c], b[c])
            a[c], b[c] = f32(x).view(u32), f32(y).view(u32)


@inlined
def pair(a, b):
    """Two independent normals from two random words, with 32 bits for the radius, 30 for the angle, 2 for the signs."""
    radius = np.sqrt(f32(-2) * log((f32(a) + f32(0.5)) * f32(2.0**-32)))
    turn = f32(i32(b >> u32(2))) * f32(2.0**-30)
    x, y = radius * quarter_sine(turn), radius * quarter_sine(f32(1) - turn)
    return (x if b & u32(1) else -x), (y if b & u32(2) else -y)


@inlined
def quarter_sine(x):
    """sin(pi x / 2) for 0 <= x <= 1, with an error of at most 2e-7.

    Source: Hastings, Approximations for Digital Computers, 1955, sheet 15.
    """
    s = x * x
    p = f32(0.00015148419)
    p = p * s + f32(-0.00467376557)
    p = p * s + f32(0.07968967928)
    p = p * s + f32(-0.64596371106)
    return x * (p * s + f32(1.57079631847))


@inlined
def philox(c0, c1, c2, c3, k0, k1):
    """Four random words from a counter and a key, by Philox4x32-10 of Salmon et al. (2011)."""
    for _ in range(10):
        p, q = u64(0xD2511F53) * u64(c0), u64(0xCD9E8D57) * u64(c2)
        c0, c1, c2, c3 = u32(q >> u64(32)) ^ c1 ^ k0, u32(q), u32(p >> u64(32)) ^ c3 ^ k1, u32(p)
        k0, k1 = u32(u64(k0) + u64(0x9E3779B9)), u32(u64(k1) + u64(0xBB67AE85))
    return u32(c0), u32(c1), u32(c2), u32(c3)


def add_keyed(out, std, key, tile=0, skip=0):
    """Twin of `nfa.philox.add_keyed`."""
    words = cores.aligned((4, LANES), u32)
    _add_tiles(out, f32(std), key, tile, skip, words, words.reshape(-1).view(f32))
    return out


def add_normal(out, std, rng):
    """Twin of `nfa.philox.add_normal`."""
    if out.dtype == np.float64:
        noise.add_normal(out, std, rng)
        return
    _add_from(0, out, std, rng)


def add_normal_each(out, std, rng):
    """Twin of `nfa.philox.add_normal_each`."""
    if out.dtype == np.float64:
        noise.add_normal_each(out, std, rng)
        return
    _add_from(noise.first_entry(out, rng), out, std, rng)


def _add_from(first, out, std, rng):
    if out.dtype != np.float32:
        raise ValueError(f"noise can only be added to a float32 or float64 array, got {out.dtype}")
    noise.check_noise(std, out.dtype)
    if std == 0:
        return
    key = rng.integers(2**32, size=4, dtype=np.uint32)
    whole = out.flags.c_contiguous
    flat = out.reshape(-1) if whole else np.zeros(out.size, f32)
    size = 4 * LANES
    tile, skip = divmod(first, size)

    def work(start, stop):
        before = 0 if start else skip
        add_keyed(flat[start * size - skip + before : stop * size - skip], std, key, tile + start, before)

    cores.share(work, -(-(skip + out.size) // size), ALONE, last=whole)
    if not whole:
        out += flat.reshape(out.shape)
