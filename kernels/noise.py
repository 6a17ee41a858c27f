"""Numba twins of `nfa.noise`: normals from a cipher's blocks, many blocks at a time and on all cores.

Loops over j run over LANES blocks side by side, so that the compiler can take a vector of them at once. In float32 the
logarithm and the sine are polynomials (S. L. Moshier's Cephes, single precision), because a call would stop that. What
compiles at a run's first use is short: a quarter round stands here once, and a row of words becomes normals in place.
"""

import math

import numpy as np
from numba import njit

from nfa.kernels import cores
from nfa.kernels.functions import inlined

LANES = 256
_u32, _f32, _i32 = np.uint32, np.float32, np.int32
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
    """Word i of the state that a block begins with, but for the counter."""
    return _CONSTANT[i] if i < 4 else key[i - 4] if i < 12 else _u32(0)


@inlined
def _blocks(s, key, first):
    """Fill s, (16, lanes), with the blocks of counters first..first + lanes - 1: word i of block j is s[i, j]."""
    lanes = s.shape[1]
    for i in range(len(s)):
        row, word = s[i], _word(i, key)
        for j in range(lanes):
            row[j] = word
    low, high = s[12], s[13]
    for j in range(lanes):
        low[j], high[j] = _u32(np.uint64(first + j)), _u32(np.uint64(first + j) >> np.uint64(32))
    for _ in range(10):
        for t in range(len(s) // 2):  # the state's columns, then its diagonals
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
def _box_muller_32(a, b):
    """Two rows of words become the bits of two rows of normals."""
    for j in range(len(a)):
        v, w = a[j], b[j]
        rest = (_f32(w & _u32(255)) + _f32(0.5)) * _f32(2.0**-8)
        bits = _f32((_f32(v) + rest) * _f32(2.0**-32)).view(_i32)
        e = _i32((bits - _i32(0x3F3504F3)) >> _i32(23))  # u = mantissa 2^e with a mantissa from sqrt(1/2) to sqrt(2)
        mantissa = _i32(bits - _i32(e << _i32(23))).view(_f32)
        above = (_f32(~v) + (_f32(1) - rest)) * _f32(2.0**-32)  # 1 - u
        x = -above if v >= _u32(0xC0000000) else mantissa - _f32(1)  # exact where u is nearly 1
        xx = x * x
        p = _f32(7.0376836292e-2)
        p = p * x + _f32(-1.1514610310e-1)
        p = p * x + _f32(1.1676998740e-1)
        p = p * x + _f32(-1.2420140846e-1)
        p = p * x + _f32(1.4249322787e-1)
        p = p * x + _f32(-1.6668057665e-1)
        p = p * x + _f32(2.0000714765e-1)
        p = p * x + _f32(-2.4999993993e-1)
        p = p * x + _f32(3.3333331174e-1)
        log = x + (x * xx * p + _f32(e) * _f32(-2.12194440e-4) - _f32(0.5) * xx) + _f32(e) * _f32(0.693359375)
        r = np.sqrt(max(_f32(-2) * log, _f32(0)))
        angle = _u32(w & _u32(0xFFFFFF00))  # in units of 2 pi / 2^32
        quarter = _u32(_u32(angle + _u32(1 << 29)) >> _u32(30))  # the nearest multiple of pi / 2
        t = _f32(_i32(_u32(angle - _u32(quarter << _u32(30))))) * _f32(math.pi / 2**31)
        tt = t * t
        s = ((_f32(-1.9515295891e-4) * tt + _f32(8.3321608736e-3)) * tt + _f32(-1.6666654611e-1)) * tt * t + t
        c = (_f32(2.443315711809948e-5) * tt + _f32(-1.388731625493765e-3)) * tt + _f32(4.166664568298827e-2)
        c = c * tt * tt - _f32(0.5) * tt + _f32(1)
        cos = s if quarter & _u32(1) else c
        sin = c if quarter & _u32(1) else s
        cos = -cos if quarter == _u32(1) or quarter == _u32(2) else cos
        sin = -sin if quarter >= _u32(2) else sin
        a[j], b[j] = _f32(r * cos).view(_u32), _f32(r * sin).view(_u32)


@inlined
def _box_muller_64(a, b, c, d, g1, g2):
    for j in range(len(a)):
        u = (np.float64((np.uint64(a[j]) << np.uint64(20)) | np.uint64(b[j] >> _u32(12))) + 0.5) * 2.0**-52
        v = np.float64((np.uint64(c[j]) << np.uint64(20)) | np.uint64(d[j] >> _u32(12))) * 2.0**-52
        r = math.sqrt(-2 * math.log(u))
        g1[j], g2[j] = r * math.cos(2 * math.pi * v), r * math.sin(2 * math.pi * v)


@njit(nogil=True)
def _add_32(out, std, key, group, skip, s, normals):
    """Add std times the normals of groups group, group + 1, ..., but for the first ``skip``, to out, in float32.

    s has room for the words of a group's blocks, and normals is the same room.
    """
    start = 0
    while start < len(out):
        _blocks(s, key, group * LANES)
        for w in range(len(s) // 2):
            _box_muller_32(s[w], s[8 + w])
        part, own = out[start : start + len(normals) - skip], normals[skip:]
        for j in range(len(part)):
            part[j] += std * own[j]
        start += len(part)
        group, skip = group + 1, 0


@njit(nogil=True)
def _add_64(out, std, key, group, skip, s, g, normals):
    """`_add_32` in float64; s has room for words, g for normals, which are also ``normals``."""
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
    s = cores.aligned((16, LANES), np.uint32)
    if out.dtype == np.float32:
        _add_32(out, _f32(std), key, group, skip, s, s.reshape(-1).view(np.float32))
        return out
    g = cores.aligned((8, LANES), np.float64)
    _add_64(out, np.float64(std), key, group, skip, s, g, g.reshape(-1))
    return out


def check_noise(std, dtype):
    """Twin of `nfa.cipher.check_noise`."""
    if not 0 <= std < np.inf:
        raise ValueError(f"the standard deviation of the noise must be a number >= 0, got {std}")
    limits = np.finfo(dtype)
    least, most = float(limits.tiny) / float(limits.eps), float(limits.max) * float(limits.eps) ** 2
    if std > 0 and not least <= std <= most:
        raise ValueError(f"{dtype} has no noise of standard deviation {std}, only from {least:.3g} to {most:.3g}")


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
    if out.dtype not in (np.float32, np.float64):
        raise ValueError(f"noise is added to float32 or float64 arrays, got {out.dtype}")
    check_noise(std, out.dtype)
    if std == 0:
        return
    key = rng.integers(2**32, size=8, dtype=np.uint32)
    whole = out.flags.c_contiguous
    flat = out.reshape(-1) if whole else np.zeros(out.size, out.dtype)
    size = (8 if out.dtype == np.float64 else 16) * LANES
    group, skip = divmod(first, size)

    def work(start, stop):
        before = 0 if start else skip
        add_keyed(flat[start * size - skip + before : stop * size - skip], std, key, group + start, before)

    cores.share(work, -(-(skip + out.size) // size), 16, last=whole)
    if not whole:
        out += flat.reshape(out.shape)
