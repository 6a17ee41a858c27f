"""The convolution as a layer's affine map: Conv2d, which knows of z = W * h + b what `dense` says of every map."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

import numpy as np

from nfa.clip import scale_rows, weights_in
from nfa.network import im2col
from nfa.network.im2col import Pair, Shape, pair
from nfa.network.per_example import Terms

Padding = Pair | Literal["valid", "same"]

# Entries of the patches U held at a time: each repeats a pixel k_0 k_1 times, a batch of them is large and soon leaves
# the cache. Entries of all the examples' own terms, above which a rule forms them twice instead of keeping them.
# Entries of a patch's row from which on products row by row are faster than one product on whole patches.
_COLUMNS_AT_ONCE = 1 << 19
_TERMS_AT_ONCE = 1 << 25
_LEAST_ROW = 32


@dataclass(frozen=True)
class Conv2d:
    """The convolution z[o, p] = b[o] + sum over c, t of W[o, c, t] h[c, s p + t], as im2col and matrix products.

    Parameters
    ----------
    c_out : int >= 1, output channels
    k : int or (rows, columns) >= 1, the kernel's size
    stride : int or (rows, columns) >= 1
    padding : int or (rows, columns) >= 0 zeros on each side; "valid" is 0; "same" gives ceil(H / stride) rows, an
        odd number of zeros having the extra one below and to the right
    ops : an object with ``im2col`` and ``col2im`` as in `nfa.network.im2col` (`nfa.kernels.conv` is one)

    Raises
    ------
    ValueError : for sizes out of range, an input that is not (c, H, W), or a kernel larger than the padded image

    Notes
    -----
    W has shape (c_out, c_in, k_0, k_1) and b (c_out,). As in every deep-learning library the kernel is not flipped.
    """

    c_out: int
    k: Pair
    stride: Pair = 1
    padding: Padding = 0
    ops: Any = field(default=im2col, repr=False)
    in_shape: Shape = ()

    def __post_init__(self) -> None:
        if self.c_out < 1:
            raise ValueError(f"a convolution needs c_out >= 1 channels, got {self.c_out}")
        object.__setattr__(self, "k", pair("the kernel's size k", self.k, 1))
        object.__setattr__(self, "stride", pair("stride", self.stride, 1))
        if isinstance(self.padding, str):
            if self.padding not in ("valid", "same"):
                raise ValueError(f"padding must be 'valid', 'same' or numbers of zeros, got {self.padding!r}")
        else:
            object.__setattr__(self, "padding", pair("padding", self.padding, 0))

    def bind(self, in_shape: Shape) -> "Conv2d":
        """The same map, told the shape (c, H, W) of h[l-1] for one example."""
        if len(in_shape) != 3:
            raise ValueError(f"a convolution needs an input of shape (channels, rows, columns), got {in_shape}")
        bound = replace(self, in_shape=in_shape)
        if min(bound.out_shape) < 1:
            raise ValueError(
                f"the kernel {self.k} is larger than the padded input {in_shape} with padding {self.padding!r}"
            )
        return bound

    @property
    def _sizes(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """k and stride, which the constructor has made pairs."""
        return cast(tuple[int, int], self.k), cast(tuple[int, int], self.stride)

    @property
    def pad(self) -> tuple[int, int, int, int]:
        """Zeros added (above, below, left, right)."""
        if self.padding == "valid":
            return 0, 0, 0, 0
        if self.padding == "same":
            (above, below), (left, right) = (
                (total // 2, total - total // 2)
                for n, k, s in zip(self.in_shape[1:], *self._sizes, strict=True)
                for total in [max((-(-n // s) - 1) * s + k - n, 0)]
            )
            return above, below, left, right
        rows, columns = pair("padding", self.padding, 0)
        return rows, rows, columns, columns

    @property
    def out_shape(self) -> Shape:
        """Shape (c_out, H', W') of z[l] for one example."""
        above, below, left, right = self.pad
        _, H, W = self.in_shape
        (p, q), (s, t) = self._sizes
        rows, columns = (H + above + below - p) // s + 1, (W + left + right - q) // t + 1
        return self.c_out, rows, columns

    @property
    def shape_W(self) -> Shape:
        """Shape of W[l], (c_out, c_in, k_0, k_1)."""
        return (self.c_out, self.in_shape[0], *self._sizes[0])

    @property
    def n_bias(self) -> int:
        """Number of entries of b[l]."""
        return self.c_out

    @property
    def _flat_shape(self) -> Shape:
        """Shape of z[l] for one example with its positions in a row: (c_out, P)."""
        _, rows, columns = self.out_shape
        return self.c_out, rows * columns

    def _by_rows(self, c: int) -> bool:
        """Whether the kernel's rows see slices of one array (`im2col.lower`), and enough of c channels to pay."""
        return self._sizes[1][0] == 1 and c * self._sizes[0][1] >= _LEAST_ROW

    def _split(self, W: np.ndarray) -> list[np.ndarray]:
        """W as what its products with `_patches` take: its rows, each (c_out, c k_1), or the whole of it."""
        whole = W.transpose(2, 0, 1, 3) if self._by_rows(W.shape[1]) else W[None]
        return list(whole.reshape(len(whole), len(W), -1))

    def join(self, parts: np.ndarray) -> np.ndarray:
        """The adjoint of `_split`: W's shape from the entries of its parts."""
        if not self._by_rows(self.in_shape[0]):
            return parts.reshape(self.shape_W)
        c_out, c, k_0, k_1 = self.shape_W
        return np.ascontiguousarray(parts.reshape(k_0, c_out, c, k_1).transpose(1, 2, 0, 3))

    def _patches(self, h: np.ndarray, pad: tuple[int, int, int, int]) -> Iterator[tuple[slice, list[np.ndarray]]]:
        """For parts of the batch whose patches fit into memory: (examples, what each part of W sees of them)."""
        (k_0, k_1), (_, t) = self._sizes
        _, c, H, W = (*h.shape[:2], h.shape[2] + pad[0] + pad[1], h.shape[3] + pad[2] + pad[3])
        columns = (W - k_1) // t + 1
        at_once = max(1, _COLUMNS_AT_ONCE // (c * k_1 * columns * H * (1 if self._by_rows(c) else k_0)))
        for start in range(0, len(h), at_once):
            part = slice(start, start + at_once)
            if self._by_rows(c):
                L, positions = self.ops.lower(h[part], self.k, self.stride, pad), (H - k_0 + 1) * columns
                yield part, [L[:, :, i * columns : i * columns + positions] for i in range(k_0)]
            else:
                yield part, [self.ops.im2col(h[part], self.k, self.stride, pad)]

    def _correlate(self, W: np.ndarray, h: np.ndarray, out_shape: Shape, pad: tuple[int, int, int, int]) -> np.ndarray:
        """W * h for each example, without b."""
        z = np.zeros((len(h), len(W), math.prod(out_shape[1:])), np.result_type(W, h))
        rows = self._split(W)
        for part, patches in self._patches(h, pad):
            for W_i, U_i in zip(rows, patches, strict=True):
                z[part] += np.matmul(W_i, U_i)
        return z.reshape(len(h), *out_shape)

    def affine(self, W: np.ndarray, b: np.ndarray, h: np.ndarray) -> np.ndarray:
        """z = W * h + b for each example."""
        z = self._correlate(W, h, self.out_shape, self.pad)
        z += b[:, None, None]
        return z  # (m, c_out, H', W')

    def transpose(self, W: np.ndarray, dz: np.ndarray) -> np.ndarray:
        """The adjoint of h -> W * h applied to dz, in the shape of h[l-1]."""
        (k_0, k_1), stride = self._sizes
        above, below, left, right = self.pad
        back = (k_0 - 1 - above, k_0 - 1 - below, k_1 - 1 - left, k_1 - 1 - right)
        if stride == (1, 1) and min(back) >= 0:  # a convolution too: with W turned by half a turn
            return self._correlate(W[:, :, ::-1, ::-1].swapaxes(0, 1), dz, self.in_shape, back)
        d = dz.reshape(len(dz), *self._flat_shape)
        dh = np.empty((len(dz), *self.in_shape), np.result_type(W, dz))
        at_once = max(1, _COLUMNS_AT_ONCE // (math.prod(self.shape_W[1:]) * d.shape[2]))
        for start in range(0, len(dz), at_once):
            U = np.matmul(W.reshape(self.c_out, -1).T, d[start : start + at_once])
            dh[start : start + at_once] = self.ops.col2im(U, self.in_shape, self.k, self.stride, self.pad)
        return dh  # (m, c_in, H, W)

    def outer(self, dz: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sum over examples and positions of dz[o, p] times the patch at p, and of dz: the directions for W and b."""
        d = dz.reshape(len(dz), *self._flat_shape)
        rows = self.shape_W[2] if self._by_rows(self.in_shape[0]) else 1
        dW = np.zeros((rows, self.c_out, math.prod(self.shape_W[1:]) // rows), np.result_type(dz, h))
        for part, patches in self._patches(h, self.pad):
            for dW_i, U_i in zip(dW, patches, strict=True):
                for d_n, U_n in zip(d[part], U_i, strict=True):
                    dW_i += d_n @ U_n.T
        return self.join(dW), self.outer_b(dz)  # (c_out, c_in, k_0, k_1), (c_out,)

    def outer_b(self, dz: np.ndarray) -> np.ndarray:
        """The direction for b alone, for which no h is needed."""
        return dz.reshape(len(dz), *self._flat_shape).sum(axis=(0, 2))  # (c_out,)

    def weighed_W(self, dz: np.ndarray, h: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """The direction for W with a weight (m,) for each example's term; one of 0 is left out.

        A term is formed first, as for its norm, and weighed then: its positions can cancel, and those of a weighed dz
        cancel no more to what the norm saw than rounding allows.
        """
        d, weight = dz.reshape(len(dz), *self._flat_shape), weights_in(dz.dtype, weight)
        rows = self.shape_W[2] if self._by_rows(self.in_shape[0]) else 1
        dW = np.zeros((rows, self.c_out, math.prod(self.shape_W[1:]) // rows), np.result_type(dz, h))
        for part, patches in self._patches(h, self.pad):
            for dW_i, U_i in zip(dW, patches, strict=True):
                for w_n, d_n, U_n in zip(weight[part], d[part], U_i, strict=True):
                    if w_n:
                        dW_i += w_n * (d_n @ U_n.T)
        return self.join(dW)  # (c_out, c_in, k_0, k_1)

    def weighed_b(self, dz: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """The direction for b with a weight (m,) for each example's term, formed first as for `weighed_W`."""
        return scale_rows(dz.reshape(len(dz), *self._flat_shape).sum(axis=2), weight).sum(axis=0)  # (c_out,)

    def norms2(
        self, dz: np.ndarray, h: np.ndarray, kept: list[tuple[slice, np.ndarray]] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Per example the squared norms of its term in `outer`, for W and for b: two (m,) arrays; not finite beyond the
        dtype.

        ||d U^T||_F^2 = <d^T d, U^T U>: of the two sides the one with fewer products is computed, but the left one where
        the terms of the right one cancel, or leave the dtype: its rounding error, left alone, can be all there is and
        have either sign. ``kept`` takes (examples, their terms d U^T) where all of these are formed.
        """
        d = dz.reshape(len(dz), *self._flat_shape)
        patch, positions = math.prod(self.shape_W[1:]), d.shape[2]
        gram = positions * (self.c_out + patch) < self.c_out * patch
        W2 = np.empty(len(dz), np.result_type(dz, h))
        least = np.finfo(W2.dtype).tiny / np.finfo(W2.dtype).eps
        for part, patches in self._patches(h, self.pad):
            if gram:
                for i, d_i in enumerate(d[part]):
                    U_i = np.concatenate([U[i] for U in patches])
                    D, G = d_i.T @ d_i, U_i.T @ U_i
                    W2[part.start + i] = np.vdot(D, G)
                    d2, U2 = D.trace(), G.trace()
                    if not (d2 > least and U2 > least and W2[part.start + i] >= 1e-3 * d2 * U2):  # NaN is none of this
                        # By the very products that `weighed_W` adds: these round as those do.
                        W2[part.start + i] = sum(np.square(d_i @ U[i].T).sum() for U in patches)
                continue
            terms = np.empty((len(d[part]), len(patches), self.c_out, patch // len(patches)), W2.dtype)
            for i, U in enumerate(patches):
                np.matmul(d[part], U.transpose(0, 2, 1), out=terms[:, i])
            W2[part] = [np.square(term).sum() for term in terms]
            if kept is not None:
                kept.append((part, terms))
        return W2, np.square(d.sum(axis=2)).sum(axis=1)

    def terms(self, dz: np.ndarray, h: np.ndarray) -> Terms:
        """Each example's own term in `outer`."""
        return Terms(self, dz, h, keep=len(dz) * math.prod(self.shape_W) <= _TERMS_AT_ONCE)

    def patches(self, h: np.ndarray) -> np.ndarray:
        """What one output channel sees of each example at each of its P positions: the patches (m, P, c k_0 k_1)."""
        return self.ops.im2col(h, self.k, self.stride, self.pad).transpose(0, 2, 1)

    def gains(self, positions: int | None = None) -> tuple[float, float]:
        r"""Numbers (g_W, g_b) with ||dW||_F <= g_W ||dz|| ||h|| and ||db|| <= g_b ||dz|| for one example.

        .. math:: g_W = \sqrt{\lceil k_0 / s_0 \rceil \lceil k_1 / s_1 \rceil}, \qquad g_b = \sqrt P

        Source: [lee2020:conv-dfa] [ours:convolution-gains]

        Parameters
        ----------
        positions : int, how many of the P positions of dz can differ from 0 in one channel, all if not given

        Notes
        -----
        Ours, as the paper's own derivation is in a supplement we have not seen. Let h_t be the input as the kernel's
        place t sees it, (c_in, P). Then ||dz h_t^T||_F <= ||dz|| ||h_t|| by Cauchy and Schwarz, and summed over t every
        pixel of h counts at most ceil(k_0 / s_0) ceil(k_1 / s_1) times. A bias sums its channel's positions.
        """
        (p, q), (s, t) = self._sizes
        return math.sqrt(-(-p // s) * -(-q // t)), math.sqrt(positions or self._flat_shape[1])
