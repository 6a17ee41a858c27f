"""Test whether the pass of an example depends on the batch size, its position in the batch, or the other examples.

The pass of an example consists of the values that the rules compute from this example alone, see `own_pass`. In exact
arithmetic, the pass depends on none of the three. With floats, a matrix product can round the row of an example
differently in another batch, because a linear algebra library uses different loops for different sizes. A secure run
needs a pass that is bitwise identical in every batch. The kernel `nfa.kernels.rows` gives such a pass by
construction. Without kernels, `check` tests NumPy's own products.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from nfa import clip, feedback
from nfa.network import Net, forward


def own_pass(
    net: Net,
    x: np.ndarray,
    y: np.ndarray,
    *,
    B: list | None = None,
    at: str = "h",
    project: Callable = feedback.project,
    clip_l2: Callable = clip.clip_l2,
) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the values that the rules compute from each example alone, before any sum over examples.

    Parameters
    ----------
    net : Net
    x, y : (m, *in_shape) and (m, n_L) arrays, the examples and their targets
    B, at, project, clip_l2 : keyword arguments as for a rule (see `nfa.rules`). Without B, no error is projected

    Yields
    ------
    name, values : the forward and backward passes, every projection, the squared norms of each example's own terms, and
        the clipped inputs. The array ``values`` has the shape (m, ...), with one row for each example
    """
    z, h = forward(net, x)
    v: list = [0.0] * (net.L + 1)
    e = net.loss.error(z[net.L], y)
    for l in range(1, net.L + 1):
        yield f"z[{l}]", z[l]
        yield f"h[{l}]", h[l]
    yield "the loss", net.loss.value(z[net.L], y)
    yield "the clipped error", clip_l2(e, 0.1)
    for l in range(net.L, 0, -1):
        h_in = net.input(l, h)
        yield f"the clipped input of layer {l}", clip_l2(h_in, 1.0)
        ways = {"dz": e if l == net.L else net.pull(l, z, v[l])}
        if l > 1:
            back = net.map[l].transpose(net.W[l], ways["dz"])
            for j in net.reads(l):
                v[j] = v[j] + back
        if l < net.L and B is not None and B[l] is not None:
            ways["B e"] = net.pull(l, z, project(e, B[l]), at)
        for way, dz in ways.items():
            yield f"{way}[{l}]", dz
            for parameter, norm2 in zip(("W", "b"), net.map[l].norms2(dz, h_in), strict=True):
                yield f"the squared norm of {way}[{l}] for {parameter}", norm2


def first_difference(
    values: Callable[[np.ndarray, np.ndarray], Iterator[tuple[str, np.ndarray]]],
    x: np.ndarray,
    y: np.ndarray,
    sizes: Any,
    rng: np.random.Generator,
) -> tuple[str, int] | None:
    """Return the name of the first value of an example that differs between batches, and the size of the tested batch.

    Returns None if no value differs.

    Parameters
    ----------
    values : function as `own_pass` with all arguments bound except x and y
    x, y : n examples and their targets. The reference is the batch of all n examples
    sizes : sizes of the tested batches, each in 1..n. The examples of each batch and their order are random
    rng : numpy.random.Generator
    """
    whole = dict(values(x, y))
    for size in sizes:
        company = rng.permutation(len(x))[:size]
        for name, found in values(x[company], y[company]):
            if not np.array_equal(found, whole[name][company], equal_nan=True):
                return name, size
    return None


def check(net: Net, dtype: np.dtype, largest: int, **how: Any) -> None:
    """Test on random examples whether NumPy computes the same pass for an example in every batch.

    Parameters
    ----------
    net : Net, with the shapes of the run
    dtype : type of the examples
    largest : int >= 1, largest number of examples in one call of a rule (`nfa.parts.part_size`). All sizes up to this
        number are tested
    how : keyword arguments of `own_pass`

    Raises
    ------
    ValueError : if the passes differ
    """
    rng, n = np.random.default_rng(0), largest
    x = rng.standard_normal((n, *net.shape_h[0])).astype(dtype)
    y = np.eye(net.shape_h[net.L][0], dtype=dtype)[rng.integers(net.shape_h[net.L][0], size=n)]
    with np.errstate(all="ignore"):
        found = first_difference(lambda *of: own_pass(net, *of, **how), x, y, range(1, n + 1), rng)
    if found:
        raise ValueError(
            f"this secure run needs kernels. Without kernels, NumPy rounds {found[0]} of an example differently in a"
            " batch"
            f" of {found[1]} and in a batch of {n}, so one record would change the terms of the other records"
        )
