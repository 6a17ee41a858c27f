"""Exact Renyi divergences of mixtures of Gaussians: for one step of SGD with a random record, or a whole small pass."""

from collections.abc import Sequence
from itertools import permutations
from math import exp, log, pi

import numpy as np
from scipy import special

from nfa import require
from nfa.privacy.divergences import LogDensity, check_order, renyi_density
from nfa.privacy.subsampling import poisson_gaussian

Mixture = tuple[Sequence[float], Sequence[float]]  # (weights, centres)


def mixture_renyi(p: Mixture, q: Mixture, *, sigma: float, alpha: float) -> float:
    r"""Renyi divergence of two mixtures of Gaussians on the line with equal variances, by quadrature, in nats.

    .. math:: D_\alpha\Big( \sum_k p_k N(g_k, \sigma^2) \,\Big\|\, \sum_k q_k N(g'_k, \sigma^2) \Big)

    Source: [berthier2019:sec4.4.2-belief]

    Parameters
    ----------
    p, q : pairs (weights, centres), weights >= 0 that add up to 1
    sigma : float > 0
    alpha : float > 1

    Returns
    -------
    divergence : float >= 0, with an error of about 1e-8

    Raises
    ------
    ValueError : if weights or a number are out of range, or if the quadrature does not converge

    Examples
    --------
    At alpha = 2, a half-half mixture of N(0, 1) and N(m, 1) has the divergence log(1 + (e^{m^2} - 1) / 4) from N(0, 1).

    >>> d = mixture_renyi(([0.5, 0.5], [0.0, 1.0]), ([1.0], [0.0]), sigma=1.0, alpha=2)
    >>> bool(np.isclose(d, np.log(1 + (np.e - 1) / 4), rtol=1e-9))
    True
    """
    require.positive(sigma=sigma)
    return renyi_density(_log_density(p, sigma), _log_density(q, sigma), alpha=alpha)


def _log_density(mixture: Mixture, sigma: float) -> LogDensity:
    weights, centres = (np.asarray(part, float) for part in mixture)
    if not (weights.shape == centres.shape and (weights >= 0).all() and abs(weights.sum() - 1) <= 1e-9):
        raise ValueError("a mixture must have one weight for each centre, and the weights must be >= 0 and add up to 1")
    scale = log(2 * pi * sigma**2) / 2
    parts = [(log(w) - scale, g) for w, g in zip(weights.tolist(), centres.tolist(), strict=True) if w > 0]

    def log_density(theta: float) -> float:
        logs = [shift - (theta - g) ** 2 / (2 * sigma**2) for shift, g in parts]
        top = max(logs)
        return top + log(sum(exp(value - top) for value in logs))

    return log_density


def worst_pair(orders, *, c: float, x: float) -> np.ndarray:
    r"""The exact divergence of one step at the worst centres that we know, if the replaced record has the weight c.

    .. math:: D_\alpha((1 - c) N(-L, \sigma^2) + c N(L, \sigma^2) \| N(-L, \sigma^2)), \qquad x = 4 L^2 / \sigma^2

    Source: [berthier2019:conj1]

    Parameters
    ----------
    orders : (k,) array of integers >= 2
    c : float in (0, 1], weight of the record that is replaced
    x : float > 0

    Returns
    -------
    rdp : (k,) array, nats

    Raises
    ------
    ValueError : if a number is out of range
    NoGuarantee : if an order is not an integer

    Notes
    -----
    SGD with replacement attains this value with c = 1 / n, so every bound for a step is at least this value. We have no
    proof that these centres are the worst. Searches at the orders 2, 4, 8 and 16 found no worse centres.

    Examples
    --------
    At alpha = 2 the divergence is log(1 + c^2 (e^x - 1)).

    >>> round(float(np.exp(worst_pair([2], c=0.5, x=np.log(5)))[0]), 12)
    2.0
    """
    require.positive_or_infinite(x=x)
    return poisson_gaussian(orders, sampling_rate=c, noise_multiplier=x**-0.5)


def pass_renyi(gradients: Sequence[float], replaced: float, *, k: int, sigma: float, alpha: float) -> float:
    r"""Renyi divergence, in nats, between all iterates of a pass on D and on D', for k steps and constant gradients.

    .. math:: D_\alpha\Big( \frac{1}{|S|} \sum_{s \in S} \prod_{j=1}^k N(g_{s_j}, \sigma^2) \,\Big\|\,
              \frac{1}{|S|} \sum_{s \in S} \prod_{j=1}^k N(g'_{s_j}, \sigma^2) \Big)

    S is the set of sequences of k different records. For linear losses, the noisy gradients reveal as much as the
    iterates.

    Source: [berthier2019:conj1]

    Parameters
    ----------
    gradients : n numbers, the gradients under D
    replaced : the gradient of record 0 under D'
    k : int in 1 .. min(n, 3), steps
    sigma : float > 0, std of the noise on a gradient
    alpha : float > 1

    Returns
    -------
    divergence : float >= 0, with an error of about 1e-9, by the trapezoidal rule, which converges exponentially here

    Raises
    ------
    ValueError : if a number is out of range

    Examples
    --------
    One step on one of two records, at sigma = 2, has the divergence log(1 + (e - 1) / 4).

    >>> d = pass_renyi([1.0, -1.0], -1.0, k=1, sigma=2.0, alpha=2)
    >>> bool(np.isclose(d, np.log(1 + (np.e - 1) / 4), rtol=1e-9))
    True
    """
    check_order(alpha)
    n = len(gradients)
    if not 1 <= k <= min(n, 3):
        raise ValueError(f"the number k of steps must be between 1 and {min(n, 3)}, got {k}")
    require.positive(sigma=sigma)
    worlds = np.array([gradients, [replaced, *gradients[1:]]], float)
    middle, G = (worlds.max() + worlds.min()) / 2, max((worlds.max() - worlds.min()) / 2, 1e-9 * sigma)
    # The densities have zeros at the distance pi sigma^2 / (2 G) from the real axis, so the error with the grid spacing
    # h is near e^-59.
    h = min(sigma / 3, sigma**2 / (6 * G))
    reach = (2 * alpha - 1) * G + 9 * sigma
    grid = middle + h * np.arange(-int(reach / h) - 1, int(reach / h) + 2)
    if len(grid) ** k > 2_000_000:
        raise ValueError(f"the grid would have {len(grid)}^{k} points: take fewer steps, a smaller order or more noise")
    log_p, log_q = (_log_pass(-((grid - w[:, None]) ** 2) / (2 * sigma**2), k) for w in worlds)
    total = float(special.logsumexp(alpha * log_p + (1 - alpha) * log_q))
    return max(0.0, (total + k * log(h / (sigma * (2 * pi) ** 0.5))) / (alpha - 1))


def _log_pass(logs: np.ndarray, k: int) -> np.ndarray:
    """Log of the mean over the sequences of k records of the products of their densities, on the k-dimensional grid."""
    sequences = list(permutations(range(len(logs)), k))
    mixed = np.full((logs.shape[1],) * k, -np.inf)
    for sequence in sequences:
        product = sum(
            logs[record].reshape([-1 if i == j else 1 for i in range(k)]) for j, record in enumerate(sequence)
        )
        mixed = np.logaddexp(mixed, product)
    return mixed - log(len(sequences))
