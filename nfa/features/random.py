"""Random layers: the first layers keep their random weights, and only the network after these layers is trained.

The weights are drawn like the first weights of a network, with the run's ``init``. The layers have the run's
activation. The random weights are public, also in a secure run.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from nfa.features.kind import Arrays, Kind, Tools
from nfa.network.net import INITS


@dataclass(frozen=True)
class RandomLayers(Kind):
    r"""h^l = phi(W^l h^{l-1} + b^l) for l = 1, 2, ..., with the flattened input as h^0. The features are the last h.

    Parameters
    ----------
    sizes : number of units of each layer
    """

    kind: ClassVar[str] = "random"
    form: ClassVar[str] = "random:512,512"
    multiplies: ClassVar[bool] = True
    sizes: tuple[int, ...]

    @classmethod
    def read(cls, sizes: tuple[int, ...], named: dict[str, Any]) -> "RandomLayers":
        """The layers of these sizes. Raises ValueError if there is no size, or for a named parameter."""
        if not sizes or named:
            raise ValueError(f"the features random need only the sizes of the layers. Write {cls.form}")
        return cls(sizes)

    def out_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """(number of units of the last layer,)."""
        return self.sizes[-1:]

    def draw(
        self, shape: tuple[int, ...], tools: Tools, rng: np.random.Generator, dtype: type
    ) -> dict[str, np.ndarray]:
        """The arrays W1, b1, W2, ..., drawn in this order, with the law of the run's first weights."""
        arrays: dict[str, np.ndarray] = {}
        n = (math.prod(shape), *self.sizes)
        for l in range(1, len(n)):
            W, b = INITS[tools.init]((n[l], n[l - 1]), n[l - 1], n[l], rng)
            arrays |= {f"W{l}": W.astype(dtype), f"b{l}": b.astype(dtype)}
        return arrays

    def transform(self, x: np.ndarray, arrays: Arrays, tools: Tools) -> np.ndarray:
        """The outputs of the last layer, (n, units)."""
        h = x.reshape(len(x), -1)
        for l in range(1, len(self.sizes) + 1):
            h = tools.phi.phi(tools.product(h, arrays[f"W{l}"].T) + arrays[f"b{l}"])
        return h
