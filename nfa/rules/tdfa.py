"""TDFA without privacy: direct feedback alignment in which hidden layers learn from a ternary error.

This rule is in Ohana et al. (2021), Section 4 and the non-private cells of Table 1. With OPUs for B
(`nfa.feedback.opu`), it is their photonic DFA. `nfa.rules.pdfa` is the rule with clips and noise. B^l feeds layer l, as
in the paper's Equation 8. Equation 4 prints B^{l+1} instead.
"""

from collections.abc import Callable
from typing import NoReturn

import numpy as np

from nfa import require
from nfa.feedback import project as exact_projection
from nfa.feedback import ternarize
from nfa.mechanism import NoGuarantee
from nfa.network import Net, forward

SUM_OVER_EXAMPLES = True


def tdfa(
    net: Net,
    x: np.ndarray,
    y: np.ndarray,
    *,
    B: list,
    t: float,
    m: int | None = None,
    at: str = "h",
    project: Callable = exact_projection,
    rng: np.random.Generator | None = None,
) -> tuple[list, list]:
    r"""The TDFA direction for every layer. The training loop subtracts ``eta`` times the direction.

    .. math:: \delta z^l = \begin{cases} e = \hat y - y & l = L \\
              (B^l \, t(e)) \odot \phi_l'(z^l) & l < L \end{cases}
              \qquad dW^l = \frac1m \sum_i \delta z_i^l (h_i^{l-1})^\top

    Source: [ohana2021:exp-tdfa]

    Parameters
    ----------
    net : Net
    x : (k, *in_shape) array
    y : (k, n_L) array of targets, one-hot for class labels
    B : list for l = 1..L-1: (n_l, n_L) arrays from `nfa.feedback.draw`, or the devices that ``project`` takes in
        place of arrays
    t : float >= 0, the threshold of `nfa.feedback.ternarize`
    m : int > 0, divisor of the sum over examples; the number k of examples if not given
    at : "h" or "z", the place at which B[l] t(e) enters a layer with pooling: above or below the pooling
    project : function (e, B[l], rng=...) -> (k, n_l)
    rng : generator that is passed to ``project``, from the top layer down, and not used otherwise

    Returns
    -------
    dW, db : lists with dW[l] and db[l] of the shapes of W[l] and b[l]; slot 0 is None

    Raises
    ------
    ValueError : if the batch is empty and m is not given, if m is not positive, or if t is negative

    Notes
    -----
    The top layer learns from the error itself. The error is made ternary only for the hidden layers, because an optical
    device shows it as binary images.
    """
    m = len(x) if m is None else m
    require.normaliser(m, rule="tdfa", optional=True)
    L = net.L
    z, h = forward(net, x)
    e = net.loss.error(z[L], y)  # (k, n_L)
    t_e = ternarize(e, t)  # (k, n_L)
    dW: list = [None] * (L + 1)
    db: list = [None] * (L + 1)
    for l in range(L, 0, -1):
        # The top layer needs no projection, so it keeps the exact error.
        dz = e if l == L else net.pull(l, z, project(t_e, B[l], rng=rng), at)  # (B t(e)) * phi'(z)   (k, n_l)
        dW[l], db[l] = net.map[l].outer(dz / float(m), net.input(l, h))  # (n_l, n_{l-1}), (n_l,)
    return dW, db


def mechanism(**settings) -> NoReturn:
    """TDFA adds no noise of its own: raises `NoGuarantee`."""
    raise NoGuarantee("ohana2021:exp-ternary", "tdfa adds no noise to the direction")
