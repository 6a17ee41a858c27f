"""Examples as lanes: images in the memory layout (row, channel, column, example), with the examples last.

In this layout, a shift of an image is a shift in memory. Here "kernel" means the kernel of a convolution. The entries
that a row of the kernel reads in all channels are contiguous rows of a matrix. Each place of this row reads contiguous
columns. So a convolution is a few matrix products on this memory. The result is an array (example, channel, row,
column), which has the order (channel, row, column, example) in memory.
"""

import numpy as np

from nfa.kernels import cores

LANES = 64  # number of examples in a block. The entries that a row of the kernel reads then fit into the nearer caches
AT_ONCE = 1 << 23  # number of entries in this layout at a time. So many entries fit into the last cache
SMALL = 1 << 16  # smallest number of entries for a thread
PRODUCTS = 1 << 20  # smallest number of multiplications for a thread


def blocks(m, n):
    """Slices of m examples, each with n examples except the last."""
    return [slice(start, min(start + n, m)) for start in range(0, m, n)]


def parts(m, entries):
    """Slices of a batch of m examples. Each example has the given number of entries.

    The examples of a slice are copied into this layout together.
    """
    at_once = max(1, AT_ONCE // (LANES * max(1, entries))) * LANES
    at_once = m if m <= at_once * 3 // 2 else at_once
    return [slice(start, min(start + at_once, m)) for start in range(0, m, max(1, at_once))]


def empty(m, shape, dtype):
    """Memory for m examples of a shape (c, H, W) as lanes. `examples_first` transposes it."""
    return cores.aligned((*shape, m), dtype)


def examples_first(lanes):
    """An array (c, H, W, m) viewed as (m, c, H, W), in place."""
    return lanes.transpose(3, 0, 1, 2)


def lay(a, pad, dtype, axes=(2, 1, 3, 0)):
    """Copy a (m, c, H, W) with zeros around the images and a new order of axes, by default (rows, c, columns, m).

    If the examples are the first axis of the copy, each example starts at a cache line.

    pad has the numbers of zeros (above, below, left, right). Negative numbers remove rows and columns.
    """
    m, c, H, W = a.shape
    above, below, left, right = pad
    shape = m, c, H + above + below, W + left + right
    first, *others = (shape[axis] for axis in axes)
    out = cores.aligned_each(first, others, dtype) if axes[0] == 0 else cores.aligned((first, *others), dtype)
    whole = out.transpose(np.argsort(axes))
    seen = a[:, :, max(0, -above) : H - max(0, -below), max(0, -left) : W - max(0, -right)]
    top, first = max(0, above), max(0, left)
    bottom, last = top + seen.shape[2], first + seen.shape[3]
    inside = whole[:, :, top:bottom, first:last]
    for outside in (whole[:, :, :top], whole[:, :, bottom:], whole[..., :first], whole[..., last:]):
        outside[...] = 0

    def work(start, stop):
        # If the examples come first, we copy one channel at a time, so that its entries stay in the nearer caches.
        at_once = 1 if axes[:2] == (0, 1) else stop - start
        for i in range(start, stop, at_once):
            np.copyto(inside[:, i : i + at_once], seen[:, i : i + at_once], casting="same_kind")

    cores.share(work, c, 1 + SMALL * c // max(1, out.size))
    return out
