"""PDFA as published, for what its noise does hide: the labels.

Ohana et al. (2021) put their noise on the projected error of every record. The error is where the label enters, and
nothing else of a record is hidden by it: who takes the inputs as public has a guarantee, per label.
"""

import math
from collections.abc import Callable

import numpy as np

from nfa.feedback import project as exact_projection
from nfa.mechanism import Mechanism, NoGuarantee
from nfa.network import Net
from nfa.network.ops import softmax_cross_entropy
from nfa.rules.pdfa import pdfa
from nfa.sensitivity.pdfa import label_sensitivity


def pdfa_label(
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
    rng: np.random.Generator,
) -> tuple[list, list]:
    """The direction of `nfa.rules.pdfa.pdfa`, with the same settings and the same draws.

    The two rules differ in what their `mechanism` says: that one speaks of whole records, and refuses.

    Parameters
    ----------
    net, x, y, B, m, sigma, tau_B, tau_h_max, tau_h_min, t, clip_x, floor, top, bias, project, rng : as there

    Returns
    -------
    dW, db : as there

    Raises
    ------
    ValueError : as there

    Notes
    -----
    Clips of the inputs, floors and clip_x are matters of taste here: inputs are public. Guarantee: see `mechanism`.
    """
    return pdfa(
        net,
        x,
        y,
        B=B,
        m=m,
        sigma=sigma,
        tau_B=tau_B,
        tau_h_max=tau_h_max,
        tau_h_min=tau_h_min,
        t=t,
        clip_x=clip_x,
        floor=floor,
        top=top,
        bias=bias,
        project=project,
        rng=rng,
    )


def mechanism(
    *,
    net: Net,
    sigma: float,
    tau_B: float = 1.0,
    top: str = "noisy",
    adjacency: str,
    sampling: str,
    sampling_rate: float,
) -> Mechanism:
    """What one direction releases of the labels: the projected error of each record, under noise of its own.

    Parameters
    ----------
    net : Net
    sigma, tau_B, top : as given to `pdfa_label`
    adjacency : "replace-label"
    sampling, sampling_rate : of the batches

    Returns
    -------
    mechanism : Mechanism with the sensitivity of `nfa.sensitivity.pdfa.label_sensitivity` and noise of sigma: noise and
        sensitivity are those of one record's errors, before any average

    Raises
    ------
    ValueError : if sigma or tau_B is out of range
    NoGuarantee : for another adjacency, for an output layer without noise, and for sigma = 0

    Notes
    -----
    Proof. Given the inputs and the weights, which are public, the direction is a function of the vectors u_i^l + g_i^l
    of all records and layers: h, phi' and the clips do not see labels. These vectors are a Gaussian release, and a
    label moves those of its own record alone. So much holds for every network, convolutions and poolings too, and for
    OPUs, whose own noise is not counted. The targets y are one-hot. The number of records in a batch does not enter.
    """
    if adjacency != "replace-label":
        raise NoGuarantee(
            "ohana2021:prop3-cols",
            "the noise hides labels only, and the inputs can be read off a direction; count replace-label",
        )
    if top != "noisy":
        raise NoGuarantee(
            "ohana2021:alg1.13-15", f"an output layer that learns without noise (top={top!r}) shows the error"
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
