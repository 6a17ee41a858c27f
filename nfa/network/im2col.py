"""A convolution as one matrix product: patches in columns (`im2col`), the adjoint (`col2im`), and max pooling.

`MaxPool` calls `max_pool` and `max_unpool` through its attribute ``ops``. `nfa.kernels.pooling` has numba versions of
these two functions.
"""

from collections.abc import Iterator

import numpy as np

Shape = tuple[int, ...]
Pair = int | tuple[int, int]


def pair(name: str, value: Pair, least: int) -> tuple[int, int]:
    """Return value, or (value, value) for a single number, as a pair of whole numbers >= ``least``.

    Raises ValueError, with the name, for any other value.
    """
    both = tuple(value) if isinstance(value, (tuple, list)) else (value, value)
    if len(both) != 2 or not all(isinstance(v, int) and v >= least for v in both):
        raise ValueError(f"{name} must be a whole number >= {least} or a pair of such numbers, got {value!r}")
    return both


def positions(image: Shape, k: tuple[int, int], stride: tuple[int, int], pad: tuple[int, int, int, int]) -> Shape:
    """The rows and columns of the positions of a kernel of size k on an image (rows, columns) after padding."""
    (H, W), (above, below, left, right) = image, pad
    return (H + above + below - k[0]) // stride[0] + 1, (W + left + right - k[1]) // stride[1] + 1


def im2col(x: np.ndarray, k: tuple[int, int], stride: tuple[int, int], pad: tuple[int, int, int, int]) -> np.ndarray:
    """Put every patch that a kernel reads into a column, so that a convolution becomes one matrix product.

    Parameters
    ----------
    x : (m, c, H, W) array
    k, stride : (rows, columns), each >= 1
    pad : zeros added (above, below, left, right)

    Returns
    -------
    U : (m, c k_0 k_1, H' W') array. A column contains one patch in the order (channel, row, column)
    """
    m, c, H, W = x.shape
    top, bottom, left, right = pad
    padded = np.zeros((m, c, H + top + bottom, W + left + right), x.dtype)
    padded[:, :, top : top + H, left : left + W] = x
    out = tuple((n - kn) // s + 1 for n, kn, s in zip(padded.shape[2:], k, stride, strict=True))
    U = np.empty((m, c, *k, *out), x.dtype)
    for i in range(k[0]):
        for j in range(k[1]):
            U[:, :, i, j] = padded[:, :, i : i + stride[0] * out[0] : stride[0], j : j + stride[1] * out[1] : stride[1]]
    return U.reshape(m, c * k[0] * k[1], out[0] * out[1])


def lower(x: np.ndarray, k: tuple[int, int], stride: tuple[int, int], pad: tuple[int, int, int, int]) -> np.ndarray:
    """For every row of x, put the patches that a kernel of one row reads into columns. Each patch has k_1 pixels.

    If the vertical stride is 1, row i of the kernel reads the columns i W' to i W' + H' W' of the result, without a
    copy. So a convolution becomes k_0 matrix products, and the result has about k_0 times fewer values than that of
    `im2col`.

    Parameters
    ----------
    x, k, stride, pad : as for `im2col`. k_0 and the vertical stride are not used

    Returns
    -------
    L : (m, c k_1, (above + H + below) W') array. A column contains one row of a patch in the order (channel, column)
    """
    m, c, H, W = x.shape
    top, bottom, left, right = pad
    padded = np.zeros((m, c, H + top + bottom, W + left + right), x.dtype)
    padded[:, :, top : top + H, left : left + W] = x
    columns = (padded.shape[3] - k[1]) // stride[1] + 1
    L = np.empty((m, c, k[1], padded.shape[2], columns), x.dtype)
    for j in range(k[1]):
        L[:, :, j] = padded[:, :, :, j : j + stride[1] * columns : stride[1]]
    return L.reshape(m, c * k[1], padded.shape[2] * columns)


def col2im(
    U: np.ndarray, shape: Shape, k: tuple[int, int], stride: tuple[int, int], pad: tuple[int, int, int, int]
) -> np.ndarray:
    """The adjoint of `im2col`: add every column to the pixels that it was read from.

    Parameters
    ----------
    U : (m, c k_0 k_1, H' W') array
    shape : (c, H, W), the image's shape for one example
    k, stride, pad : as for `im2col`

    Returns
    -------
    x : (m, c, H, W) array with <im2col(v), U> = <v, x> for every v
    """
    m, (c, H, W) = len(U), shape
    top, bottom, left, right = pad
    padded = np.zeros((m, c, H + top + bottom, W + left + right), U.dtype)
    out = tuple((n - kn) // s + 1 for n, kn, s in zip(padded.shape[2:], k, stride, strict=True))
    U = U.reshape(m, c, *k, *out)
    for i in range(k[0]):
        for j in range(k[1]):
            padded[:, :, i : i + stride[0] * out[0] : stride[0], j : j + stride[1] * out[1] : stride[1]] += U[
                :, :, i, j
            ]
    return padded[:, :, top : top + H, left : left + W]


def windows(a: np.ndarray, k: tuple[int, int], stride: tuple[int, int]) -> Iterator[np.ndarray]:
    """For each place in a pooling window, in row order, the entries of a (m, c, H, W) at this place in all windows."""
    rows, columns = ((n - kn) // s + 1 for n, kn, s in zip(a.shape[2:], k, stride, strict=True))
    for i in range(k[0]):
        for j in range(k[1]):
            yield a[:, :, i : i + stride[0] * rows : stride[0], j : j + stride[1] * columns : stride[1]]


def max_pool(a: np.ndarray, k: tuple[int, int], stride: tuple[int, int]) -> np.ndarray:
    """The largest entry of each window of size k, ``stride`` apart: (m, c, H, W) -> (m, c, H', W')."""
    views = windows(a, k, stride)
    pooled = next(views).copy()
    for view in views:
        np.maximum(pooled, view, out=pooled)
    return pooled


def max_unpool(a: np.ndarray, v: np.ndarray, k: tuple[int, int], stride: tuple[int, int]) -> np.ndarray:
    """Carry v (m, c, H', W') back to the maximum of each window in a (to the first in row order of equal maxima).

    Parameters
    ----------
    a : (m, c, H, W) array, the input of the pooling
    v : (m, c, H', W') array, one entry for each window of size k, ``stride`` apart

    Returns
    -------
    da : array of a's shape and dtype. If windows overlap, the entries of v are added
    """
    da = np.zeros_like(a)
    pooled = np.maximum.reduce(list(windows(a, k, stride)))
    waiting = np.ones(v.shape, bool)
    for view, dview in zip(windows(a, k, stride), windows(da, k, stride), strict=True):
        here = waiting & (view == pooled)
        dview += np.where(here, v, 0)
        waiting &= ~here
    return da
