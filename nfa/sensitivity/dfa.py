r"""The sensitivity of DP-DFA, and the thresholds that give a target sensitivity (Lee & Kifer 2020, Section 4.2).

Every example i adds dz_i h_i^T to the direction of layer l's weights, and dz_i to that of its biases. After clipping,
||h_i|| <= tau_h and ||dz_i|| <= s_l ||e_i|| <= s_l tau_e. A `LayerBound` has the bounds on these terms. We divide the
sum over examples by m. A sensitivity is the largest l2 norm of the change of this average by one record, for all
weights and biases as one vector. S is m times a replace-one sensitivity.

The matrix B^l projects the error to layer l, and beta_l is its spectral norm. The paper prints B^{l+1} and beta_{l+1}
instead.
"""

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from nfa import require
from nfa.network import Net
from nfa.network.net import check_at
from nfa.network.ops import softmax_cross_entropy
from nfa.sensitivity import BOUNDS_APART

OLD_TOPS = {"slope": "derivative"}  # old values of top, which records of runs contain


@dataclass(frozen=True, kw_only=True)
class LayerBound:
    """Bounds on one record's term in a layer's direction.

    Parameters
    ----------
    gain_dz : s >= 0 with ||dz|| <= s ||e||. s is gamma_l beta_l, or 1 in a top layer with dz = e
    gain_W, gain_b : numbers with ||dW||_F <= gain_W ||dz|| ||h|| and ||db|| <= gain_b ||dz||, see `nfa.network.dense`.
        For a dense layer, gain_W and gain_b are 1. For a layer without biases, gain_b is 0

    Raises
    ------
    ValueError : if a gain is negative or not finite. For example, gain_dz is NaN if B contains NaN
    """

    gain_dz: float
    gain_W: float = 1.0
    gain_b: float = 1.0

    def __post_init__(self) -> None:
        require.not_negative(gain_dz=self.gain_dz, gain_W=self.gain_W, gain_b=self.gain_b)

    @property
    def slope(self) -> float:
        """A deprecated name of gain_dz."""
        warnings.warn("LayerBound.slope is deprecated: use LayerBound.gain_dz", DeprecationWarning, stacklevel=2)
        return self.gain_dz


def zeta_sensitivity(*, m: int, gamma: float, beta: float, tau_e: float, tau_h: float) -> float:
    r"""The paper's bound on the change of one hidden dense layer's weights if a record is replaced.

    .. math:: \Delta_{\zeta_l} \le \frac2m \gamma_l \beta_l \tau_e \tau_h

    Source: [lee2020:sens-zeta]

    Parameters
    ----------
    m : int > 0, the batch size
    gamma : float, bound on abs(phi'_l)
    beta : float, spectral norm of the matrix that projects the error to the layer
    tau_e, tau_h : float > 0, clipping bounds of the error and of the layer's input

    Raises
    ------
    ValueError : if m is not positive, if another number is negative, or if a number is not finite

    Examples
    --------
    >>> zeta_sensitivity(m=4, gamma=0.25, beta=1.0, tau_e=0.5, tau_h=8.0)
    0.5
    """
    require.not_negative(tau_h=tau_h)
    return tau_h * xi_sensitivity(m=m, gamma=gamma, beta=beta, tau_e=tau_e)


def xi_sensitivity(*, m: int, gamma: float, beta: float, tau_e: float) -> float:
    r"""The bound of `zeta_sensitivity` for the biases: :math:`\Delta_{\xi_l} \le \frac2m \gamma_l \beta_l \tau_e`.

    Source: [lee2020:sens-xi]

    Parameters
    ----------
    m, gamma, beta, tau_e : as in `zeta_sensitivity`. There is no tau_h, because the direction of a bias does not depend
        on h

    Raises
    ------
    ValueError : if m is not positive, if another number is negative, or if a number is not finite
    """
    require.positive(**{"the normaliser m": m})
    require.not_negative(gamma=gamma, beta=beta, tau_e=tau_e)
    return 2 / m * gamma * beta * tau_e


def corrected_dfa_sensitivity(
    layers: Sequence[LayerBound], *, m: float, tau_e: float, tau_h: float | Sequence[float], adjacency: str
) -> float:
    r"""The sensitivity of the directions of all layers as one vector.

    .. math:: \Delta = \frac{k}{m} \tau_e \Big(\sum_l s_l^2 (g_{W,l}^2 \tau_{h,l}^2 + g_{b,l}^2)\Big)^{1/2}, \qquad
              k = 2 \text{ for a record replaced, } 1 \text{ for one added, removed or zeroed out}

    For dense layers and a top layer that learns from e itself, this is the paper's formula with the output layer
    included:
    :math:`\frac2m \tau_e \sqrt{1 + \tau_h^2} \sqrt{1 + \sum_{l<L} \gamma_l^2 \beta_l^2}`.

    Source: [lee2020:sens-total] [lee2020:sens-layerwise] [ours:dfa-sensitivity]

    Parameters
    ----------
    layers : bounds of the layers 1..L, see `nfa.sensitivity.dfa.layer_bounds`
    m : float > 0, the divisor of the sum over examples
    tau_e : float > 0, clipping bound of the error
    tau_h : float > 0, clipping bound of the inputs of the layers, or a list with one bound for each layer
    adjacency : one of `nfa.mechanism.ADJACENCIES`

    Raises
    ------
    ValueError : if a number is out of range, if the adjacency is unknown, or if a list tau_h does not have one bound
        for each layer

    Notes
    -----
    A record's term is the vector of its dz h^T and dz in all layers. Its squared norm is at most tau_e^2 times the sum
    in the formula. Neighbours differ in k terms. For dense layers, the bound is attained by some network, records and
    matrices B of the given norms. For a random B and narrow layers, the bound can be much larger than the true
    sensitivity.

    Examples
    --------
    >>> top = LayerBound(gain_dz=1.0)
    >>> round(corrected_dfa_sensitivity([top], m=2, tau_e=0.5, tau_h=math.sqrt(3), adjacency="replace-one"), 12)
    1.0
    """
    require.one_of(BOUNDS_APART, adjacency=adjacency)
    require.positive(**{"the normaliser m": m}, tau_e=tau_e)
    taus = _each(tau_h, len(layers))
    with no_overflow():
        total = math.fsum(
            bound.gain_dz**2 * (bound.gain_W**2 * tau**2 + bound.gain_b**2)
            for bound, tau in zip(layers, taus, strict=True)
        )
    return BOUNDS_APART[adjacency] / m * tau_e * math.sqrt(total)


def corrected_tau_h(layers: Sequence[LayerBound], *, S: float, tau_e: float) -> float:
    r"""The common tau_h of all layers for which the replace-one sensitivity of the average is S / m.

    .. math:: \tau_h^2 = \Big((S / 2\tau_e)^2 - \sum_l s_l^2 g_{b,l}^2\Big) \Big/ \sum_l s_l^2 g_{W,l}^2

    Source: [lee2020:exp-common]

    Parameters
    ----------
    layers : as in `corrected_dfa_sensitivity`
    S : float > 0, m times the replace-one sensitivity. The paper uses 3 and 2, and calls them "sensitivity"
    tau_e : float > 0

    Raises
    ------
    ValueError : if the directions of the biases alone can have this sensitivity. The message names the number that S
        must exceed

    Examples
    --------
    >>> corrected_tau_h([LayerBound(gain_dz=1.0)], S=2.0, tau_e=0.5)
    1.7320508075688772
    """
    require.positive(**{"the sensitivity S": S}, tau_e=tau_e)
    with no_overflow():
        biases = math.fsum((bound.gain_dz * bound.gain_b) ** 2 for bound in layers)
        weights = math.fsum((bound.gain_dz * bound.gain_W) ** 2 for bound in layers)
        square = ((S / (2 * tau_e)) ** 2 - biases) / weights
    if square <= 0:
        raise ValueError(
            f"no tau_h gives the sensitivity S = {S:g}, because the biases alone have the sensitivity "
            f"{2 * tau_e * math.sqrt(biases):g}. Choose a larger S, or a smaller tau_e or beta"
        )
    return math.sqrt(square)


def hybrid_thresholds(dense: Sequence[LayerBound], *, L: int, S: float, tau_e: float) -> tuple[float, list[float]]:
    r"""Thresholds with which each of L layers (convolutions and dense layers) has the sensitivity (S / m) / sqrt(L).

    .. math:: \tau = \frac{S}{2 \sqrt{2 L}}, \qquad
              \tau_{h,l} = \sqrt{\Big(\frac{S}{2 \sqrt L \, s_l \tau_e}\Big)^2 - 1}

    Source: [lee2020:hybrid-sens]

    Parameters
    ----------
    dense : bounds of the dense layers ell + 1..L
    L : int, number of layers, including the convolutions
    S : float > 0, m times the replace-one sensitivity of all layers together
    tau_e : float > 0

    Returns
    -------
    tau : float, bound on each example's gradient for a convolution's W, and on its gradient for a convolution's b
    tau_h : list of float, bound on the input of each dense layer

    Raises
    ------
    ValueError : if the directions of a layer's biases alone can have the layer's sensitivity. The message names the
        number that S must exceed

    Notes
    -----
    W and b of a convolution are clipped separately, so the sensitivity of the convolution is sqrt(2) times the
    sensitivity of W. This explains the 2 L under the root. The paper gives neither tau nor tau_h. With a common tau_h
    for all dense layers, their sensitivities cannot all be (S / m) / sqrt(L).

    Examples
    --------
    >>> tau, tau_h = hybrid_thresholds([LayerBound(gain_dz=1.0)], L=2, S=4.0, tau_e=0.5)
    >>> round(tau, 12), round(tau_h[0] ** 2, 12)
    (1.0, 7.0)
    """
    require.positive(**{"the number L of layers": L, "the sensitivity S": S}, tau_e=tau_e)
    share = S / (2 * math.sqrt(L))
    tau_h = []
    for bound in dense:
        with no_overflow():
            square = ((share / (bound.gain_dz * tau_e)) ** 2 - bound.gain_b**2) / bound.gain_W**2
        if square <= 0:
            least = 2 * math.sqrt(L) * bound.gain_dz * tau_e * bound.gain_b
            raise ValueError(
                f"no tau_h gives a layer its share of S = {S:g}: the sensitivity S must be larger than {least:g}, "
                "the part of the biases alone"
            )
        tau_h.append(math.sqrt(square))
    return share / math.sqrt(2), tau_h


def hybrid_sensitivity(
    dense: Sequence[LayerBound],
    *,
    ell: int,
    m: float,
    tau: float,
    tau_e: float,
    tau_h: float | Sequence[float],
    adjacency: str,
    without_bias: int = 0,
) -> float:
    r"""The sensitivity if ell convolutions release clipped gradients, and the dense layers release DP-DFA directions.

    .. math:: \Delta^2 = \Big(\frac{k}{m}\Big)^2 \, 2 \ell \tau^2 + \Delta_{\mathrm{DFA}}^2

    Source: [lee2020:hybrid-sens] [ours:hybrid-sensitivity]

    Parameters
    ----------
    dense : bounds of the dense layers ell + 1..L
    ell : int >= 0, number of layers that release clipped gradients
    m : float > 0, the divisor of the sum over examples
    tau : float > 0, bound on each example's gradient for the W of one of the ell layers, and on the gradient for its b
    tau_e : float > 0, clipping bound of the error
    tau_h : float > 0, clipping bound of the inputs of the dense layers, or a list with one bound for each dense layer
    adjacency : one of `nfa.mechanism.ADJACENCIES`
    without_bias : int >= 0, number of the ell layers that have no biases. In the formula, each of them adds tau^2
        instead of 2 tau^2

    Returns
    -------
    sensitivity : float, l2 sensitivity of the average over m, with all weights and biases as one vector

    Raises
    ------
    ValueError : if a number is out of range, if the adjacency is unknown, or if a dense layer has no tau_h
    """
    require.positive(**{"the normaliser m": m}, tau=tau)
    require.not_negative(ell=ell, without_bias=without_bias)
    fully = corrected_dfa_sensitivity(dense, m=m, tau_e=tau_e, tau_h=tau_h, adjacency=adjacency)
    return math.hypot(BOUNDS_APART[adjacency] / m * tau * math.sqrt(2 * ell - without_bias), fully)


@contextmanager
def no_overflow() -> Iterator[None]:
    """Raise ValueError if the code in the ``with`` block overflows, or divides by 0 because no weight learns."""
    try:
        yield
    except (OverflowError, ZeroDivisionError):
        raise ValueError("the sensitivity must be finite, but a bound is too large or a gain_dz is too small") from None


def _each(tau_h: float | Sequence[float], layers: int) -> list[float]:
    taus = list(tau_h) if isinstance(tau_h, Sequence) else [tau_h] * layers
    if len(taus) != layers:
        raise ValueError(
            f"tau_h must be one number, or a list with one number for each of the {layers} layers, got a list of "
            f"{len(taus)}"
        )
    for tau in taus:
        require.positive(tau_h=tau)
    return taus


def current_top(top: str) -> str:
    """The new name of an old value of ``top``, with a DeprecationWarning, or the value itself."""
    if top not in tuple(OLD_TOPS):
        return top
    warnings.warn(f"top={top!r} is now called {OLD_TOPS[top]!r}", DeprecationWarning, stacklevel=3)
    return OLD_TOPS[top]


def layer_bounds(
    net: Net, B: list, *, at: str = "h", top: str = "error", beta_top: float = 1.0, first: int = 1, tau_e: float = 0.0
) -> list[LayerBound]:
    r"""The bounds on one record's term in each layer's direction under DFA, divided by the norm of the record's error.

    .. math:: s_l = \gamma_l \, g_{\mathrm{pool}} \, \|B^l\|_2 \quad (l < L), \qquad s_L = \beta_{\mathrm{top}} \gamma_L

    Source: [lee2020:gamma] [lee2020:conv-dfa] [lee2020:alg1-input]

    Parameters
    ----------
    net : Net
    B : list of feedback matrices, as from `draw` with the same ``at``
    at : "h" or "z", the place at which B[l] e enters a layer with pooling
    top, beta_top : the signal from which the top layer learns, as in `nfa.rules.dp_dfa.dp_dfa`. gamma_L is 1 for
        "error", 1/4 for "derivative", and sqrt(2) / tau_e for "unclipped", because the error of a softmax has norm at
        most sqrt(2)
    first : int in 1..L, the lowest layer of the result. B is not used for lower layers
    tau_e : float > 0, the clip of the errors from which the layers below learn; required for "unclipped"

    Returns
    -------
    bounds : list of `nfa.sensitivity.dfa.LayerBound`, one for each layer first..L (index 0 is layer ``first``). The
        bounds hold for these matrices B, not for all matrices of their law

    Raises ValueError for an unknown ``at`` or ``top``, or if ``top`` has no bound under the network's loss.
    """
    check_at(at)
    top = current_top(top)
    require.one_of(("error", "derivative", "unclipped"), top=top)
    if top != "error" and net.loss is not softmax_cross_entropy:
        raise ValueError(f"top={top!r} has a bound only for the loss softmax-cross-entropy, not for {net.loss.name}")
    if top == "unclipped":
        require.positive(tau_e=tau_e)
    gamma_top = {"error": 1.0, "derivative": 0.25}.get(top) or math.sqrt(2) / tau_e
    found = []
    for l in range(first, net.L):
        pool = net.pool[l] if at == "h" else None
        gain = pool.gain if pool else 1.0
        gain_dz = net.phi[l].gamma_max * gain * float(np.linalg.norm(B[l].astype(np.float64), 2))
        gain_W, gain_b = net.map[l].gains(pool.positions(net.shape_z[l]) if pool else None)
        found.append(LayerBound(gain_dz=gain_dz, gain_W=gain_W, gain_b=gain_b))
    return [*found, LayerBound(gain_dz=beta_top * gamma_top, gain_b=net.map[net.L].gains()[1])]
