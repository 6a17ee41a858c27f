"""DFA: direct feedback alignment. The error reaches every layer through a fixed random matrix.

See Lee & Kifer (2020), Equation 5, and Ohana et al. (2021), Equation 4. B^l feeds layer l. The papers print B^{l+1}.
"""

from collections.abc import Callable
from typing import NoReturn

import numpy as np

from nfa import require
from nfa.feedback import project as exact_projection
from nfa.mechanism import NoGuarantee
from nfa.network import Net, forward

SUM_OVER_EXAMPLES = True


def dfa(
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
    r"""The DFA direction for every layer. The training loop subtracts ``eta`` times the direction.

    .. math:: \delta z^l = \begin{cases} e = \hat y - y & l = L \\
              (B^l e) \odot \phi_l'(z^l) & l < L \end{cases}
              \qquad dW^l = \frac1m \sum_i \delta z_i^l (h_i^{l-1})^\top

    Source: [lee2020:eq5] [lee2020:dfa-update] [ohana2021:eq4] [ohana2021:eq1] [lee2020:dfa-backward]
    [ohana2021:dfa-parallel] [ohana2021:dfa-archs]

    Parameters
    ----------
    net : Net
    x : (k, *in_shape) array
    y : (k, n_L) array of targets, one-hot for class labels
    B : list of (n_l, n_L) arrays for l = 1..L-1, from `nfa.feedback.draw`; B[l] feeds layer l
    m : int > 0, divisor of the sum over examples; the number k of examples if not given
    at : "h" or "z", the place at which B[l] e enters a layer with pooling: above or below the pooling
    project : function (e, B[l]) -> (k, n_l); with a noisy projection, the rule is Equation 1 of Ohana et al.
    rng : not used, because DFA itself draws nothing

    Returns
    -------
    dW, db : lists with dW[l] and db[l] of the shapes of W[l] and b[l]; slot 0 is None. The papers' delta W is -dW.

    Raises
    ------
    ValueError : if the batch is empty and m is not given, or if m is not positive

    Notes
    -----
    The papers' formula has no B for l = L. We follow Figure 1, in which e itself enters the top layer. The error e is
    already the derivative of the loss with respect to z[L], so the top layer needs no phi'.

    The code works for layers of any kind. `net.input(l, h)` is the input of layer l, including skips.
    `net.pull(l, z, v, at)` carries v back through the layer's pooling to z[l] and multiplies by phi_l'(z[l]).
    `net.map[l].outer(dz, h)` gives the sums of dz h^T and of dz.
    """
    m = len(x) if m is None else m
    require.normaliser(m, rule="dfa", optional=True)
    L = net.L
    z, h = forward(net, x)
    e = net.loss.error(z[L], y)  # (k, n_L)
    dW: list = [None] * (L + 1)
    db: list = [None] * (L + 1)
    # No layer needs the result of another layer. So every order of the layers gives the same values, if project draws
    # nothing.
    for l in range(L, 0, -1):
        # We use float(m), because a NumPy number would turn float32 into float64.
        dz = e if l == L else net.pull(l, z, project(e, B[l]), at)  # (B e) * phi'(z)   (k, n_l)
        dW[l], db[l] = net.map[l].outer(dz / float(m), net.input(l, h))  # (n_l, n_{l-1}), (n_l,)
    return dW, db


def mechanism(*, B: list, m: int | None = None, at: str = "h", project: Callable = exact_projection) -> NoReturn:
    """DFA adds no noise of its own: raises `NoGuarantee`."""
    raise NoGuarantee("lee2020:dfa-update", "dfa adds no noise to the direction")
