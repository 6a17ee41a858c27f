"""Numba twins of `nfa.network.im2col`: the same columns, written pixel by pixel without a padded copy of the image.

Each example is a thread's work of its own; no number depends on how many threads there are.
"""

import numpy as np
from numba import njit

from nfa.kernels import cores


def _positions(shape, k, stride, pad):
    """How many rows and columns of positions the kernel has on an image of this shape (..., H, W)."""
    (H, W), (top, bottom, left, right) = shape[-2:], pad
    return (H + top + bottom - k[0]) // stride[0] + 1, (W + left + right - k[1]) // stride[1] + 1


def _least(a):
    """How many examples of a are worth a thread: about 2^16 entries."""
    return 1 + 2**16 * len(a) // max(1, a.size)


@njit(nogil=True)
def _lay(x, U, k, stride, pad):
    """Fill U (m, c, k_0, k_1, rows, columns) with the patches of x."""
    m, c, H, W = x.shape
    rows, columns = U.shape[4], U.shape[5]
    for n in range(m):
        for ch in range(c):
            for i in range(k[0]):
                for j in range(k[1]):
                    for r in range(rows):
                        row = r * stride[0] + i - pad[0]
                        inside = 0 <= row < H
                        for s in range(columns):
                            column = s * stride[1] + j - pad[2]
                            if inside and 0 <= column < W:
                                U[n, ch, i, j, r, s] = x[n, ch, row, column]
                            else:
                                U[n, ch, i, j, r, s] = 0


@njit(nogil=True)
def _lay_rows(x, L, stride, pad):
    """Fill L (m, c, k_1, rows of the padded image, columns) with what a row of the kernel sees."""
    m, c, H, W = x.shape
    neighbours, rows, columns = L.shape[2:]
    for n in range(m):
        for ch in range(c):
            for j in range(neighbours):
                for r in range(rows):
                    row = r - pad[0]
                    inside = 0 <= row < H
                    for s in range(columns):
                        column = s * stride[1] + j - pad[2]
                        if inside and 0 <= column < W:
                            L[n, ch, j, r, s] = x[n, ch, row, column]
                        else:
                            L[n, ch, j, r, s] = 0


@njit(nogil=True)
def _add_back(U, x, k, stride, pad):
    """Add U (m, c, k_0, k_1, rows, columns) onto the pixels of x that its entries were read from."""
    m, c, H, W = x.shape
    rows, columns = U.shape[4], U.shape[5]
    for n in range(m):
        for ch in range(c):
            for i in range(k[0]):
                for j in range(k[1]):
                    for r in range(rows):
                        row = r * stride[0] + i - pad[0]
                        if row < 0 or row >= H:
                            continue
                        for s in range(columns):
                            column = s * stride[1] + j - pad[2]
                            if 0 <= column < W:
                                x[n, ch, row, column] += U[n, ch, i, j, r, s]


@njit(nogil=True)
def _send_to_largest(a, v, da, k, stride):
    """Add every entry of v (m, c, rows, columns) to da at the place of the largest entry of its window of a."""
    m, c, rows, columns = v.shape
    for n in range(m):
        for ch in range(c):
            for r in range(rows):
                for s in range(columns):
                    row, column = r * stride[0], s * stride[1]
                    largest = a[n, ch, row, column]
                    for i in range(r * stride[0], r * stride[0] + k[0]):
                        for j in range(s * stride[1], s * stride[1] + k[1]):
                            if a[n, ch, i, j] > largest:
                                largest, row, column = a[n, ch, i, j], i, j
                    da[n, ch, row, column] += v[n, ch, r, s]


@njit(nogil=True)
def _send_to_larger_of_four(a, v, da, k, stride):
    """`_send_to_largest` for windows of 2 by 2 side by side, without a branch: nobody can predict which is largest."""
    m, c, rows, columns = v.shape
    zero = da.dtype.type(0)
    for n in range(m):
        for ch in range(c):
            for r in range(rows):
                above, below, given = a[n, ch, 2 * r], a[n, ch, 2 * r + 1], v[n, ch, r]
                to_above, to_below = da[n, ch, 2 * r], da[n, ch, 2 * r + 1]
                for s in range(columns):  # every entry is read at once, for a reading that depends on one is a branch
                    p, q, t, u, g = above[2 * s], above[2 * s + 1], below[2 * s], below[2 * s + 1], given[s]
                    left, right = p >= q, t >= u
                    first, second = p if left else q, t if right else u
                    up, down = g if first >= second else zero, g if first < second else zero
                    to_above[2 * s], to_above[2 * s + 1] = up if left else zero, zero if left else up
                    to_below[2 * s], to_below[2 * s + 1] = down if right else zero, zero if right else down


def im2col(x, k, stride, pad):
    """Twin of `nfa.network.im2col.im2col`."""
    m, c, *_ = x.shape
    rows, columns = _positions(x.shape, k, stride, pad)
    x = np.ascontiguousarray(x)
    U = np.empty((m, c, k[0], k[1], rows, columns), x.dtype)
    cores.share(lambda i, j: _lay(x[i:j], U[i:j], k, stride, pad), m, _least(U))
    return U.reshape(m, c * k[0] * k[1], rows * columns)


def lower(x, k, stride, pad):
    """Twin of `nfa.network.im2col.lower`."""
    m, c, H, _ = x.shape
    columns = _positions(x.shape, k, stride, pad)[1]
    x = np.ascontiguousarray(x)
    L = np.empty((m, c, k[1], pad[0] + H + pad[1], columns), x.dtype)
    cores.share(lambda i, j: _lay_rows(x[i:j], L[i:j], stride, pad), m, _least(L))
    return L.reshape(m, c * k[1], -1) if m else L.reshape(0, c * k[1], L.shape[3] * columns)


def col2im(U, shape, k, stride, pad):
    """Twin of `nfa.network.im2col.col2im`."""
    x = np.zeros((len(U), *shape), U.dtype)
    patches = np.ascontiguousarray(U).reshape(len(U), shape[0], *k, *_positions(shape, k, stride, pad))
    cores.share(lambda i, j: _add_back(patches[i:j], x[i:j], k, stride, pad), len(U), _least(U))
    return x


def max_unpool(a, v, k, stride):
    """Twin of `nfa.network.im2col.max_unpool`."""
    a, v = np.ascontiguousarray(a), np.ascontiguousarray(v)
    da = np.zeros_like(a)
    send = _send_to_larger_of_four if tuple(k) == tuple(stride) == (2, 2) else _send_to_largest
    cores.share(lambda i, j: send(a[i:j], v[i:j], da[i:j], k, stride), len(a), _least(a))
    return da
