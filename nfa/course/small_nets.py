"""Small networks of tanh layers with a softmax, and independent values for them from loops and central differences.

Entry l of a list belongs to layer l, and slot 0 of W and b is None.
"""

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np

from nfa.course.checking import derivatives


def weights(sizes: list[int], seed: int = 0) -> tuple[list, list]:
    """Random W and b of a network with these sizes."""
    rng = np.random.default_rng(seed)
    W = [None, *(rng.normal(size=(n, before)) for before, n in pairwise(sizes))]
    return W, [None, *(rng.normal(size=n) for n in sizes[1:])]


def data(n: int, classes: int, k: int = 5, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """k examples with n features, and their labels as one-hot rows."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(k, n)), np.eye(classes)[rng.integers(0, classes, k)]


def feedback(sizes: list[int], seed: int = 2) -> list:
    """Random B[l] for the hidden layers; slots 0 and L are None."""
    rng = np.random.default_rng(seed)
    return [None, *(rng.normal(size=(n, sizes[-1])) for n in sizes[1:-1]), None]


def passed(W: list, b: list, x: np.ndarray) -> tuple[list, list]:
    """z and h of every layer, computed for one record and one number at a time."""
    L = len(W) - 1
    z: list = [None] * (L + 1)
    h: list = [np.array(x), *[None] * L]
    for l in range(1, L + 1):
        rows = [[_dot(row, record) + float(add) for row, add in zip(W[l], b[l], strict=True)] for record in h[l - 1]]
        z[l] = np.array(rows)
        h[l] = np.array([[math.tanh(t) for t in row] if l < L else softmax(row) for row in rows])
    return z, h


def softmax(row: list[float]) -> list[float]:
    """The softmax of a few numbers."""
    total = math.fsum(math.exp(t) for t in row)
    return [math.exp(t) / total for t in row]


def cross_entropy(z_L: np.ndarray, y: np.ndarray) -> float:
    """The cross-entropy summed over the records."""
    total = 0.0
    for row, target in zip(z_L, y, strict=True):
        total -= math.fsum(t * math.log(p) for p, t in zip(softmax(list(row)), target, strict=True))
    return total


def differences(f: Callable[[list, list], float], W: list, b: list) -> dict[str, list]:
    """The derivative of f(W, b) with respect to every weight and bias, by central differences."""

    def moved(a: np.ndarray, l: int, by_weights: bool) -> float:
        one, other = list(W), list(b)
        (one if by_weights else other)[l] = a
        return f(one, other)

    dW = [None, *(derivatives(partial(moved, l=l, by_weights=True), W[l]) for l in range(1, len(W)))]
    db = [None, *(derivatives(partial(moved, l=l, by_weights=False), b[l]) for l in range(1, len(b)))]
    return {"dW": dW, "db": db}


def gradient(W: list, b: list, x: np.ndarray, y: np.ndarray, m: float) -> dict[str, list]:
    """The derivative of the loss, summed over the records and divided by m."""
    return differences(lambda W, b: cross_entropy(passed(W, b, x)[0][-1], y) / m, W, b)


def surrogate(W: list, b: list, h: list, targets: list, m: float) -> dict[str, list]:
    """The derivative of the sum of <h[l], targets[l]> / m. Layer l reads the fixed values h[l-1].

    In the top layer, z[L] replaces h[L].
    """
    L = len(W) - 1

    def value(W: list, b: list) -> float:
        total = 0.0
        for l in range(1, L + 1):
            for record, target in zip(h[l - 1], targets[l], strict=True):
                z = [_dot(row, record) + float(add) for row, add in zip(W[l], b[l], strict=True)]
                total += math.fsum((math.tanh(t) if l < L else t) * v for t, v in zip(z, target, strict=True))
        return total / m

    return differences(value, W, b)


def _dot(a: np.ndarray, b: np.ndarray) -> float:
    return math.fsum(float(p) * float(q) for p, q in zip(a, b, strict=True))
