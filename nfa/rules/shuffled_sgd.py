"""Private SGD with shuffling: Algorithm 1 of Berthier (2019), in which each pass uses a share tau of the records.

`private_sgd_shuffling` is the algorithm as the report prints it. The rule `shuffled_sgd` computes lines 7 and 8 for any
network. `nfa.sampling.PartialPasses` computes lines 3 to 6. The training loop with `nfa.optim.SGD` computes line 9.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nfa.clip import clip_factor, clip_l2, row_norms, scale_rows
from nfa.mechanism import Mechanism, NoGuarantee
from nfa.network import Net
from nfa.noise import add_normal as numpy_normal
from nfa.rules.bp import bp
from nfa.sampling import StreamsLike, number_of_passes, records_per_pass
from nfa.sensitivity import clipped_sensitivity


def private_sgd_shuffling(
    D: Sequence[Any] | np.ndarray,
    theta_0: np.ndarray,
    *,
    gamma: float,
    grad: Callable[[np.ndarray, Any], np.ndarray],
    L: float,
    e: float,
    tau: float,
    sigma: float,
    streams: StreamsLike,
    sequence: bool = False,
) -> np.ndarray:
    r"""Algorithm 1: e / tau passes over the first floor(tau n) records of a fresh shuffle, one record in each step.

    .. math:: \theta \leftarrow \theta - \gamma \big( \mathrm{Clip}(\nabla_\theta \ell(\theta, x_{s_j}), L) + \eta
              \big), \qquad \eta \sim N(0, \sigma^2 I_d)

    Source: [berthier2019:alg1]

    Parameters
    ----------
    D : n records, of any kind that grad accepts
    theta_0 : (d,) array, the initial parameters; the array is not changed
    gamma : float > 0, the learning rate
    grad : function (theta, x) -> (d,) array, the gradient of the loss of one record
    L : float > 0, bound on the norm of a gradient; inf for no clip
    e : float > 0, expected number of uses of each record
    tau : float in (0, 1], share of the records that a pass uses
    sigma : float >= 0, standard deviation of the noise on each coordinate of the gradient
    streams : `nfa.noise.Streams`; pass i = 0, 1, ... shuffles with ``streams("batch", i)``, and step t = 1, 2, ...
        draws its noise from ``streams("noise", t)``
    sequence : if True, return all iterates, not only the last

    Returns
    -------
    theta : (d,) array, or with ``sequence`` the iterates after each step, (e / tau floor(tau n), d)

    Raises
    ------
    ValueError : for a number out of range, for floor(tau n) = 0, or if e / tau is not a whole number

    Notes
    -----
    With tau = 1/n, the records are sampled with replacement, and with tau = 1 without replacement. The report's text
    says "with replacement" in the two cases. If tau n is a whole number, there are e n steps, and otherwise fewer.

    Examples
    --------
    There are two records, and the loss is (theta - x)^2 / 2, without noise and clip. With gamma = 1/2, each step moves
    theta half of the way to the record.

    >>> from nfa.noise import Streams
    >>> given = {"gamma": 0.5, "grad": lambda theta, x: theta - x, "L": np.inf, "e": 1, "sigma": 0.0}
    >>> private_sgd_shuffling([0.0, 8.0], np.zeros(1), tau=1, streams=Streams(0), sequence=True, **given).tolist()
    [[4.0], [2.0]]
    """
    if not (0 < gamma < math.inf and 0 <= sigma < math.inf):
        raise ValueError(
            f"the learning rate gamma must be positive and sigma at least 0, got gamma={gamma} and sigma={sigma}"
        )
    n = len(D)
    passes, k = number_of_passes(e, tau), records_per_pass(tau, n)
    theta, thetas, t = np.array(theta_0, dtype=float), [], 0  # line 2
    for i in range(passes):  # line 3
        s = streams("batch", i).permutation(n)  # line 4
        for j in range(k):  # line 5
            x, t = D[s[j]], t + 1  # line 6
            g = clip_l2(grad(theta, x)[None], L)[0]  # line 7
            eta = sigma * streams("noise", t).standard_normal(len(theta))  # line 8
            theta = theta - gamma * (g + eta)  # line 9
            thetas.append(theta)
    return np.array(thetas) if sequence else theta  # line 10


def shuffled_sgd(
    net: Net,
    x: np.ndarray,
    y: np.ndarray,
    *,
    L: float | None = None,
    sigma: float,
    ridge: float = 0.0,
    ridge_clipped: bool = True,
    add_normal: Callable = numpy_normal,
    rng: np.random.Generator,
    state: dict | None = None,
) -> tuple[list, list]:
    r"""The direction of one step of Algorithm 1 for all weights and biases.

    The training loop subtracts ``gamma`` times the direction.

    .. math:: (dW, db) = \mathrm{Clip}(\nabla_\theta \ell(\theta, x), L) + \eta, \quad \eta \sim N(0, \sigma^2 I)

    Source: [berthier2019:alg1.7] [berthier2019:alg1.8] [berthier2019:sec4.6.3]

    Parameters
    ----------
    net : Net
    x : (1, *in_shape) array
    y : (1, n_L) array, the target
    L : float > 0, bound on the norm of the gradient; None for no clip
    sigma : float >= 0, standard deviation of the noise on every coordinate
    ridge : float >= 0. ridge ||theta||^2 is added to the loss of every record. In the report's experiment, ridge is 1 /
        n
    ridge_clipped : True to add 2 ridge theta to the gradient before the clip, False to add it after the clip
    add_normal : function (out, std, rng) that adds the noise in place
    rng : numpy.random.Generator; the noise is drawn from the bottom layer up, W before b
    state : dict. Its entry "clipped" gets 1 if the clip scales down the gradient, and otherwise 0

    Returns
    -------
    dW, db : lists with dW[l] and db[l] of the shapes of W[l] and b[l]; slot 0 is None

    Raises
    ------
    ValueError : if the batch is not one record, or if a number is out of range
    """
    if len(x) != 1:
        raise ValueError(f"shuffled_sgd needs batches of one record, got a batch of {len(x)} records")
    if not (L is None or 0 < L < math.inf):
        raise ValueError(f"the clipping bound L must be positive and finite, or None to leave out the clip, got {L}")
    if not 0 <= ridge < math.inf:
        raise ValueError(f"the factor ridge of the l2 penalty must be a number >= 0, got {ridge}")
    # The batch has one record, so the mean gradient from bp is the gradient of this record.
    dW, db = bp(net, x, y)
    shares: list = []  # share of the batch that the clip scales down: 1 or 0
    layers = range(1, net.L + 1)
    if ridge_clipped:
        _add_ridge(net, dW, db, ridge)
    if L is not None:
        # We clip the gradient of all layers as one vector, because theta is one vector in the report.
        norm = math.hypot(*(float(row_norms(g[None])[0]) for l in layers for g in (dW[l], db[l])))
        shrink = clip_factor(np.array([norm]), L, shares)  # min(1, L / ||g||), or 0 if ||g|| is not finite
        for l in layers:
            dW[l], db[l] = (scale_rows(g[None], shrink)[0] for g in (dW[l], db[l]))
    # The term 2 ridge theta does not depend on the record. So if we add it after the clip, the sensitivity is still L.
    if not ridge_clipped:
        _add_ridge(net, dW, db, ridge)
    for l in layers:
        add_normal(dW[l], sigma, rng)
        add_normal(db[l], sigma, rng)
    if state is not None:
        state["clipped"] = shares
    return dW, db


def _add_ridge(net: Net, dW: list, db: list, ridge: float) -> None:
    """Add the gradient 2 ridge theta of ridge ||theta||^2."""
    if ridge:
        for l in range(1, net.L + 1):
            dW[l] += 2 * ridge * net.W[l]
            db[l] += 2 * ridge * net.b[l]


def mechanism(*, L: float | None, sigma: float, adjacency: str, sampling: str, sampling_rate: float) -> Mechanism:
    """One step: a Gaussian mechanism of sensitivity L, or 2 L if a record is replaced.

    Source: [berthier2019:alg1] [berthier2019:rem-largest-rate]

    Parameters
    ----------
    L, sigma : as for `shuffled_sgd`
    adjacency : one of `nfa.mechanism.ADJACENCIES`
    sampling, sampling_rate : of `nfa.sampling.PartialPasses`: "epoch-partition" for tau = 1, "without-replacement" for
        tau = 1/n, "partial-passes" for a tau between 1/n and 1

    Raises
    ------
    NoGuarantee : without noise, without the clip, or for a tau between 1/n and 1, for which amplification is only a
        conjecture
    ValueError : if a number or a name is out of range

    Notes
    -----
    The report finds no straightforward guarantee for tau = 1. But there is a guarantee without amplification. A pass
    uses a record at most once, so the epsilon of a pass is that of one release with sampling rate 1. For every tau, the
    e / tau passes compose. This guarantee is weaker than the conjecture unless tau is near 1.
    """
    if sigma == 0:
        raise NoGuarantee("lee2020:lem1", "sigma is 0, so the release has no noise and no guarantee")
    if L is None:
        raise NoGuarantee(
            "berthier2019:alg1",
            "without the clip of line 7, one record can change a step by any amount. Set the clipping bound L",
        )
    return Mechanism(
        law="gaussian",
        sensitivity=clipped_sensitivity(C=L, m=1, adjacency=adjacency),
        adjacency=adjacency,
        noise_std=sigma,
        sampling=sampling,
        sampling_rate=sampling_rate,
    )
