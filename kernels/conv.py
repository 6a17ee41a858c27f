"""Numba twins of `nfa.conv`: the same columns, written pixel by pixel without a padded copy of the image."""

import numpy as np
from numba import njit


@njit
def im2col(x, k, stride, pad):
    """Twin of `nfa.conv.im2col`."""
    m, c, H, W = x.shape
    top, bottom, left, right = pad
    rows = (H + top + bottom - k[0]) // stride[0] + 1
    columns = (W + left + right - k[1]) // stride[1] + 1
    U = np.zeros((m, c * k[0] * k[1], rows * columns), x.dtype)
    for n in range(m):
        for ch in range(c):
            for i in range(k[0]):
                for j in range(k[1]):
                    patch_entry = (ch * k[0] + i) * k[1] + j
                    for r in range(rows):
                        row = r * stride[0] + i - top
                        if row < 0 or row >= H:
                            continue
                        for s in range(columns):
                            column = s * stride[1] + j - left
                            if 0 <= column < W:
                                U[n, patch_entry, r * columns + s] = x[n, ch, row, column]
    return U


@njit
def col2im(U, shape, k, stride, pad):
    """Twin of `nfa.conv.col2im`."""
    m = U.shape[0]
    c, H, W = shape
    top, bottom, left, right = pad
    rows = (H + top + bottom - k[0]) // stride[0] + 1
    columns = (W + left + right - k[1]) // stride[1] + 1
    x = np.zeros((m, c, H, W), U.dtype)
    for n in range(m):
        for ch in range(c):
            for i in range(k[0]):
                for j in range(k[1]):
                    patch_entry = (ch * k[0] + i) * k[1] + j
                    for r in range(rows):
                        row = r * stride[0] + i - top
                        if row < 0 or row >= H:
                            continue
                        for s in range(columns):
                            column = s * stride[1] + j - left
                            if 0 <= column < W:
                                x[n, ch, row, column] += U[n, patch_entry, r * columns + s]
    return x
