"""Kernels for `nfa.clip`. One kernel computes norms and clips rows. The other offsets and clips entries.

An example's result depends only on this example. The order in which the squares of its entries are added depends only
on their number. There are SUMS parallel sums, which are then added in pairs. If the examples are the last axis in
memory, the result has this memory order too.
"""

import math

import numpy as np
from numba import njit

from nfa.kernels import cores
from nfa.kernels.functions import loop

SHARED = 1 << 19  # smallest number of entries for each thread, if several threads share the work
SUMS = 64  # number of sums, a power of 2. The square of entry k of an example is added to sum k mod SUMS

# For each dtype: the smallest bound c, the smallest norm with exact squares, the smallest weight of full precision.
LIMITS = {
    np.dtype(t): (float(f.tiny) / float(f.eps), np.sqrt(f.tiny) / f.eps, f.tiny)
    for t, f in ((t, np.finfo(t)) for t in (np.float32, np.float64))
}

entries = njit(nogil=True, error_model="numpy")


@loop
def _weigh(v, norm2, c, low):
    """The weight that clips v to l2 norm c, from its squared norm, and whether the norm is above c.

    The weight is 0 if the norm is not finite.

    If squares are out of the range of the dtype, because the norm is below ``low`` or too large, v is first divided by
    its largest entry.
    """
    zero = v.dtype.type(0)
    norm = np.sqrt(norm2)
    if not low < norm < np.inf:
        largest = zero
        for j in range(len(v)):
            largest = max(largest, abs(v[j]))
        if largest > zero:
            norm2 = zero
            for j in range(len(v)):
                norm2 += np.square(v[j] / largest)
            norm = largest * np.sqrt(norm2)
    if norm <= c and norm < np.inf:
        return 1.0, False
    return c / norm, True


@loop
def _clip_rows(v, c, low, tiny, out):
    """Clip the rows of v into out. Return the number of rows with a norm above c."""
    count, n = 0, v.shape[1]
    sums = np.empty(SUMS, v.dtype)  # because we allocate it here, the compiler knows that it does not overlap v
    for i in range(len(v)):
        row, clipped = v[i], out[i]
        for a in range(SUMS):
            sums[a] = 0
        for start in range(0, n - SUMS + 1, SUMS):
            part = row[start : start + SUMS]
            for a in range(SUMS):
                sums[a] += part[a] * part[a]
        part = row[n - n % SUMS :]
        for a in range(len(part)):
            sums[a] += part[a] * part[a]
        half = SUMS // 2
        while half:
            for a in range(half):
                sums[a] += sums[half + a]
            half //= 2
        # The argument v[i, ::1] has the type of a column, so `_weigh` is compiled only once.
        each, longer = _weigh(v[i, ::1], sums[0], c, low)
        weight = v.dtype.type(each)
        count += longer
        for j in range(n):
            clipped[j] = weight * row[j] if weight >= tiny else 0
    return count


@loop
def _clip_columns(v, c, low, tiny, sums, out, first, stop):
    """Clip columns first..stop-1 of v into out, as `_clip_rows` clips rows. sums (SUMS, m) must be 0 at the start."""
    count, m = 0, stop - first
    for k in range(len(v)):
        row, total = v[k, first:stop], sums[k % SUMS]
        for i in range(m):
            total[i] += row[i] * row[i]
    # With the constant SUMS // 2, the compiler would take 0.4 s to unroll all loops, without gain.
    half = len(sums) // 2
    while half:
        for a in range(half):
            total, other = sums[a], sums[half + a]
            for i in range(m):
                total[i] += other[i]
        half //= 2
    weight = sums[1]
    for i in range(m):
        weight[i], longer = _weigh(v[:, first + i], sums[0, i], c, low)
        count += longer
    for k in range(len(v)):
        row, clipped = v[k, first:stop], out[k, first:stop]
        for i in range(m):
            clipped[i] = weight[i] * row[i] if weight[i] >= tiny else 0
    return count


@entries
def _clip_offset(v, nu, c, signed, out):
    """Clip v + nu, or v moved away from 0 by nu, into out."""
    for k in range(len(v)):
        x = v[k] - nu if signed and v[k] < 0 else v[k] + nu
        x = c if x > c else x
        out[k] = -c if x < -c else x


def _in_memory(v):
    """v as a matrix without gaps in memory, and whether its columns are the examples: (m, n), False or (n, m), True."""
    if not v.flags.c_contiguous and (side_by_side := np.moveaxis(v, 0, -1)).flags.c_contiguous:
        return side_by_side.reshape(-1, len(v)), True
    return np.ascontiguousarray(v).reshape(len(v), math.prod(v.shape[1:])), False


def _like(v, out, columns):
    """The matrix out as an array of v's shape."""
    return np.moveaxis(out.reshape(*v.shape[1:], len(v)), -1, 0) if columns else out.reshape(v.shape)


def clip_l2(v, c, shares=None):
    """Twin of `nfa.clip.clip_l2`."""
    if not c > 0:
        raise ValueError(f"the clipping bound c must be positive, got {c}")
    least, low, tiny = LIMITS[v.dtype]
    if c < least:
        raise ValueError(f"the clipping bound c must be at least {least:.3g} for {v.dtype} arrays, got {c}")
    rows, columns = _in_memory(v)
    out = np.empty(rows.shape, v.dtype)
    longer = []

    def work(start, stop):
        if columns:
            sums = np.zeros((SUMS, stop - start), v.dtype)
            longer.append(_clip_columns(rows, np.float64(c), low, tiny, sums, out, start, stop))
        else:
            longer.append(_clip_rows(rows[start:stop], np.float64(c), low, tiny, out[start:stop]))

    cores.share(work, len(v), 1 + SHARED * len(v) // max(1, v.size))
    if shares is not None:
        shares.append(sum(longer) / len(v) if len(v) else None)
    return _like(v, out, columns)


def clip_offset(v, nu, c, floor="literal"):
    """Twin of `nfa.clip.clip_offset`."""
    if floor not in ("literal", "signed"):
        raise ValueError(f"floor must be one of literal, signed, got {floor!r}")
    if not nu >= 0:
        raise ValueError(f"the offset nu must not be negative, got {nu}")
    if not c > 0:
        raise ValueError(f"the clipping bound c must be positive, got {c}")
    rows, columns = _in_memory(v)
    out, dtype, signed = cores.aligned(rows.shape, v.dtype), v.dtype.type, floor == "signed"
    flat, clipped = rows.reshape(-1), out.reshape(-1)

    def work(start, stop):
        _clip_offset(flat[start:stop], dtype(nu), dtype(c), signed, clipped[start:stop])

    cores.share(work, len(flat), SHARED)
    return _like(v, out, columns)
