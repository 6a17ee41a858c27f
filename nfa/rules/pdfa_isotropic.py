"""Photonic DFA with sound record-level privacy: the published clips, and isotropic noise on the averaged direction.

This is our repair of Ohana et al. (2021). The clips of their Section 3.1 bound the term of one record in the whole
direction. Noise of equal size on every entry hides this term. The paper's noise, which is added to each projected
error, does not hide it (see `nfa.rules.pdfa`). With a ternarised error, this rule repairs TDFA. With a ternarised error
and OPUs for B (`nfa.feedback.opu`), it repairs PDFA.
"""

import math
from collections.abc import Callable

import numpy as np

from nfa import require
from nfa.clip import FLOORS, clip_l2, clip_offset, finite_rows
from nfa.feedback import project as exact_projection
from nfa.feedback import ternarize
from nfa.mechanism import Mechanism, NoGuarantee
from nfa.network import Net, forward
from nfa.network.dense import Dense
from nfa.noise import add_normal as numpy_normal
from nfa.rules.pdfa import BIASES, clipped_input, input_bounds
from nfa.sensitivity.pdfa import repaired_pdfa_sensitivity

NOISE = "s"  # the setting to which the noise of `mechanism` is proportional
SUM_OVER_EXAMPLES = True


def pdfa_isotropic(
    net: Net,
    x: np.ndarray,
    y: np.ndarray,
    *,
    B: list,
    m: int,
    s: float,
    tau_B: float = 1.0,
    tau_h_max: float = 1.0,
    tau_h_min: float = 0.0,
    t: float | None = None,
    floor: str = "literal",
    bias: str = "one",
    project: Callable = exact_projection,
    clip_l2: Callable = clip_l2,
    clip_offset: Callable = clip_offset,
    add_normal: Callable = numpy_normal,
    rng: np.random.Generator,
    state: dict | None = None,
) -> tuple[list, list]:
    r"""The clipped photonic direction, averaged, with noise on every entry.

    The training loop subtracts ``eta`` times the direction.

    .. math:: dW^l = \frac1m \sum_i \big(\mathrm{scale}_{\tau_B}(B^l t(e_i)) \odot \phi_l'(z_i^l)\big)
              \, \mathrm{clip}_c(\mathrm{offset}_\nu(h_i^{l-1}))^\top + G^l, \qquad G_{jk}^l \sim N(0, s^2), \quad
              c = \tau_h^{max} / \sqrt{n_{l-1}}, \quad \nu = \tau_h^{min} / \sqrt{n_{l-1}}

    Parameters
    ----------
    net : Net
    x : (k, *in_shape) array; k may be 0, and then the direction is only noise
    y : (k, n_L) array of targets, one-hot for class labels
    B : list for l = 1..L-1: (n_l, n_L) arrays from `nfa.feedback.draw`, or the devices that ``project`` takes in place
        of arrays
    m : int > 0, public normaliser: the batch size, or its expected value under Poisson sampling
    s : float >= 0, standard deviation of the noise on every entry of every dW[l] and db[l]
    tau_B : float > 0, l2 bound on each projected error, and on the error at the top layer
    tau_h_max, tau_h_min : floats, 0 <= tau_h_min <= tau_h_max, intended bounds on the norm of the input of layer l
    t : float >= 0, threshold to ternarise the error before its projection; None for the error itself
    floor : "literal" for the offset as printed; "signed" for an offset away from 0 for both signs
        (`nfa.clip.offset_signed`)
    bias : input of the biases: "one", the constant 1; "clipped", clip_c(1 + nu)
    project : function (e, B[l], rng=...) -> (k, n_l). Each row of the result must depend only on the same row of e
    clip_l2 : function (v, c, shares) that returns the rows of v clipped to norm c, as a new array
    clip_offset : function (v, nu, c, floor) that returns the entries of v offset by nu and clipped to c
    add_normal : function (out, std, rng) that adds the noise in place
    rng : numpy.random.Generator; layers draw from the top down, the projection before G, weights before biases
    state : dict. Its entry "clipped" gets the share of examples that each clip scales down, in the order of the clips

    Returns
    -------
    dW, db : lists with dW[l] and db[l] of the shapes of W[l] and b[l]; slot 0 is None

    Raises
    ------
    ValueError : if a bound, s, t or m is out of range, or if floor or bias is none of the names above

    Notes
    -----
    Every layer's input is clipped, including the input of layer 1. The error at the top layer is clipped too, because
    noise can only hide terms of bounded norm. If a record's dz or clipped input of a layer is not finite, its term in
    this layer is 0. `mechanism` states the guarantee.
    """
    _check(m=m, s=s, tau_B=tau_B, tau_h_max=tau_h_max, tau_h_min=tau_h_min, floor=floor, bias=bias)
    L = net.L
    z, h = forward(net, x)
    (e,) = finite_rows(net.loss.error(z[L], y))  # (k, n_L)
    t_e = e if t is None else ternarize(e, t)  # (k, n_L)
    shares: list = []  # for each clip, the share of the batch that it scales down
    dW: list = [None] * (L + 1)
    db: list = [None] * (L + 1)
    for l in range(L, 0, -1):
        # scale(B e) * phi'(z); no B and no phi' at the top   (k, n_l)
        # We clip the projection, because the norm of B is not bounded. The top layer has no B, so we clip the error
        # itself.
        u = clip_l2(e if l == L else project(t_e, B[l], rng=rng), tau_B, shares)
        dz = u if l == L else net.pull(l, z, u)
        # clip_c(offset_nu(h)), also for x   (k, n_{l-1})
        h_in = clipped_input(net, l, h, tau_h_max=tau_h_max, tau_h_min=tau_h_min, floor=floor, clip_offset=clip_offset)
        # This call must precede the product. 0 times infinity is NaN, and no later clip would remove a NaN.
        dz, h_in = finite_rows(dz, h_in)
        # We divide by the public m, because with len(x) one record would change the weight of all others. We use
        # float(m), because a NumPy number would turn float32 into float64.
        dW[l], db[l] = net.map[l].outer(dz / float(m), h_in)  # (n_l, n_{l-1}), (n_l,)
        db[l] *= _bias_input(net, l, tau_h_max=tau_h_max, tau_h_min=tau_h_min, bias=bias)
        # We add noise to every entry of the mean. Noise on the projected errors would stay in the span of the batch's
        # inputs.
        add_normal(dW[l], s, rng)
        add_normal(db[l], s, rng)
    if state is not None:
        state["clipped"] = shares
    return dW, db


def mechanism(
    *,
    net: Net,
    m: int,
    s: float,
    tau_B: float = 1.0,
    tau_h_max: float = 1.0,
    tau_h_min: float = 0.0,
    bias: str = "one",
    adjacency: str,
    sampling: str,
    sampling_rate: float,
) -> Mechanism:
    """The release of one step: a sum over records of terms with bounded norm, with Gaussian noise.

    Source: [ohana2021:rem3.3] [ours:pdfa-sensitivity]

    Parameters
    ----------
    net : Net of fully connected layers
    m, s, tau_B, tau_h_max, tau_h_min, bias : as given to `pdfa_isotropic`
    adjacency : "replace-one", "add-remove" or "zero-out"
    sampling, sampling_rate : scheme and rate of the batches

    Returns
    -------
    mechanism : Mechanism with the sensitivity of `nfa.sensitivity.pdfa.repaired_pdfa_sensitivity`, noise on the mean

    Raises
    ------
    ValueError : if a bound, s or m is out of range, or if bias is neither "one" nor "clipped"
    NoGuarantee : for a network with convolutions or poolings, which the proof does not cover; under replace-label; and
        for s = 0
    """
    clip = {"tau_h_max": tau_h_max, "tau_h_min": tau_h_min}
    _check(m=m, s=s, tau_B=tau_B, **clip, floor="literal", bias=bias)
    if adjacency == "replace-label":
        raise NoGuarantee(
            "ohana2021:prop2",
            "the bound covers whole records, and not labels alone. Use the adjacency replace-one, which includes a"
            " changed label",
        )
    if not all(isinstance(net.map[l], Dense) and net.pool[l] is None for l in range(1, net.L + 1)):
        raise NoGuarantee(
            "ohana2021:prop2", "the bound on the contribution of a record covers only fully connected layers"
        )
    if s == 0:
        raise NoGuarantee("ohana2021:rem2.1", "s is 0, so the direction is released without noise")
    sensitivity = repaired_pdfa_sensitivity(
        m=m,
        tau_B=tau_B,
        tau_h_max=tau_h_max,
        gamma_max=[net.phi[l].gamma_max for l in range(1, net.L)],
        bias=[_bias_input(net, l, **clip, bias=bias) for l in range(1, net.L + 1)],
        adjacency=adjacency,
    )
    return Mechanism(
        law="gaussian",
        sensitivity=sensitivity,
        adjacency=adjacency,
        noise_std=s,
        sampling=sampling,
        sampling_rate=sampling_rate,
    )


def _bias_input(net: Net, l: int, *, tau_h_max: float, tau_h_min: float, bias: str) -> float:
    """The input of layer l's biases: 1 or, with bias="clipped", min(c, 1 + nu). Without biases, the result is 0."""
    if net.map[l].n_bias == 0:
        return 0.0
    c, nu = input_bounds(net, l, tau_h_max=tau_h_max, tau_h_min=tau_h_min)
    return min(c, 1 + nu) if bias == "clipped" else 1.0


def _check(*, m, s, tau_B, tau_h_max, tau_h_min, floor, bias) -> None:
    require.normaliser(m, rule="pdfa_isotropic")
    if not 0 <= s < math.inf:
        raise ValueError(f"s must be a number >= 0, got {s}")
    require.positive(tau_B=tau_B)
    if not (0 <= tau_h_min <= tau_h_max < math.inf and tau_h_max > 0):
        raise ValueError(
            "tau_h_min and tau_h_max must satisfy 0 <= tau_h_min <= tau_h_max < inf and tau_h_max > 0, got "
            f"tau_h_min={tau_h_min} and tau_h_max={tau_h_max}"
        )
    require.one_of(FLOORS, floor=floor)
    require.one_of(BIASES, bias=bias)
