"""Kernels for `nfa.network.convolution` with stride 1: a few large matrix products, shared among the cores.

Nothing is compiled here. The linear algebra library computes the products with one thread each. The sizes of the
products depend only on the shapes of the arrays, so no result depends on the number of threads. For sums over examples,
the examples are the last axis in memory (`nfa.kernels.lanes`). If each example's own term is needed, examples are
processed one by one.

If a column of the convolution's kernel reads at least `LEAST` entries, we compute a row of outputs with the fewer
products of `nfa.kernels.toom_cook`. Otherwise, we copy the entries that all places of the kernel read into one array,
and a row of outputs is one product.
"""

import numpy as np

from nfa.kernels import cores, lanes, toom_cook
from nfa.kernels.pooling import max_pool, max_unpool

__all__ = ["add_up", "affine", "max_pool", "max_unpool", "norms2", "outer", "over_positions", "transpose", "weighed"]

LEAST = 32  # number of entries (rows times channels) that a column of the kernel reads
GROUPS = 4  # number of groups of rows, each with its own sum
PIECES = 8  # number of pieces into which the sum of terms is divided for the threads
BLOCK = 32  # number of examples in a block with `nfa.kernels.toom_cook`, and of columns in its products
FEW = 10**6  # products with at most so many multiplications are faster, because OpenBLAS does not copy their factors


def _moves_by_one(stride):
    if tuple(stride) != (1, 1):
        raise ValueError(f"the kernel of a convolution needs stride 1, got stride {stride}")


def _points(c, k, columns):
    """The matrices of `nfa.kernels.toom_cook` for a row with this number of outputs; None for a plain product."""
    return toom_cook.whole_row(k[1], columns) if c * k[0] >= LEAST else None


def _join(dW, c, k):
    """An array of W's shape from dW (places, c_out). The places have the order (columns, rows, channels)."""
    return np.ascontiguousarray(dW.reshape(k[1], k[0], c, -1).transpose(3, 2, 1, 0))


def _places(x, k):
    """The entries of x (rows, c, columns, n) for each kernel column: (rows, k[1], c, n times columns of outputs).

    The kernel reads k[0] of these rows at a time, which are contiguous in memory. The places of the kernel have the
    order (row, column, c).
    """
    columns = x.shape[2] - k[1] + 1
    return np.stack([x[:, :, j : j + columns] for j in range(k[1])], axis=1).reshape(len(x), k[1], x.shape[1], -1)


def affine(W, b, h, stride, pad):
    """Twin of `nfa.network.convolution.affine`."""
    _moves_by_one(stride)
    return affine_by(np.matmul, W, b, h, pad)


def affine_by(matmul, W, b, h, pad, at_once=None):
    """`affine` for stride 1, with a given matrix product, and with ``at_once`` examples at a time.

    All other operations are elementwise. The number and the order of the terms of an entry depend only on the shape of
    an example.
    """
    (m, c, H, width), (c_out, _, *k) = h.shape, W.shape
    rows, columns = H + pad[0] + pad[1] - k[0] + 1, width + pad[2] + pad[3] - k[1] + 1
    z = lanes.empty(m, (c_out, rows, columns), np.result_type(W, h))
    bias = b.astype(z.dtype, copy=False)[:, None, None]
    of_block = _affine_by_points if (by := _points(c, k, columns)) else _affine_at_once
    for here in lanes.blocks(m, at_once or (BLOCK if by else lanes.LANES)):
        of_block(matmul, W, bias, h[here], pad, z[..., here], by)
    return lanes.examples_first(z)


def _affine_at_once(matmul, W, bias, h, pad, z, _):
    """z (c_out, rows, columns, n) for a block of n examples h."""
    (c_out, _, *k), (_, rows, columns, n) = W.shape, z.shape
    w = W.transpose(0, 2, 3, 1).reshape(c_out, -1).astype(z.dtype, copy=False)
    x = _places(lanes.lay(h, pad, z.dtype), k)

    def work(start, stop):
        total = cores.aligned((c_out, columns * n), z.dtype)
        for r in range(start, stop):
            matmul(w, x[r : r + k[0]].reshape(w.shape[1], -1), out=total)
            np.add(total.reshape(c_out, columns, n), bias, out=z[:, r])

    cores.share(work, rows, 1 + lanes.PRODUCTS // (w.size * columns * n))


def _affine_by_points(matmul, W, bias, h, pad, z, by):
    """`_affine_at_once` with the matrices ``by`` of `nfa.kernels.toom_cook`."""
    (c_out, c, *k), (_, rows, columns, n), (A, B, G) = W.shape, z.shape, by
    A, p = A.astype(z.dtype), len(G)
    w = (G @ W.transpose(0, 2, 1, 3).reshape(-1, k[1]).T).astype(z.dtype).reshape(p, 1, c_out, k[0] * c)
    x = lanes.lay(h, pad, z.dtype)  # (rows, c, columns, n)
    x = _at_points(matmul, B, x.reshape(-1, *x.shape[2:])).reshape(p, -1, len(x) * c, n)

    def work(start, stop):
        products = cores.aligned((*x.shape[:2], c_out, n), z.dtype)
        total = cores.aligned((columns, c_out * n), z.dtype)
        for r in range(start, stop):
            matmul(w, x[:, :, r * c : (r + k[0]) * c], out=products)
            matmul(A, products.reshape(A.shape[1], c_out * n), out=total)
            np.add(total.reshape(columns, c_out, n).swapaxes(0, 1), bias, out=z[:, r])

    cores.share(work, rows, 1 + lanes.PRODUCTS // (w.size * x.shape[1] * n))


def _at_points(matmul, B, x):
    """B times the columns of x (lines, columns, run), for each line: (points and tiles, lines, run)."""
    seen = cores.aligned((len(B), len(x), x.shape[2]), x.dtype)
    matmul(B.astype(x.dtype), x, out=seen.swapaxes(0, 1))
    return seen


def transpose(W, dz, shape, stride, pad):
    """Twin of `nfa.network.convolution.transpose`."""
    _moves_by_one(stride)
    return transpose_by(np.matmul, W, dz, shape, pad)


def transpose_by(matmul, W, dz, shape, pad, at_once=None):
    """`transpose` for stride 1, with a given matrix product, as in `affine_by`."""
    turned = W[:, :, ::-1, ::-1].swapaxes(0, 1)
    k_0, k_1 = W.shape[2:]
    back = (k_0 - 1 - pad[0], k_0 - 1 - pad[1], k_1 - 1 - pad[2], k_1 - 1 - pad[3])
    return affine_by(matmul, turned, np.zeros(shape[0], W.dtype), dz, back, at_once)


def outer(dz, h, k, stride, pad):
    """Twin of `nfa.network.convolution.outer`."""
    _moves_by_one(stride)
    return outer_by(_points(h.shape[1], k, dz.shape[3]), dz, h, k, pad)


def outer_by(by, dz, h, k, pad):
    """`outer` for stride 1, with the matrices ``by`` of `nfa.kernels.toom_cook`; plain products if ``by`` is None."""
    (m, c, *_), (_, c_out, rows, _), dtype = h.shape, dz.shape, np.result_type(dz, h)
    of_block, n = _outer_at_once, lanes.LANES
    if by:
        few = FEW // (c_out * c * rows)
        of_block, n = _outer_by_points, few if BLOCK // 4 <= few < BLOCK else BLOCK
    dW = np.zeros((c_out, c, *k), dtype)
    for here in lanes.blocks(m, n):
        dW += of_block(dz[here], h[here], k, pad, dtype, by)
    return dW


def _outer_at_once(dz, h, k, pad, dtype, _):
    """dW of a block of examples."""
    (_, c_out, rows, _), c, d = dz.shape, h.shape[1], dz.transpose(1, 2, 3, 0)
    groups = min(rows, GROUPS)
    # The longer side comes first, because products are then faster.
    sums = np.zeros((groups, k[0] * k[1] * c, c_out), dtype)
    x = _places(lanes.lay(h, pad, dtype), k)

    def work(start, stop):
        for g in range(start, stop):
            for r in range(rows * g // groups, rows * (g + 1) // groups):
                d_r = d[:, r].astype(dtype, copy=False).reshape(c_out, -1)
                sums[g] += np.matmul(x[r : r + k[0]].reshape(sums.shape[1], -1), d_r.T)

    cores.share(work, groups, 1 + lanes.PRODUCTS * groups * c_out // (sums[0].size * dz.size))
    return sums.sum(axis=0).reshape(*k, c, c_out).transpose(3, 2, 0, 1)


def _outer_by_points(dz, h, k, pad, dtype, by):
    """`_outer_at_once` with the matrices ``by`` of `nfa.kernels.toom_cook`."""
    (n, c_out, rows, columns), c, (A, B, G) = dz.shape, h.shape[1], by
    p = len(G)
    d = lanes.lay(dz, (0, 0, 0, 0), dtype, (1, 3, 2, 0))  # (c_out, columns, rows, n)
    d = _at_points(np.matmul, A.T, d.reshape(c_out, columns, rows * n)).reshape(p, -1, c_out, rows * n)
    x = lanes.lay(h, pad, dtype, (2, 0, 3, 1))  # (rows, n, columns, c)
    x = _at_points(np.matmul, B, x.reshape(-1, *x.shape[2:])).reshape(p, -1, len(x) * n, c)
    sums = np.empty((k[0], p, c_out, c), dtype)

    def work(start, stop):
        for i in range(start, stop):
            np.matmul(d, x[:, :, i * n : (i + rows) * n]).sum(axis=1, out=sums[i])

    cores.share(work, k[0], 1 + lanes.PRODUCTS * k[0] // (sums.size * rows * columns * n))
    return np.tensordot(sums, G.astype(dtype), (1, 0)).transpose(1, 2, 0, 3)


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
        _, places, c_out = terms.shape
        total = np.empty(places * c_out, terms.dtype)
        flat = terms.reshape(len(terms), len(total))

        def work(start, stop, own=own, flat=flat, total=total):
            for i in range(start, stop):
                piece = slice(len(total) * i // PIECES, len(total) * (i + 1) // PIECES)
                np.matmul(own, flat[:, piece], out=total[piece])

        cores.share(work, PIECES, 1 + lanes.SMALL * PIECES // max(1, flat.size))
        dW = dW + _join(total.reshape(places, c_out), places // (k[0] * k[1]), k)
    return dW


def over_positions(dz):
    """Twin of `nfa.network.convolution.over_positions`."""
    return np.einsum("nopq->no", dz)


def _formed(dz, h, k, pad, keep):
    """The squared norm of each example's term, (m,), and the terms, (m, places, c_out), if ``keep`` is true.

    All arrays of an example begin at a cache line, whatever the position of the example in the batch. If two products
    have equal values at equal places of a cache line, their results are equal.
    """
    (m, c, *_), (_, c_out, *_, columns) = h.shape, dz.shape
    dtype, by = np.result_type(dz, h), _points(c, k, columns)
    axes = (0, 2, 3, 1) if by else (0, 1, 2, 3)
    d, x = lanes.lay(dz, (0, 0, 0, 0), dtype, axes), lanes.lay(h, pad, dtype, axes)
    form = _terms_by_points(d, x, k, by) if by else _terms_at_once(d, x, k)
    norms = np.empty(m, dtype)
    terms = cores.aligned_each(m if keep else 0, (k[1] * k[0] * c, c_out), dtype)

    def work(start, stop):
        room = cores.aligned(terms.shape[1:], dtype)
        for i in range(start, stop):
            term = terms[i] if keep else room
            form(i, term)
            norms[i] = np.vdot(term, term)

    cores.share(work, m, 1 + lanes.PRODUCTS // max(1, c * k[0] * k[1] * d[:1].size))
    return norms, terms


def _terms_at_once(d, x, k):
    """A function that computes the term (places, c_out) of example i from d (m, c_out, rows, columns) and padded x."""
    windows = np.lib.stride_tricks.sliding_window_view(x, k, axis=(2, 3)).transpose(0, 5, 4, 1, 2, 3)

    def form(i, term):
        seen = cores.aligned((len(term), d[i, 0].size), d.dtype)
        seen.reshape(windows[i].shape)[...] = windows[i]
        np.matmul(seen, d[i].reshape(len(d[i]), -1).T, out=term)

    return form


def _terms_by_points(d, x, k, by):
    """`_terms_at_once` with the matrices ``by``, for d (m, rows, columns, c_out) and x with its axes in this order."""
    (_, rows, _, c_out), c, (A, B, G) = d.shape, x.shape[3], by
    p = len(G)
    A, B = (a.astype(d.dtype).reshape(p, 1, -1, a.shape[1]) for a in (A.T, B))
    G, tiles = G.T.astype(d.dtype), A.shape[2]

    def form(i, term):
        d_i, x_i = (cores.aligned((p, len(a), tiles, a.shape[2]), d.dtype) for a in (d[i], x[i]))
        np.matmul(A, d[i], out=d_i)
        np.matmul(B, x[i], out=x_i)
        d_i, x_i = d_i.reshape(p, rows * tiles, c_out), x_i.reshape(p, -1, c).swapaxes(1, 2)
        products = cores.aligned((p, k[0], c, c_out), d.dtype)
        for r in range(k[0]):
            np.matmul(x_i[..., r * tiles : (r + rows) * tiles], d_i, out=products[:, r])
        np.matmul(G, products.reshape(p, -1), out=term.reshape(k[1], -1))

    return form
