"""Kernels for `nfa.cipher`: normal samples from a cipher's blocks, many blocks at a time and on all cores.

A loop over j processes the same word of LANES blocks, so the compiler can use vector instructions. The code calls the
quarter round at only one place, so that less code is compiled at the first use.
"""

import math

import numpy as np
from numba import njit

from nfa.kernels import cores
from nfa.kernels.functions import inlined

LANES = 256
_u32 = np.uint32
_CONSTANT = np.frombuffer(b"expand 32-byte k", "<u4").astype(np.uint32)


@inlined
def _quarter_round(a, b, c, d):
    a = _u32(a + b)
    d = _u32(d ^ a)
    d = _u32((d << _u32(16)) | (d >> _u32(16)))
    c = _u32(c + d)
    b = _u32(b ^ c)
    b = _u32((b << _u32(12)) | (b >> _u32(20)))
    a = _u32(a + b)
    d = _u32(d ^ a)
    d = _u32((d << _u32(8)) | (d >> _u32(24)))
    c = _u32(c + d)
    b = _u32(b ^ c)
    b = _u32((b << _u32(7)) | (b >> _u32(25)))
    return a, b, c, d


@inlined
def _word(i, key):
    """Word i of the state at the start of a block, for words other than the counter."""
    return _CONSTANT[i] if i < 4 else key[i - 4] if i < 12 else _u32(0)


@inlined
def _blocks(s, key, first):
    """Fill s, (16, lanes), with the blocks of counters first..first + lanes - 1. Word i of block j is s[i, j]."""
    lanes = s.shape[1]
    for i in range(len(s)):
        row, word = s[i], _word(i, key)
        for j in range(lanes):
            row[j] = word
    low, high = s[12], s[13]
    for j in range(lanes):
        low[j], high[j] = _u32(np.uint64(first + j)), _u32(np.uint64(first + j) >> np.uint64(32))
    for _ in range(10):
        for t in range(len(s) // 2):  # first the columns of the state, then its diagonals
            k = t // 4
            a, b, c, d = s[t % 4], s[4 + (t + k) % 4], s[8 + (t + 2 * k) % 4], s[12 + (t + 3 * k) % 4]
            for j in range(lanes):
                a[j], b[j], c[j], d[j] = _quarter_round(a[j], b[j], c[j], d[j])
    for i in range(len(s)):
        row, word = s[i], _word(i, key)
        for j in range(lanes):
            row[j] += word
    for j in range(lanes):
        low[j] += _u32(np.uint64(first + j))
        high[j] += _u32(np.uint64(first + j) >> np.uint64(32))


@njit
def chacha20(key, first, n):
    """Twin of `nfa.cipher.chacha20`."""
    words, s = np.empty((16, n), np.uint32), np.empty((16, min(n, LANES)), np.uint32)
    for start in range(0, n, LANES):
        _blocks(s, key, first + start)
        for i in range(16):
            for j in range(min(LANES, n - start)):
                words[i, start + j] = s[i, j]
    return words


@inlined
def _box_muller_64(a, b, c, d, g1, g2):
    for j in range(len(a)):
        u = (np.float64((np.uint64(a[j]) << np.uint64(20)) | np.uint64(b[j] >> _u32(12))) + 0.5) * 2.0**-52
        v = np.float64((np.uint64(c[j]) << np.uint64(20)) | np.uint64(d[j] >> _u32(12))) * 2.0**-52
        r = math.sqrt(-2 * math.log(u))
        g1[j], g2[j] = r * math.cos(2 * math.pi * v), r * math.sin(2 * math.pi * v)


@njit(nogil=True)
def _add_64(out, std, key, group, skip, s, g, normals):
    """Add std times the normals of groups group, group + 1, ..., except the first ``skip``, to out.

    s is memory for the words of a group's blocks, and g is memory for the group's normals. ``normals`` is a view of g
    as one row.
    """
    start = 0
    while start < len(out):
        _blocks(s, key, group * LANES)
        for w in range(len(g) // 2):
            _box_muller_64(s[w], s[4 + w], s[8 + w], s[12 + w], g[w], g[4 + w])
        part, own = out[start : start + len(normals) - skip], normals[skip:]
        for j in range(len(part)):
            part[j] += std * own[j]
        start += len(part)
        group, skip = group + 1, 0


def add_keyed(out, std, key, group=0, skip=0):
    """Twin of `nfa.cipher.add_keyed`."""
    _check_dtype(out)
    s, g = cores.aligned((16, LANES), np.uint32), cores.aligned((8, LANES), np.float64)
    _add_64(out, np.float64(std), key, group, skip, s, g, g.reshape(-1))
    return out


def _check_dtype(out):
    if out.dtype != np.float64:
        raise ValueError(f"noise of the cipher can only be added to a float64 array, got {out.dtype}")


def check_noise(std, dtype):
    """Twin of `nfa.cipher.check_noise`."""
    if not 0 <= std < np.inf:
        raise ValueError(f"the standard deviation of the noise must be a number >= 0, got {std}")
    limits = np.finfo(dtype)
    least, most = float(limits.tiny) / float(limits.eps), float(limits.max) * float(limits.eps) ** 2
    if std > 0 and not least <= std <= most:
        raise ValueError(
            f"the standard deviation of {dtype} noise must be 0 or between {least:.3g} and {most:.3g}, got {std}"
        )


def add_normal(out, std, rng):
    """Twin of `nfa.cipher.add_normal_keyed`."""
    _add_from(0, out, std, rng)


def add_normal_each(out, std, rng):
    """Twin of `nfa.cipher.add_normal_each_keyed`."""
    _add_from(first_entry(out, rng), out, std, rng)


def first_entry(out, rng):
    """Twin of `nfa.cipher.first_entry`."""
    return getattr(rng, "first", 0) * math.prod(out.shape[1:])


def _add_from(first, out, std, rng):
    _check_dtype(out)
    check_noise(std, out.dtype)
    if std == 0:
        return
    key = rng.integers(2**32, size=8, dtype=np.uint32)
    whole = out.flags.c_contiguous
    flat = out.reshape(-1) if whole else np.zeros(out.size)
    size = 8 * LANES
    group, skip = divmod(first, size)

    def work(start, stop):
        before = 0 if start else skip
        add_keyed(flat[start * size - skip + before : stop * size - skip], std, key, group + start, before)

    cores.share(work, -(-(skip + out.size) // size), 16, last=whole)
    if not whole:
        out += flat.reshape(out.shape)
