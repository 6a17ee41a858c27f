"""Pooling of images (m, c, H, W): MaxPool and AvgPool, with their backward passes."""

import math
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from nfa.network import im2col
from nfa.network.im2col import Pair, Shape, pair


@dataclass(frozen=True)
class _Pool:
    k: Pair
    stride: Pair | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", pair("the pooling window k", self.k, 1))
        object.__setattr__(self, "stride", self.k if self.stride is None else pair("stride", self.stride, 1))

    @property
    def _sizes(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """k and stride, which the constructor has converted to pairs."""
        return cast(tuple[int, int], self.k), cast(tuple[int, int], self.stride)

    def out_shape(self, in_shape: Shape) -> Shape:
        """Shape (c, H', W') after pooling an image (c, H, W). Rows and columns that fill no window are dropped."""
        if len(in_shape) != 3:
            raise ValueError(f"pooling needs an input of shape (channels, rows, columns), got {in_shape}")
        k, stride = self._sizes
        rows, columns = ((n - kn) // s + 1 for n, kn, s in zip(in_shape[1:], k, stride, strict=True))
        if min(rows, columns) < 1:
            raise ValueError(
                f"the pooling window must not be larger than the input, got the window {self.k} for an input of"
                f" shape {in_shape}"
            )
        return in_shape[0], rows, columns

    @property
    def _overlap(self) -> int:
        """The largest number of windows that share one entry."""
        k, stride = self._sizes
        return math.prod(-(-kn // s) for kn, s in zip(k, stride, strict=True))

    def _views(self, a: np.ndarray):
        """For each place in the window, the entries of a at this place in all windows, (m, c, H', W')."""
        return im2col.windows(a, *self._sizes)


@dataclass(frozen=True)
class MaxPool(_Pool):
    """The largest entry of each window. k and stride are an int or a pair.

    Windows may overlap. Rows and columns at the edge that fill no window are dropped.

    ``ops`` is an object with ``max_pool`` and ``max_unpool`` as in `nfa.network.im2col`, for example
    `nfa.kernels.pooling`.
    """

    ops: Any = field(default=im2col, repr=False)
    picks = True  # the result is an entry of the window, so a monotone phi can be applied after the pooling

    def forward(self, a: np.ndarray) -> np.ndarray:
        """(m, c, H, W) -> (m, c, H', W')."""
        return self.ops.max_pool(a, *self._sizes)

    def backward(self, a: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Carry v (m, c, H', W') back to the maximum of each window.

        Of equal maxima, the first in row order gets v.
        """
        return self.ops.max_unpool(a, v, *self._sizes)

    @property
    def gain(self) -> float:
        """The smallest g with ||backward(a, v)|| <= g ||v||: sqrt(q) if an entry is in at most q windows.

        Source: [ours:pooling-gains]

        Proof. An entry gets the values of at most q windows. The square of the sum of these values is at most q times
        the sum of their squares (Cauchy and Schwarz). Each window gives its value to one entry. An entry that is the
        maximum of q windows attains the bound.
        """
        return math.sqrt(self._overlap)

    def positions(self, in_shape: Shape) -> int:
        """The largest number of nonzero entries of `backward` in one channel, which is the number of windows."""
        return math.prod(self.out_shape(in_shape)[1:])


@dataclass(frozen=True)
class AvgPool(_Pool):
    """The mean of each window. k and stride are an int or a pair.

    Windows may overlap. Rows and columns at the edge that fill no window are dropped.
    """

    picks = False

    def forward(self, a: np.ndarray) -> np.ndarray:
        """(m, c, H, W) -> (m, c, H', W')."""
        return sum(self._views(a)) / a.dtype.type(np.prod(self._sizes[0]))

    def backward(self, a: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Spread v (m, c, H', W') evenly over each window."""
        da = np.zeros_like(a)
        for dview in self._views(da):
            dview += v / a.dtype.type(np.prod(self._sizes[0]))
        return da

    @property
    def gain(self) -> float:
        """A number g with ||backward(a, v)|| <= g ||v||: sqrt(q / k) for windows of k entries, q of which can overlap.

        Source: [ours:pooling-gains]

        Proof. As in the proof of `MaxPool.gain`, an entry gets values of at most q windows. Here each window gives 1 /
        k of its value to each of k entries. So the square of g is q k / k^2 = q / k.
        """
        return math.sqrt(self._overlap / math.prod(self._sizes[0]))

    def positions(self, in_shape: Shape) -> int:
        """The largest number of nonzero entries of `backward` in one channel, which is the number of all entries."""
        return math.prod(in_shape[1:])
