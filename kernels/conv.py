"""Numba twins of `nfa.network.convolution` for kernels that move by one: direct sums over examples as lanes.

A block of examples is laid out once, with its zeros around; `nfa.kernels.conv_loops` has the loops upon it. No number
depends on how many threads there are.
"""

from functools import lru_cache

import numpy as np

from nfa.kernels import conv_loops as loops
from nfa.kernels import cores, lanes
from nfa.kernels.conv_loops import POSITIONS, TERMS
from nfa.kernels.pooling import max_pool, max_unpool

__all__ = ["add_up", "affine", "max_pool", "max_unpool", "norms2", "outer", "transpose", "weighed"]

CHANNELS = 8  # of z that are summed up at a time: their rows stay in the nearest cache


@lru_cache(maxsize=64)
def _places(c, k_0, k_1, rows, columns, n):
    """Where each place of a kernel begins in a block (c, rows, columns, n), in whole fives; last, a row's length."""
    at = ((np.arange(c)[:, None, None] * rows + np.arange(k_0)[:, None]) * columns + np.arange(k_1)) * n
    return np.append(at.reshape(-1), [0] * (-at.size % 5) + [columns * n])


def _moves_by_one(stride):
    if tuple(stride) != (1, 1):
        raise ValueError(f"this kernel is for convolutions that move by one, got the stride {stride}")


def affine(W, b, h, stride, pad):
    """Twin of `nfa.network.convolution.affine`."""
    _moves_by_one(stride)
    (m, c, H, width), (c_out, _, *k) = h.shape, W.shape
    rows, columns = H + pad[0] + pad[1] - k[0] + 1, width + pad[2] + pad[3] - k[1] + 1
    z = lanes.empty(m, (c_out, rows, columns), np.result_type(W, h))
    in_fours = -(-c_out // 4) * 4
    w, bias = np.zeros((in_fours, c * k[0] * k[1]), z.dtype), np.zeros(in_fours, z.dtype)
    w[:c_out], bias[:c_out] = W.reshape(c_out, -1), b
    for part in lanes.parts(m, h[:1].size):
        blocks, n = lanes.block(part.stop - part.start)
        x = lanes.lay(h[part].astype(z.dtype, copy=False), pad, blocks, n)
        x, at = x.reshape(blocks, -1), _places(c, *k, *x.shape[2:])

        def work(start, stop, x=x, at=at, n=n, first=part.start):
            loops.correlate(w, bias, x, at, n, z, first, cores.aligned((CHANNELS, columns * n), z.dtype), start, stop)

        cores.share(work, blocks * rows, 1 + lanes.PRODUCTS // (w.size * columns * n))
    return lanes.examples_first(z)


def transpose(W, dz, shape, stride, pad):
    """Twin of `nfa.network.convolution.transpose`."""
    turned = W[:, :, ::-1, ::-1].swapaxes(0, 1)
    k_0, k_1 = W.shape[2:]
    back = (k_0 - 1 - pad[0], k_0 - 1 - pad[1], k_1 - 1 - pad[2], k_1 - 1 - pad[3])
    return affine(turned, np.zeros(shape[0], W.dtype), dz, stride, back)


def _laid(dz, h, k, pad, n, positions=1):
    """Both as lanes in blocks of n, rows of dz in whole ``positions``, and where the kernel's places begin."""
    blocks = -(-len(dz) // n)
    dtype = np.result_type(dz, h)
    above, below, left, right = pad
    more = -dz.shape[3] % positions
    d = lanes.lay(dz.astype(dtype, copy=False), (0, 0, 0, more), blocks, n)
    x = lanes.lay(h.astype(dtype, copy=False), (above, below, left, right + more), blocks, n)
    return d.reshape(*d.shape[:3], -1), x.reshape(blocks, -1), _places(h.shape[1], *k, *x.shape[2:])


def outer(dz, h, k, stride, pad):
    """Twin of `nfa.network.convolution.outer`."""
    _moves_by_one(stride)
    c_out, places = dz.shape[1], h.shape[1] * k[0] * k[1]
    dW = np.zeros((c_out + 3, -(-places // 5) * 5), np.result_type(dz, h))  # what is beyond the fours is no channel
    for part in lanes.parts(len(h), h[:1].size + dz[:1].size):
        d, x, at = _laid(dz[part], h[part], k, pad, lanes.block(part.stop - part.start)[1])
        cores.share(
            lambda start, stop, d=d, x=x, at=at: loops.outer(d, x, at, dW, start, stop),
            dW.shape[1] // 5,
            1 + lanes.PRODUCTS // (5 * d.size),
        )
    return dW[:c_out, :places].reshape(c_out, h.shape[1], *k)


def norms2(dz, h, k, stride, pad, kept=None):
    """Twin of `nfa.network.convolution.norms2`."""
    _moves_by_one(stride)
    W2 = np.empty(len(h), np.result_type(dz, h))
    for part in lanes.parts(len(h), h[:1].size + dz[:1].size):
        sums, terms = _formed(dz[part], h[part], k, pad, kept is not None)
        W2[part] = sums[: part.stop - part.start]
        if kept is not None:
            kept.append((part, terms))
    return W2


def weighed(dz, h, k, stride, pad, weight):
    """Twin of `nfa.network.convolution.weighed`."""
    _moves_by_one(stride)
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
        blocks, c_out, places, n = terms.shape
        own = np.zeros(blocks * n, terms.dtype)
        own[: len(weight[part])] = weight[part]
        total = np.zeros(c_out * places, terms.dtype)
        flat, own = terms.reshape(blocks, -1, n), own.reshape(blocks, n)
        cores.share(
            lambda start, stop, flat=flat, own=own, total=total: loops.add_up(flat, own, total, start, stop),
            len(total),
            1 + lanes.SMALL // (blocks * n),
        )
        dW = dW + total.reshape(c_out, -1, *k)
    return dW


def _formed(dz, h, k, pad, keep):
    """(each example's squared norm, its term): (blocks lanes,) and, where kept, (blocks, c_out, places, lanes)."""
    d, x, at = _laid(dz, h, k, pad, TERMS, POSITIONS)
    c_out, places = dz.shape[1], h.shape[1] * k[0] * k[1]
    norms = np.zeros((-(-places // 5), len(d) * TERMS), d.dtype)
    terms = cores.aligned((len(d), c_out, places, TERMS) if keep else (1, 1, 1, TERMS), d.dtype)

    def work(start, stop):
        loops.form(d, x, at, places, norms, terms, keep, cores.aligned(10 * TERMS, d.dtype), start, stop)

    cores.share(work, len(norms), 1 + lanes.PRODUCTS // (5 * d.size))
    return norms.sum(axis=0), terms
