"""Each example's own term in a layer's direction, for rules that clip: first the norms, then the weighted sum."""

from typing import Any

import numpy as np


class Terms:
    r"""The terms dz_i h_i^T of the sum in a map's ``outer``, and dz_i for b, one for each example.

    Parameters
    ----------
    map_ : `nfa.network.dense.Dense` or `nfa.network.dense.Conv2d`
    dz, h : (m, ...) arrays, as for ``map_.outer``
    keep : whether `norms2` may keep the terms that it forms, for `outer` to add up. Otherwise they are formed twice

    Notes
    -----
    A dense layer's terms are never formed, because ||dz h^T|| = ||dz|| ||h||, and the weights multiply dz. A
    convolution's terms are formed if no identity is cheaper. Forming them takes most of the time.
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
        """The sum over examples of weight_i times the term for W, and the same for b, with its own weights if given.

        A term of weight 0 is omitted, even if it is not finite, because 0 times infinity is NaN.
        """
        db = self.map.weighed_b(self.dz, weight if weight_b is None else weight_b)
        if not self._kept:
            return self.map.weighed_W(self.dz, self.h, weight), db
        return self.map.add_up(self._kept, weight), db
