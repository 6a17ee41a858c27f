"""Times of the parts that every step needs: matrix products, normal samples, one pass over the parameters.

This module also times one large square product. `arithmetic` computes the rate of the machine from it.
"""

from collections.abc import Callable

import numpy as np

from . import problem as problems
from .problem import Built, Layer

LARGE = "large product"


def square(tiny: bool) -> int:
    """The side of the two matrices in the large product."""
    return 16 if tiny else 1024


def positions(shapes: list[Layer], tiny: bool) -> list[int]:
    """How many times one example uses a layer's W: once for each pixel of a convolution, and once for a dense layer."""
    side, found = (8 if tiny else 28), []
    for shape, _ in shapes:
        found.append(side**2 if len(shape) == 4 else 1)
        side //= 2 if len(shape) == 4 else 1
    return found


def products(problem: str, tiny: bool, *, backward: bool) -> Callable[[], None]:
    """The matrix products of one step on arrays already in memory: forward, weights' directions, and backward products.

    With ``backward``, the backward products are W^T dz for every layer but the first (BP, DP-SGD). Without
    ``backward``, they are B e (DFA). For a convolution, we multiply patches that are already arranged in columns, one
    product for each example.
    """
    m, rng, work = problems.batch(tiny, problem), np.random.default_rng(1), []
    shapes = problems.layers(problem, tiny)

    def array(*shape: int) -> np.ndarray:
        return rng.uniform(-1, 1, shape).astype(np.float32)

    for l, ((W, _), places) in enumerate(zip(problems.weights(shapes), positions(shapes, tiny), strict=True)):
        W, last = W.reshape(len(W), -1), l == len(shapes) - 1
        if places > 1:
            U, dz = array(W.shape[1], places), array(len(W), places)
            z, dW = np.empty((m, *dz.shape), np.float32), np.empty((m, *W.shape), np.float32)
            work += [(W, U, out) for out in z] + [(dz, U.T, out) for out in dW]
            work += [(W.T, dz, np.empty_like(U))] * (m if l > 0 and backward else 0)
        else:
            h, dz = array(m, W.shape[1]), array(m, len(W))
            work += [(h, W.T, np.empty_like(dz)), (dz.T, h, np.empty_like(W))]
            if backward and l > 0:
                work.append((dz, W, np.empty_like(h)))
            elif not backward and not last:
                work.append((array(m, 10), array(10, len(W)), np.empty_like(dz)))

    def multiply() -> None:
        for a, b, out in work:
            np.matmul(a, b, out=out)

    return multiply


def floors(folder: str, *, problem: str, tiny: bool, threads: int) -> Built:
    """The products of BP and of DFA, a large product, one normal sample per parameter, and a copy of as many values."""
    n = sum(W.size + b.size for W, b in problems.weights(problems.layers(problem, tiny)))
    rng = np.random.default_rng(2)
    source, room = np.ones(n, np.float32), np.empty(n, np.float32)
    large, squared = (np.ones((square(tiny), square(tiny)), np.float32) for _ in range(2))

    def normals() -> None:
        rng.standard_normal(out=room, dtype=np.float32)

    def square_up() -> None:
        np.matmul(large, large, out=squared)

    def copy() -> None:
        np.copyto(room, source)

    steps = {
        "products of BP": products(problem, tiny, backward=True),
        "products of DFA": products(problem, tiny, backward=False),
        LARGE: square_up,
        "normals": normals,
        "copy": copy,
    }
    return Built(steps, {"parameters": n})
