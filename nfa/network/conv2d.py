"""The convolution as the affine map of a layer. Conv2d has the methods that `dense` describes for every map."""

import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

import numpy as np

from nfa.clip import scale_rows, weights_in
from nfa.network import convolution, im2col
from nfa.network.convolution import Kept
from nfa.network.im2col import Pair, Shape, pair
from nfa.network.per_example import Terms

Padding = Pair | Literal["valid", "same"]

# A rule keeps the terms of a batch in memory if they have at most so many entries. Otherwise it computes the terms
# twice.
_TERMS_AT_ONCE = 1 << 25


@dataclass(frozen=True)
class Conv2d:
    """The convolution z[o, p] = b[o] + sum over c, t of W[o, c, t] h[c, s p + t], as im2col and matrix products.

    Parameters
    ----------
    c_out : int >= 1, output channels
    k : int or (rows, columns) >= 1, the kernel's size
    stride : int or (rows, columns) >= 1
    padding : int or (rows, columns) >= 0, zeros on each side. "valid" is 0, and "same" gives ceil(H / stride) rows. If
        the number of zeros is odd, the extra zero is below and to the right
    ops : an object with the functions of `nfa.network.convolution`, for example `nfa.kernels.conv` or
        `nfa.kernels.rows`. If the object has no true ``ANY_STRIDE``, it is used only for stride 1. For any other
        stride, the layer then uses `nfa.network.convolution`

    Raises
    ------
    ValueError : for sizes out of range, an input that is not (c, H, W), or a kernel larger than the padded image

    Notes
    -----
    W has shape (c_out, c_in, k_0, k_1) and b has shape (c_out,). As in every deep-learning library, the kernel is not
    flipped.
    """

    c_out: int
    k: Pair
    stride: Pair = 1
    padding: Padding = 0
    ops: Any = field(default=convolution, repr=False)
    in_shape: Shape = ()

    def __post_init__(self) -> None:
        if self.c_out < 1:
            raise ValueError(
                f"the number c_out of output channels of a convolution must be at least 1, got {self.c_out}"
            )
        object.__setattr__(self, "k", pair("the kernel's size k", self.k, 1))
        object.__setattr__(self, "stride", pair("stride", self.stride, 1))
        if isinstance(self.padding, str):
            if self.padding not in ("valid", "same"):
                raise ValueError(
                    f"padding must be 'valid', 'same' or the number of zeros on each side, got {self.padding!r}"
                )
        else:
            object.__setattr__(self, "padding", pair("padding", self.padding, 0))

    def bind(self, in_shape: Shape) -> "Conv2d":
        """A copy of the map that is bound to the shape (c, H, W) of h[l-1] for one example."""
        if len(in_shape) != 3:
            raise ValueError(f"a convolution needs an input of shape (channels, rows, columns), got {in_shape}")
        bound = replace(self, in_shape=in_shape)
        if min(bound.out_shape) < 1:
            raise ValueError(
                f"the kernel must not be larger than the padded input, got a kernel of size {self.k} for an input of"
                f" shape {in_shape} with padding {self.padding!r}"
            )
        return bound

    @property
    def _sizes(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """k and stride, which the constructor has converted to pairs."""
        return cast(tuple[int, int], self.k), cast(tuple[int, int], self.stride)

    @property
    def pad(self) -> tuple[int, int, int, int]:
        """Numbers of zeros that the padding adds (above, below, left, right)."""
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
    def _fast(self) -> Any:
        """The operations in use: ``ops`` if it supports the stride, otherwise those of `nfa.network.convolution`."""
        return self.ops if self.stride == (1, 1) or getattr(self.ops, "ANY_STRIDE", False) else convolution

    def affine(self, W: np.ndarray, b: np.ndarray, h: np.ndarray) -> np.ndarray:
        """z = W * h + b for each example."""
        return self._fast.affine(W, b, h, self.stride, self.pad)  # (m, c_out, H', W')

    def transpose(self, W: np.ndarray, dz: np.ndarray) -> np.ndarray:
        """The adjoint of h -> W * h applied to dz, in the shape of h[l-1]."""
        return self._fast.transpose(W, dz, self.in_shape, self.stride, self.pad)  # (m, c_in, H, W)

    def outer(self, dz: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sum over examples and positions of dz[o, p] times the patch at p, and of dz: the directions for W and b."""
        dW = self._fast.outer(dz, h, self.k, self.stride, self.pad)
        return dW, self.outer_b(dz)  # (c_out, c_in, k_0, k_1), (c_out,)

    def outer_b(self, dz: np.ndarray) -> np.ndarray:
        """The direction for b alone, for which no h is needed."""
        return dz.sum(axis=(0, 2, 3))  # (c_out,)

    def weighed_W(self, dz: np.ndarray, h: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """The direction for W with a weight (m,) for each example's term.

        Each term is computed before it is multiplied by its weight. Terms of weight 0 are omitted.
        """
        weight = weights_in(dz.dtype, weight)
        return self._fast.weighed(dz, h, self.k, self.stride, self.pad, weight)  # (c_out, c_in, k_0, k_1)

    def add_up(self, kept: Kept, weight: np.ndarray) -> np.ndarray:
        """`weighed_W` computed from the terms that `norms2` kept."""
        return self._fast.add_up(kept, self.k, weights_in(kept[0][1].dtype, weight))  # (c_out, c_in, k_0, k_1)

    def weighed_b(self, dz: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """The direction for b with a weight (m,) for each example's term, in the same order as in `weighed_W`."""
        return scale_rows(self._fast.over_positions(dz), weight).sum(axis=0)  # (c_out,)

    def norms2(self, dz: np.ndarray, h: np.ndarray, kept: Kept | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The squared norms of each example's term in `outer`, for W and for b: two (m,) arrays.

        A squared norm that overflows the dtype is not finite.

        If the method computes the terms themselves, it appends pairs (examples, their terms) to ``kept``, for `add_up`.
        """
        W2 = self._fast.norms2(dz, h, self.k, self.stride, self.pad, kept)
        return W2, np.square(self._fast.over_positions(dz)).sum(axis=1)

    def terms(self, dz: np.ndarray, h: np.ndarray) -> Terms:
        """Each example's own term in `outer`."""
        return Terms(self, dz, h, keep=len(dz) * math.prod(self.shape_W) <= _TERMS_AT_ONCE)

    def patches(self, h: np.ndarray) -> np.ndarray:
        """For each example and each of the P positions, the patch that an output channel reads: (m, P, c k_0 k_1)."""
        return im2col.im2col(h, *self._sizes, self.pad).transpose(0, 2, 1)

    def gains(self, positions: int | None = None) -> tuple[float, float]:
        r"""Numbers (g_W, g_b) with ||dW||_F <= g_W ||dz|| ||h|| and ||db|| <= g_b ||dz|| for one example.

        .. math:: g_W = \sqrt{\lceil k_0 / s_0 \rceil \lceil k_1 / s_1 \rceil}, \qquad g_b = \sqrt P

        Source: [lee2020:conv-dfa] [ours:convolution-gains]

        Parameters
        ----------
        positions : int, number of positions at which dz can differ from 0 in one channel; by default all P

        Notes
        -----
        This bound is ours, because the paper's derivation is in a supplement that we have not seen. Let h_t, (c_in, P),
        be the part of the input that entry t of the kernel reads. Then ||dz h_t^T||_F <= ||dz|| ||h_t|| by Cauchy and
        Schwarz. In the sum over t, every pixel of h occurs at most ceil(k_0 / s_0) ceil(k_1 / s_1) times. The
        derivative of a bias is the sum of dz over the positions of its channel.
        """
        (p, q), (s, t) = self._sizes
        return math.sqrt(-(-p // s) * -(-q // t)), math.sqrt(positions or math.prod(self.out_shape[1:]))
