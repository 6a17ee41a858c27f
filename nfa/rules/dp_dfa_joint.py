"""Joint-clip DP-DFA: direct feedback alignment with each example's whole direction clipped, and noise on the average.

This rule is ours. DP-DFA (`nfa.rules.dp_dfa`) and photonic DFA (`nfa.rules.pdfa_isotropic`) bound the term of an
example by a product of worst cases. The factors are the clip of the error, the clip of the input, the largest
derivative and the norm of B. In this rule we clip the direction itself, as DP-SGD does. So the bound holds for every B,
activation, network and optical device.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from nfa import require
from nfa.clip import clip_factor_of_squares, row_norms
from nfa.feedback import project as exact_projection
from nfa.feedback import ternarize_relative
from nfa.feedback.matrices import check_feeds
from nfa.mechanism import Mechanism, NoGuarantee
from nfa.network import Net, forward
from nfa.noise import add_normal as numpy_normal
from nfa.sensitivity import clipped_sensitivity

SUM_OVER_EXAMPLES = True

CARRIES = ("error", "ternary", "label")


def dp_dfa_joint(
    net: Net,
    x: np.ndarray,
    y: np.ndarray,
    *,
    B: list,
    C: float,
    m: int,
    sigma: float,
    carries: str = "error",
    t: float = 0.5,
    at: str = "h",
    project: Callable = exact_projection,
    add_normal: Callable = numpy_normal,
    rng: np.random.Generator,
    state: dict | None = None,
) -> tuple[list, list]:
    r"""The joint-clip DFA direction for every layer. The training loop subtracts ``eta`` times the direction.

    .. math:: \delta z_i^l = \begin{cases} e_i = \hat y_i - y_i & l = L \\
              (B^l c_i) \odot \phi_l'(z_i^l) & l < L \end{cases} \qquad
              c_i = \begin{cases} e_i & \text{error} \\ \|e_i\| \, t(e_i) & \text{ternary} \\
              -y_i & \text{label} \end{cases}

    .. math:: u_i = (\delta z_i^l (h_i^{l-1})^\top, \delta z_i^l)_{l = 1..L}, \qquad
              (dW, db) = N(0, \sigma^2 I) + \frac1m \sum_i u_i \min(1, C / \|u_i\|_2)

    Source: [ours:joint-clip]

    Parameters
    ----------
    net : Net
    x : (k, *in_shape) array; k may be 0, and then the direction is only noise
    y : (k, n_L) array of targets, one-hot for class labels
    B : list for l = 1..L-1: (n_l, n_L) arrays from `nfa.feedback.draw`, or the devices that ``project`` takes in place
        of arrays.
    C : float > 0, l2 bound on each example's direction in all weights and biases together
    m : float > 0, public normaliser: the batch size, or its expected value
    sigma : float >= 0, standard deviation of the noise on every coordinate of the average; the noise multiplier of
        other libraries is sigma m / C
    carries : signal that the feedback carries to the hidden layers: "error", as in DFA; "ternary", as in TDFA, which an
        optical device can show; "label", as in DRTP, which is known before the forward pass ends
    t : float in [0, 1], for "ternary": `nfa.feedback.ternarize_relative` keeps the entries of at least this share of
        the error's largest entry; 0 keeps the signs of all entries
    at : "h" or "z", the place at which B[l] c enters a layer with pooling: above or below the pooling
    project : function (c, B[l], rng=...) -> (k, n_l)
    add_normal : function (out, std, rng) that adds the noise in place
    rng : numpy.random.Generator; layers draw from the top down, all projections before the noise, W before b
    state : dict. Its entry "clipped" gets a list with the share of examples that the clip scales down

    Returns
    -------
    dW, db : lists with dW[l] and db[l] of the shapes of W[l] and b[l]; slot 0 is None

    Raises
    ------
    ValueError : if m or C is not positive, if C is too small for the dtype, if sigma is negative, or if carries is none
        of the three names. ValueError also if t is out of range, whatever carries is, or if B has no entry for a hidden
        layer

    Notes
    -----
    The rule does not compute an example's direction. Each layer computes the norm of each example's term
    (`nfa.network.per_example`). To clip an example's direction, the rule multiplies the example's dz by min(1, C /
    norm) in every layer. A direction is omitted if its norm is not finite, because a value has overflowed. The device
    shows the ternary error without its norm. The rule multiplies the device's result by the norm. So examples that the
    network has learnt hardly change the hidden layers.
    """
    require.normaliser(m, rule="dp_dfa_joint")
    require.positive_or_infinite(**{"the clipping bound C": C})
    require.one_of(CARRIES, carries=carries)
    require.within("[0, 1]", t=t)
    L = net.L
    check_feeds(B, range(1, L))
    z, h = forward(net, x)
    e = net.loss.error(z[L], y)  # (k, n_L)
    shown, scale = carried(e, y, carries, t)  # c_i = scale_i shown_i
    # We need two loops over the layers, because the factor depends on the norm of an example's whole direction.
    own: list = [None] * (L + 1)
    for l in range(L, 0, -1):
        # We multiply the result by the norm, and not the image, because an optical device shows only -1, 0 and 1.
        dz = e if l == L else net.pull(l, z, scale * project(shown, B[l], rng=rng), at)  # (B c) * phi'(z)   (k, n_l)
        own[l] = net.map[l].terms(dz, net.input(l, h))  # dz_i h_i^T, dz_i
    norm2: Any = sum([sum(one.norms2()) for one in own[1:]])  # ||u_i||^2   (k,)
    shares: list = []  # share of the batch that the clip scales down
    factor = clip_factor_of_squares(norm2, C, shares)  # min(1, C / ||u_i||)   (k,)
    dW: list = [None] * (L + 1)
    db: list = [None] * (L + 1)
    for l in range(L, 0, -1):
        # We divide by the public m, because with len(x) one record would change the weight of all others. We use
        # float(m), because a NumPy number would turn float32 into float64. We add the noise once, to the clipped mean.
        # One record changes this mean by C / m.
        dW[l], db[l] = own[l].outer(factor / float(m))  # (n_l, n_{l-1}), (n_l,)
        add_normal(dW[l], sigma, rng)
        add_normal(db[l], sigma, rng)
    if state is not None:
        state["clipped"] = shares
    return dW, db


def carried(e: np.ndarray, y: np.ndarray, carries: str, t: float) -> tuple[np.ndarray, np.ndarray | float]:
    """The signal that is projected, (k, n_L), and the factor of the projection, (k, 1) or a number."""
    if carries == "ternary":
        return ternarize_relative(e, t), row_norms(e)[:, None]
    return (e, 1.0) if carries == "error" else (y, -1.0)


def mechanism(*, C: float, m: int, sigma: float, adjacency: str, sampling: str, sampling_rate: float) -> Mechanism:
    """One step of `dp_dfa_joint`: a Gaussian mechanism of sensitivity C / m, or 2 C / m if a record is replaced.

    Source: [ours:joint-clip]

    Raises NoGuarantee without noise, and ValueError if a number or a name is out of range.

    Notes
    -----
    Proof. Draw in advance the random values of the projections for every record, also for records outside the batch.
    Fix these random values, the weights and B. Then u_i min(1, C / ||u_i||) depends on record i alone and has norm at
    most C. So one more or one fewer record, or a term that becomes 0, changes the sum by at most C. If a record is
    replaced, the sum changes by at most 2C. The noise is added once. So the noisy sum, divided by m, is a Gaussian
    mechanism of sensitivity C / m or 2C / m. The law of the random values of the projections does not depend on the
    data. So the releases of two neighbouring data sets are mixtures of such mechanisms with the same weights. A Renyi
    or hockey-stick divergence of the two mixtures is at most the largest divergence of their components. The proof
    needs no condition on B, phi, the network or the values of a projection.

    No smaller sensitivity holds for every network. Take a record at which the derivatives of all hidden layers are 0,
    as those of ReLU are below 0. Its direction is (e h^T, e) in the output layer and 0 in the hidden layers, for every
    carries and every B. Two targets with opposite errors then give opposite directions. If both norms are above C, the
    distance of the two directions after the clip is 2C, and the norm of each is C. For a softmax of two classes, the
    two labels have opposite errors, and their norms are above C for every C up to 0.7. For a squared error, the targets
    z + v and z - v have opposite errors of any norm.

    Suppose that there are two classes, and that the feedback carries the error or its ternary form. Then the two labels
    of every record give opposite directions for every B, all weights and all activations. If the feedback carries the
    label, the directions need not be opposite, because B y does not change its sign with the error. In random networks,
    the distance of the two clipped directions is between almost 0 and 2C.

    The proof has one condition on a projection. The result for an example may depend only on the image that the device
    shows for this example, and on random values that do not depend on any example. These random values can be shot
    noise, the camera's own noise, or an anchor that is measured again. Exposure, scale and threshold must not be chosen
    from the batch. For example, lightonml chooses the exposure from the data if its `fit1d` is given data.
    `nfa.feedback.opu.OPU`, `nfa.feedback.never_stored.Unstored` and `nfa.feedback.lighton.LightOnOPU` with the
    simulated device satisfy the condition. `LightOnOPU` gives `fit1d` no data. If you use a real device, you must check
    this condition yourself.

    The Notes of `nfa.mechanism.Mechanism` describe the effect of rounding. A camera with ``bits`` also rounds its
    readings. In a seeded run, rounding of floats can move an intensity at the border of two levels to either level.
    """
    if sigma == 0:
        raise NoGuarantee("lee2020:lem1", "sigma is 0, so the release has no noise and no guarantee")
    return Mechanism(
        law="gaussian",
        sensitivity=clipped_sensitivity(C=C, m=m, adjacency=adjacency),
        adjacency=adjacency,
        noise_std=sigma,
        sampling=sampling,
        sampling_rate=sampling_rate,
    )
