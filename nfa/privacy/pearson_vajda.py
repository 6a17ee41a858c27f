"""Moments of the likelihood ratio of two Gaussians about 1, as positive integrals, so that nothing cancels."""

import math

import numpy as np
from scipy import special

from nfa.privacy.gaussians import check_noise

STEP = 0.1  # of the trapezoidal rule, whose error for these integrands falls like e^{-2 pi^2 / STEP^2}
WIDTH = 12.0  # half the window around a mode; at its ends the integrand has fallen by e^{-WIDTH^2 / 2} or more


def log_moment(j, *, noise_multiplier: float) -> np.ndarray:
    r"""log B(j), the j-th moment about 1 of the likelihood ratio of P = N(1/z, 1) to Q = N(0, 1) under Q.

    .. math:: B(j) = E_Q\Big[\Big(\frac{dP}{dQ} - 1\Big)^j\Big]
              = \sum_{i=0}^j (-1)^{j-i} \binom{j}{i} e^{i(i-1) / 2 z^2}
              = \int (e^{x/z - 1/(2 z^2)} - 1)^j \varphi(x) \, dx

    Source: [wbk2019:thm27]

    Parameters
    ----------
    j : integer >= 2, or an array of them
    noise_multiplier : float z > 0

    Returns
    -------
    log_B : array of j's shape

    Raises
    ------
    ValueError : if a j is not an integer >= 2, or the noise multiplier not in [1e-6, inf)

    Notes
    -----
    The alternating sum cancels: in float64 it is wrong in the fifth digit at j = 16, z = 8.5 and in all digits at
    j = 32. The integrand has two modes, one on each side of its zero x = 1/(2z), and on each side its logarithm curves
    at least as much as that of a normal density: windows around the modes hold everything. For even j both sides are
    positive. For odd j they are subtracted, which loses digits where z is large.

    Examples
    --------
    B(2) = e^{1/z^2} - 1.

    >>> round(float(np.exp(log_moment(2, noise_multiplier=1))) + 1, 9), round(float(np.e), 9)
    (2.718281828, 2.718281828)
    """
    check_noise(noise_multiplier)
    j = np.asarray(j)
    if (j != np.round(j)).any() or (j < 2).any() or noise_multiplier < 1e-6:
        raise ValueError(f"moments are for integers j >= 2 and noise multipliers >= 1e-6, got {j}, {noise_multiplier}")
    rows, z = np.atleast_1d(j).astype(float).reshape(-1, 1), float(noise_multiplier)
    zero = 0.5 / z  # where dP/dQ = 1
    # The mode x on the right has x (1 - e^{-u}) = j/z, and u / (1 + u) < 1 - e^{-u} < 1: so it is in this bracket.
    mode = _bisect(lambda x: _slope(x, rows, z), rows / z, zero + np.sqrt(rows))
    right = _log_integral(rows, z, mode, above=True)
    left = _log_integral(rows, z, _bisect(lambda x: _slope(x, rows, z), -np.sqrt(rows), np.sqrt(rows)), above=False)
    odd = rows[:, 0] % 2 == 1
    with np.errstate(divide="ignore"):
        total = np.where(odd, right + np.log1p(-np.exp(np.minimum(left - right, 0))), np.logaddexp(right, left))
    return total.reshape(j.shape)


def _log_ratio_gap(x: np.ndarray, z: float) -> np.ndarray:
    """log |e^u - 1| with u = x/z - 1/(2 z^2)."""
    u = (x - 0.5 / z) / z
    with np.errstate(divide="ignore"):
        return np.maximum(u, 0) + np.log(-np.expm1(-np.abs(u)))


def _slope(x: np.ndarray, j: np.ndarray, z: float) -> np.ndarray:
    """Derivative of the integrand's logarithm, j u' e^u / (e^u - 1) - x; it falls on each side of the zero."""
    u = (x - 0.5 / z) / z
    with np.errstate(divide="ignore", over="ignore"):
        return -j / z / np.expm1(-u) - x


def _bisect(slope, low: np.ndarray, width: np.ndarray) -> np.ndarray:
    """Where the falling slope is 0 between low and low + width, to a hundredth."""
    high = low + width
    for _ in range(max(1, math.ceil(math.log2(100 * float(width.max()))))):
        middle = (low + high) / 2
        rising = slope(middle) > 0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    return (low + high) / 2


def _log_integral(j: np.ndarray, z: float, mode: np.ndarray, *, above: bool) -> np.ndarray:
    """log of the trapezoidal sum over the lattice of STEP within WIDTH of the mode and on its side of the zero."""
    k = np.arange(-round(WIDTH / STEP), round(WIDTH / STEP) + 1)
    x = (np.round(mode / STEP) + k) * STEP  # (rows, nodes)
    logs = j * _log_ratio_gap(x, z) - x * x / 2
    logs = np.where((x > 0.5 / z) == above, logs, -np.inf)
    return special.logsumexp(logs, axis=1) + math.log(STEP) - 0.5 * math.log(2 * math.pi)
