"""DP-ULR as printed: likelihood-ratio estimates, clipped by layer. Their own noise is intended as the privacy noise.

This is Algorithm 1 of "Forward Learning with Differential Privacy". Kept for study. It has no guarantee; use
`nfa.rules.dp_ulr_sound`. Batches come from `nfa.sampling.PoissonRejection`.
"""

import math
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from nfa import require
from nfa.clip import clip_factor, scale_rows
from nfa.mechanism import NoGuarantee
from nfa.network import Net, forward
from nfa.network.dense import Dense
from nfa.rules.ulr import CHUNK, check_repeats, proxy, proxy_and_power
from nfa.rules.ulr import weigh as numpy_weigh

REMEDIES = ("none", "parameters", "eigenvectors")


def dp_ulr(
    net: Net,
    x: np.ndarray,
    y: np.ndarray,
    *,
    sigma_0: float,
    C: float,
    K: int,
    N_B: int,
    remedy: str = "none",
    sigma: float | None = None,
    chunk: int = CHUNK,
    weigh: Callable = numpy_weigh,
    rng: np.random.Generator,
    state: dict[str, Any] | None = None,
) -> tuple[list, list]:
    r"""The direction of Algorithm 1 for every layer. The training loop subtracts ``eta`` times the direction.

    .. math:: \sigma_l^2 = \frac{\lambda_{\min}\big(\sum_i \ell_i^2 \, [h_i; 1][h_i; 1]^\top\big)}{K C^2 \sigma_0^2},
              \qquad dW^l = \frac{1}{N_B} \sum_i \mathrm{clip}_C\big(\widehat{\delta z}_i^l (h_i^{l-1})^\top\big)

    Source: [dpulr2024:alg1.L191-193] [dpulr2024:eq8] [dpulr2024:alg1.L198] [dpulr2024:alg1.L205] [dpulr2024:alg1.L208]
    [dpulr2024:virtual-linear] [dpulr2024:extra-noise] [dpulr2024:A5-claims]

    Parameters
    ----------
    net : Net; its activations need no derivative
    x : (k, *in_shape) array, k >= 1
    y : (k, n_L) array of targets, one-hot for class labels
    sigma_0 : float > 0, target standard deviation of the estimate's noise, in units of C
    C : float > 0, l2 bound on each example's estimate of one layer's weights and biases
    K : int >= 1, number of losses for each example and layer
    N_B : int >= 1, divisor of the sum over examples and least size of a batch
    remedy : action if the controller's matrix is singular: "none", raise an error; "parameters", noise on the
        parameters instead of the pre-activations, so that the Jacobian is the identity; "eigenvectors", extra noise on
        the sum of the estimates
    sigma : float > 0, only for "eigenvectors": standard deviation of the noise on pre-activations, which no equation
        determines
    chunk, weigh : as in `nfa.rules.ulr.proxy`
    rng : numpy.random.Generator; the noise is drawn from the top layer down
    state : dict. Its entry "sigma" gets the list of the layers' noise. Its entry "clipped" gets the share of examples
        that each clip scales down

    Returns
    -------
    dW, db : lists with dW[l] and db[l] of the shapes of W[l] and b[l]; slot 0 is None

    Raises
    ------
    ValueError : if a number or the remedy is out of range, or if a batch is empty. ValueError also if Equation 8 gives
        no noise, because a layer's matrix is singular, or because the losses are all 0 or not all finite

    Notes
    -----
    We interpret the paper as follows. The output of a module is the pre-activation. So the Jacobian of this output with
    respect to W and b is [h; 1] for every output unit. The controller's matrix, in Equation 8, is the matrix of one
    output unit. For a layer without biases, h replaces [h; 1] everywhere. Equation 8 holds with equality. C is the
    bound of each layer. The sum is divided by N_B, as in line 208, although a batch is larger on average.
    "eigenvectors" uses the covariance before the clip, as the appendix does. If the formula gives a negative variance,
    we use 0.
    """
    _check(sigma_0=sigma_0, C=C, K=K, N_B=N_B, remedy=remedy, sigma=sigma)
    if len(x) == 0:
        raise ValueError("dp_ulr needs a batch of at least one example, because dp_ulr draws noise for each example")
    L = net.L
    z, h = forward(net, x)
    # Equation 8 uses the losses of the batch, so the size of the noise reveals information about them. No theorem
    # covers this.
    loss = net.loss.value(z[L], y)  # without noise   (k,)
    if not np.isfinite(loss).all():
        raise ValueError(f"the loss of example {int(np.flatnonzero(~np.isfinite(loss))[0])} of the batch is not finite")
    if not loss.any():
        raise ValueError("Equation 8 needs a loss that is not 0, but every loss of the batch is 0")
    dW: list = [None] * (L + 1)
    db: list = [None] * (L + 1)
    sigmas: list = [None] * (L + 1)
    clipped: list = [None] * (L + 1)
    for l in range(L, 0, -1):
        h_in = net.input(l, h)  # (k, n_{l-1})
        if remedy == "parameters":
            sigmas[l] = math.sqrt(np.square(loss, dtype=float).sum() / K) / (C * sigma_0)  # J = I
            dW[l], db[l], norm = _parameter_noise(net, l, z, h, y, sigmas[l], C, K, chunk, weigh, rng)
        else:
            sigmas[l] = sigma if remedy == "eigenvectors" else controller(net, l, h_in, loss, K=K, C=C, sigma_0=sigma_0)
            dz = proxy(net, l, z, h, y, sigma=sigmas[l], K=K, chunk=chunk, weigh=weigh, rng=rng)  # (k, n_l)
            # We clip each layer separately, with W and b as one vector. So the norm over all layers can be sqrt(L) C.
            norm = np.sqrt(sum(net.map[l].norms2(dz, h_in)))  # ||g_i^l||   (k,)
            dW[l], db[l] = net.map[l].outer(scale_rows(dz, clip_factor(norm, C)), h_in)  # (n_l, n_{l-1}), (n_l,)
        if remedy == "eigenvectors":
            # The estimate is a mean of K samples. Along [h; 1], its variance is (loss / sigma)^2 / K.
            extra_W, extra_b = _extra_noise(net, l, h_in, loss / (sigmas[l] * math.sqrt(K)), sigma_0 * C, rng)
            dW[l], db[l] = dW[l] + extra_W, db[l] + extra_b
        # We divide by the smallest size of a batch (line 208), and not by the size of this batch.
        dW[l], db[l] = dW[l] / float(N_B), db[l] / float(N_B)
        clipped[l] = float(np.mean(norm > C))
    if state is not None:
        state["sigma"], state["clipped"] = sigmas[1:], clipped[1:]
    return dW, db


def controller(net: Net, l: int, h_in: np.ndarray, loss: np.ndarray, *, K: int, C: float, sigma_0: float) -> float:
    """The standard deviation from Equation 8, with equality, for layer l and this batch.

    Source: [dpulr2024:eq8] [dpulr2024:asm1] [dpulr2024:L256] [dpulr2024:eq26] [dpulr2024:rayleigh] [dpulr2024:eq27]
    [dpulr2024:rank-claim] [dpulr2024:noise-redundancy] [dpulr2024:L258] [dpulr2024:C1-reasons] [dpulr2024:B-premise]

    Parameters
    ----------
    h_in : (k, ...) array, the input of layer l
    loss : (k,) array, losses without noise

    Raises
    ------
    ValueError : if the matrix is singular, for example if the batch has fewer positions than a unit has weights
    """
    rows = _rows(net, l, h_in, loss)  # (k P, n_{l-1} + 1), or n_{l-1} columns without biases
    if len(rows) >= rows.shape[1]:
        # We take the smallest eigenvalue, because the noise must be large enough in every direction.
        smallest, largest = np.linalg.eigvalsh(rows.T @ rows)[[0, -1]]
        if smallest > 1e-12 * largest:
            # The variance of the estimate is proportional to 1 / sigma^2. A smaller sigma gives more noise, so Equation
            # 8 bounds sigma from above.
            return math.sqrt(smallest / K) / (C * sigma_0)
    raise ValueError(
        f"Equation 8 gives no noise for layer {l}, because the controller's matrix of this layer has order "
        f"{rows.shape[1]}, but rank {np.linalg.matrix_rank(rows)} on this batch: set remedy to 'parameters' or "
        "'eigenvectors'"
    )


def _rows(net: Net, l: int, h_in: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The rows weight_i [h_i; 1] at every position, in float64. They give the controller's Gram matrix.

    The entry for 1 exists only if the layer has biases.
    """
    seen = net.map[l].patches(h_in).astype(float)  # (k, P, n_{l-1})
    ones = np.ones((*seen.shape[:2], min(1, net.map[l].n_bias)))  # (k, P, 1) or (k, P, 0)
    seen = np.concatenate([seen, ones], axis=2) * weight[:, None, None]
    return seen.reshape(-1, seen.shape[2])


def _apart(net: Net, l: int, g: np.ndarray) -> tuple:
    """Split a matrix with a row for each output unit, and the columns of `_rows`, into the parts for W[l] and b[l]."""
    shape = net.map[l].shape_W
    width = math.prod(shape[1:])
    return g[:, :width].reshape(shape), g[:, width:].ravel()  # (n_l, n_{l-1}), (n_l,) or (0,)


def _extra_noise(net: Net, l: int, h_in: np.ndarray, weight: np.ndarray, target: float, rng) -> tuple:
    r"""Extra noise of variance max(0, target^2 - lambda_v) in direction v. The variance of the estimate is lambda_v.

    We compute the eigenvectors with lambda > 0 from the Gram matrix of the rows or of the columns, whichever is
    smaller. In every direction orthogonal to these eigenvectors, the variance of the noise is target^2.
    """
    rows = _rows(net, l, h_in, weight)
    if len(rows) < rows.shape[1]:
        own, U = np.linalg.eigh(rows @ rows.T)
        live = own > 1e-12 * own[-1]
        own, V = own[live], rows.T @ U[:, live] / np.sqrt(own[live])  # (n, r), n the columns of the rows
    else:
        own, V = np.linalg.eigh(rows.T @ rows)
    xi = rng.standard_normal((net.map[l].shape_W[0], rows.shape[1]))  # one row for each output unit
    # target xi has variance target^2 in every direction. The second term reduces it along each eigenvector.
    noise = target * xi + (xi @ V) * (np.sqrt(np.maximum(0, target**2 - own)) - target) @ V.T
    return _apart(net, l, noise.astype(net.W[l].dtype))


def _parameter_noise(net, l, z, h, y, sigma, C, K, chunk, weigh, rng) -> tuple:
    """A sample of the clipped sum for noise on W[l] and b[l]. It has the exact law without drawing K sets of weights.

    The noise changes the loss only through z, and its effect on z is normal with variance sigma^2 ||[h; 1]||^2. So
    along [h; 1], the estimate is the proxy with noise of this variance on z. Orthogonal to [h; 1], the estimate is a
    sum of normals with the losses as weights. If a layer has no biases and its input is 0, the noise does not change
    the loss. Then every direction counts as orthogonal.
    """
    if not isinstance(net.map[l], Dense):
        raise ValueError(f'remedy "parameters" needs dense layers, but layer {l} is not dense')
    seen = _rows(net, l, net.input(l, h), np.ones(len(z[l]))).astype(z[l].dtype)  # [h; 1]   (k, n_{l-1} + 1)
    norm = np.sqrt(np.square(seen).sum(axis=1, keepdims=True))  # (k, 1)
    blind = norm[:, 0] == 0
    # The value 1 avoids a division by 0. The value 1 has no effect, because the part along [h; 1] is 0.
    norm[blind] = 1
    how: dict = {"baseline": False, "antithetic": False, "chunk": chunk, "weigh": weigh, "rng": rng}
    dz, power = proxy_and_power(net, l, z, h, y, sigma=sigma * norm, K=K, **how)
    power[blind] = K * np.square(net.loss.value(z[net.L], y)[blind])
    total, norms = np.zeros((dz.shape[1], seen.shape[1]), dz.dtype), np.empty(len(dz), dz.dtype)
    for i, (dz_i, seen_i, norm_i) in enumerate(zip(dz, seen, norm, strict=True)):
        across = rng.standard_normal(total.shape, dz.dtype)
        # We remove the part along [h; 1], because the term with dz_i already contains it.
        across -= np.outer(across @ seen_i, seen_i) / norm_i**2
        # Orthogonal to [h; 1], the estimate is a sum of independent normals times L_k. Its variance is sum L_k^2 =
        # power.
        g = np.outer(dz_i, seen_i) + math.sqrt(power[i]) / (K * sigma) * across
        norms[i] = np.linalg.norm(g)
        total += g * clip_factor(norms[i : i + 1], C)
    return *_apart(net, l, total), norms


def _check(*, sigma_0, C, K, N_B, remedy, sigma) -> None:
    require.positive(sigma_0=sigma_0, **{"the clipping bound C": C})
    check_repeats(K)
    require.at_least(1, **{"the smallest batch size N_B": N_B})
    require.one_of(REMEDIES, remedy=remedy)
    if (remedy == "eigenvectors") != (sigma is not None):
        raise ValueError(
            'remedy "eigenvectors" needs sigma. With any other remedy, leave sigma out, because the controller '
            "sets sigma"
        )


def mechanism(**settings) -> NoReturn:
    """Theorem 2 does not hold for Algorithm 1: raises `NoGuarantee`.

    Source: [dpulr2024:alg1.L209]
    """
    raise NoGuarantee(
        "dpulr2024:thm2",
        "the controller bounds the noise before the clip and reads the batch, so no theorem covers the released"
        " direction",
    )
