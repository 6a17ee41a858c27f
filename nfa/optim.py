"""Optimizers. They change the parameters in place along a rule's direction. They add no noise.

A learning rate ``lr`` is a number or a function of the step t = 1, 2, ... (for example from `step_decay`).
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from nfa import require
from nfa.old_names import old_names

LearningRate = float | Callable[[int], float]

__getattr__ = old_names(__name__, StepSize="LearningRate")


class Layered(Protocol):
    """The part of a network that an optimizer uses: arrays W[1..L] and b[1..L]."""

    L: int
    W: list
    b: list


def step_decay(lr: float, factor: float, every: int) -> Callable[[int], float]:
    """A learning rate that begins at lr and is multiplied by ``factor`` after each ``every`` steps.

    Raises ValueError unless lr > 0, factor > 0 and every >= 1.

    Examples
    --------
    >>> eta = step_decay(0.5, 0.5, every=10)
    >>> eta(1), eta(10), eta(11), eta(21)
    (0.5, 0.5, 0.25, 0.125)
    """
    if not (lr > 0 and factor > 0 and every >= 1):
        raise ValueError(
            f"step_decay needs lr > 0, factor > 0 and every >= 1, got lr={lr}, factor={factor}, every={every}"
        )
    return lambda t: lr * factor ** ((t - 1) // every)


def _parameters(net: Layered, dW: list, db: list):
    for l in range(1, net.L + 1):
        yield net.W[l], dW[l]
        yield net.b[l], db[l]


class _Optimizer:
    def __init__(self, lr: LearningRate) -> None:
        if not callable(lr):
            require.positive(**{"the learning rate lr": lr})
        self.lr = lr
        # The state for a checkpoint: lists of arrays in the order W[1], b[1], W[2], ...; empty before the first step.
        self.state: dict[str, list[np.ndarray]] = {}

    def _eta(self, t: int) -> float:
        return self.lr(t) if callable(self.lr) else self.lr

    def _memory(self, name: str, net: Layered) -> list[np.ndarray]:
        if name not in self.state:
            self.state[name] = [np.zeros_like(p) for l in range(1, net.L + 1) for p in (net.W[l], net.b[l])]
        return self.state[name]


def sgd_update(p: np.ndarray, dp: np.ndarray, v: np.ndarray | None, eta: float, mu: float) -> None:
    """Update p along dp in place: v <- mu v + dp, p <- p - eta v, or p <- p - eta dp if v is None."""
    if v is None:
        p -= eta * dp
        return
    v *= mu
    v += dp
    p -= eta * v


class SGD(_Optimizer):
    r"""Stochastic gradient descent, with or without momentum.

    .. math:: v \leftarrow \mu v + dW, \qquad W \leftarrow W - \eta v

    Source: [lee2020:eq4] [ohana2021:exp-opt]

    Parameters
    ----------
    lr : eta > 0, or a function of t
    momentum : float mu, 0 <= mu < 1; 0 gives the papers' W <- W - eta dW
    update : function that updates one parameter, called as `sgd_update`

    Raises
    ------
    ValueError : if eta or mu is out of range
    """

    def __init__(self, lr: LearningRate, momentum: float = 0.0, *, update: Callable = sgd_update) -> None:
        super().__init__(lr)
        require.within("[0, 1)", momentum=momentum)
        self.momentum, self.update = momentum, update

    def step(self, net: Layered, dW: list, db: list, t: int) -> None:
        """Update the parameters of net by the direction (dW, db) of step t."""
        eta = self._eta(t)
        memory = self._memory("v", net) if self.momentum else [None] * (2 * net.L)
        for (p, dp), v in zip(_parameters(net, dW, db), memory, strict=True):
            self.update(p, dp, v, eta, self.momentum)


def adam_update(
    p: np.ndarray,
    dp: np.ndarray,
    m: np.ndarray,
    v: np.ndarray,
    eta: float,
    beta: tuple[float, float],
    correct: tuple[float, float],
    eps: float,
) -> None:
    """Update p along dp in place by Adam's equations. ``correct`` contains 1 - beta_1^t and 1 - beta_2^t."""
    m *= beta[0]
    m += (1 - beta[0]) * dp
    v *= beta[1]
    v += (1 - beta[1]) * dp**2
    p -= eta * (m / correct[0]) / (np.sqrt(v / correct[1]) + eps)


class Adam(_Optimizer):
    r"""Adam: a running mean of the direction, divided by the root of a running mean of its square, both bias-corrected.

    .. math:: m \leftarrow \beta_1 m + (1 - \beta_1) dW, \quad v \leftarrow \beta_2 v + (1 - \beta_2) dW^2, \quad
              W \leftarrow W - \eta \frac{m / (1 - \beta_1^t)}{\sqrt{v / (1 - \beta_2^t)} + \epsilon}

    Source: [lee2020:adam]

    Parameters
    ----------
    lr : eta > 0, or a function of t
    beta1, beta2 : floats in [0, 1)
    eps : float > 0, added to the square root in the denominator (Kingma & Ba's Algorithm 1). Lee & Kifer do not print
        their value
    update : function that updates one parameter, called as `adam_update`

    Raises
    ------
    ValueError : if a parameter is out of range
    """

    def __init__(
        self,
        lr: LearningRate = 1e-3,
        beta1: float = 0.9,
        beta2: float = 0.999,
        eps: float = 1e-8,
        *,
        update: Callable = adam_update,
    ) -> None:
        super().__init__(lr)
        if not (0 <= beta1 < 1 and 0 <= beta2 < 1 and eps > 0):
            raise ValueError(
                f"Adam needs beta1 and beta2 in [0, 1) and eps > 0, got beta1={beta1}, beta2={beta2}, eps={eps}"
            )
        self.beta1, self.beta2, self.eps, self.update = beta1, beta2, eps, update

    def step(self, net: Layered, dW: list, db: list, t: int) -> None:
        """Update the parameters of net by the direction (dW, db) of step t."""
        eta, beta = self._eta(t), (self.beta1, self.beta2)
        correct = 1 - self.beta1**t, 1 - self.beta2**t
        memory = zip(self._memory("m", net), self._memory("v", net), strict=True)
        for (p, dp), (m, v) in zip(_parameters(net, dW, db), memory, strict=True):
            self.update(p, dp, m, v, eta, beta, correct, self.eps)
