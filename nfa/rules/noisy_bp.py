"""Noisy BP: the private backpropagation baseline of Ohana et al. (2021, Section 4).

Activations are clipped and offset as in `nfa.rules.pdfa`. The noise is added once, to the derivative of the loss at the
top layer. Backpropagation carries the noise down with this derivative, so the directions of all layers contain the same
noise.
"""

import math
from collections.abc import Callable
from typing import NoReturn

import numpy as np

from nfa import require
from nfa.clip import check_clip_of_inputs, clip_l2, clip_offset
from nfa.mechanism import NoGuarantee
from nfa.network import Net, forward
from nfa.noise import add_normal_each as numpy_normal_each

SUM_OVER_EXAMPLES = True

NOISES = ("record", "batch", "layers")


def noisy_bp(
    net: Net,
    x: np.ndarray,
    y: np.ndarray,
    *,
    m: int,
    sigma: float,
    tau_e: float = 1.0,
    tau_h_max: float = 1.0,
    tau_h_min: float = 0.0,
    clip_x: bool = True,
    floor: str = "literal",
    noise: str = "record",
    noise_first: bool = False,
    clip_l2: Callable = clip_l2,
    clip_offset: Callable = clip_offset,
    add_normal_each: Callable = numpy_normal_each,
    rng: np.random.Generator,
    state: dict | None = None,
) -> tuple[list, list]:
    r"""The direction of BP with noise at the top layer and clipped activations.

    The training loop subtracts ``eta`` times the direction.

    .. math:: \delta z^L = \mathrm{scale}_{\tau_e}(\hat y - y) + g, \quad g \sim N(0, \sigma^2 I), \qquad
              \delta z^l = ((W^{l+1})^\top \delta z^{l+1}) \odot \phi_l'(z^l), \qquad
              dW^l = \frac1m \sum_i \delta z_i^l \, \mathrm{clip}_c(\mathrm{offset}_\nu(h_i^{l-1}))^\top

    Source: [ohana2021:exp-bp] [ohana2021:table1-c4]

    Parameters
    ----------
    net : Net
    x : (k, *in_shape) array; k may be 0 (then the direction is 0, because the noise of this rule comes with the
        records)
    y : (k, n_L) array of targets, one-hot for class labels
    m : int > 0, the public normaliser (the batch size)
    sigma : float >= 0, standard deviation of every entry of g, which has an entry for each record and output
    tau_e : float > 0, l2 bound on each error before the noise; inf for no bound
    tau_h_max, tau_h_min, clip_x, floor : as for `nfa.rules.pdfa.pdfa`
    noise : "record", one g for every record, as in Equation 8; "batch", one g for all records of a batch; "layers", as
        "record", with another g for every hidden layer l, which is added to the signal that comes back to h[l] and
        carried down with it
    noise_first : bool, whether the noise is added before the scaling: scale_{tau_e}(y_hat - y + g)
    clip_l2 : function (v, c, shares) that returns the rows of v clipped to norm c, as a new array
    clip_offset : function (v, nu, c, floor) that returns the entries of v offset by nu and clipped to c
    add_normal_each : function (out, std, rng) that adds noise in place, a row for each example. The rule calls it with
        std 1
    rng : numpy.random.Generator that draws g
    state : dict. Its entry "clipped" gets the share of examples that the clip scales down

    Returns
    -------
    dW, db : lists with dW[l] and db[l] of the shapes of W[l] and b[l]; slot 0 is None

    Raises
    ------
    ValueError : if a bound, sigma or m is out of range, or if floor or noise is none of the names above

    Notes
    -----
    In the text, the noise is applied "on the derivative of the loss once at the top". The settings noise, noise_first,
    tau_e and sigma are different ways to interpret this sentence. If the paper's noise is on the derivative of the mean
    loss, our sigma is m times as large. `nfa reproduce ohana2021:exp-bp` trains with different values of these
    settings.

    Examples
    --------
    There are two records of one class. The network predicts equal probabilities, and the noise on each of the two
    outputs is 0.1. The direction of the bias depends on noise_first.

    >>> from nfa.network import mlp, ops
    >>> net = mlp((1, 2), ops.tanh, init="zeros", rng=np.random.default_rng(0))
    >>> x, y = np.ones((2, 1)), np.array([[1.0, 0.0], [1.0, 0.0]])
    >>> def ones(out, std, rng): out += std
    >>> given = {"m": 2, "sigma": 0.1, "tau_e": 0.5, "add_normal_each": ones, "rng": np.random.default_rng(0)}
    >>> [noisy_bp(net, x, y, **given, noise_first=first)[1][1].round(4).tolist() for first in (False, True)]
    [[-0.2536, 0.4536], [-0.2774, 0.416]]
    """
    if not m > 0:
        raise ValueError(f"the normaliser m of noisy_bp must be positive, got m={m}")
    if not 0 <= sigma < math.inf:
        raise ValueError(f"sigma must be a number >= 0, got {sigma}")
    if not tau_e > 0:
        raise ValueError(f"tau_e must be positive, got {tau_e}")
    check_clip_of_inputs(tau_h_max=tau_h_max, tau_h_min=tau_h_min, floor=floor)
    require.one_of(NOISES, noise=noise)
    L = net.L
    z, h = forward(net, x)
    shares: list = []  # share of the batch that the clip scales down
    e = net.loss.error(z[L], y)  # y_hat - y   (k, n_L)
    # g has standard deviation 1 and is multiplied by sigma below. So with a given seed, g does not depend on sigma,
    # which may be 0.
    if noise == "batch":
        g = rng.standard_normal((1, e.shape[1]), e.dtype)  # one row for the whole batch (1, n_L)
    else:
        g = np.zeros_like(e)  # (k, n_L)
        add_normal_each(g, 1.0, rng)
    if noise_first:
        top = clip_l2(e + float(sigma) * g, tau_e, shares)  # (k, n_L)
    else:
        top = clip_l2(e, tau_e, shares) + float(sigma) * g
    dz: list = [None] * (L + 1)
    v: list = [0.0] * (L + 1)  # v[l] is the signal that comes back to h[l]
    dW: list = [None] * (L + 1)
    db: list = [None] * (L + 1)
    for l in range(L, 0, -1):
        if l < L and noise == "layers":
            g = np.zeros_like(v[l])
            add_normal_each(g, 1.0, rng)
            v[l] = v[l] + float(sigma) * g
        dz[l] = top if l == L else net.pull(l, z, v[l])  # (k, n_l)
        if l > 1:
            back = net.map[l].transpose(net.W[l], dz[l])  # (W^l)^T dz^l   (k, n_{l-1})
            for j in net.reads(l):
                v[j] = v[j] + back
        h_in = net.input(l, h)  # (k, n_{l-1})
        if l > 1 or clip_x:
            # n entries of at most tau_h_max / sqrt(n) have a norm of at most tau_h_max (Equation 9).
            root_n = math.sqrt(math.prod(net.shape_h[l - 1]))
            h_in = clip_offset(h_in, tau_h_min / root_n, tau_h_max / root_n, floor)
        dW[l], db[l] = net.map[l].outer(dz[l] / float(m), h_in)  # (n_l, n_{l-1}), (n_l,)
    if state is not None:
        state["clipped"] = shares
    return dW, db


def mechanism(**settings) -> NoReturn:
    """No theorem of the paper covers this baseline, so this function raises `NoGuarantee`."""
    raise NoGuarantee("ohana2021:exp-bp", "the paper has a bound only for photonic DFA, and no bound for BP with noise")
