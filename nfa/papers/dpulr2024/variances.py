"""The variance of a clipped likelihood-ratio estimate, and the covariance of an estimate for a quadratic loss."""

import math

import numpy as np
from scipy import stats


def clipped_variance(*, variance: float, d: int, C: float) -> float:
    r"""The variance, in each coordinate, of N(0, s^2 I_d) clipped to l2 norm C: at most C^2 / d for every s^2.

    .. math:: \frac1d \Big( s^2 d \, F_{d+2}(C^2 / s^2) + C^2 (1 - F_d(C^2 / s^2)) \Big)

    Here F_d is the chi-squared distribution function with d degrees of freedom.

    Source: [dpulr2024:alg1.L205] [dpulr2024:thm2] [dpulr2024:noise-redundancy]

    The function raises ValueError if a number is out of range.

    Examples
    --------
    >>> round(clipped_variance(variance=1e9, d=4, C=1.0), 6)
    0.25
    """
    if not 0 < variance < math.inf or not d >= 1 or not 0 < C < math.inf:
        raise ValueError(
            f"the variance, the dimension d and the clipping bound C must be positive and finite, got {variance},"
            f" {d} and {C}"
        )
    inside = stats.chi2.cdf(C**2 / variance, d + 2)
    return float(variance * inside + C**2 * stats.chi2.sf(C**2 / variance, d) / d)


def proxy_covariance(*, loss: float, g: np.ndarray, H: np.ndarray, sigma: float) -> np.ndarray:
    r"""Covariance of zeta L / sigma^2 for a quadratic loss L = l_0 + g zeta + zeta H zeta / 2, corrected and exact.

    .. math:: \frac{\ell_0^2}{\sigma^2} I + 2 \ell_0 H + g g^\top + \mathrm{tr}(\ell_0 H + g g^\top) I
              + \sigma^2 \Big( \frac{(\mathrm{tr} H)^2 + 2 \, \mathrm{tr} H^2}{4} I + \mathrm{tr}(H) H + 2 H^2 \Big)

    Source: [dpulr2024:eq17] [dpulr2024:eq19] [dpulr2024:eq20] [dpulr2024:eq21] [dpulr2024:eq22] [dpulr2024:eq24]
    [dpulr2024:prop3] [dpulr2024:lim-cost]

    Parameters
    ----------
    loss : float l_0, the loss without noise
    g : (d,) array, its gradient
    H : (d, d) symmetric array, its Hessian
    sigma : float > 0

    Notes
    -----
    Equation 23 prints l_0 instead of l_0^2, and omits the last term. For other losses, the formula is the expansion up
    to the order sigma^0. The term in sigma^2 then has further parts.
    """
    g, H = np.asarray(g, float), np.asarray(H, float)
    one, tr = np.eye(len(g)), np.trace
    constant = 2 * loss * H + np.outer(g, g) + tr(loss * H + np.outer(g, g)) * one
    last = (tr(H) ** 2 + 2 * tr(H @ H)) / 4 * one + tr(H) * H + 2 * H @ H
    return loss**2 / sigma**2 * one + constant + sigma**2 * last
