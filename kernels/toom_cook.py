r"""Rows of a convolution with fewer products, by the method of Toom and Cook for products of polynomials.

A kernel with k columns computes o outputs z_s = \sum_i w_i x_{s+i} of a row. These sums have o k products. The outputs
can also be computed as

.. math:: z = A \, [(G w) \odot (B x)]

with o + k - 1 products, one for each point at which two polynomials are multiplied. A, B and G are small matrices that
depend only on k and o. In `nfa.kernels.conv`, w_i and x_i are matrices, so the method saves matrix products. The
derivative with respect to w uses the same A, B and G: :math:`G^T [(A^T \delta z) \odot (B x)]`.

These outputs have more rounding errors than the sums. The norm of their error is about four times as large.

References
----------
S. Winograd (1980). Arithmetic Complexity of Computations. SIAM.
"""

from functools import cache

import numpy as np

# The finite points at which polynomials are multiplied. Infinity is one more point. With more points, the rounding
# error grows fast.
POINTS = (0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5)


def matrices(k, o):
    """A (o, p), B (p, p) and G (p, k) for o outputs, k columns and p = o + k - 1 points, of which infinity is last."""
    a = np.array(POINTS[: o + k - 2])
    A, B, G = (np.zeros(shape) for shape in ((o, o + k - 1), (o + k - 1, o + k - 1), (o + k - 1, k)))
    A[:, :-1], A[-1, -1] = np.vander(a, o, increasing=True).T, 1
    G[:-1], G[-1, -1] = np.vander(a, k, increasing=True), 1
    for t in range(len(a)):
        others = np.delete(a, t)
        G[t] /= np.prod(a[t] - others)
        B[t, :-1] = np.poly(others)[::-1]  # coefficients of the polynomial that is 0 at the other points
    B[-1] = np.poly(a)[::-1]
    return A, B, G


@cache
def whole_row(k, columns):
    """(A, B, G) for all outputs of a row, with o outputs in a tile; None if this does not save products.

    A is (columns, p tiles), B is (p tiles, columns + k - 1) and G is (p, k). The rows of B for all tiles of a point are
    adjacent.
    """
    sizes = range(2, len(POINTS) + 3 - k)
    if k == 1 or not sizes:
        return None
    o = min(sizes, key=lambda o: (o + k - 1) * -(-columns // o))
    p, tiles, width = o + k - 1, -(-columns // o), columns + k - 1
    if p * tiles >= columns * k:
        return None
    A, B, G = matrices(k, o)
    all_A, all_B = np.zeros((tiles * o, p, tiles)), np.zeros((p, tiles, tiles * o + k - 1))
    for j in range(tiles):
        all_A[j * o : (j + 1) * o, :, j] = A
        all_B[:, j, j * o : j * o + p] = B
    return all_A[:columns].reshape(columns, p * tiles), all_B[:, :, :width].reshape(p * tiles, width), G
