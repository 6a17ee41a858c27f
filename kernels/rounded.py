"""Kernels for `nfa.rounded`: rounded normals from a cipher's blocks, many at a time and on all cores.

The kernels compute the samples for which float64 gives a certain result. `nfa.rounded` computes the other samples, a
few in a million. All samples are integers without any rounding error. So they are bitwise identical with those of
`nfa.rounded`, even if the compiler fuses products with additions.

On one core with AVX-512 (AMD EPYC), a sample takes 4.5 ns for std / unit up to 2^24. ChaCha20 takes 1.8 ns of this
time. For std / unit = 2^30, a sample takes 6.4 ns. For larger values of std / unit, more samples are not certain. For
2^36, a sample takes 150 ns.
"""

import numpy as np

from nfa import rounded
from nfa.kernels import cores
from nfa.kernels.functions import inlined, loop
from nfa.kernels.noise import LANES, _blocks, chacha20

f64, i32, i64, u32 = np.float64, np.int32, np.int64, np.uint32

ATANH, SIN, COS = map(tuple, (rounded.ATANH, rounded.SIN, rounded.COS))
LOG_4, TURN, EDGE, ERROR = 2 * rounded.LOG_2, rounded.TURN, rounded.EDGE, rounded.ERROR
LARGEST_SUM = rounded.LARGEST_SUM


@inlined
def _series(coefficients, x):
    total = coefficients[len(coefficients) - 1]
    for i in range(len(coefficients) - 2, -1, -1):
        total = total * x + coefficients[i]
    return total


@inlined
def _quick(a, b, c, d, scale, cosines, sines):
    """Convert four rows of words to two rows of `nfa.rounded.quick`, with NaN for values that are not certain.

    Returns the number of NaN.
    """
    uncertain = 0
    for j in range(len(a)):
        u = f64(a[j]) * 2.0**-32 + f64(b[j]) * 2.0**-64
        rest = f64(u32(~a[j])) * 2.0**-32 + f64(u32(~b[j])) * 2.0**-64  # 1 - u
        bits = f64(u).view(i64)
        e = i32((i32(bits >> i64(32)) - i32(0x3FE6A09E)) >> i32(20))  # u = m 2^e, m from sqrt(1/2) to sqrt(2)
        m = i64(bits - (i64(e) << i64(52))).view(f64)
        x = m - 1.0 if u < 0.75 else -rest
        x = x / (2.0 + x)  # log(m) = 2 atanh(x)
        r = scale * np.sqrt(f64(e) * -LOG_4 - x * _series(ATANH, x * x))
        quarter = u32(u32(c[j] + u32(1 << 29)) >> u32(30))  # the multiple of 1/4 that is nearest to v
        t = (f64(i32(u32(c[j] - u32(quarter << u32(30))))) * 2.0**-32 + f64(d[j]) * 2.0**-64) * TURN
        s, h = t * _series(SIN, t * t), _series(COS, t * t)
        signed = -r if quarter & u32(2) else r
        cos = signed * (-s if quarter & u32(1) else h)
        sin = signed * (h if quarter & u32(1) else s)
        k, l = np.rint(cos), np.rint(sin)
        error = ERROR * (scale + r) if u >= EDGE and rest >= EDGE else 1.0
        first, second = abs(cos - k) + error < 0.5, abs(sin - l) + error < 0.5
        cosines[j], sines[j] = k if first else np.nan, l if second else np.nan
        uncertain += (not first) + (not second)
    return uncertain


@loop
def _add(out, unit, scale, key, group, s, k, numbers, places):
    """Round out to the grid, and add noise to the entries with certain samples. List the places of the other entries.

    s is memory for the words of a group's blocks, and k is memory for the group's samples. ``numbers`` is a view of k
    as one row. Returns the number of listed places, or -1 if out has NaN.
    """
    inverse, found, nan = 1.0 / unit, 0, False
    for start in range(0, len(out), len(numbers)):
        _blocks(s, key, group * LANES)
        uncertain = 0
        for w in range(4):
            uncertain += _quick(s[w], s[4 + w], s[8 + w], s[12 + w], scale, k[w], k[4 + w])
        part = out[start : start + len(numbers)]
        if uncertain:
            for j in range(len(part)):
                if numbers[j] != numbers[j]:
                    numbers[j], places[found] = 0.0, start + j
                    found += 1
        for j in range(len(part)):
            x = part[j] * inverse
            nan |= x != x
            x = min(max(x, -LARGEST_SUM), LARGEST_SUM)
            part[j] = unit * ((np.rint(x) + 0.0) + numbers[j])  # + 0.0 turns -0 into 0
        group += 1
    return -1 if nan else found


def add_keyed(out, std, key, group=0, *, unit):
    """Twin of `nfa.rounded.add_keyed`."""
    if std == 0:
        return rounded.add_keyed(out, std, key, group, unit=unit)
    s, k = cores.aligned((16, LANES), np.uint32), cores.aligned((8, LANES), np.float64)
    # Large enough for all places. Pages of memory to which nothing is written are not allocated.
    places = np.empty(len(out), np.int64)
    scale = std / unit
    found = _add(out, unit, scale, key, group, s, k, k.reshape(-1), places)
    if found < 0:
        raise ValueError("noise cannot be added to a sum that contains NaN")
    for i in places[:found].tolist():
        out[i] = rounded.add_exactly(out[i] / unit, unit, scale, key, group, i, chacha20)
    return out


def add_normal(out, std, rng, *, unit):
    """Twin of `nfa.rounded.add_normal`."""
    rounded.check(out, std, unit)
    key = rng.integers(2**32, size=8, dtype=np.uint32) if std > 0 else np.zeros(8, np.uint32)
    whole = out.flags.c_contiguous
    flat = out.reshape(-1) if whole else np.array(out).reshape(-1)
    size = 2 * rounded.PAIRS

    def work(start, stop):
        add_keyed(flat[start * size : stop * size], std, key, start, unit=unit)

    cores.share(work, -(-out.size // size), 16, last=whole)
    if not whole:
        out[...] = flat.reshape(out.shape)
