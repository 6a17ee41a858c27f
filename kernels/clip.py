"""Numba twins of `nfa.clip`: the norms and the clip of rows in one pass, the offset and the clip of entries in another.

An example's answer is a function of that example: its squares are added in an order that their number alone decides.
Where memory has the examples side by side, as the last axis, they are worked on so and handed back so.
"""

import math

import numpy as np
from numba import njit

from nfa.kernels import cores

SHARED = 1 << 19  # entries that one thread clips sooner than it wakes another
BLOCK = 64  # entries of an example that are added up by themselves, where examples are side by side

# Of a dtype: its least bound c, the least norm that squares tell exactly, the least weight of full precision.
LIMITS = {
    np.dtype(t): (float(f.tiny) / float(f.eps), np.sqrt(f.tiny) / f.eps, f.tiny)
    for t, f in ((t, np.finfo(t)) for t in (np.float32, np.float64))
}

squares = njit(nogil=True, error_model="numpy", fastmath={"contract", "reassoc"})  # added many at a time
entries = njit(nogil=True, error_model="numpy")


@squares
def _weigh(v, norm2, c, low):
    """The weight that clips v to l2 norm c, of its squared norm; 0 where the norm is not finite; and if v is longer.

    Where squares left the range of their dtype, at norms below ``low`` and beyond the largest, v is divided by its
    largest entry first.
    """
    zero = v.dtype.type(0)
    norm = np.sqrt(norm2)
    if not low < norm < np.inf:
        largest = zero
        for x in v:
            largest = max(largest, abs(x))
        if largest > zero:
            norm2 = zero
            for x in v:
                norm2 += np.square(x / largest)
            norm = largest * np.sqrt(norm2)
    if norm <= c and norm < np.inf:
        return 1.0, False
    return c / norm, True


@squares
def _clip_rows(v, c, low, tiny, out):
    """Clip the rows of v into out; how many were longer than c."""
    count = 0
    for i in range(len(v)):
        row, clipped = v[i], out[i]
        norm2 = v.dtype.type(0)
        for j in range(len(row)):
            norm2 += row[j] * row[j]
        each, longer = _weigh(row, norm2, c, low)
        weight = v.dtype.type(each)
        count += longer
        for j in range(len(row)):
            clipped[j] = weight * row[j] if weight >= tiny else 0
    return count


@squares
def _clip_columns(v, c, low, tiny, out, first, stop):
    """Clip columns first..stop-1 of v into those of out; how many were longer than c."""
    norm2, part = np.zeros(stop - first, v.dtype), np.empty(stop - first, v.dtype)
    count = 0
    for start in range(0, len(v), BLOCK):
        for i in range(len(part)):
            part[i] = 0
        for k in range(start, min(start + BLOCK, len(v))):
            row = v[k, first:stop]
            for i in range(len(part)):
                part[i] += row[i] * row[i]
        for i in range(len(part)):
            norm2[i] += part[i]
    weight = part
    for i in range(len(part)):
        weight[i], longer = _weigh(v[:, first + i], norm2[i], c, low)
        count += longer
    for k in range(len(v)):
        row, clipped = v[k, first:stop], out[k, first:stop]
        for i in range(len(part)):
            clipped[i] = weight[i] * row[i] if weight[i] >= tiny else 0
    return count


@entries
def _clip_offset(v, nu, c, signed, out):
    """Clip v + nu, or v moved by nu away from 0, into out."""
    for k in range(len(v)):
        x = v[k] - nu if signed and v[k] < 0 else v[k] + nu
        x = c if x > c else x
        out[k] = -c if x < -c else x


def _in_memory(v):
    """v without gaps as a matrix, (m, n) with an example a row or (n, m) with one a column, and whether as columns."""
    if not v.flags.c_contiguous and (side_by_side := np.moveaxis(v, 0, -1)).flags.c_contiguous:
        return side_by_side.reshape(-1, len(v)), True
    return np.ascontiguousarray(v).reshape(len(v), math.prod(v.shape[1:])), False


def _like(v, out, columns):
    """The matrix out in v's shape."""
    return np.moveaxis(out.reshape(*v.shape[1:], len(v)), -1, 0) if columns else out.reshape(v.shape)


def clip_l2(v, c, shares=None):
    """Twin of `nfa.clip.clip_l2`."""
    if not c > 0:
        raise ValueError(f"the clipping bound c must be positive, got {c}")
    least, low, tiny = LIMITS[v.dtype]
    if c < least:
        raise ValueError(f"the clipping bound {c} is too small for {v.dtype}, need at least {least:.3g}")
    rows, columns = _in_memory(v)
    out = np.empty(rows.shape, v.dtype)
    longer = []

    def work(start, stop):
        if columns:
            longer.append(_clip_columns(rows, float(c), low, tiny, out, start, stop))
        else:
            longer.append(_clip_rows(rows[start:stop], float(c), low, tiny, out[start:stop]))

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
