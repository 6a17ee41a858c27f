"""Matrix products on all cores whose numbers do not depend on how many there are."""

import numpy as np

from nfa.kernels import cores

# Multiplications that are worth a thread, and the most pieces. A product is cut by its shape alone, and each piece is
# the linear algebra library's own on one thread: with threads of its own it cuts by their number, and rounds otherwise.
_PIECE, _MOST = 1 << 24, 8


def matmul(a, b):
    """Twin of `numpy.matmul` for two matrices, in pieces of rows or of columns; the library is to have one thread."""
    (m, k), n = a.shape, b.shape[1]
    c = np.empty((m, n), np.result_type(a, b))
    pieces = min(max(m, n), max(1, min(_MOST, m * k * n // _PIECE)))

    def some(start, stop):
        for i in range(start, stop):
            if m >= n:
                piece = slice(m * i // pieces, m * (i + 1) // pieces)
                np.matmul(a[piece], b, out=c[piece])
            else:
                piece = slice(n * i // pieces, n * (i + 1) // pieces)
                np.matmul(a, b[:, piece], out=c[:, piece])

    cores.share(some, pieces, 1)
    return c
