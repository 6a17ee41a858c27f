"""Feedback matrices B[l]: their laws, the projection of the error through them, and Figure 1 as a table.

B[l] feeds layer l, but the superscripts of the sources differ. Lee & Kifer and Ohana et al. (Eq. 4) write B^{l+1} for
this matrix, and Ohana et al. (Eqs. 8, 15) write B^l. The top layer has no B, because it receives the error itself.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from nfa import require
from nfa.network import Net
from nfa.network.net import check_at
from nfa.noise import normals_each

LAWS = ("normal", "uniform", "spectral", "orthogonal")


def draw(net: Net, *, law: str, scale: float, rng: np.random.Generator, at: str = "h") -> list:
    r"""Draw the fixed random feedback matrices of every hidden layer.

    Source: [lee2020:A1-A2] [ohana2021:alg1.1-3]

    Parameters
    ----------
    net : Net
    law : "normal", entries N(0, scale^2); "uniform", entries U(-scale, scale); "spectral", standard normal entries
        rescaled to spectral norm ``scale`` (beta in the papers); "orthogonal", orthogonal columns of norm ``scale``,
        uniform among all such matrices. In a layer narrower than the output, the rows are orthogonal
    scale : float > 0
    rng : numpy.random.Generator; entries are drawn in float64, layer 1 first, then cast to the network's dtype
    at : "h" or "z", the place at which B[l] e enters a layer with pooling (see `Net.pull`)

    Returns
    -------
    B : list of length L + 1, B[l] (n_l, n_L) with n_l the flattened size of h[l] (or z[l]); slots 0 and L are None

    Raises
    ------
    ValueError : for an unknown law or place, or a scale that is not positive and finite
    """
    _check_law(law, scale)
    check_at(at)
    shapes = net.shape_h if at == "h" else net.shape_z
    n_L = shapes[net.L][0]
    B: list = [None] * (net.L + 1)
    for l in range(1, net.L):
        B[l] = random_matrix((int(np.prod(shapes[l])), n_L), law, scale, rng).astype(net.W[l].dtype)
    return B


def draw_devices(kind: Callable, net: Net, *, scale: float, rng: np.random.Generator, at: str = "h") -> list:
    """Devices in place of stored matrices, one for each hidden layer. The device of layer 1 is drawn first.

    Parameters
    ----------
    kind : function (n_L, n_l, rng=..., scale=...), such as `nfa.feedback.OPU` or `nfa.feedback.Unstored`
    net, scale, rng, at : as for `draw`

    Returns
    -------
    B : list of length L + 1; slots 0 and L are None
    """
    shapes = net.shape_h if at == "h" else net.shape_z
    n_L = shapes[net.L][0]
    hidden = [kind(n_L, int(np.prod(shapes[l])), rng=rng, scale=scale) for l in range(1, net.L)]
    return [None, *hidden, None]


def draw_layerwise(net: Net, *, law: str, scale: float, rng: np.random.Generator) -> list:
    r"""Draw fixed random matrices that replace the weights in the backward pass, layer by layer.

    Source: [lee2020:dfa-backward]

    Parameters
    ----------
    net : Net
    law, scale : as for `draw`; the kernels of a convolution are drawn as a matrix with a row for each output channel
    rng : numpy.random.Generator; entries are drawn in float64, layer 2 first, then cast to the network's dtype

    Returns
    -------
    V : list of length L + 1, V[l] of the shape of W[l]; slots 0 and 1 are None, because no error goes back below layer
        1

    Raises
    ------
    ValueError : for an unknown law, or a scale that is not positive and finite

    Examples
    --------
    >>> from nfa.network import mlp, ops
    >>> net = mlp((4, 3, 2), ops.tanh, rng=np.random.default_rng(0))
    >>> [V if V is None else V.shape for V in draw_layerwise(net, law="normal", scale=1, rng=np.random.default_rng(1))]
    [None, None, (2, 3)]
    """
    _check_law(law, scale)
    V: list = [None] * (net.L + 1)
    for l in range(2, net.L + 1):
        W = net.W[l]
        V[l] = random_matrix((len(W), W[0].size), law, scale, rng).reshape(W.shape).astype(W.dtype)
    return V


def _check_law(law: str, scale: float) -> None:
    require.one_of(LAWS, **{"the law of the feedback": law})
    require.positive(**{"the scale of the feedback": scale})


def random_matrix(size: tuple[int, int], law: str, scale: float, rng: np.random.Generator) -> np.ndarray:
    """One matrix in float64, with a law and a scale as for `draw`. Source: [lee2020:A1-A2] [ohana2021:alg1.1-3]"""
    if law == "uniform":
        return rng.uniform(-scale, scale, size)
    M = rng.standard_normal(size)
    if law == "orthogonal":
        M = _orthogonal(M)
    return M * (scale if law != "spectral" else scale / np.linalg.norm(M, 2))


def _orthogonal(A: np.ndarray) -> np.ndarray:
    """The polar factor of A. For normal A, it is uniform among the matrices with orthonormal columns (or rows)."""
    U, _, Vt = np.linalg.svd(A, full_matrices=False)
    return U @ Vt


def project(
    e: np.ndarray, B: np.ndarray, *, noise_std: float = 0.0, rng: np.random.Generator | None = None
) -> np.ndarray:
    r"""Project each error through a feedback matrix, p = B e, or p = B e + g with fresh Gaussian noise.

    Source: [ohana2021:eq5] [ohana2021:eq1]

    Parameters
    ----------
    e : (m, n_L) array, one error per row
    B : (n_l, n_L) array
    noise_std : float >= 0, standard deviation of each entry of g; each example and output has its own entry
    rng : numpy.random.Generator, needed when noise_std > 0

    Returns
    -------
    p : (m, n_l) array of e's dtype

    Raises
    ------
    ValueError : if noise_std is negative, or positive without an rng

    Examples
    --------
    >>> project(np.array([[1.0, -1.0]]), np.array([[3.0, 1.0], [0.5, 2.0]])).tolist()
    [[2.0, -1.5]]
    """
    p = e @ B.T  # (m, n_l)
    if noise_std == 0:
        return p
    if not noise_std > 0 or rng is None:
        raise ValueError(
            f"noise_std must be at least 0, and noise needs a random generator rng, got noise_std={noise_std} and"
            f" rng={rng}"
        )
    g = normals_each(rng, p.shape).astype(p.dtype)
    return p + p.dtype.type(noise_std) * g


class WithProduct(np.ndarray):
    """A matrix B that replaces the matrix product: ``e @ B.T`` is ``product(e, B.T)``, for B and for all its views.

    Parameters
    ----------
    B : (n_l, n_L) array; the result is a view of it
    product : function like `numpy.matmul`; with `nfa.kernels.rows.matmul`, each row is computed alone

    Examples
    --------
    >>> B = WithProduct(np.eye(2), lambda e, M: 10 * (e @ M))
    >>> (np.array([[1.0, 2.0]]) @ B.T).tolist()
    [[10.0, 20.0]]
    """

    def __new__(cls, B: np.ndarray, product: Callable) -> "WithProduct":
        with_product = B.view(cls)
        with_product.product = product
        return with_product

    def __array_finalize__(self, source: Any) -> None:
        self.product = getattr(source, "product", np.matmul)

    def __rmatmul__(self, e: Any) -> Any:
        return self.product(e, self.view(np.ndarray))


def check_feeds(B: list, layers: range) -> None:
    """Raise ValueError unless B has a matrix, or a device in its place, for each of these layers."""
    if missing := [l for l in layers if l >= len(B) or B[l] is None]:
        raise ValueError(
            f"B must have feedback for each of the layers {layers[0]}..{layers[-1]}, but has no feedback for layer "
            f"{missing[0]}"
        )


def wiring(mode: str, L: int, n_conv: int = 0) -> dict[int, tuple[str, str]]:
    """Figure 1 as a table: for each layer, the matrix and the signal of the backward pass.

    Source: [lee2020:fig1] [ohana2021:fig1]

    Parameters
    ----------
    mode : "bp", "dfa" or "hybrid"
    L : int >= 1, number of layers
    n_conv : int, 0 <= n_conv < L: for "hybrid", the convolutional layers 1..n_conv use backpropagation

    Returns
    -------
    table : {l: (matrix, signal)} for l = L..1. The top layer receives e without a matrix.

    Raises
    ------
    ValueError : for an unknown mode, or if L or n_conv is out of range

    Examples
    --------
    >>> wiring("bp", 3)
    {3: ('I', 'e'), 2: ('W[3].T', 'dz[3]'), 1: ('W[2].T', 'dz[2]')}
    >>> wiring("dfa", 3)
    {3: ('I', 'e'), 2: ('B[2]', 'e'), 1: ('B[1]', 'e')}
    """
    if mode not in ("bp", "dfa", "hybrid"):
        raise ValueError(f"mode must be 'bp', 'dfa' or 'hybrid', got {mode!r}")
    if L < 1 or not 0 <= n_conv < L:
        raise ValueError(
            "the number L of layers must be at least 1, and the number n_conv of convolutional layers must be"
            f" between 0 and L - 1, got L={L} and n_conv={n_conv}"
        )
    backward = L - 1 if mode == "bp" else n_conv if mode == "hybrid" else 0
    table = {L: ("I", "e")}
    for l in range(L - 1, 0, -1):
        table[l] = (f"W[{l + 1}].T", f"dz[{l + 1}]") if l <= backward else (f"B[{l}]", "e")
    return table
