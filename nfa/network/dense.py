"""The affine maps of a layer with their adjoints: Dense, and Conv2d from `nfa.network.conv2d`.

A map has three operations for z = W h + b. `affine` computes the value. `transpose` is the adjoint with respect to h
and carries a vector at z[l] back to h[l-1]. `outer` is the adjoint with respect to the parameters, which is a sum over
examples. `norms2` computes the squared norm of each example's term in this sum, if possible without computing the term.

You describe a map without the shape of its input, as in ``Dense(512)`` and ``Conv2d(64, 5)``. A `nfa.network.Net` binds
the map to this shape. The first axis of an array has the m examples: h is (m, ...), and images are (m, c, H, W).
"""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from nfa.clip import row_norms, scale_rows, squared_norms
from nfa.network.conv2d import Conv2d
from nfa.network.im2col import Shape
from nfa.network.per_example import Terms

__all__ = ["Conv2d", "Dense"]


@dataclass(frozen=True)
class Dense:
    """The fully connected map z = W h + b. An input image is flattened in the order (channel, row, column).

    Source: [lee2020:eq1] [lee2020:eq3]

    Parameters
    ----------
    n_out : int >= 1, number of outputs n_l
    bias : whether there is a bias. Without it, z = W h, and b[l] and its direction have no entries
    ops : an object with ``matmul`` for the products in `affine` and `transpose`, for example `nfa.kernels.rows`

    Raises
    ------
    ValueError : if n_out is not positive
    """

    n_out: int
    in_shape: Shape = ()
    bias: bool = True
    ops: Any = field(default=np, repr=False)

    def __post_init__(self) -> None:
        if not (isinstance(self.n_out, int | np.integer) and self.n_out >= 1):
            raise ValueError(
                f"the number n_out of outputs of a dense layer must be a whole number >= 1, got {self.n_out}"
            )

    def bind(self, in_shape: Shape) -> "Dense":
        """A copy of the map that is bound to the shape of h[l-1] for one example."""
        return replace(self, in_shape=in_shape)

    @property
    def out_shape(self) -> Shape:
        """Shape of z[l] for one example."""
        return (self.n_out,)

    @property
    def shape_W(self) -> Shape:
        """Shape of W[l], (n_l, n_{l-1}) as the papers print it."""
        return (self.n_out, math.prod(self.in_shape))

    @property
    def n_bias(self) -> int:
        """Number of entries of b[l]."""
        return self.n_out if self.bias else 0

    def affine(self, W: np.ndarray, b: np.ndarray, h: np.ndarray) -> np.ndarray:
        """z = W h + b for each example."""
        z = self.ops.matmul(h.reshape(len(h), self.shape_W[1]), W.T)  # (m, n_l)
        if self.bias:
            z += b
        return z

    def transpose(self, W: np.ndarray, dz: np.ndarray) -> np.ndarray:
        """W^T dz for each example, in the shape of h[l-1]."""
        return self.ops.matmul(dz, W).reshape(len(dz), *self.in_shape)  # (m, n_{l-1})

    def outer(self, dz: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sum over examples of dz h^T, and of dz: the directions for W and b."""
        if not len(h):  # because NumPy is slow for an empty product
            return np.zeros(self.shape_W, np.result_type(dz, h)), self.outer_b(dz)
        dW = dz.T @ h.reshape(len(h), self.shape_W[1])  # (n_l, n_{l-1})
        return dW, self.outer_b(dz)  # (n_l,)

    def outer_b(self, dz: np.ndarray) -> np.ndarray:
        """The direction for b alone, for which no h is needed."""
        return dz[:, : self.n_bias].sum(axis=0)  # (n_l,)

    def weighed_W(self, dz: np.ndarray, h: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """The direction for W with a weight (m,) for each example's term. The weights multiply dz.

        Terms of weight 0 are omitted.

        A weighed entry of dz that is too small for full precision becomes 0. If it were rounded up and multiplied by a
        large h, a term could exceed its bound.
        """
        if not (live := weight != 0).all():
            dz, h, weight = dz[live], h[live], weight[live]
        if not len(h):
            return np.zeros(self.shape_W, np.result_type(dz, h))
        weighed = scale_rows(dz, weight)
        weighed[np.abs(weighed) < np.finfo(weighed.dtype).tiny] = 0
        return weighed.T @ h.reshape(len(h), self.shape_W[1])  # (n_l, n_{l-1})

    def weighed_b(self, dz: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """The direction for b with a weight (m,) for each example's term."""
        return self.outer_b(scale_rows(dz, weight))  # (n_l,)

    def norms2(self, dz: np.ndarray, h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The squares ||dz h^T||_F^2 = ||dz||^2 ||h||^2 and ||dz||^2 of each example, two (m,) arrays; inf on overflow.

        If ||dz||^2 or ||h||^2 is too large or too small for the dtype, the first result is computed as (||dz||
        ||h||)^2.
        """
        flat = h.reshape(len(h), self.shape_W[1])
        with np.errstate(over="ignore", invalid="ignore"):
            dz2, h2 = squared_norms(dz), squared_norms(flat)
            W2 = dz2 * h2
            limits = np.finfo(W2.dtype)
            lost = ~(np.isfinite(W2) & (np.minimum(dz2, h2) > limits.tiny / limits.eps))
            if lost.any():
                W2[lost] = np.square(row_norms(dz[lost]) * row_norms(flat[lost]))
            b2 = dz2 if self.bias else np.zeros_like(dz2)
        return W2, b2

    def terms(self, dz: np.ndarray, h: np.ndarray) -> Terms:
        """Each example's own term in `outer`."""
        return Terms(self, dz, h)

    def patches(self, h: np.ndarray) -> np.ndarray:
        """For each example, the patch that an output reads, which is the whole of h: (m, 1, n_{l-1})."""
        return h.reshape(len(h), 1, self.shape_W[1])

    def gains(self, positions: int | None = None) -> tuple[float, float]:
        """The smallest (g_W, g_b) with ||dW||_F <= g_W ||dz|| ||h|| and ||db|| <= g_b ||dz|| for one example.

        The result is (1, 1), or (1, 0) without biases.
        """
        return 1.0, float(self.bias)
