"""ULR: learning from forward passes alone, with the unified likelihood ratio method.

The rule estimates the gradient of each layer from the changes of the loss under noise on the layer's pre-activation.
There is no backward pass. This is Section 3.1 and Equation 4 of "Forward Learning with Differential Privacy". The
paper's pre-activations v are our z, and its noise z is our zeta.
"""

import math
from collections.abc import Callable
from typing import NoReturn

import numpy as np

from nfa import require
from nfa.mechanism import NoGuarantee
from nfa.network import Net, forward
from nfa.noise import repeated_normals

SUM_OVER_EXAMPLES = True

CHUNK = 1 << 22  # approximate number of entries in the largest array; an array has many repeats of the noise


def weigh(
    net: Net,
    l: int,
    z: list,
    h: list,
    y: np.ndarray,
    sigma: np.ndarray,
    draws: int,
    calm: np.ndarray,
    antithetic: bool,
    chunk: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Draw the noise of one layer and sum it with the losses as weights. This is the slow part of `proxy`.

    .. math:: \sum_k u_k L_k, \quad \sum_k L_k^2, \qquad u_k \sim N(0, I), \quad L_k = \mathcal L(z^l + \sigma u_k) - c

    Source: [dpulr2024:eq4] [dpulr2024:thm3] [dpulr2024:alg1.L200-202] [dpulr2024:alg1.L203]

    Parameters
    ----------
    net, l, z, h, y, chunk, rng : as in `proxy`
    sigma : array of z's dtype, a number or (m, 1, ...)
    draws : int >= 1
    calm : (m,) array, c for each example
    antithetic : if True, L is half the difference of the losses at z + sigma u and z - sigma u, and calm is not used

    Returns
    -------
    total, power : (m, *shape_z[l]) and (m,) arrays of z's dtype
    """
    m, dtype = len(z[l]), z[l].dtype
    widest = max(math.prod(net.shape_z[j]) for j in range(l, net.L + 1))
    # We take the widest layer from l on, because the pass with the noise computes all these layers for every repeat.
    at_once = max(1, min(draws, chunk // max(1, m * widest)))
    total, power = np.zeros_like(z[l]), np.zeros(m, dtype)
    normals = repeated_normals(rng, z[l].shape, dtype)
    for done in range(0, draws, at_once):
        repeats = min(at_once, draws - done)
        u = normals(repeats)  # (repeats, m, n_l)
        loss = _losses(net, l, z, h, y, sigma * u)  # (repeats, m)
        # In half the difference of a pair, the even part of the loss cancels. The even part has no information about
        # the gradient.
        loss = (loss - _losses(net, l, z, h, y, -sigma * u)) / 2 if antithetic else loss - calm
        # In this order, so that the rounding of the sums does not depend on chunk and batch.
        for u_k, L_k in zip(u, loss, strict=True):
            total += u_k * L_k.reshape(-1, *[1] * (u_k.ndim - 1))
            power += np.square(L_k)
    return total, power


def _losses(net: Net, l: int, z: list, h: list, y: np.ndarray, zeta: np.ndarray) -> np.ndarray:
    """The losses (repeats, m) with noise zeta (repeats, m, n_l) on z[l]. Only the layers above l are computed again.

    Source: [dpulr2024:modules]
    """
    repeats, m = zeta.shape[:2]
    # Starts of the skips from below layer l to above it.
    read_below = {j for top, j in net.skip.items() if top > l and j < l}
    h_rep = [np.tile(v, (repeats, *[1] * (v.ndim - 1))) if j in read_below else v for j, v in enumerate(h[:l])]
    z_rep = [*z[:l], (z[l] + zeta).reshape(repeats * m, *z[l].shape[1:])]
    z_new, _ = forward(net, start=l, z=z_rep, h=h_rep)
    return net.loss.value(z_new[net.L], np.tile(y, (repeats, 1))).reshape(repeats, m)


def proxy(
    net: Net,
    l: int,
    z: list,
    h: list,
    y: np.ndarray,
    *,
    sigma: float | np.ndarray,
    K: int,
    baseline: bool = False,
    antithetic: bool = False,
    chunk: int = CHUNK,
    weigh: Callable = weigh,
    rng: np.random.Generator,
) -> np.ndarray:
    r"""The likelihood-ratio estimate of each example's derivative with respect to z[l], which replaces dz.

    .. math:: \widehat{\delta z} = \frac{1}{K \sigma^2} \sum_{k=1}^K \zeta_k \mathcal L(z^l + \zeta_k), \qquad
              \zeta_k \sim N(0, \sigma^2 I)

    Source: [dpulr2024:eq4] [dpulr2024:alg1.L200-202] [dpulr2024:alg1.L203] [dpulr2024:alg1.L204] [dpulr2024:modules]
    [dpulr2024:thm3] [dpulr2024:eq12] [dpulr2024:eq14] [dpulr2024:eq15] [dpulr2024:clt] [dpulr2024:efficiency]
    [dpulr2024:eq4-mean] [dpulr2024:L220]

    Parameters
    ----------
    net : Net
    l : int in 1..L, the layer with the noise on its pre-activation; only the layers above it are computed again
    z, h : lists of a forward pass on (m, *in_shape) inputs
    y : (m, n_L) array of targets
    sigma : float > 0, standard deviation of the noise; or an (m, 1, ...) array with one value for each example
    K : int >= 1, number of losses for each example
    baseline : if True, subtract each example's loss without noise from its losses. The mean stays the same, and the
        variance decreases
    antithetic : if True, take the losses in pairs at zeta and -zeta; K must be even
    chunk : int >= 1, approximate largest number of entries in an array; the repeats are processed in chunks of this
        size
    weigh : function that draws the noise and sums it with the losses: the function of this module, or a faster version
    rng : numpy.random.Generator; with `nfa.noise.OfExamples`, an example's noise depends on its place in the batch

    Returns
    -------
    dz_hat : (m, *shape_z[l]) array of z's dtype. Its mean is the derivative of the smoothed loss E L(z + zeta). This
        holds for every loss with a finite mean under the noise, also if the loss is not differentiable

    Notes
    -----
    The proxy of a parameter's gradient is dz_hat h^T, because z is affine in W and b. So we first sum zeta L over k,
    and no array has an entry for each repeat and each weight. The values do not depend on the chunk.
    """
    how: dict = {"baseline": baseline, "antithetic": antithetic, "chunk": chunk, "weigh": weigh, "rng": rng}
    return proxy_and_power(net, l, z, h, y, sigma=sigma, K=K, **how)[0]


def proxy_and_power(
    net: Net,
    l: int,
    z: list,
    h: list,
    y: np.ndarray,
    *,
    sigma: float | np.ndarray,
    K: int,
    baseline: bool,
    antithetic: bool,
    chunk: int,
    weigh: Callable,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """`proxy` and, for each example, the sum of the squared losses by which its noise is weighted, (m,).

    Source: [dpulr2024:eq4] [dpulr2024:alg1.L203] [dpulr2024:alg1.L204]
    """
    check_repeats(K)
    if antithetic and K % 2:
        raise ValueError(f"the number K of losses must be even for antithetic pairs, got K={K}")
    if not (np.asarray(sigma) > 0).all() or not np.isfinite(sigma).all():
        raise ValueError(f"sigma must be positive and finite, got {sigma}")
    require.at_least(1, chunk=chunk)
    dtype = z[l].dtype
    # An antithetic pair needs two losses.
    draws = K // 2 if antithetic else K
    sigma = np.asarray(sigma, dtype)
    calm = net.loss.value(z[net.L], y) if baseline else np.zeros(len(z[l]), dtype)  # the loss without noise   (m,)
    total, power = weigh(net, l, z, h, y, sigma, draws, calm, antithetic, chunk, rng)
    # The noise is zeta = sigma u, so zeta / sigma^2 is u / sigma.
    return total / (dtype.type(draws) * sigma), power


def check_repeats(K: int) -> None:
    """Raise ValueError unless K is a whole number >= 1."""
    if not isinstance(K, (int, np.integer)) or not K >= 1:
        raise ValueError(f"the number K of losses must be a whole number >= 1, got K={K}")


def ulr(
    net: Net,
    x: np.ndarray,
    y: np.ndarray,
    *,
    sigma: float,
    K: int,
    m: int | None = None,
    baseline: bool = False,
    antithetic: bool = False,
    chunk: int = CHUNK,
    weigh: Callable = weigh,
    rng: np.random.Generator,
) -> tuple[list, list]:
    r"""The ULR direction for every layer. The training loop subtracts ``eta`` times the direction.

    .. math:: dW^l = \frac1m \sum_i \widehat{\delta z}_i^l (h_i^{l-1})^\top, \qquad
              db^l = \frac1m \sum_i \widehat{\delta z}_i^l

    Source: [dpulr2024:eq4] [dpulr2024:erm] [dpulr2024:prop2] [dpulr2024:nondifferentiable]

    Parameters
    ----------
    net : Net; its activations need no derivative
    x : (k, *in_shape) array
    y : (k, n_L) array of targets, one-hot for class labels
    sigma : float > 0, standard deviation of the noise on every pre-activation
    K : int >= 1, number of losses for each example and layer
    m : int > 0, divisor of the sum over examples; the number k of examples if not given
    baseline, antithetic, chunk, weigh : as in `proxy`
    rng : numpy.random.Generator; the noise is drawn from the top layer down

    Returns
    -------
    dW, db : lists with dW[l] and db[l] of the shapes of W[l] and b[l]; slot 0 is None

    Raises
    ------
    ValueError : if the batch is empty and m is not given, or if m, sigma, K or the chunk is out of range

    Notes
    -----
    We add noise to the pre-activation of one layer at a time, also of the output layer. If the gradient exists and
    sigma decreases, the mean of the estimate tends to the gradient, with a bias of order sigma^2. The variance grows as
    1 / sigma^2 unless the baseline is subtracted. If the loss has a jump at z, the mean diverges.
    """
    m = len(x) if m is None else m
    require.normaliser(m, rule="ulr", optional=True)
    how: dict = {"baseline": baseline, "antithetic": antithetic, "chunk": chunk, "weigh": weigh, "rng": rng}
    L = net.L
    z, h = forward(net, x)
    dW: list = [None] * (L + 1)
    db: list = [None] * (L + 1)
    for l in range(L, 0, -1):
        dz = proxy(net, l, z, h, y, sigma=sigma, K=K, **how)  # (k, n_l)
        dW[l], db[l] = net.map[l].outer(dz / float(m), net.input(l, h))  # (n_l, n_{l-1}), (n_l,)
    return dW, db


def mechanism(**settings) -> NoReturn:
    """No theorem counts ULR's own noise as protection, so this function raises `NoGuarantee`.

    Source: [dpulr2024:ulr-gap]
    """
    raise NoGuarantee(
        "dpulr2024:eq4", "ulr adds noise only before the loss, and the norm of the released direction has no bound"
    )
