"""BP: backpropagation, the gradient of the mean loss.

See Lee & Kifer (2020), Equations 2 and 3, and Ohana et al. (2021), Equation 3.
"""

from typing import NoReturn

import numpy as np

from nfa import require
from nfa.mechanism import NoGuarantee
from nfa.network import Net, forward

SUM_OVER_EXAMPLES = True


def bp(net: Net, x: np.ndarray, y: np.ndarray, *, m: int | None = None, rng=None) -> tuple[list, list]:
    r"""The gradient of the mean loss for every W[l] and b[l]. The training loop subtracts ``eta`` times the direction.

    .. math:: \delta z^l = \begin{cases} \hat y - y & l = L \\
              ((W^{l+1})^\top \delta z^{l+1}) \odot \phi_l'(z^l) & l < L \end{cases}
              \qquad \frac{\partial \mathcal L}{\partial W^l} = \frac1m \sum_i \delta z_i^l (h_i^{l-1})^\top

    Source: [lee2020:eq2] [lee2020:eq3] [ohana2021:eq3] [lee2020:weight-transport] [lee2020:hybrid-grad]
    [ohana2021:risk]

    Parameters
    ----------
    net : Net
    x : (k, *in_shape) array
    y : (k, n_L) array of targets, one-hot for class labels
    m : int > 0, divisor of the sum over examples; the number k of examples if not given
    rng : not used, because BP draws nothing

    Returns
    -------
    dW, db : lists with dW[l] and db[l] of the shapes of W[l] and b[l]; slot 0 is None. The papers' delta W is -dW.

    Raises
    ------
    ValueError : if the batch is empty and m is not given, or if m is not positive
    """
    m = len(x) if m is None else m
    require.normaliser(m, rule="bp", optional=True)
    L = net.L
    z, h = forward(net, x)
    dz: list = [None] * (L + 1)
    # v[l] is a sum, because more than one layer reads h[l] if a skip starts at h[l].
    v: list = [0.0] * (L + 1)  # v[l] is the derivative of the loss with respect to h[l]
    dW: list = [None] * (L + 1)
    db: list = [None] * (L + 1)
    for l in range(L, 0, -1):
        # The error is already the derivative of the loss with respect to z[L], so the top layer needs no phi'.
        dz[l] = net.loss.error(z[L], y) if l == L else net.pull(l, z, v[l])  # (k, n_l)
        if l > 1:
            back = net.map[l].transpose(net.W[l], dz[l])  # (W^l)^T dz^l   (k, n_{l-1})
            for j in net.reads(l):  # l - 1 and, for a skip into layer l, its first layer
                v[j] = v[j] + back
        # We use float(m), because a NumPy number would turn float32 into float64.
        dW[l], db[l] = net.map[l].outer(dz[l] / float(m), net.input(l, h))  # (n_l, n_{l-1}), (n_l,)
    return dW, db


def mechanism(*, m: int | None = None) -> NoReturn:
    """BP adds no noise: raises `NoGuarantee`."""
    raise NoGuarantee("lee2020:eq3", "bp adds no noise to the gradient")
