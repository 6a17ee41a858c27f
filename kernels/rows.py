"""Matrix products in which each row is computed alone: kernels for an example's own pass in secure runs.

Every entry is ((0 + a_0 b_0) + a_1 b_1) + ... The terms are added in this order, and each product and each sum is
rounded separately. So an entry depends only on its row of a and its column of b, not on the number of rows or the
position of the row. A linear algebra library, in contrast, uses different loops for different sizes, and these loops
round differently.

For convolutions, we use `nfa.kernels.conv` with these products. Sums over the positions of an example are also computed
in order. The linear algebra library computes only sums over examples.
"""

import math

import numpy as np
from numba import njit

from nfa.kernels import conv, cores, lanes

__all__ = ["add_up", "affine", "matmul", "norms2", "outer", "over_positions", "transpose", "weighed"]

ANY_STRIDE = True  # convolutions may have a stride above 1
TERMS = 8  # number of terms that are added to an entry at a time
PACKED = 32  # number of rows of b that are copied at a time
# Number of bytes of a row of b that are processed at a time; PACKED such rows fit into the nearest cache.
WIDTH = 1 << 10
NEAR = 16  # number of rows of sums that also fit into the nearest cache
LINE = 16  # smallest number of entries that are processed together
# Number of examples of a convolution in one product, because contiguous blocks of so many columns are fast.
EXAMPLES = 128
ROWS = 128  # number of rows of a that are processed while the copied part of b is in the cache

# Without fastmath, the compiler does not fuse products and sums, and does not change the order of a sum.
strict = njit(nogil=True, error_model="numpy")


@strict
def _pack(b, turned, k, first, stop, room):
    """Copy entries first..stop of the rows k, k + 1, ... of b (or of its columns, if ``turned``) into room."""
    if turned:
        for j in range(stop - first):
            of_unit = b[first + j, k : k + len(room)]
            for t in range(len(of_unit)):
                room[t, j] = of_unit[t]
    else:
        for t in range(len(room)):
            row, into = b[k + t, first:stop], room[t]
            for j in range(len(row)):
                into[j] = row[j]


@strict
def _add_terms(a, k, room, c, width):
    """Add the terms k..k+7 to c, in order. The first term is a[:, k] room[0]."""
    b0, b1, b2, b3, b4, b5, b6, b7 = room[0], room[1], room[2], room[3], room[4], room[5], room[6], room[7]
    for i in range(len(a)):
        x, z = a[i], c[i]
        a0, a1, a2, a3 = x[k], x[k + 1], x[k + 2], x[k + 3]
        a4, a5, a6, a7 = x[k + 4], x[k + 5], x[k + 6], x[k + 7]
        for j in range(width):
            z[j] = (
                z[j] + a0 * b0[j] + a1 * b1[j] + a2 * b2[j] + a3 * b3[j]
                + a4 * b4[j] + a5 * b5[j] + a6 * b6[j] + a7 * b7[j]
            )  # fmt: skip


@strict
def _add_term(a, k, room, c, width):
    """Add term k to c."""
    b_k = room[0]
    for i in range(len(a)):
        a_ik, z = a[i, k], c[i]
        for j in range(width):
            z[j] += a_ik * b_k[j]


@strict
def _multiply(a, b, turned, n, room, total, out):
    """out[s, t] = a[s] b[s, t]. b[s, t] is (k, n), possibly with more columns, or (n, k) if ``turned``.

    Columns beyond n are not read. room (PACKED, w) is memory for some rows of adjacent b[s, :]. total (ROWS, w) is
    memory for sums.
    """
    terms, w, stack = a.shape[2], room.shape[1], b.shape[1]
    done = terms - terms % TERMS
    for s in range(len(out)):
        for top in range(0, a.shape[1], ROWS):
            rows = a[s, top : top + ROWS]
            for first in range(0, n, w):
                stop = min(first + w, n)
                # Rounded up to whole vectors; the sums beyond ``stop`` are not used.
                own = -(-(stop - first) // LINE) * LINE
                for t in range(0, stack, w // own):
                    beside = min(w // own, stack - t)
                    width = beside * own
                    for i in range(len(rows)):
                        for j in range(width):
                            total[i, j] = 0
                    for start in range(0, done, len(room)):
                        end = min(start + len(room), done)
                        for q in range(beside):
                            _pack(b[s, t + q], turned, start, first, stop, room[: end - start, q * own :])
                        for i in range(0, len(rows), NEAR):
                            for k in range(start, end, TERMS):
                                _add_terms(rows[i : i + NEAR], k, room[k - start :], total[i : i + NEAR], width)
                    for k in range(done, terms):
                        for q in range(beside):
                            _pack(b[s, t + q], turned, k, first, stop, room[:1, q * own :])
                        _add_term(rows, k, room, total, width)
                    for q in range(beside):
                        into = out[s, t + q, top : top + ROWS]
                        for i in range(len(into)):
                            for j in range(stop - first):
                                into[i, first + j] = total[i, q * own + j]


@strict
def _add_places(a, sums):
    """The sum over the second axis of a (channels, places, m), with its terms in order, into sums (channels, m)."""
    for c in range(len(a)):
        total = sums[c]
        for i in range(len(total)):
            total[i] = 0
        for p in range(a.shape[1]):
            at = a[c, p]
            for i in range(len(total)):
                total[i] += at[i]


def matmul(a, b, out=None):
    """Twin of `numpy.matmul` for matrices and stacks of matrices.

    a is real, and b is real or complex. ``out`` has the dtype of the result.
    """
    dtype = np.result_type(a, b)
    if dtype.kind == "c":
        both = np.empty((*np.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]), dtype)
        both.real, both.imag = (matmul(a, np.ascontiguousarray(part, a.dtype)) for part in (b.real, b.imag))
        return both
    (m, k), n = a.shape[-2:], b.shape[-1]
    stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    if out is None:
        out = np.empty((*stack, m, n), dtype)
    (b, turned), each = _readable(b.astype(dtype, copy=False)), out
    while len(stack) < 2:
        stack, each = (1, *stack), each[None]
    b = np.broadcast_to(b, (*stack, *b.shape[-2:]))
    if a.ndim == 2 or a.shape[-3] == 1:  # the matrices of the stack's last axis have a common a
        a = a if a.ndim == 2 else a[..., 0, :, :]
    else:
        b, each, stack = b[..., None, :, :], each[..., None, :, :], (*stack, 1)
    a = np.broadcast_to(np.ascontiguousarray(a, dtype), (*stack[:-1], m, k))
    w = min(WIDTH // dtype.itemsize, max(1, -(-n // LINE)) * LINE * stack[-1])

    def work(start, stop):
        room, total = cores.aligned((PACKED, w), dtype), cores.aligned((min(ROWS, stop - start), w), dtype)
        room[...] = 0  # otherwise uninitialised values beyond n, such as denormals, could slow down the processor
        for i in np.ndindex(stack[:-2]):
            _multiply(a[i][:, start:stop], b[i], turned, n, room, total, each[i][:, :, start:stop])

    cores.share(work, m, 1 + lanes.PRODUCTS // max(1, k * n * math.prod(stack)))
    return out


def _readable(b):
    """(b, False) if its rows are contiguous, (b with exchanged last axes, True) if its columns are contiguous.

    Rows may have gaps between them in memory. They are then rows of a matrix with further columns that are not read.
    """
    for one, turned in ((b, False), (b.swapaxes(-1, -2), True)):
        across, along = one.strides[-2:]
        if one.size and along == one.itemsize and across >= one.shape[-1] * along and across % along == 0:
            shape = (*one.shape[:-1], across // along)
            return np.lib.stride_tricks.as_strided(one, shape, one.strides, writeable=False), turned
    return np.ascontiguousarray(b), False


def affine(W, b, h, stride, pad):
    """Twin of `nfa.network.convolution.affine`."""
    return conv.affine_by(matmul, W, b, h, pad, EXAMPLES)[:, :, :: stride[0], :: stride[1]]


def transpose(W, dz, shape, stride, pad):
    """Twin of `nfa.network.convolution.transpose`."""
    dz = _apart(dz, shape, W.shape[2:], stride, pad)
    return conv.transpose_by(matmul, W, dz, shape, pad, EXAMPLES)


def outer(dz, h, k, stride, pad):
    """Twin of `nfa.network.convolution.outer`."""
    # This module does not use `nfa.kernels.toom_cook`, because its rounding errors would be larger than the theorem of
    # nfa.sensitivity.rounding allows.
    return conv.outer_by(None, _apart(dz, h.shape[1:], k, stride, pad), h, k, pad)


def norms2(dz, h, k, stride, pad, kept=None):
    """Twin of `nfa.network.convolution.norms2`."""
    return conv.norms2(_apart(dz, h.shape[1:], k, stride, pad), h, k, (1, 1), pad, kept)


def weighed(dz, h, k, stride, pad, weight):
    """Twin of `nfa.network.convolution.weighed`."""
    return conv.weighed(_apart(dz, h.shape[1:], k, stride, pad), h, k, (1, 1), pad, weight)


def add_up(kept, k, weight):
    """Twin of `nfa.network.convolution.add_up`."""
    return conv.add_up(kept, k, weight)


def over_positions(dz):
    """Twin of `nfa.network.convolution.over_positions`."""
    as_lanes = np.ascontiguousarray(dz.transpose(1, 2, 3, 0))
    sums = np.empty((len(as_lanes), len(dz)), dz.dtype)
    _add_places(as_lanes.reshape(len(as_lanes), math.prod(dz.shape[2:]), len(dz)), sums)
    return np.ascontiguousarray(sums.T)


def _apart(dz, shape, k, stride, pad):
    """dz in the shape for stride 1, with zeros at the places that a larger stride leaves out."""
    if tuple(stride) == (1, 1):
        return dz
    rows, columns = shape[1] + pad[0] + pad[1] - k[0] + 1, shape[2] + pad[2] + pad[3] - k[1] + 1
    apart = np.zeros((*dz.shape[:2], rows, columns), dz.dtype)
    apart[:, :, :: stride[0], :: stride[1]] = dz
    return apart
