"""DP-DFA: direct feedback alignment with clipped errors and activations, and Gaussian noise on the average.

This is Lee & Kifer (2020), Algorithm 1. B^l feeds layer l. The paper prints B^{l+1} instead.
"""

from collections.abc import Callable

import numpy as np

from nfa import require
from nfa.clip import clip_l2, finite_rows
from nfa.feedback import project
from nfa.mechanism import Mechanism, NoGuarantee
from nfa.network import Net, forward
from nfa.noise import add_normal as numpy_normal
from nfa.sensitivity.dfa import corrected_dfa_sensitivity, current_top, layer_bounds

SUM_OVER_EXAMPLES = True

TOPS = ("error", "derivative", "unclipped")
SENSITIVITIES = ("corrected", "printed")


def dp_dfa(
    net: Net,
    x: np.ndarray,
    y: np.ndarray,
    *,
    B: list,
    m: int,
    sigma: float,
    tau_e: float = 0.1,
    tau_h: float,
    at: str = "h",
    top: str = "error",
    beta_top: float = 1.0,
    clip_l2: Callable = clip_l2,
    add_normal: Callable = numpy_normal,
    rng: np.random.Generator,
    state: dict | None = None,
) -> tuple[list, list]:
    r"""The DP-DFA direction for every layer. The training loop subtracts ``eta`` times the direction.

    .. math:: e_i = \mathrm{clip}_{\tau_e}(\hat y_i - y_i), \qquad
              \delta z_i^l = \begin{cases} e_i & l = L \\ (B^l e_i) \odot \phi_l'(z_i^l) & l < L \end{cases}

    .. math:: dW^l = N(0, \sigma^2 I) + \frac1m \sum_i \delta z_i^l \, \mathrm{clip}_{\tau_h}(h_i^{l-1})^\top, \qquad
              db^l = N(0, \sigma^2 I) + \frac1m \sum_i \delta z_i^l

    Source: [lee2020:A9] [lee2020:A10-A11] [lee2020:A12] [lee2020:A13] [lee2020:A6-A8] [lee2020:ingredients]
    [lee2020:alg1-input] [lee2020:one-term]

    Parameters
    ----------
    net : Net
    x : (k, *in_shape) array; k may be 0, and then the direction is only noise
    y : (k, n_L) array of targets, one-hot for class labels
    B : list, B[l] (n_l, n_L) for l = 1..L-1, from `nfa.feedback.draw` with law="spectral", scale=beta
    m : float > 0, public normaliser: the batch size, or its expected value
    sigma : float >= 0, standard deviation of the noise on every coordinate of the average
    tau_e : float > 0, l2 bound on each example's error
    tau_h : float > 0, l2 bound on each layer's input from an example; an image counts as one vector
    at : "h" or "z", the place at which B[l] e enters a layer with pooling: above or below the pooling
    top : signal from which the top layer learns: "error", e; "derivative", e * y_hat (1 - y_hat); "unclipped", y_hat -
        y, the error before its clip
    beta_top : float > 0, factor of e in the top layer, in place of the random matrix B^{L+1} that the paper prints
    clip_l2 : function (v, c, shares) that returns the rows of v clipped to norm c, as a new array
    add_normal : function (out, std, rng) that adds the noise in place
    rng : numpy.random.Generator; the noise is drawn from the top layer down, W before b
    state : dict. Its entry "clipped" gets the share of examples that each clip scales down, in the order of the clips

    Returns
    -------
    dW, db : lists with dW[l] and db[l] of the shapes of W[l] and b[l]; slot 0 is None. The papers' delta W is -dW.

    Raises
    ------
    ValueError : if m or a bound is not positive, if sigma is negative, or if top is not one of these three names

    Notes
    -----
    For l = L, the printed line needs a B^{L+1} that is never drawn and a phi'_L that the softmax does not have. So the
    setting top offers three ways to interpret this line. top="error" follows Section 3.2, Figure 1 and the DFA of the
    literature. With top="derivative" and beta_top=beta, the paper's overall sensitivity is exact and the network
    trains. But the derivative of the softmax then occurs twice. The value "unclipped" omits line A9 for the top layer.
    The experiment for `lee2020:claim-gain` tests it. With top="unclipped", one record can change the top layer's
    direction up to sqrt(2) / tau_e times as much. The forward pass is not clipped. If a record's dz or input of a layer
    is not finite, its term in this layer is 0.

    Examples
    --------
    The network predicts two classes with probability 1/2 each. The label is 0, and the input is 1. The error (-1/2,
    1/2) has norm 0.7071 and is clipped to 0.1.

    >>> from nfa.network import mlp, ops
    >>> net = mlp((1, 2), ops.sigmoid, init="zeros", rng=np.random.default_rng(0))
    >>> given = {"B": [None, None], "m": 1, "sigma": 0.0, "tau_h": 1.0, "rng": np.random.default_rng(0)}
    >>> x, y = np.array([[1.0]]), np.array([[1.0, 0.0]])
    >>> [dp_dfa(net, x, y, **given, top=top)[1][1].round(6).tolist() for top in TOPS]
    [[-0.070711, 0.070711], [-0.017678, 0.017678], [-0.5, 0.5]]
    """
    top = current_top(top)
    _check(m=m, top=top, beta_top=beta_top)
    L = net.L
    # The forward pass is not clipped (lines A6 to A8), so e is the error of the network. We clip h below, in dW only.
    z, h = forward(net, x)
    shares: list = []  # for each clip, the share of the batch that it scales down
    # We clip e before any layer uses it (line A9). So the bound tau_e holds for every layer, also for the top layer.
    e = clip_l2(net.loss.error(z[L], y), tau_e, shares)  # (k, n_L)
    dW: list = [None] * (L + 1)
    db: list = [None] * (L + 1)
    for l in range(L, 0, -1):
        if l < L:
            dz = net.pull(l, z, project(e, B[l]), at)  # (B e) * phi'(z)   (k, n_l)
        elif top == "unclipped":
            dz = float(beta_top) * net.loss.error(z[L], y)  # y_hat - y without the clip   (k, n_L)
        else:
            # h (1 - h) is at most 1/4. It is an entry of the softmax's derivative, which e already contains.
            dz = float(beta_top) * (e * h[L] * (1 - h[L]) if top == "derivative" else e)  # (k, n_L)
        # This call must precede the product. 0 times infinity is NaN, and no later clip would remove a NaN.
        dz, h_in = finite_rows(dz, net.input(l, h))  # (k, n_l), (k, n_{l-1})
        # The norm of dz h^T is ||dz|| ||h||, so without this clip a record's term in dW has no bound. Its term in db
        # has no factor h and needs no clip. We divide by the public m, because with len(x) one record would change the
        # weight of all others. We use float(m), because a NumPy number would turn float32 into float64. We add the
        # noise once, to the mean.
        h_in = clip_l2(h_in, tau_h, shares)
        dW[l], db[l] = net.map[l].outer(dz / float(m), h_in)  # (n_l, n_{l-1}), (n_l,)
        add_normal(dW[l], sigma, rng)
        add_normal(db[l], sigma, rng)
    if state is not None:
        state["clipped"] = shares
    return dW, db


def _check(*, m, top, beta_top) -> None:
    require.normaliser(m, rule="dp_dfa")
    require.one_of(TOPS, top=top)
    require.positive(beta_top=beta_top)


def mechanism(
    *,
    net: Net,
    B: list,
    m: int,
    sigma: float,
    tau_e: float = 0.1,
    tau_h: float,
    at: str = "h",
    top: str = "error",
    beta_top: float = 1.0,
    sensitivity: str = "corrected",
    adjacency: str,
    sampling: str,
    sampling_rate: float,
) -> Mechanism:
    """One step of `dp_dfa`: a Gaussian mechanism with the corrected sensitivity of all layers as one vector.

    Source: [lee2020:acct] [lee2020:ingredients] [lee2020:same-privacy]

    Parameters
    ----------
    net, B, m, sigma, tau_e, tau_h, at, top, beta_top : as in `dp_dfa`
    sensitivity : "corrected" for `nfa.sensitivity.dfa.corrected_dfa_sensitivity`; "printed" raises NoGuarantee
    adjacency, sampling, sampling_rate : as in `nfa.mechanism.Mechanism`

    Raises
    ------
    NoGuarantee : without noise, and for the paper's overall sensitivity, which is not an upper bound
    ValueError : if a number or a name is out of range

    Notes
    -----
    The Notes of `nfa.mechanism.Mechanism` describe the effect of rounding.
    """
    top = current_top(top)
    _check(m=m, top=top, beta_top=beta_top)
    require.one_of(SENSITIVITIES, sensitivity=sensitivity)
    if sensitivity == "printed":
        raise NoGuarantee(
            "lee2020:sens-total",
            "the printed overall sensitivity leaves out the output layer, so it is no upper bound. Use the "
            "corrected sensitivity",
        )
    if sigma == 0:
        raise NoGuarantee("lee2020:lem1", "sigma is 0, so the release has no noise and no guarantee")
    bounds = layer_bounds(net, B, at=at, top=top, beta_top=beta_top, tau_e=tau_e)
    moved = corrected_dfa_sensitivity(bounds, m=m, tau_e=tau_e, tau_h=tau_h, adjacency=adjacency)
    return Mechanism(
        law="gaussian",
        sensitivity=moved,
        adjacency=adjacency,
        noise_std=sigma,
        sampling=sampling,
        sampling_rate=sampling_rate,
    )
