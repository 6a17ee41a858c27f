"""Numba twins of `nfa.noise`: normals from a cipher's blocks, many blocks at a time and on all cores.

Loops over j run over LANES blocks side by side, so that the compiler can take a vector of them at once. In float32 the
logarithm and the sine are polynomials (S. L. Moshier's Cephes, single precision), because a call would stop that.
"""

import math

import numpy as np
from numba import njit, types
from numba.extending import overload

from nfa.kernels import cores

LANES = 256
_u32, _f32 = np.uint32, np.float32
_CONSTANT = np.frombuffer(b"expand 32-byte k", "<u4").astype(np.uint32)


@njit
def _rotate(v, left):
    return _u32((v << left) | (v >> _u32(_u32(32) - left)))


@njit
def _quarter_round(a, b, c, d):
    a = _u32(a + b)
    d = _rotate(_u32(d ^ a), _u32(16))
    c = _u32(c + d)
    b = _rotate(_u32(b ^ c), _u32(12))
    a = _u32(a + b)
    d = _rotate(_u32(d ^ a), _u32(8))
    c = _u32(c + d)
    b = _rotate(_u32(b ^ c), _u32(7))
    return a, b, c, d


@njit
def _double_round(s):
    """The columns of the state, then its diagonals, a block a lane: word i of lane j is s[i LANES + j]."""
    n = LANES
    for j in range(n):
        x0, x4, x8, x12 = _quarter_round(s[j], s[j + 4 * n], s[j + 8 * n], s[j + 12 * n])
        x1, x5, x9, x13 = _quarter_round(s[j + n], s[j + 5 * n], s[j + 9 * n], s[j + 13 * n])
        x2, x6, x10, x14 = _quarter_round(s[j + 2 * n], s[j + 6 * n], s[j + 10 * n], s[j + 14 * n])
        x3, x7, x11, x15 = _quarter_round(s[j + 3 * n], s[j + 7 * n], s[j + 11 * n], s[j + 15 * n])
        s[j], s[j + 5 * n], s[j + 10 * n], s[j + 15 * n] = _quarter_round(x0, x5, x10, x15)
        s[j + n], s[j + 6 * n], s[j + 11 * n], s[j + 12 * n] = _quarter_round(x1, x6, x11, x12)
        s[j + 2 * n], s[j + 7 * n], s[j + 8 * n], s[j + 13 * n] = _quarter_round(x2, x7, x8, x13)
        s[j + 3 * n], s[j + 4 * n], s[j + 9 * n], s[j + 14 * n] = _quarter_round(x3, x4, x9, x14)


@njit
def _word(i, key, counter):
    """Word i of the state that a block begins with."""
    if i < 4:
        return _CONSTANT[i]
    if i < 12:
        return key[i - 4]
    if i < 14:
        return _u32(np.uint64(counter) >> np.uint64(32 * (i - 12)))
    return _u32(0)


@njit
def _blocks(s, key, first):
    """Fill s, (16 LANES,), with the blocks of counters first..first + LANES - 1."""
    for i in range(16):
        for j in range(LANES):
            s[i * LANES + j] = _word(i, key, first + j)
    for _ in range(10):
        _double_round(s)
    for i in range(16):
        for j in range(LANES):
            s[i * LANES + j] += _word(i, key, first + j)


@njit
def chacha20(key, first, n):
    """Twin of `nfa.cipher.chacha20`."""
    words, s = np.empty((16, n), np.uint32), np.empty(16 * LANES, np.uint32)
    for start in range(0, n, LANES):
        _blocks(s, key, first + start)
        for i in range(16):
            for j in range(min(LANES, n - start)):
                words[i, start + j] = s[i * LANES + j]
    return words


@njit
def _box_muller_32(a, b, u, exponent, mantissa, g1, g2):
    """Two rows of normals from two rows of words; u, exponent and mantissa are room to work in."""
    n = len(a)
    for j in range(n):
        u[j] = (_f32(a[j]) + (_f32(b[j] & _u32(255)) + _f32(0.5)) * _f32(2.0**-8)) * _f32(2.0**-32)
    bits, mantissa_bits = u.view(np.uint32), mantissa.view(np.uint32)
    root_half = _u32(0x3F3504F3)  # the bits of sqrt(1/2)
    for j in range(n):  # u = mantissa 2^exponent with a mantissa from sqrt(1/2) to sqrt(2)
        v = _u32(bits[j] - root_half)
        exponent[j] = np.int32(v) >> np.int32(23)
        mantissa_bits[j] = _u32(_u32(v & _u32(0x7FFFFF)) + root_half)
    for j in range(n):
        above = (_f32(~a[j]) + (_f32(255.5) - _f32(b[j] & _u32(255))) * _f32(2.0**-8)) * _f32(2.0**-32)  # 1 - u
        x = -above if a[j] >= _u32(0xC0000000) else mantissa[j] - _f32(1)  # exact where u is nearly 1
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
        e = _f32(exponent[j])
        log = x + (x * xx * p + e * _f32(-2.12194440e-4) - _f32(0.5) * xx) + e * _f32(0.693359375)
        r = np.sqrt(max(_f32(-2) * log, _f32(0)))
        v = _u32(b[j] & _u32(0xFFFFFF00))  # the angle in units of 2 pi / 2^32
        quarter = _u32(_u32(v + _u32(1 << 29)) >> _u32(30))  # the nearest multiple of pi / 2
        t = _f32(np.int32(_u32(v - _u32(quarter << _u32(30))))) * _f32(math.pi / 2**31)
        tt = t * t
        s = ((_f32(-1.9515295891e-4) * tt + _f32(8.3321608736e-3)) * tt + _f32(-1.6666654611e-1)) * tt * t + t
        c = (_f32(2.443315711809948e-5) * tt + _f32(-1.388731625493765e-3)) * tt + _f32(4.166664568298827e-2)
        c = c * tt * tt - _f32(0.5) * tt + _f32(1)
        cos = s if quarter & _u32(1) else c
        sin = c if quarter & _u32(1) else s
        g1[j] = -r * cos if quarter == _u32(1) or quarter == _u32(2) else r * cos
        g2[j] = -r * sin if quarter >= _u32(2) else r * sin


@njit
def _box_muller_64(a, b, c, d, g1, g2):
    for j in range(len(a)):
        u = (np.float64((np.uint64(a[j]) << np.uint64(20)) | np.uint64(b[j] >> _u32(12))) + 0.5) * 2.0**-52
        v = np.float64((np.uint64(c[j]) << np.uint64(20)) | np.uint64(d[j] >> _u32(12))) * 2.0**-52
        r = math.sqrt(-2 * math.log(u))
        g1[j], g2[j] = r * math.cos(2 * math.pi * v), r * math.sin(2 * math.pi * v)


def _transform_32(s, g):
    u, exponent, mantissa = np.empty(LANES, np.float32), np.empty(LANES, np.int32), np.empty(LANES, np.float32)
    for w in range(8):
        _box_muller_32(s[w], s[8 + w], u, exponent, mantissa, g[w], g[8 + w])


def _transform_64(s, g):
    for w in range(4):
        _box_muller_64(s[w], s[4 + w], s[8 + w], s[12 + w], g[w], g[4 + w])


def _transform(s, g):
    """Fill g with the normals of the words s, (16, LANES)."""
    (_transform_64 if g.dtype == np.float64 else _transform_32)(s, g)


@overload(_transform)
def _transform_of(s, g):
    """The transform of g's own dtype, so that the other is not compiled."""
    return _transform_64 if g.dtype == types.float64 else _transform_32


@njit(nogil=True)
def add_keyed(out, std, key, group=0):
    """Twin of `nfa.cipher.add_keyed`."""
    s = np.empty(16 * LANES, np.uint32)
    g = np.empty((64 // out.itemsize, LANES), out.dtype)  # a block of the cipher has 64 bytes
    flat = g.reshape(-1)
    scale = np.empty(1, out.dtype)
    scale[0] = std
    for start in range(0, len(out), len(flat)):
        _blocks(s, key, group * LANES)
        _transform(s.reshape(16, LANES), g)
        part = out[start : start + len(flat)]
        for j in range(len(part)):
            part[j] += scale[0] * flat[j]
        group += 1
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
    if out.dtype not in (np.float32, np.float64):
        raise ValueError(f"noise is added to float32 or float64 arrays, got {out.dtype}")
    check_noise(std, out.dtype)
    if std == 0:
        return
    key = rng.integers(2**32, size=8, dtype=np.uint32)
    whole = out.flags.c_contiguous
    flat = out.reshape(-1) if whole else np.zeros(out.size, out.dtype)
    size = (8 if out.dtype == np.float64 else 16) * LANES
    groups = -(-len(flat) // size)
    if groups:
        cores.share(lambda i, j: add_keyed(flat[i * size : j * size], std, key, i), groups, 16)
    if not whole:
        out += flat.reshape(out.shape)
