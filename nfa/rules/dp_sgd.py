"""DP-SGD, the papers' DP-BP: backpropagation with each example's gradient clipped, and noise on the average.

The source is Abadi et al. (2016). Lee & Kifer (2020, Section 5) compare their rule with it.
"""

import math
from collections.abc import Callable

import numpy as np

from nfa import require
from nfa.clip import clip_factor_of_squares
from nfa.mechanism import Mechanism, NoGuarantee
from nfa.network import Net, forward
from nfa.noise import add_normal as numpy_normal
from nfa.sensitivity import clipped_sensitivity

SUM_OVER_EXAMPLES = True

CLIPS = ("joint", "layer")


def dp_sgd(
    net: Net,
    x: np.ndarray,
    y: np.ndarray,
    *,
    C: float,
    m: int,
    sigma: float,
    clip: str = "joint",
    add_normal: Callable = numpy_normal,
    rng: np.random.Generator,
    state: dict | None = None,
) -> tuple[list, list]:
    r"""The DP-SGD direction for every layer. The training loop subtracts ``eta`` times the direction.

    .. math:: g_i = \nabla_{W, b} \mathcal L_i, \qquad
              (dW, db) = N(0, \sigma^2 I) + \frac1m \sum_i g_i \min(1, C / \|g_i\|_2)

    Source: [lee2020:dp-bp]

    Parameters
    ----------
    net : Net
    x : (k, *in_shape) array; k may be 0, and then the direction is only noise
    y : (k, n_L) array of targets, one-hot for class labels
    C : float > 0, l2 bound on each example's gradient for all weights and biases together
    m : float > 0, public normaliser: the batch size, or its expected value
    sigma : float >= 0, standard deviation of the noise on every coordinate of the average; in the units of Abadi et
        al., the noise multiplier is sigma m / C
    clip : "joint" clips the gradient of all layers as one vector; "layer" clips the gradient of each layer to C /
        sqrt(L)
    add_normal : function (out, std, rng) that adds the noise in place
    rng : numpy.random.Generator; the noise is drawn from the top layer down, W before b
    state : dict. Its entry "clipped" gets the share of examples that each clip scales down, in the order of the clips

    Returns
    -------
    dW, db : lists with dW[l] and db[l] of the shapes of W[l] and b[l]; slot 0 is None

    Raises
    ------
    ValueError : if m or C is not positive, if C is too small for the dtype, if sigma is negative, or if clip is neither
        "joint" nor "layer"

    Notes
    -----
    A dense layer does not compute an example's gradient. It computes the norm of the gradient directly
    (`nfa.network.per_example`). To clip a gradient, the rule multiplies the example's dz by the factor min(1, C /
    norm). A gradient is omitted if its norm is not finite, because a value has overflowed.
    """
    require.normaliser(m, rule="dp_sgd")
    require.positive_or_infinite(**{"the clipping bound C": C})
    require.one_of(CLIPS, clip=clip)
    L = net.L
    z, h = forward(net, x)
    own: list = [None] * (L + 1)
    # v[l] is a sum, because more than one layer reads h[l] if a skip starts at h[l].
    v: list = [0.0] * (L + 1)  # v[l] is the derivative of the loss with respect to h[l]
    norm2: list = [None] * (L + 1)
    for l in range(L, 0, -1):
        dz = net.loss.error(z[L], y) if l == L else net.pull(l, z, v[l])  # (k, n_l)
        if l > 1:
            back = net.map[l].transpose(net.W[l], dz)  # (W^l)^T dz^l   (k, n_{l-1})
            for j in net.reads(l):
                v[j] = v[j] + back
        # We need the norm of each example's gradient, because the norm of their sum bounds none of them.
        own[l] = net.map[l].terms(dz, net.input(l, h))  # g_i^l: dz_i h_i^T, dz_i
        norm2[l] = sum(own[l].norms2())  # ||g_i^l||^2   (k,)
    shares: list = []  # for each clip, the share of the batch that it scales down
    # A gradient that is not finite gets the factor 0, and gradients with the factor 0 are omitted from the sum.
    if clip == "joint":
        factor: list = [clip_factor_of_squares(sum(norm2[1:]), C, shares)] * (L + 1)  # min(1, C / ||g_i||)   (k,)
    else:  # one factor for each g_i^l
        # The squared bounds of the L layers, C^2 / L each, add up to C^2. So "joint" and "layer" have the same
        # sensitivity.
        factor = [None, *(clip_factor_of_squares(own2, C / math.sqrt(L), shares) for own2 in norm2[1:])]
    dW: list = [None] * (L + 1)
    db: list = [None] * (L + 1)
    for l in range(L, 0, -1):
        # We divide by the public m, because with len(x) one record would change the weight of all others. We use
        # float(m), because a NumPy number would turn float32 into float64. We add the noise once, to the clipped mean.
        # One record changes this mean by C / m.
        dW[l], db[l] = own[l].outer(factor[l] / float(m))  # (n_l, n_{l-1}), (n_l,)
        add_normal(dW[l], sigma, rng)
        add_normal(db[l], sigma, rng)
    if state is not None:
        state["clipped"] = shares
    return dW, db


def mechanism(*, C: float, m: int, sigma: float, adjacency: str, sampling: str, sampling_rate: float) -> Mechanism:
    """One step of `dp_sgd`: a Gaussian mechanism of sensitivity C / m, or 2 C / m if a record is replaced.

    Source: [lee2020:acct] [lee2020:same-privacy] [dpulr2024:sec2.2]

    Raises NoGuarantee without noise, and ValueError if a number or a name is out of range. The sensitivity is the same
    for clip="joint" and clip="layer".

    The Notes of `nfa.mechanism.Mechanism` describe the effect of rounding.
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
