"""Kernels for max pooling in `nfa.network.im2col`. The examples are the last axis, so loops over them are fast."""

import numpy as np
from numba import njit

from nfa.kernels import cores, lanes

loop = njit(nogil=True, error_model="numpy")


@loop
def _larger(x, y):
    """The larger of two numbers, or NaN if one is NaN."""
    return x if x >= y or x != x else y


@loop
def _pool(a, pooled, k, stride, start, stop):
    """The largest entry of each window in channels start..stop of a (c, H, W, m), or NaN if the window has a NaN."""
    _, rows, columns, m = pooled.shape
    for c in range(start, stop):
        for r in range(rows):
            for s in range(columns):
                best, first = pooled[c, r, s], a[c, r * stride[0], s * stride[1]]
                for q in range(m):
                    best[q] = first[q]
                for i in range(k[0]):
                    for j in range(k[1]):
                        x = a[c, r * stride[0] + i, s * stride[1] + j]
                        for q in range(m):
                            best[q] = _larger(best[q], x[q])


@loop
def _pool_four(a, pooled, k, stride, start, stop):
    """`_pool` for adjacent windows of 2 by 2."""
    _, rows, columns, m = pooled.shape
    for c in range(start, stop):
        for r in range(rows):
            above, below, into = a[c, 2 * r], a[c, 2 * r + 1], pooled[c, r]
            for s in range(columns):
                x0, x1, x2, x3 = above[2 * s], above[2 * s + 1], below[2 * s], below[2 * s + 1]
                best = into[s]
                for q in range(m):
                    best[q] = _larger(_larger(x0[q], x1[q]), _larger(x2[q], x3[q]))


@loop
def _unpool(a, v, da, left, k, stride, start, stop):
    """Add v (c, rows, columns, m) to da at the first place in each window that has the window's largest entry.

    left (2, m) is memory for the largest entries, and for the entries of v that are not yet added.
    """
    _, rows, columns, m = v.shape
    zero = da.dtype.type(0)
    largest, rest = left[0], left[1]
    for c in range(start, stop):
        for r in range(da.shape[1]):
            for s in range(da.shape[2]):
                into = da[c, r, s]
                for q in range(m):
                    into[q] = zero
        for r in range(rows):
            for s in range(columns):
                first, given = a[c, r * stride[0], s * stride[1]], v[c, r, s]
                for q in range(m):
                    largest[q], rest[q] = first[q], given[q]
                for i in range(k[0]):
                    for j in range(k[1]):
                        x = a[c, r * stride[0] + i, s * stride[1] + j]
                        for q in range(m):
                            largest[q] = _larger(largest[q], x[q])
                for i in range(k[0]):
                    for j in range(k[1]):
                        at = r * stride[0] + i, s * stride[1] + j
                        x, into = a[c, at[0], at[1]], da[c, at[0], at[1]]
                        for q in range(m):
                            here = x[q] == largest[q]
                            into[q] += rest[q] if here else zero
                            rest[q] = zero if here else rest[q]


@loop
def _unpool_four(a, v, da, left, k, stride, start, stop):
    """`_unpool` for adjacent windows of 2 by 2, without branches, because a processor cannot predict the largest entry.

    Rows and columns at the edge without a window are not written. Each loop writes to only one place of the window. If
    a loop wrote to several places, the compiler would not know that they do not overlap in memory, and would process
    the values one by one.
    """
    _, rows, columns, m = v.shape
    zero = da.dtype.type(0)
    largest, rest = left[0], left[1]
    for c in range(start, stop):
        for r in range(rows):
            above, below = a[c, 2 * r], a[c, 2 * r + 1]
            for s in range(columns):
                x0, x1, x2, x3, given = above[2 * s], above[2 * s + 1], below[2 * s], below[2 * s + 1], v[c, r, s]
                for q in range(m):
                    largest[q] = _larger(_larger(x0[q], x1[q]), _larger(x2[q], x3[q]))
                    rest[q] = given[q]
                for i in range(k[0]):
                    for j in range(k[1]):
                        x, into = a[c, 2 * r + i, 2 * s + j], da[c, 2 * r + i, 2 * s + j]
                        for q in range(m):
                            here, g = x[q] == largest[q], rest[q]
                            into[q] = g if here else zero
                            rest[q] = zero if here else g


def _of(k, stride, four, any_):
    return four if tuple(k) == tuple(stride) == (2, 2) else any_


def _lanes(a):
    """a (m, c, H, W) as (c, H, W, m), in place if its memory has this order."""
    return np.ascontiguousarray(a.transpose(1, 2, 3, 0))


def max_pool(a, k, stride):
    """Twin of `nfa.network.im2col.max_pool`."""
    m, c, H, W = a.shape
    rows, columns = (H - k[0]) // stride[0] + 1, (W - k[1]) // stride[1] + 1
    a, pooled = _lanes(a), lanes.empty(m, (c, rows, columns), a.dtype)
    pool = _of(k, stride, _pool_four, _pool)
    cores.share(lambda i, j: pool(a, pooled, k, stride, i, j), c, 1 + lanes.SMALL * c // max(1, a.size))
    return lanes.examples_first(pooled)


def max_unpool(a, v, k, stride):
    """Twin of `nfa.network.im2col.max_unpool`."""
    a, v = _lanes(a), _lanes(v.astype(a.dtype, copy=False))
    c, _, _, m = a.shape
    da = lanes.empty(m, a.shape[:3], a.dtype)
    # Entries in rows and columns without a window get 0.
    da[:, stride[0] * v.shape[1] :], da[:, :, stride[1] * v.shape[2] :] = 0, 0
    unpool = _of(k, stride, _unpool_four, _unpool)

    def work(start, stop):
        unpool(a, v, da, np.empty((2, m), a.dtype), k, stride, start, stop)

    cores.share(work, c, 1 + lanes.SMALL * c // max(1, a.size))
    return lanes.examples_first(da)
