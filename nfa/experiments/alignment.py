"""The cosine between a rule's direction and the gradient, as in Figure 2 (right) of Ohana et al."""

import math
import statistics
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from nfa.network import Net
from nfa.parts import InParts
from nfa.rules.bp import bp
from nfa.rules.spec import spec


def alignment(dW_a: list, dW_b: list, l: int) -> float:
    r"""Cosine between two directions for the weights of layer l, each written as one vector; 0 if a direction is zero.

    .. math:: \cos = \frac{\langle dW_a^l, dW_b^l \rangle_F}{\|dW_a^l\|_F \, \|dW_b^l\|_F}

    Source: [ohana2021:fig2]

    Examples
    --------
    >>> import numpy as np
    >>> alignment([None, np.array([[3.0, 4.0]])], [None, np.array([[4.0, 3.0]])], 1)
    0.96
    """
    a, b = dW_a[l].astype(np.float64).ravel(), dW_b[l].astype(np.float64).ravel()
    norms = math.sqrt(a @ a) * math.sqrt(b @ b)
    return float(a @ b) / norms if norms else 0.0


class Watched:
    """A rule whose direction is compared with the gradient of backpropagation at some steps.

    Parameters
    ----------
    rule : function (net, x, y, *, rng) -> (dW, db)
    every : int >= 1. The directions are compared at the steps that are multiples of this number, with the weights and
        the batch of the step
    start : int >= 0, number of steps that are already done
    noted : cosines since the end of the last epoch. Each comparison has a list, with one cosine for each layer

    Notes
    -----
    Guarantee: the rule's direction is returned unchanged. Each comparison needs one more forward and backward
    pass, and draws no random values from the rng.
    """

    def __init__(self, rule: Callable, every: int, start: int = 0, noted: Sequence = ()) -> None:
        self.rule, self.every, self.t = rule, every, start
        self.gradient: Callable = bp
        if isinstance(rule, InParts):
            self.gradient = InParts(partial(bp), spec("bp"), size=rule.size, run=rule.run)
        self.noted: list[list[float]] = list(noted)

    def __call__(self, net: Net, x: np.ndarray, y: np.ndarray, *, rng: np.random.Generator) -> tuple[list, list]:
        dW, db = self.rule(net, x, y, rng=rng)
        self.t += 1
        if self.t % self.every == 0 and len(x):
            gradient, _ = self.gradient(net, x, y, rng=None)
            self.noted.append([alignment(dW, gradient, l) for l in range(1, net.L + 1)])
        return dW, db

    def means(self) -> list[float]:
        """Return the mean of the noted cosines of each layer, and delete the cosines. Without cosines, return []."""
        means = [statistics.fmean(cosines) for cosines in zip(*self.noted, strict=True)]
        self.noted.clear()
        return means
