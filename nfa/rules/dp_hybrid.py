"""DP hybrid BP/DFA: DP-DFA in the dense layers, and clipped per-example gradients in the convolutions below.

This is Algorithm 1 of Lee & Kifer (2020) with the convolutions of Section 4.2. B^l feeds layer l. The paper prints
B^{l+1} instead.
"""

from collections.abc import Callable, Sequence

import numpy as np

from nfa import require
from nfa.clip import clip_factor_of_squares, clip_l2, finite_rows
from nfa.feedback import project
from nfa.mechanism import Mechanism, NoGuarantee
from nfa.network import Net, forward
from nfa.noise import add_normal as numpy_normal
from nfa.rules.hybrid import convolutions
from nfa.sensitivity.dfa import hybrid_sensitivity, layer_bounds

SUM_OVER_EXAMPLES = True


def dp_hybrid(
    net: Net,
    x: np.ndarray,
    y: np.ndarray,
    *,
    B: list,
    m: int,
    sigma: float,
    tau: float,
    tau_e: float = 0.1,
    tau_h: float | Sequence[float],
    ell: int | None = None,
    clip_l2: Callable = clip_l2,
    add_normal: Callable = numpy_normal,
    rng: np.random.Generator,
    state: dict | None = None,
) -> tuple[list, list]:
    r"""The private hybrid direction for every layer. The training loop subtracts ``eta`` times the direction.

    .. math:: e_i = \mathrm{clip}_{\tau_e}(\hat y_i - y_i), \qquad
              \delta z_i^l = \begin{cases} e_i & l = L \\ (B^l e_i) \odot \phi_l'(z_i^l) & \ell < l < L \\
              ((W^{l+1})^\top \delta z_i^{l+1}) \odot \phi_l'(z_i^l) & l \le \ell \end{cases}

    .. math:: dW^l = N(0, \sigma^2 I) + \frac1m \sum_i
              \begin{cases} \delta z_i^l \, \mathrm{clip}_{\tau_{h,l}}(h_i^{l-1})^\top & l > \ell \\
              \mathrm{clip}_\tau(\delta z_i^l \, (h_i^{l-1})^\top) & l \le \ell \end{cases}

    db is computed as dW, without the factor h. For l <= ell, an example's terms of dW and db are clipped separately.

    Source: [lee2020:hybrid-conv] [lee2020:hybrid-delta]

    Parameters
    ----------
    net : Net
    x : (k, *in_shape) array; k may be 0, and then the direction is only noise
    y : (k, n_L) array of targets, one-hot for class labels
    B : list, B[l] (n_l, n_L) for l = ell+1..L-1, from `nfa.feedback.draw`; lower entries are not used
    m : float > 0, public normaliser: the batch size, or its expected value
    sigma : float >= 0, standard deviation of the noise on every coordinate of the average
    tau : float > 0, l2 bound on each example's gradient for W[l], and on the gradient for b[l], for l <= ell
    tau_e : float > 0, l2 bound on each example's error
    tau_h : float > 0, l2 bound on a dense layer's input from an example, or a list of bounds, one for each layer
        ell+1..L
    ell : int in 0..L-1, number of layers that learn by clipped gradients; by default the convolutions
    clip_l2 : function (v, c, shares) that returns the rows of v clipped to norm c, as a new array
    add_normal : function (out, std, rng) that adds the noise in place
    rng : numpy.random.Generator; the noise is drawn from the top layer down, W before b
    state : dict. Its entry "clipped" gets the share of examples that each clip scales down, in the order of the clips

    Returns
    -------
    dW, db : lists with dW[l] and db[l] of the shapes of W[l] and b[l]; slot 0 is None

    Raises
    ------
    ValueError : if m or a bound is not positive, if sigma is negative, if ell is out of range, or if the list tau_h has
        the wrong length

    Notes
    -----
    The gradients of the lower layers are those of <z^{ell+1}, delta z^{ell+1}> with a fixed delta z^{ell+1}. This
    vector contains the clipped error, because line 9 of Algorithm 1 clips the error first. If a record's dz or input of
    a layer is not finite, its term in this layer is 0.
    """
    ell = convolutions(net) if ell is None else ell
    taus = _check(net, m=m, tau=tau, tau_h=tau_h, ell=ell)
    L = net.L
    z, h = forward(net, x)
    shares: list = []  # for each clip, the share of the batch that it scales down
    # We clip e before any layer uses it (line A9). So the bound tau_e holds for every layer, also for the top layer.
    e = clip_l2(net.loss.error(z[L], y), tau_e, shares)  # (k, n_L)
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
        h_in = net.input(l, h)  # (k, n_{l-1})
        if l > ell:  # as in DP-DFA
            # This call must precede the product. 0 times infinity is NaN, and no later clip would remove a NaN.
            dz_l, h_in = finite_rows(dz[l], h_in)  # (k, n_l), (k, n_{l-1})
            # We divide by the public m, because with len(x) one record would change the weight of all others. We use
            # float(m), because a NumPy number would turn float32 into float64.
            dW[l], db[l] = net.map[l].outer(dz_l / float(m), clip_l2(h_in, taus[l - ell - 1], shares))
        else:
            # We clip the gradient itself, because for a convolution the product of bounds on dz and on h is far larger.
            # We clip W and b separately, as the paper does, so together they can have norm sqrt(2) tau.
            own = net.map[l].terms(dz[l], h_in)  # dz_i h_i^T, dz_i; omitted if their norm is not finite
            factor_W, factor_b = (clip_factor_of_squares(norm2, tau, shares) for norm2 in own.norms2())  # (k,), (k,)
            dW[l], db[l] = own.outer(factor_W / float(m), factor_b / float(m))
        # The noise is added once, to the mean over records, and not to each record's term.
        add_normal(dW[l], sigma, rng)
        add_normal(db[l], sigma, rng)
    if state is not None:
        state["clipped"] = shares
    return dW, db


def _check(net: Net, *, m, tau, tau_h, ell) -> list[float]:
    require.normaliser(m, rule="dp_hybrid")
    require.positive_or_infinite(**{"the clipping bound tau": tau})
    if not 0 <= ell < net.L:
        raise ValueError(f"the number ell of layers with backpropagation must be between 0 and {net.L - 1}, got {ell}")
    taus = list(tau_h) if isinstance(tau_h, Sequence) else [tau_h] * (net.L - ell)
    if len(taus) != net.L - ell:
        raise ValueError(
            f"tau_h must be one number, or a list with one number for each of the {net.L - ell} dense layers, got "
            f"a list of {len(taus)}"
        )
    return taus


def mechanism(
    *,
    net: Net,
    B: list,
    m: int,
    sigma: float,
    tau: float,
    tau_e: float = 0.1,
    tau_h: float | Sequence[float],
    ell: int | None = None,
    adjacency: str,
    sampling: str,
    sampling_rate: float,
) -> Mechanism:
    """One step of `dp_hybrid`: a Gaussian mechanism with the sensitivity of all layers as one vector.

    Source: [lee2020:acct] [ours:hybrid-sensitivity]

    Raises NoGuarantee without noise, and ValueError if a number or a name is out of range.

    Proof of `nfa.sensitivity.dfa.hybrid_sensitivity`. A record adds a vector of norm at most tau / m to the direction
    of each lower layer's W, and such a vector to the direction of its b. Neighbours differ in k such terms, so each of
    these 2 ell directions changes by at most k tau / m. The directions of the dense layers are other coordinates, so
    the squared norms add up. Opposite gradients attain the bound if the clip scales all of them down.

    The Notes of `nfa.mechanism.Mechanism` describe the effect of rounding.
    """
    ell = convolutions(net) if ell is None else ell
    taus = _check(net, m=m, tau=tau, tau_h=tau_h, ell=ell)
    if sigma == 0:
        raise NoGuarantee("lee2020:lem1", "sigma is 0, so the release has no noise and no guarantee")
    return Mechanism(
        law="gaussian",
        sensitivity=hybrid_sensitivity(
            layer_bounds(net, B, first=ell + 1),
            ell=ell,
            m=m,
            tau=tau,
            tau_e=tau_e,
            tau_h=taus,
            adjacency=adjacency,
            without_bias=sum(net.map[l].n_bias == 0 for l in range(1, ell + 1)),
        ),
        adjacency=adjacency,
        noise_std=sigma,
        sampling=sampling,
        sampling_rate=sampling_rate,
    )
