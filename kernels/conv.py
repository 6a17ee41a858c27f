"""Twins of `nfa.network.convolution` for kernels that move by one: few large matrix products, shared among the cores.

Nothing is compiled: products are the linear algebra library's, which is to have one thread, and how they are cut
depends on shapes alone, so that no number depends on how many threads there are. Sums over examples have them as lanes
(`nfa.kernels.lanes`); where each example's own term is wanted, examples are taken one by one.

A kernel's places (row, channel, column) are taken by its columns, a product each of what its rows see of all channels;
where that is little, all places are laid out and taken at once.
"""

import numpy as np

from nfa.kernels import cores, lanes
from nfa.kernels.pooling import max_pool, max_unpool

__all__ = ["add_up", "affine", "max_pool", "max_unpool", "norms2", "outer", "transpose", "weighed"]

LEAST = 32  # what the rows see, from which on their columns are taken one by one
GROUPS = 4  # of rows, each with a sum of its own
PIECES = 8  # of the terms that are added up


def _moves_by_one(stride):
    if tuple(stride) != (1, 1):
        raise ValueError(f"this kernel is for convolutions that move by one, got the stride {stride}")


def _split(c, k):
    """How many columns of the kernel are taken by themselves: all k[1], or 1 where all places are taken at once."""
    return k[1] if c * k[0] >= LEAST else 1


def _join(dW, c, k):
    """W's shape from its parts (`_split` columns, c_out, places), whose places are (columns, rows, channels)."""
    c_out = dW.shape[1]
    return np.ascontiguousarray(dW.transpose(1, 0, 2).reshape(c_out, k[1], k[0], c).transpose(0, 3, 2, 1))


def _seen(rows, n, columns, c, k):
    """What the kernel's columns see, for each of `_split` (places, columns n): runs of a matrix (k[0] c, width n)."""
    shifts = [rows[:, j * n : (j + columns) * n] for j in range(k[1])]
    return shifts if _split(c, k) > 1 else [np.concatenate(shifts)]


def affine(W, b, h, stride, pad):
    """Twin of `nfa.network.convolution.affine`."""
    _moves_by_one(stride)
    (m, c, H, width), (c_out, _, *k) = h.shape, W.shape
    rows, columns = H + pad[0] + pad[1] - k[0] + 1, width + pad[2] + pad[3] - k[1] + 1
    z = lanes.empty(m, (c_out, rows, columns), np.result_type(W, h))
    w = W.transpose(0, 3, 2, 1).reshape(c_out, _split(c, k), -1).astype(z.dtype, copy=False).transpose(1, 0, 2).copy()
    bias = b.astype(z.dtype, copy=False)[:, None, None]
    for here in lanes.blocks(m):
        x = lanes.lay(h[here], pad, z.dtype)
        n = x.shape[3]

        def work(start, stop, x=x, n=n, here=here):
            total, term = (cores.aligned((c_out, columns * n), z.dtype) for _ in range(2))
            for r in range(start, stop):
                rows_seen = x[r : r + k[0]].reshape(k[0] * c, -1)
                for j, seen in enumerate(_seen(rows_seen, n, columns, c, k)):
                    np.matmul(w[j], seen, out=term if j else total)
                    if j:
                        np.add(total, term, out=total)
                np.add(total.reshape(c_out, columns, n), bias, out=z[:, r, :, here])

        cores.share(work, rows, 1 + lanes.PRODUCTS // (w.size * columns * n))
    return lanes.examples_first(z)


def transpose(W, dz, shape, stride, pad):
    """Twin of `nfa.network.convolution.transpose`."""
    turned = W[:, :, ::-1, ::-1].swapaxes(0, 1)
    k_0, k_1 = W.shape[2:]
    back = (k_0 - 1 - pad[0], k_0 - 1 - pad[1], k_1 - 1 - pad[2], k_1 - 1 - pad[3])
    return affine(turned, np.zeros(shape[0], W.dtype), dz, stride, back)


def outer(dz, h, k, stride, pad):
    """Twin of `nfa.network.convolution.outer`."""
    _moves_by_one(stride)
    _, c_out, rows, columns = dz.shape
    c, dtype = h.shape[1], np.result_type(dz, h)
    groups = min(rows, GROUPS)
    sums = np.zeros((groups, _split(c, k), c_out, c * k[0] * k[1] // _split(c, k)), dtype)
    as_lanes = dz.transpose(1, 2, 3, 0)
    for here in lanes.blocks(len(h)):
        x = lanes.lay(h[here], pad, dtype)
        n = x.shape[3]

        def work(start, stop, x=x, n=n, here=here):
            for g in range(start, stop):
                for r in range(rows * g // groups, rows * (g + 1) // groups):
                    d = as_lanes[:, r, :, here].astype(dtype, copy=False).reshape(c_out, -1)
                    rows_seen = x[r : r + k[0]].reshape(k[0] * c, -1)
                    for j, seen in enumerate(_seen(rows_seen, n, columns, c, k)):
                        sums[g, j] += np.matmul(d, seen.T)

        cores.share(work, groups, 1 + lanes.PRODUCTS * groups // (sums[0].size * rows * columns * n))
    return _join(sums.sum(axis=0), c, k)


def norms2(dz, h, k, stride, pad, kept=None):
    """Twin of `nfa.network.convolution.norms2`."""
    _moves_by_one(stride)
    W2 = np.empty(len(h), np.result_type(dz, h))
    for part in lanes.parts(len(h), h[:1].size + dz[:1].size):
        W2[part], terms = _formed(dz[part], h[part], k, pad, kept is not None)
        if kept is not None:
            kept.append((part, terms))
    return W2


def weighed(dz, h, k, stride, pad, weight):
    """Twin of `nfa.network.convolution.weighed`."""
    _moves_by_one(stride)
    if not (live := weight != 0).all():
        dz, h, weight = dz[live], h[live], weight[live]
    c_out, c = dz.shape[1], h.shape[1]
    dW = np.zeros((c_out, c, *k), np.result_type(dz, h))
    for part in lanes.parts(len(h), c_out * c * k[0] * k[1]):
        _, terms = _formed(dz[part], h[part], k, pad, True)
        dW += add_up([(slice(0, None), terms)], k, weight[part])
    return dW


def add_up(kept, k, weight):
    """Twin of `nfa.network.convolution.add_up`."""
    dW = 0
    for part, terms in kept:
        own = weight[part]
        if not (live := own != 0).all():
            own, terms = own[live], terms[live]
        _, split, c_out, places = terms.shape
        total = np.empty(split * c_out * places, terms.dtype)
        flat = terms.reshape(len(terms), len(total))

        def work(start, stop, own=own, flat=flat, total=total):
            for i in range(start, stop):
                piece = slice(len(total) * i // PIECES, len(total) * (i + 1) // PIECES)
                np.matmul(own, flat[:, piece], out=total[piece])

        cores.share(work, PIECES, 1 + lanes.SMALL * PIECES // max(1, flat.size))
        dW = dW + _join(total.reshape(split, c_out, places), split * places // (k[0] * k[1]), k)
    return dW


def _turned(a, pad, dtype):
    """a (m, c, H, W) as (m, c, W, H), zeros around it: what a kernel's columns see of an example is then a run."""
    (m, c, H, W), (above, below, left, right) = a.shape, pad
    out = cores.aligned((m, c, W + left + right, H + above + below), dtype)
    if any(pad):
        out[...] = 0
    inside = out[:, :, left : left + W, above : above + H]

    def work(start, stop):
        for i in range(start, stop):  # a channel's lanes stay in the nearest cache until all of a line is taken
            inside[:, i] = a[:, i].swapaxes(1, 2)

    cores.share(work, c, 1 + lanes.SMALL * c // max(1, out.size))
    return out


def _formed(dz, h, k, pad, keep):
    """(each example's squared norm, its term): (m,) and, where kept, (m, `_split` columns, c_out, places)."""
    (m, c, *_), (_, c_out, rows, columns) = h.shape, dz.shape
    dtype, split = np.result_type(dz, h), _split(c, k)
    d = _turned(dz, (0, 0, 0, 0), dtype).reshape(m, c_out, columns * rows)
    x = _turned(h, pad, dtype)
    norms = np.empty(m, dtype)
    terms = cores.aligned((m if keep else 0, split, c_out, c * k[0] * k[1] // split), dtype)

    def work(start, stop):
        shifted = cores.aligned((k[0], *x.shape[1:3], rows), dtype)
        room = cores.aligned(terms.shape[1:], dtype)
        for i in range(start, stop):
            term = terms[i] if keep else room
            for r in range(k[0]):
                shifted[r] = x[i, :, :, r : r + rows]
            for j, seen in enumerate(_seen(shifted.reshape(k[0] * c, -1), rows, columns, c, k)):
                np.matmul(d[i], seen.T, out=term[j])
            norms[i] = np.vdot(term, term)

    cores.share(work, m, 1 + lanes.PRODUCTS // max(1, c_out * c * k[0] * k[1] * rows * columns))
    return norms, terms
