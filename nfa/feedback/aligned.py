"""First weights with which backpropagation carries errors back as the feedback does.

Feedback alignment learns little until the weights are aligned with the fixed feedback. Before the first step, no record
has been used, so aligning the first weights has no effect on privacy. On an optical device, the alignment needs one
projection for each unit error.
"""

from collections.abc import Callable

import numpy as np

from nfa.feedback.matrices import check_feeds
from nfa.feedback.matrices import project as exact_projection
from nfa.network import Dense, Net


def align_weights(net: Net, B: list, *, project: Callable = exact_projection, rng: np.random.Generator) -> None:
    r"""Align a network's first weights, so that the weights carry errors back parallel to the feedback.

    .. math:: (W^L)^\top = c_{L-1} B^{L-1}, \qquad (W^{l+1})^\top B^{l+1} = c_l B^l

    Source: [ours:aligned-weights]

    Parameters
    ----------
    net : Net without skips. The function changes the weights W[L], ..., W[2], from the top down and only in dense
        layers. It stops above the last convolution. W[L] keeps its Frobenius norm. For l + 1 < L, the change of W[l+1]
        has rank n_L at most, and the product of its transpose with B[l+1] keeps its norm.
    B : list for l = 1..L-1: (n_l, n_L) arrays at h[l], or the devices that ``project`` takes in place of matrices
    project : function (c, B[l], rng=...) -> (k, n_l), which receives the n_L unit errors
    rng : numpy.random.Generator for the device's noise. The result depends only on rng, W and B

    Raises
    ------
    ValueError : for a network with skips, in which an error returns by several paths; for a network without a hidden
        layer; or if B has no matrix or device for a hidden layer

    Notes
    -----
    Guarantee: let v^L = e and v^l = (W^{l+1})^T v^{l+1}. Then v^l is a positive multiple of B^l e for every e, up to
    rounding. If layer l + 1 is narrower than the output, this holds in the sense of least squares. DFA on a linear
    network then starts as backpropagation with other learning rates.

    Examples
    --------
    >>> from nfa import feedback
    >>> from nfa.network import mlp, ops
    >>> net = mlp((5, 4, 3, 2), ops.tanh, rng=np.random.default_rng(0))
    >>> B = feedback.draw(net, law="normal", scale=1.0, rng=np.random.default_rng(1))
    >>> align_weights(net, B, rng=np.random.default_rng(2))
    >>> back = net.W[2].T @ net.W[3].T
    >>> bool(np.allclose(back / np.linalg.norm(back), B[1] / np.linalg.norm(B[1])))
    True
    """
    if net.skip:
        raise ValueError(
            "first weights can be aligned only in a network without skips, because an error must reach each layer by "
            "a single path"
        )
    if net.L < 2:
        raise ValueError(
            "first weights are aligned with the feedback of hidden layers, but the network has no hidden layer"
        )
    check_feeds(B, range(1, net.L))
    K = net.shape_z[net.L][0]
    U: list = [None] * net.L  # U[l] is B[l] as measured by the projections of the unit errors
    for l in range(net.L - 1, 0, -1):
        if not isinstance(net.map[l + 1], Dense):
            return
        W = net.W[l + 1]
        U[l] = project(np.eye(K, dtype=W.dtype), B[l], rng=rng).astype(np.float64).T  # (n_l, K)
        if l == net.L - 1:
            turned = U[l].T * (np.linalg.norm(W) / np.linalg.norm(U[l]))  # (K, n_l)
        else:
            seen = W.T @ U[l + 1]  # (n_l, K)
            wanted = U[l] * (np.linalg.norm(seen) / np.linalg.norm(U[l]))
            turned = W + np.linalg.pinv(U[l + 1]).T @ (wanted - seen).T  # (n_{l+1}, n_l)
        net.W[l + 1] = turned.astype(W.dtype)
