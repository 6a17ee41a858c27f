"""DRTP: direct random target projection. Hidden layers learn from the label alone, before the output is known.

The source is Frenkel, Lefebvre & Bol (2021), which is reference [11] of Ohana et al. (2021). Section 4 of Ohana et al.
calls DRTP possible but inferior.
"""

from collections.abc import Callable
from typing import NoReturn

import numpy as np

from nfa import require
from nfa.feedback import project as exact_projection
from nfa.mechanism import NoGuarantee
from nfa.network import Net, forward

SUM_OVER_EXAMPLES = True


def drtp(
    net: Net,
    x: np.ndarray,
    y: np.ndarray,
    *,
    B: list,
    m: int | None = None,
    at: str = "h",
    project: Callable = exact_projection,
    rng=None,
) -> tuple[list, list]:
    r"""The DRTP direction for every layer. The training loop subtracts ``eta`` times the direction.

    .. math:: \delta z^l = \begin{cases} e = \hat y - y & l = L \\
              -(B^l y) \odot \phi_l'(z^l) & l < L \end{cases}
              \qquad dW^l = \frac1m \sum_i \delta z_i^l (h_i^{l-1})^\top

    Source: [ohana2021:exp-ternary]

    Parameters
    ----------
    net : Net
    x : (k, *in_shape) array
    y : (k, n_L) array of targets, one-hot for class labels
    B : list of (n_l, n_L) arrays for l = 1..L-1, from `nfa.feedback.draw`
    m : int > 0, divisor of the sum over examples; the number k of examples if not given
    at : "h" or "z", the place at which B[l] y enters a layer with pooling: above or below the pooling
    project : function (y, B[l]) -> (k, n_l)
    rng : not used, because DRTP itself draws nothing

    Returns
    -------
    dW, db : lists with dW[l] and db[l] of the shapes of W[l] and b[l]; slot 0 is None

    Raises
    ------
    ValueError : if the batch is empty and m is not given, or if m is not positive

    Notes
    -----
    For a one-hot y, the error y_hat - y is negative only at the true class. The target -y is this negative part,
    rounded to one bit. It is known before the forward pass ends. An optical device can show a one-hot y directly.
    """
    m = len(x) if m is None else m
    require.normaliser(m, rule="drtp", optional=True)
    L = net.L
    z, h = forward(net, x)
    dW: list = [None] * (L + 1)
    db: list = [None] * (L + 1)
    for l in range(L, 0, -1):
        # The hidden layers learn from -y, before the error is known. At the true class, -y is negative, as e is.
        dz = net.loss.error(z[L], y) if l == L else net.pull(l, z, -project(y, B[l]), at)  # (k, n_l)
        dW[l], db[l] = net.map[l].outer(dz / float(m), net.input(l, h))  # (n_l, n_{l-1}), (n_l,)
    return dW, db


def mechanism(**settings) -> NoReturn:
    """DRTP adds no noise of its own: raises `NoGuarantee`."""
    raise NoGuarantee("ohana2021:exp-ternary", "drtp adds no noise to the direction")
