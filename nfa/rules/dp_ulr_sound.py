"""Sound DP-ULR: likelihood-ratio estimates, clipped jointly, with noise that does not depend on the data.

This rule is ours. "Forward Learning with Differential Privacy" counts the noise of the estimate itself as protection
(`nfa.rules.dp_ulr`, which has no guarantee). This rule does not count the noise of the estimate, and its guarantee is
that of DP-SGD.
"""

from collections.abc import Callable

import numpy as np

from nfa import require
from nfa.clip import clip_factor_of_squares
from nfa.mechanism import Mechanism, NoGuarantee
from nfa.network import Net, forward
from nfa.noise import add_normal as numpy_normal
from nfa.rules.ulr import CHUNK, proxy
from nfa.rules.ulr import weigh as numpy_weigh
from nfa.sampling import PoissonRejection
from nfa.sensitivity import clipped_sensitivity

# The setting to which the noise of `mechanism` is proportional. It is not sigma, the noise of the estimates.
NOISE = "sigma_0"
SUM_OVER_EXAMPLES = True


def dp_ulr_sound(
    net: Net,
    x: np.ndarray,
    y: np.ndarray,
    *,
    sigma: float,
    sigma_0: float,
    C: float,
    K: int,
    m: float,
    baseline: bool = True,
    antithetic: bool = False,
    chunk: int = CHUNK,
    weigh: Callable = numpy_weigh,
    add_normal: Callable = numpy_normal,
    rng: np.random.Generator,
    state: dict | None = None,
) -> tuple[list, list]:
    r"""The sound DP-ULR direction for every layer. The training loop subtracts ``eta`` times the direction.

    .. math:: g_i = \Big( \widehat{\delta z}_i^l (h_i^{l-1})^\top, \; \widehat{\delta z}_i^l \Big)_{l \le L}, \qquad
              (dW, db) = \frac1m \Big( \sum_i g_i \min(1, C / \|g_i\|_2) + N(0, (\sigma_0 C)^2 I) \Big)

    Parameters
    ----------
    net : Net; its activations need no derivative
    x : (k, *in_shape) array; k may be 0, and then the direction is only noise
    y : (k, n_L) array of targets, one-hot for class labels
    sigma : float > 0, public, standard deviation of the noise on every pre-activation
    sigma_0 : float >= 0, noise multiplier: standard deviation of the noise on the sum, in units of C
    C : float > 0, l2 bound on each example's estimate for all weights and biases together
    K : int >= 1, number of losses for each example and layer
    m : float > 0, public normaliser: q N under Poisson sampling, or the fixed batch size
    baseline, antithetic, chunk, weigh : as in `nfa.rules.ulr.proxy`
    add_normal : function (out, std, rng) that adds the noise in place
    rng : numpy.random.Generator with a seed that is not published. The estimates are drawn first, from the top layer
        down, then the noise in the same order
    state : dict. Its entry "clipped" gets the share of examples that the clip scales down

    Returns
    -------
    dW, db : lists with dW[l] and db[l] of the shapes of W[l] and b[l]; slot 0 is None

    Raises
    ------
    ValueError : if a number is out of range

    Notes
    -----
    If an estimate is not finite because a loss has overflowed, it is replaced by 0. Otherwise a NaN could pass the
    clip. The docstring of `mechanism` has the guarantee, its proof and its conditions.
    """
    require.normaliser(m, rule="dp_ulr_sound")
    require.positive(**{"the clipping bound C": C})
    require.not_negative(**{"the noise multiplier sigma_0": sigma_0})
    how: dict = {"baseline": baseline, "antithetic": antithetic, "chunk": chunk, "weigh": weigh, "rng": rng}
    L = net.L
    z, h = forward(net, x)
    own: list = [None] * (L + 1)
    # All arrays have the dtype of the forward pass, so float32 stays float32.
    norm2 = np.zeros(len(x), z[L].dtype)
    for l in range(L, 0, -1):
        # sigma is a public number. If sigma depended on the losses of the batch, it would reveal information about
        # them.
        dz = proxy(net, l, z, h, y, sigma=sigma, K=K, **how)  # (k, n_l)
        own[l] = net.map[l].terms(dz, net.input(l, h))  # g_i^l: dz_i h_i^T, dz_i
        norm2 = norm2 + sum(own[l].norms2())  # ||g_i||^2   (k,)
    shares: list = []  # share of the batch that the clip scales down
    factor = clip_factor_of_squares(norm2, C, shares)  # min(1, C / ||g_i||), or 0 for a norm that is not finite   (k,)
    dW: list = [None] * (L + 1)
    db: list = [None] * (L + 1)
    for l in range(L, 0, -1):
        # We divide by the public m, because with len(x) one record would change the weight of all others. We use
        # float(m), because a NumPy number would turn float32 into float64.
        dW[l], db[l] = own[l].outer(factor / float(m))  # (n_l, n_{l-1}), (n_l,)
        # The noise on the sum has std sigma_0 C, and we divide the sum by m. The guarantee ignores the noise inside the
        # estimates.
        add_normal(dW[l], sigma_0 * C / m, rng)
        add_normal(db[l], sigma_0 * C / m, rng)
    if state is not None:
        state["clipped"] = shares
    return dW, db


def mechanism(*, sigma_0: float, C: float, m: float, adjacency: str, sampling: str, sampling_rate: float) -> Mechanism:
    r"""One step of `dp_ulr_sound`: a Gaussian mechanism, with noise multiplier sigma_0 under add-remove.

    Source: [dpulr2024:dpsgd-gamma] [ours:ulr-sound]

    Parameters
    ----------
    sigma_0, C, m : as in `dp_ulr_sound`
    adjacency : "add-remove" or "zero-out" (sensitivity C / m), "replace-one" or "replace-label" (2 C / m)
    sampling, sampling_rate : scheme and rate of the batches

    Raises
    ------
    NoGuarantee : without noise, and for batches drawn with rejection
    ValueError : if a number or a name is out of range

    Notes
    -----
    Proof. Let U = (u_i) be the internal noise of all records, also of records outside the batch. It is independent of
    the batch and the release noise, and its law does not depend on the data. (1) Given U = u, an example's estimate g_i
    is a deterministic function of this example, the weights and u_i. So every clipped term is a fixed vector of norm at
    most C, and the release is the sampled Gaussian mechanism with sensitivity C / m. Its Renyi bound does not depend on
    u. (2) U has the same law under neighbouring data sets, so the divergence of (U, release) is at most the largest
    divergence for a fixed u. (3) Omitting U is post-processing. Steps compose adaptively, and an optimizer's use of a
    direction is post-processing.

    The proof has seven conditions. (a) sigma is public, or a function of the weights and the example alone. In Equation
    8 it depends on the batch, which is not allowed. (b) No statistic of the batch enters an estimate, so there is no
    batch normalisation. (c) m is public, and an empty batch releases noise. (d) The sampling rate, the number of steps,
    sigma_0, C, sigma and K are public, and no batch is rejected. (e) The seed of the generator is not published,
    because the internal noise of a record depends on its place in the batch. One more record in the batch gives all
    later records other samples of the same law. (f) An estimate that is not finite is replaced by 0 before the clip.
    (g) The sensitivity is that of the named adjacency. One clip covers all layers and biases, and every entry gets
    noise. The proof does not cover logged losses and accuracies, nor settings tuned on private data.
    """
    if sigma_0 == 0:
        raise NoGuarantee(
            "dpulr2024:dpsgd-gamma", "with sigma_0 = 0 the sum has no noise, so no theorem gives an epsilon"
        )
    require.positive(sigma_0=sigma_0)
    if sampling == PoissonRejection.scheme:
        raise NoGuarantee(
            "dpulr2024:thm1",
            "the theorem covers only Poisson batches, but this scheme draws a batch again if the batch is too small",
        )
    return Mechanism(
        law="gaussian",
        sensitivity=clipped_sensitivity(C=C, m=m, adjacency=adjacency),
        adjacency=adjacency,
        noise_std=sigma_0 * C / m,
        sampling=sampling,
        sampling_rate=sampling_rate,
    )
