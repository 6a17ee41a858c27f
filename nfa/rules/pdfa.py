"""PDFA: photonic direct feedback alignment, clipped and with Gaussian noise on every projected error.

This is Ohana et al. (2021), Sections 3.1 and 3.2, Equations 8 and 9, Algorithm 1. With a ternarised error, the rule is
their TDFA. With the error itself, the rule is their DFA with noise. The paper's PDFA is TDFA with an optical projection
(`nfa.feedback.opu`). B^l feeds layer l, as in Equation 8. Equation 4 prints B^{l+1} instead.

The noise is on the projected error of every record. The label of a record enters the direction only through this error,
so the noise can hide the label. It does not hide the input of the record. If the inputs are public, each label has a
guarantee (see `mechanism`).
"""

import math
from collections.abc import Callable
from typing import Literal

import numpy as np

from nfa import require
from nfa.clip import FLOORS, check_clip_of_inputs, clip_l2, clip_offset, finite_rows
from nfa.feedback import project as exact_projection
from nfa.feedback import ternarize
from nfa.mechanism import Mechanism, NoGuarantee
from nfa.network import Net, forward
from nfa.network.ops import softmax_cross_entropy
from nfa.noise import add_normal_each as numpy_normal_each
from nfa.sensitivity.pdfa import label_sensitivity

SUM_OVER_EXAMPLES = True

TOPS = ("noisy", "noiseless", "raw")
BIASES = ("one", "clipped")


def pdfa(
    net: Net,
    x: np.ndarray,
    y: np.ndarray,
    *,
    B: list,
    m: int,
    sigma: float,
    tau_B: float = 1.0,
    tau_h_max: float = 1.0,
    tau_h_min: float = 0.0,
    t: float | None = None,
    clip_x: bool = True,
    floor: str = "literal",
    top: str = "noisy",
    bias: str = "one",
    project: Callable = exact_projection,
    clip_l2: Callable = clip_l2,
    clip_offset: Callable = clip_offset,
    add_normal_each: Callable = numpy_normal_each,
    rng: np.random.Generator,
    state: dict | None = None,
) -> tuple[list, list]:
    r"""The PDFA direction for every layer. The training loop subtracts ``eta`` times the direction.

    .. math:: dW^l = \frac1m \sum_i \big((\mathrm{scale}_{\tau_B}(B^l t(e_i)) + g_i^l) \odot \phi_l'(z_i^l)\big)
              \, \mathrm{clip}_c(\mathrm{offset}_\nu(h_i^{l-1}))^\top

    .. math:: g_i^l \sim N(0, \sigma^2 I), \quad c = \tau_h^{max} / \sqrt{n_{l-1}}, \quad
              \nu = \tau_h^{min} / \sqrt{n_{l-1}}

    Source: [ohana2021:eq8] [ohana2021:eq9] [ohana2021:eq11] [ohana2021:pre-eq11] [ohana2021:eq12]
    [ohana2021:alg1.13-15] [ohana2021:alg1.16] [ohana2021:exp-tau] [ohana2021:exp-clip] [ohana2021:data-covariance]
    [ohana2021:sim-noise] [ohana2021:exp-inline]

    Parameters
    ----------
    net : Net
    x : (k, *in_shape) array; k may be 0, and then the direction is 0, because the noise of this rule is added to each
        record
    y : (k, n_L) array of targets, one-hot for class labels
    B : list for l = 1..L-1: (n_l, n_L) arrays from `nfa.feedback.draw`, or the devices that ``project`` takes in
        place of arrays
    m : int > 0, the public normaliser (the batch size)
    sigma : float >= 0, standard deviation of every entry of g, which has an entry for each record and unit and is added
        after the scaling
    tau_B : float > 0, l2 bound on each projected error
    tau_h_max, tau_h_min : floats, 0 <= tau_h_min <= tau_h_max, intended bounds on the norm of the input of layer l
    t : float >= 0, threshold to ternarise the error before its projection; None for the error itself
    clip_x : whether the input x of layer 1 is clipped and offset as the inputs of the other layers
    floor : "literal" for the offset as printed; "signed" for an offset away from 0 for both signs
        (`nfa.clip.offset_signed`)
    top : signal from which the output layer learns: "noisy", scale(e) + g; "noiseless", scale(e); "raw", e
    bias : input of the biases: "one", the constant 1; "clipped", clip_c(1 + nu) if the layer's input is clipped
    project : function (e, B[l], rng=...) -> (k, n_l)
    clip_l2 : function (v, c, shares) that returns the rows of v clipped to norm c, as a new array
    clip_offset : function (v, nu, c, floor) that returns the entries of v offset by nu and clipped to c
    add_normal_each : function (out, std, rng) that adds the noise in place, a row for each example
    rng : numpy.random.Generator; layers draw from the top down, the projection before g
    state : dict. Its entry "clipped" gets the share of examples that each clip scales down, in the order of the clips

    Returns
    -------
    dW, db : lists with dW[l] and db[l] of the shapes of W[l] and b[l]; slot 0 is None. The papers' delta W is -dW.

    Raises
    ------
    ValueError : if a bound, sigma, t or m is out of range, or if floor, top or bias is none of the names above

    Notes
    -----
    Equation 8 prints h^l, but the shapes need h^{l-1}. Equation 9 prints the n of layer l. The code uses the h and the
    n of the layer's input. The forward pass is not clipped. The top layer has no B and no phi', as in `nfa.rules.dfa`.
    Biases are separate from W. In the paper, the bias is a column of W with the constant input 1. If a record's dz or
    clipped input of a layer is not finite, its term in this layer is 0.
    """
    _check(m=m, sigma=sigma, tau_B=tau_B, tau_h_max=tau_h_max, tau_h_min=tau_h_min, floor=floor, top=top, bias=bias)
    L = net.L
    z, h = forward(net, x)
    # This call precedes the projection. So if a record's error is not finite, the projection of 0 reaches every layer.
    (e,) = finite_rows(net.loss.error(z[L], y))  # (k, n_L)
    t_e = e if t is None else ternarize(e, t)  # (k, n_L)
    shares: list = []  # for each clip, the share of the batch that it scales down
    dW: list = [None] * (L + 1)
    db: list = [None] * (L + 1)
    for l in range(L, 0, -1):
        if l < L:
            # The norm of B is not bounded, so we clip the projection before we add the noise. Then a label changes the
            # projection by at most 2 tau_B. The derivative phi' multiplies the noise too. So the size of the noise
            # differs between units, and it is 0 for units with phi' = 0.
            p = clip_l2(project(t_e, B[l], rng=rng), tau_B, shares)  # scale(B e)   (k, n_l)
            _add_noise(p, sigma, add_normal_each, rng)  # scale(B e) + g
            dz = net.pull(l, z, p)  # (scale(B e) + g) * phi'(z)   (k, n_l)
        else:
            dz = e if top == "raw" else clip_l2(e, tau_B, shares)  # no B and no phi' at the top   (k, n_L)
            if top == "noisy":
                _add_noise(dz, sigma, add_normal_each, rng)
        # clip_c(offset_nu(h))   (k, n_{l-1})
        h_in = clipped_input(
            net, l, h, tau_h_max=tau_h_max, tau_h_min=tau_h_min, clip_x=clip_x, floor=floor, clip_offset=clip_offset
        )
        # This call must precede the product. 0 times infinity is NaN, and one record could make the whole sum NaN.
        dz, h_in = finite_rows(dz, h_in)
        one = 1.0
        if bias == "clipped" and (l > 1 or clip_x):
            c, nu = input_bounds(net, l, tau_h_max=tau_h_max, tau_h_min=tau_h_min)
            # The bias is a column of W in the paper, so its input, the constant 1, is offset and clipped like h.
            one = min(c, 1 + nu)
        # We add no noise to the sum, because each record's error already has noise. We use float(m), because a NumPy
        # number would turn float32 into float64.
        dW[l], db[l] = net.map[l].outer(dz / float(m), h_in)  # (n_l, n_{l-1}), (n_l,)
        db[l] *= one
    if state is not None:
        state["clipped"] = shares
    return dW, db


def _add_noise(p: np.ndarray, sigma: float, add_normal_each: Callable, rng: np.random.Generator) -> None:
    """Add g to p in place. For sigma = 0, g is drawn but not added, so later samples do not depend on sigma."""
    if sigma > 0:
        add_normal_each(p, sigma, rng)
    else:
        add_normal_each(np.zeros_like(p), 1.0, rng)


def input_bounds(net: Net, l: int, *, tau_h_max: float, tau_h_min: float) -> tuple[float, float]:
    """c and nu of layer l: tau_h_max and tau_h_min, divided by the square root of the layer's number of inputs.

    Source: [ohana2021:eq9]
    """
    # n entries of at most tau / sqrt(n) have a norm of at most tau.
    root_n = math.sqrt(math.prod(net.shape_h[l - 1]))
    return tau_h_max / root_n, tau_h_min / root_n


def clipped_input(
    net: Net,
    l: int,
    h: list,
    *,
    tau_h_max: float = 1.0,
    tau_h_min: float = 0.0,
    clip_x: bool = True,
    floor: str = "literal",
    clip_offset: Callable = clip_offset,
) -> np.ndarray:
    """The input of layer l in `pdfa`: clip_c(offset_nu(h^{l-1})) of Equation 9, or x itself without clip_x.

    Parameters
    ----------
    net : Net
    l : int, 1 <= l <= L
    h : list, the second result of `nfa.network.forward`
    tau_h_max, tau_h_min, clip_x, floor, clip_offset : as in `pdfa`

    Returns
    -------
    h_in : (k, ...) array, one example per row, of the shape of the layer's input

    Raises
    ------
    ValueError : if net has no layer l, if a bound is out of range, or if floor is neither "literal" nor "signed"
    """
    if not 1 <= l <= net.L:
        raise ValueError(f"the layer l must be between 1 and {net.L}, got {l}")
    require.one_of(FLOORS, floor=floor)
    h_in = net.input(l, h)
    if l == 1 and not clip_x:
        return h_in
    c, nu = input_bounds(net, l, tau_h_max=tau_h_max, tau_h_min=tau_h_min)
    return clip_offset(h_in, nu, c, floor)


def _check(*, m, sigma, tau_B, tau_h_max, tau_h_min, floor, top, bias) -> None:
    require.normaliser(m, rule="pdfa")
    if not 0 <= sigma < math.inf:
        raise ValueError(f"sigma must be a number >= 0, got {sigma}")
    require.positive_or_infinite(tau_B=tau_B)
    check_clip_of_inputs(tau_h_max=tau_h_max, tau_h_min=tau_h_min, floor=floor)
    require.one_of(TOPS, top=top)
    require.one_of(BIASES, bias=bias)


def mechanism(
    *,
    net: Net,
    sigma: float,
    tau_B: float = 1.0,
    top: str = "noisy",
    adjacency: Literal["replace-label"] | None = None,
    sampling: str,
    sampling_rate: float,
) -> Mechanism:
    """The release of one step, for labels: the projected errors of all records, each with its own noise.

    Source: [ours:pdfa-labels]

    Parameters
    ----------
    net : Net
    sigma, tau_B, top : as given to `pdfa`
    adjacency : "replace-label". None means whole records, as in the paper, for which no theorem holds
    sampling, sampling_rate : scheme and rate of the batches

    Returns
    -------
    mechanism : Mechanism with the sensitivity of `nfa.sensitivity.pdfa.label_sensitivity` and noise of std sigma. The
        sensitivity and the noise are those of one record's errors, before any average

    Raises
    ------
    ValueError : if sigma or tau_B is out of range
    NoGuarantee : for any other adjacency or None, for an output layer without noise, and for sigma = 0

    Notes
    -----
    Proof. Given the inputs and the weights, which are public, the direction is a function of the vectors u_i^l + g_i^l
    of all records and layers. The reason is that h, phi' and the clips do not depend on labels. These vectors are a
    Gaussian release, and a label changes only the vectors of its own record. This holds for every network, including
    convolutions and poolings, and for OPUs. We do not count the noise of an OPU. The targets y must be one-hot. The
    guarantee does not depend on the number of records in a batch. It does not depend on the clips of the inputs, the
    floor and clip_x either, so you can choose them freely.
    """
    if adjacency is None:
        raise NoGuarantee(
            "ohana2021:prop3-cols",
            "all columns of an update have the same noise, so the paper's sum over the columns is not a valid bound",
        )
    if adjacency != "replace-label":
        raise NoGuarantee(
            "ohana2021:prop3-cols",
            "the noise hides only labels, because a direction reveals the inputs. Use the adjacency replace-label",
        )
    if top != "noisy":
        raise NoGuarantee(
            "ohana2021:alg1.13-15",
            (f"with top={top!r} the output layer learns without noise, so the update of this layer reveals the error"),
        )
    if not 0 <= sigma < math.inf:
        raise ValueError(f"sigma must be a number >= 0, got {sigma}")
    if sigma == 0:
        raise NoGuarantee("ohana2021:rem2.1", "sigma is 0, so the direction is released without noise")
    softmax = net.loss is softmax_cross_entropy
    return Mechanism(
        law="gaussian",
        sensitivity=label_sensitivity(tau_B=tau_B, hidden=net.L - 1, top="softmax" if softmax else "scaled"),
        adjacency=adjacency,
        noise_std=sigma,
        sampling=sampling,
        sampling_rate=sampling_rate,
    )
