"""FA: feedback alignment. The error comes back layer by layer, through fixed random matrices in place of the weights.

The source is Lillicrap, Cownden, Tweed & Akerman (2016). Lee & Kifer (2020) derive DFA from BP by two changes. FA is BP
with the first of these changes.
"""

from typing import NoReturn

import numpy as np

from nfa import require
from nfa.mechanism import NoGuarantee
from nfa.network import Net, forward

SUM_OVER_EXAMPLES = True


def fa(net: Net, x: np.ndarray, y: np.ndarray, *, V: list, m: int | None = None, rng=None) -> tuple[list, list]:
    r"""The FA direction for every layer. The training loop subtracts ``eta`` times the direction.

    .. math:: \delta z^l = \begin{cases} \hat y - y & l = L \\
              ((V^{l+1})^\top \delta z^{l+1}) \odot \phi_l'(z^l) & l < L \end{cases}
              \qquad dW^l = \frac1m \sum_i \delta z_i^l (h_i^{l-1})^\top

    Source: [lee2020:weight-transport] [lee2020:dfa-backward]

    Parameters
    ----------
    net : Net
    x : (k, *in_shape) array
    y : (k, n_L) array of targets, one-hot for class labels
    V : list, V[l] of the shape of W[l] for l = 2..L, from `nfa.feedback.draw_layerwise`. For a convolution, V[l] has
        kernels too
    m : int > 0, divisor of the sum over examples; the number k of examples if not given
    rng : not used, because FA itself draws nothing

    Returns
    -------
    dW, db : lists with dW[l] and db[l] of the shapes of W[l] and b[l]; slot 0 is None. The papers' delta W is -dW.

    Raises
    ------
    ValueError : if the batch is empty and m is not given, or if m is not positive
    """
    m = len(x) if m is None else m
    require.normaliser(m, rule="fa", optional=True)
    L = net.L
    z, h = forward(net, x)
    # v[l] is a sum, because more than one layer reads h[l] if a skip starts at h[l].
    v: list = [0.0] * (L + 1)  # v[l] is the signal that has come back to h[l]
    dW: list = [None] * (L + 1)
    db: list = [None] * (L + 1)
    for l in range(L, 0, -1):
        # The error is already the derivative of the loss with respect to z[L], so the top layer needs no phi'.
        dz = net.loss.error(z[L], y) if l == L else net.pull(l, z, v[l])  # (k, n_l)
        if l > 1:
            back = net.map[l].transpose(V[l], dz)  # (V^l)^T dz^l   (k, n_{l-1})
            for j in net.reads(l):  # l - 1 and, for a skip into layer l, its first layer
                v[j] = v[j] + back
        dW[l], db[l] = net.map[l].outer(dz / float(m), net.input(l, h))  # (n_l, n_{l-1}), (n_l,)
    return dW, db


def mechanism(*, V: list, m: int | None = None) -> NoReturn:
    """FA adds no noise: raises `NoGuarantee`."""
    raise NoGuarantee("lee2020:dfa-backward", "fa adds no noise to the direction")
