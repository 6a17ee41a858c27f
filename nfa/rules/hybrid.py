"""Hybrid BP/DFA: direct feedback alignment in the dense layers, and backpropagation in the layers below them.

This is Lee & Kifer (2020), Section 4.2 and Figure 1(c). With clips and noise, it is `nfa.rules.dp_hybrid`. B^l feeds
layer l. The paper prints B^{l+1} instead.
"""

from typing import NoReturn

import numpy as np

from nfa import require
from nfa.feedback import project
from nfa.mechanism import NoGuarantee
from nfa.network import Net, forward
from nfa.network.dense import Conv2d

SUM_OVER_EXAMPLES = True


def convolutions(net: Net) -> int:
    """The number of convolutions below the first other layer, which is ell in the paper."""
    return next(l for l in range(net.L) if not isinstance(net.map[l + 1], Conv2d))


def hybrid(
    net: Net, x: np.ndarray, y: np.ndarray, *, B: list, m: int | None = None, ell: int | None = None, rng=None
) -> tuple[list, list]:
    r"""The hybrid direction for every layer. The training loop subtracts ``eta`` times the direction.

    .. math:: \delta z^l = \begin{cases} e = \hat y - y & l = L \\ (B^l e) \odot \phi_l'(z^l) & \ell < l < L \\
              ((W^{l+1})^\top \delta z^{l+1}) \odot \phi_l'(z^l) & l \le \ell \end{cases}
              \qquad dW^l = \frac1m \sum_i \delta z_i^l (h_i^{l-1})^\top

    Source: [lee2020:hybrid-delta] [lee2020:hybrid-grad]

    Parameters
    ----------
    net : Net
    x : (k, *in_shape) array
    y : (k, n_L) array of targets, one-hot for class labels
    B : list, B[l] (n_l, n_L) for l = ell+1..L-1, from `nfa.feedback.draw`; lower entries are not used
    m : int > 0, divisor of the sum over examples; the number k of examples if not given
    ell : int in 0..L-1, number of layers that learn by backpropagation; by default the convolutions
    rng : not used, because the rule draws nothing

    Returns
    -------
    dW, db : lists with dW[l] and db[l] of the shapes of W[l] and b[l]; slot 0 is None

    Raises
    ------
    ValueError : if the batch is empty and m is not given, if m is not positive, or if ell is out of range

    Notes
    -----
    With ell = 0, the rule is DFA. The true weights, including W^{ell+1}, carry the signal from layer ell + 1 down. A
    skip from h[j], j <= ell, to a layer above ell + 1 carries nothing back, because DFA has no backward path through
    the dense layers.
    """
    m = len(x) if m is None else m
    ell = convolutions(net) if ell is None else ell
    require.normaliser(m, rule="hybrid", optional=True)
    if not 0 <= ell < net.L:
        raise ValueError(f"the number ell of layers with backpropagation must be between 0 and {net.L - 1}, got {ell}")
    L = net.L
    z, h = forward(net, x)
    e = net.loss.error(z[L], y)  # (k, n_L)
    dz: list = [None] * (L + 1)
    v: list = [0.0] * (L + 1)  # v[l], for l <= ell, is the signal that comes back to h[l]
    dW: list = [None] * (L + 1)
    db: list = [None] * (L + 1)
    for l in range(L, 0, -1):
        if l == L:
            dz[l] = e
        else:
            dz[l] = net.pull(l, z, project(e, B[l]) if l > ell else v[l])  # (k, n_l)
        # Layer ell + 1 learns by feedback. Its dz goes down through the true weights, as in the layers below.
        if 1 < l <= ell + 1:
            back = net.map[l].transpose(net.W[l], dz[l])  # (W^l)^T dz^l   (k, n_{l-1})
            for j in net.reads(l):
                v[j] = v[j] + back
        dW[l], db[l] = net.map[l].outer(dz[l] / float(m), net.input(l, h))  # (n_l, n_{l-1}), (n_l,)
    return dW, db


def mechanism(**settings) -> NoReturn:
    """The hybrid adds no noise of its own: raises `NoGuarantee`."""
    raise NoGuarantee("lee2020:hybrid-delta", "hybrid adds no noise to the direction")
