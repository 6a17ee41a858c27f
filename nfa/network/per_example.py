"""Each example's term in a layer's direction. Rules that clip need the norms of the terms, then a weighted sum."""

from typing import Any

import numpy as np


class Terms:
    r"""The terms dz_i h_i^T of the sum in a map's ``outer``, and dz_i for b, one for each example.

    Parameters
    ----------
    map_ : `nfa.network.dense.Dense` or `nfa.network.conv2d.Conv2d`
    dz, h : (m, ...) arrays, as for ``map_.outer``
    keep : whether `norms2` may keep the terms that it computes, so that `outer` only adds them. Otherwise `outer`
        computes them again

    Notes
    -----
    The terms of a dense layer are never computed, because ||dz h^T|| = ||dz|| ||h||, and the weights multiply dz. The
    terms of a convolution are computed unless an identity for the norm needs fewer operations. Computing these terms
    takes most of the time.
    """

    def __init__(self, map_: Any, dz: np.ndarray, h: np.ndarray, *, keep: bool = False) -> None:
        self.map, self.dz, self.h = map_, dz, h
        self._kept: list[tuple[slice, np.ndarray]] | None = [] if keep else None

    def norms2(self) -> tuple[np.ndarray, np.ndarray]:
        """The squared norm of each example's term for W, and for b: two (m,) arrays."""
        if self._kept is None:
            return self.map.norms2(self.dz, self.h)
        self._kept.clear()
        return self.map.norms2(self.dz, self.h, self._kept)

    def outer(self, weight: np.ndarray, weight_b: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The sums over examples of weight_i times the terms for W and for b. The weights for b are weight_b, if given.

        A term of weight 0 is omitted, even if it is not finite, because 0 times infinity is NaN.
        """
        db = self.map.weighed_b(self.dz, weight if weight_b is None else weight_b)
        if not self._kept:
            return self.map.weighed_W(self.dz, self.h, weight), db
        return self.map.add_up(self._kept, weight), db
