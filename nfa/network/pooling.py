"""Pooling: MaxPool and AvgPool of images (m, c, H, W), with what carries a vector back through them."""

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
        """k and stride, which the constructor has made pairs."""
        return cast(tuple[int, int], self.k), cast(tuple[int, int], self.stride)

    def out_shape(self, in_shape: Shape) -> Shape:
        """Shape (c, H', W') after pooling one example of shape (c, H, W); a rest that fills no window is dropped."""
        if len(in_shape) != 3:
            raise ValueError(f"pooling needs an input of shape (channels, rows, columns), got {in_shape}")
        k, stride = self._sizes
        rows, columns = ((n - kn) // s + 1 for n, kn, s in zip(in_shape[1:], k, stride, strict=True))
        if min(rows, columns) < 1:
            raise ValueError(f"the pooling window {self.k} is larger than the input {in_shape}")
        return in_shape[0], rows, columns

    @property
    def _overlap(self) -> int:
        """How many windows can hold one entry."""
        k, stride = self._sizes
        return math.prod(-(-kn // s) for kn, s in zip(k, stride, strict=True))

    def _views(self, a: np.ndarray):
        """For each place in the window, the strided view of a that holds it for all windows, (m, c, H', W')."""
        return im2col.windows(a, *self._sizes)


@dataclass(frozen=True)
class MaxPool(_Pool):
    """The largest entry of each window (k, stride: int or pair; windows may overlap; a rest at the edge is dropped).

    ``ops`` is an object with ``max_pool`` and ``max_unpool`` as in `nfa.network.im2col` (`nfa.kernels.conv` is one).
    """

    ops: Any = field(default=im2col, repr=False)
    picks = True  # one of the window's entries, so that a phi that never decreases may come after it

    def forward(self, a: np.ndarray) -> np.ndarray:
        """(m, c, H, W) -> (m, c, H', W')."""
        return self.ops.max_pool(a, *self._sizes)

    def backward(self, a: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Carry v (m, c, H', W') back to the place of each window's maximum; of equal maxima the first in row order."""
        return self.ops.max_unpool(a, v, *self._sizes)

    @property
    def gain(self) -> float:
        """The least g with ||backward(a, v)|| <= g ||v||: 1, or the root of how many windows can share an entry.

        Source: [ours:pooling-gains]

        Proof. An entry takes up the numbers of at most q windows, whose sum squared is at most q times their squares'
        sum (Cauchy and Schwarz), and each window gives its number to one entry. Attained by a maximum of q windows.
        """
        return math.sqrt(self._overlap)

    def positions(self, in_shape: Shape) -> int:
        """How many places of a channel `backward` can leave different from 0: one a window."""
        return math.prod(self.out_shape(in_shape)[1:])


@dataclass(frozen=True)
class AvgPool(_Pool):
    """The mean of each window (k, stride: int or pair; windows may overlap; a rest at the edge is dropped)."""

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
        """A number g with ||backward(a, v)|| <= g ||v||: each number is spread evenly over the k entries of its window.

        Source: [ours:pooling-gains]

        Proof. As for `MaxPool.gain`, but that each window gives 1 / k of its number to each of k entries: q k / k^2.
        """
        return math.sqrt(self._overlap / math.prod(self._sizes[0]))

    def positions(self, in_shape: Shape) -> int:
        """How many places of a channel `backward` can leave different from 0: all."""
        return math.prod(in_shape[1:])
