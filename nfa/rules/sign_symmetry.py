"""Sign symmetry: backpropagation that uses only the signs of the weights above.

This is the rule uSF of Liao, Leibo & Poggio (2016). Lee & Kifer (2020, Section 3.2) discuss the transpose of the
weights, which this rule avoids.
"""

from typing import NoReturn

import numpy as np

from nfa import require
from nfa.mechanism import NoGuarantee
from nfa.network import Net, forward

SUM_OVER_EXAMPLES = True


def sign_symmetry(net: Net, x: np.ndarray, y: np.ndarray, *, m: int | None = None, rng=None) -> tuple[list, list]:
    r"""The direction of uniform sign-concordant feedback. The training loop subtracts ``eta`` times the direction.

    .. math:: \delta z^l = \begin{cases} \hat y - y & l = L \\
              (s_{l+1} \mathrm{sign}(W^{l+1})^\top \delta z^{l+1}) \odot \phi_l'(z^l) & l < L \end{cases}
              \qquad dW^l = \frac1m \sum_i \delta z_i^l (h_i^{l-1})^\top

    Source: [lee2020:weight-transport]

    Parameters
    ----------
    net : Net
    x : (k, *in_shape) array
    y : (k, n_L) array of targets, one-hot for class labels
    m : int > 0, divisor of the sum over examples; the number k of examples if not given
    rng : not used, because the rule draws nothing

    Returns
    -------
    dW, db : lists with dW[l] and db[l] of the shapes of W[l] and b[l]; slot 0 is None. The papers' delta W is -dW.

    Raises
    ------
    ValueError : if the batch is empty and m is not given, or if m is not positive

    Notes
    -----
    We choose s_l as the root mean square of W^l. So the signal that comes back has about the norm that the weights
    themselves would give. Liao, Leibo & Poggio instead rescale by batch normalisation.
    """
    m = len(x) if m is None else m
    require.normaliser(m, rule="sign_symmetry", optional=True)
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
            s = np.sqrt(np.mean(np.square(net.W[l])))
            back = net.map[l].transpose(s * np.sign(net.W[l]), dz)  # s sign(W^l)^T dz^l   (k, n_{l-1})
            for j in net.reads(l):  # l - 1 and, for a skip into layer l, its first layer
                v[j] = v[j] + back
        dW[l], db[l] = net.map[l].outer(dz / float(m), net.input(l, h))  # (n_l, n_{l-1}), (n_l,)
    return dW, db


def mechanism(*, m: int | None = None) -> NoReturn:
    """Sign symmetry adds no noise: raises `NoGuarantee`."""
    raise NoGuarantee("lee2020:weight-transport", "sign_symmetry adds no noise to the direction")
