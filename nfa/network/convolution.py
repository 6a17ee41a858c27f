"""The operations of a convolution on a whole batch, as matrix products with patches in columns.

`Conv2d` calls these functions through its attribute ``ops``. `nfa.kernels.conv` has faster versions of these functions.
In all functions, W is (c_out, c, k_0, k_1), h is (m, c, H, W) and dz is (m, c_out, H', W'). The sizes k and stride are
(rows, columns), each at least 1. The argument pad has the numbers of zeros (above, below, left, right). U is the matrix
of the patches of an example, one patch in each column. The example's term is dz U^T.
"""

import math
from collections.abc import Iterator

import numpy as np

from nfa.network import im2col
from nfa.network.im2col import Shape

Sizes = tuple[int, int]
Pad = tuple[int, int, int, int]
Kept = list[tuple[slice, np.ndarray]]

# Largest number of entries of the patches U in memory. U repeats each pixel k_0 k_1 times, so the patches of a batch
# soon exceed the cache. If a row of a patch has at least _LEAST_ROW entries, one product for each row of the kernel is
# faster than one product with whole patches.
_COLUMNS_AT_ONCE = 1 << 19
_LEAST_ROW = 32


def _by_rows(c: int, k: Sizes, stride: Sizes) -> bool:
    """Whether the rows of the kernel can read slices of one array (`im2col.lower`), and this method is faster."""
    return stride[0] == 1 and c * k[1] >= _LEAST_ROW


def _split(W: np.ndarray, stride: Sizes) -> list[np.ndarray]:
    """W as matrices for products with `_patches`: a (c_out, c k_1) matrix per row of the kernel, or one for W."""
    whole = W.transpose(2, 0, 1, 3) if _by_rows(W.shape[1], W.shape[2:], stride) else W[None]
    return list(whole.reshape(len(whole), len(W), -1))


def _join(parts: np.ndarray, k: Sizes) -> np.ndarray:
    """The inverse of `_split`: an array of W's shape from its matrices (k_0 or 1, c_out, entries)."""
    if len(parts) == 1:
        return parts.reshape(parts.shape[1], -1, *k)
    return np.ascontiguousarray(parts.reshape(k[0], parts.shape[1], -1, k[1]).transpose(1, 2, 0, 3))


def _patches(h: np.ndarray, k: Sizes, stride: Sizes, pad: Pad) -> Iterator[tuple[slice, list[np.ndarray]]]:
    """Pairs (examples, the patches that each matrix of `_split` reads), for some examples at a time."""
    _, c, H, W = (*h.shape[:2], h.shape[2] + pad[0] + pad[1], h.shape[3] + pad[2] + pad[3])
    by_rows = _by_rows(c, k, stride)
    columns = (W - k[1]) // stride[1] + 1
    at_once = max(1, _COLUMNS_AT_ONCE // (c * k[1] * columns * H * (1 if by_rows else k[0])))
    for start in range(0, len(h), at_once):
        part = slice(start, start + at_once)
        if by_rows:
            L, positions = im2col.lower(h[part], k, stride, pad), (H - k[0] + 1) * columns
            yield part, [L[:, :, i * columns : i * columns + positions] for i in range(k[0])]
        else:
            yield part, [im2col.im2col(h[part], k, stride, pad)]


def affine(W: np.ndarray, b: np.ndarray, h: np.ndarray, stride: Sizes, pad: Pad) -> np.ndarray:
    """z = W * h + b for each example, (m, c_out, H', W')."""
    rows, columns = im2col.positions(h.shape[2:], W.shape[2:], stride, pad)
    z = np.zeros((len(h), len(W), rows * columns), np.result_type(W, h))
    parts = _split(W, stride)
    for part, patches in _patches(h, W.shape[2:], stride, pad):
        for W_i, U_i in zip(parts, patches, strict=True):
            z[part] += np.matmul(W_i, U_i)
    z += b[:, None]
    return z.reshape(len(h), len(W), rows, columns)


def transpose(W: np.ndarray, dz: np.ndarray, shape: Shape, stride: Sizes, pad: Pad) -> np.ndarray:
    """The adjoint of h -> W * h applied to dz, (m, c, H, W) for the shape (c, H, W) of one example's h."""
    k = W.shape[2:]
    back = (k[0] - 1 - pad[0], k[0] - 1 - pad[1], k[1] - 1 - pad[2], k[1] - 1 - pad[3])
    if stride == (1, 1) and min(back) >= 0:  # the adjoint is also a convolution, with W rotated by half a turn
        turned = W[:, :, ::-1, ::-1].swapaxes(0, 1)
        return affine(turned, np.zeros(len(turned), W.dtype), dz, stride, back)
    d = _flat(dz)
    dh = np.empty((len(dz), *shape), np.result_type(W, dz))
    at_once = max(1, _COLUMNS_AT_ONCE // (math.prod(W.shape[1:]) * d.shape[2]))
    for start in range(0, len(dz), at_once):
        U = np.matmul(W.reshape(len(W), -1).T, d[start : start + at_once])
        dh[start : start + at_once] = im2col.col2im(U, shape, k, stride, pad)
    return dh


def outer(dz: np.ndarray, h: np.ndarray, k: Sizes, stride: Sizes, pad: Pad) -> np.ndarray:
    """dW, the sum over examples and positions p of dz[o, p] times the patch at p, (c_out, c, k_0, k_1)."""
    d = _flat(dz)
    dW = _no_parts(dz, h, k, stride)
    for part, patches in _patches(h, k, stride, pad):
        for dW_i, U_i in zip(dW, patches, strict=True):
            for d_n, U_n in zip(d[part], U_i, strict=True):
                dW_i += d_n @ U_n.T
    return _join(dW, k)


def weighed(dz: np.ndarray, h: np.ndarray, k: Sizes, stride: Sizes, pad: Pad, weight: np.ndarray) -> np.ndarray:
    """`outer` with a weight (m,) for each example's term, in dz's dtype.

    A term of weight 0 is omitted, even if it is not finite.

    Each term is computed first, as in `norms2`, and then multiplied by its weight. The summands of a term can cancel.
    If dz were multiplied by the weight first, rounding could prevent this cancellation. Then the norm from `norms2`
    would not be the norm of the computed term.
    """
    d = _flat(dz)
    dW = _no_parts(dz, h, k, stride)
    for part, patches in _patches(h, k, stride, pad):
        for dW_i, U_i in zip(dW, patches, strict=True):
            for w_n, d_n, U_n in zip(weight[part], d[part], U_i, strict=True):
                if w_n:
                    dW_i += w_n * (d_n @ U_n.T)
    return _join(dW, k)


def norms2(dz: np.ndarray, h: np.ndarray, k: Sizes, stride: Sizes, pad: Pad, kept: Kept | None = None) -> np.ndarray:
    """The squared norm of each example's term in `outer`, (m,). If it overflows the dtype, it is not finite.

    The identity is ||d U^T||_F^2 = <d^T d, U^T U>. The function computes the side that needs fewer products. If the
    summands of the right side cancel, the computed sum may be only a rounding error of either sign. So if they cancel
    or overflow the dtype, the function computes the left side. If it computes all terms, it appends pairs (examples,
    their terms d U^T) to ``kept``, for `add_up`.
    """
    d = _flat(dz)
    c_out, patch, positions = d.shape[1], h.shape[1] * math.prod(k), d.shape[2]
    gram = positions * (c_out + patch) < c_out * patch
    W2 = np.empty(len(dz), np.result_type(dz, h))
    least = np.finfo(W2.dtype).tiny / np.finfo(W2.dtype).eps
    for part, patches in _patches(h, k, stride, pad):
        if gram:
            for i, d_i in enumerate(d[part]):
                U_i = np.concatenate([U[i] for U in patches])
                D, G = d_i.T @ d_i, U_i.T @ U_i
                W2[part.start + i] = np.vdot(D, G)
                d2, U2 = D.trace(), G.trace()
                if not (d2 > least and U2 > least and W2[part.start + i] >= 1e-3 * d2 * U2):  # also if a value is NaN
                    # These are the products of `weighed`, so the norm is that of the term after rounding.
                    W2[part.start + i] = sum(np.square(d_i @ U[i].T).sum() for U in patches)
            continue
        terms = np.empty((len(d[part]), len(patches), c_out, patch // len(patches)), W2.dtype)
        for i, U in enumerate(patches):
            np.matmul(d[part], U.transpose(0, 2, 1), out=terms[:, i])
        W2[part] = [np.square(term).sum() for term in terms]
        if kept is not None:
            kept.append((part, terms))
    return W2


def add_up(kept: Kept, k: Sizes, weight: np.ndarray) -> np.ndarray:
    """`weighed` computed from the terms that `norms2` kept."""
    dW: np.ndarray | float = 0.0
    for part, terms in kept:
        own = weight[part]
        if not (live := own != 0).all():
            own, terms = own[live], terms[live]
        dW = dW + (own @ terms.reshape(len(terms), math.prod(terms.shape[1:]))).reshape(terms.shape[1:])
    return _join(np.asarray(dW), k)


def over_positions(dz: np.ndarray) -> np.ndarray:
    """Each example's sum over its positions, (m, c_out, H', W') -> (m, c_out).

    `numpy.einsum` is fast for any memory order of dz.
    """
    return np.einsum("nopq->no", dz)


def _flat(dz: np.ndarray) -> np.ndarray:
    """dz with its P positions flattened, (m, c_out, P)."""
    return dz.reshape(len(dz), dz.shape[1], math.prod(dz.shape[2:]))


def _no_parts(dz: np.ndarray, h: np.ndarray, k: Sizes, stride: Sizes) -> np.ndarray:
    """Zeros in the shape of the matrices from which `_join` assembles dW."""
    c = h.shape[1]
    parts = k[0] if _by_rows(c, k, stride) else 1
    return np.zeros((parts, dz.shape[1], c * math.prod(k) // parts), np.result_type(dz, h))
