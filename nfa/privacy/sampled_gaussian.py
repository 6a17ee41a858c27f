"""The Renyi curve of Gaussian noise on Poisson batches at any order, by quadrature with a proved error bound."""

import math

import numpy as np

from nfa.privacy.gaussians import check_noise
from nfa.privacy.rdp import check_orders, expm1_beyond_linear, gaussian
from nfa.privacy.subsampling import poisson_gaussian
from nfa.privacy.subsampling_sums import check_rate

# The largest integer order that we compute by a sum. At this order the sum takes minutes, and at order 4096 it takes
# 0.1 s.
LARGEST_SUM = 10**5
# Largest number of nodes of the quadrature at one order. For larger orders, we use the sums at integers.
MOST_NODES = 2000
BLOCK = 32  # number of orders that use the same nodes


def poisson_gaussian_at_any_order(orders, *, sampling_rate: float, noise_multiplier: float) -> np.ndarray:
    r"""The exact curve for Poisson batches and Gaussian noise under add-remove, at any orders.

    .. math:: \epsilon'(\alpha) = \frac{1}{\alpha - 1} \log (1 + I), \qquad
              I = \int \varphi(x) \big( (1 + u)^\alpha - 1 - \alpha u \big) \, dx, \qquad
              u = q (e^{x/z - 1/(2 z^2)} - 1)

    Source: [mironov2019:sec3.3]

    Parameters
    ----------
    orders : (k,) array of orders > 1, integers or not
    sampling_rate : float q in (0, 1], the probability of each record
    noise_multiplier : float z > 0, noise std / l2 sensitivity of the sum under add-remove or zero-out

    Returns
    -------
    rdp : (k,) array, nats, rounded up; inf at orders that would take too long. These are integers above 10^5, and other
        orders above some hundred times z^2

    Raises
    ------
    ValueError : if the sampling rate, the noise multiplier or an order is out of range

    Notes
    -----
    Section 3.3 of the source has two alternating series for orders that are not integers. If q is small, I is of the
    size of (q / z)^2, and the series lose the digits of I, because they compute 1 + I. We compute I by quadrature
    instead. The integrand is >= 0, because (1 + u)^alpha >= 1 + alpha u, and the mean of u is 0.

    Guarantee: the result is an upper bound. Suppose that the integrand is analytic in the strip of half width a, and
    that M bounds the integral of its modulus on every line in the strip. Then the error of the trapezoidal sum over the
    lattice h Z is at most 2 M / (e^{2 pi a / h} - 1) (Trefethen and Weideman 2014, Theorem 5.1). Here a < pi z, because
    the first zero of 1 + u is at Im x = pi z. We use M = e^{a^2 / 2} (1 + I + 1 + 2 alpha q). Beyond the last node, the
    integrand is below (1 + u)^alpha phi, in which we replace log(1 + u) by the line through its last value with
    derivative 1 / z. Before the first node, it is below alpha q phi.

    Examples
    --------
    The value at the order 2.5 is between the values at the orders 2 and 3.

    >>> poisson_gaussian_at_any_order([2, 2.5, 3], sampling_rate=0.01, noise_multiplier=1.0).round(8).tolist()
    [0.00017181, 0.00021758, 0.00026464]
    """
    check_noise(noise_multiplier)
    check_rate(sampling_rate)
    orders, q, z = check_orders(orders), float(sampling_rate), float(noise_multiplier)
    if q == 1:
        return gaussian(orders, noise_multiplier=z)
    rdp = np.full(len(orders), math.inf)
    whole = (orders == np.round(orders)) & (orders <= LARGEST_SUM)
    if whole.any():
        rdp[whole] = poisson_gaussian(orders[whole], sampling_rate=q, noise_multiplier=z)
    others = np.flatnonzero(~whole)
    if len(others) == 0 or z < 1e-3:
        return rdp
    # e^{-needed} is below the rounding error of I, because I >= q^2 alpha (alpha - 1) / (2 z^2).
    needed = 42 - 2 * math.log(q) + 2 * math.log(max(z, 1)) - math.log(min(orders[others[0]] - 1, 1))
    width = math.sqrt(2 * needed)  # at this distance from its maximum, phi is smaller by the factor e^{-needed}
    a = min(3 * z, width)
    h = 2 * math.pi * a / (needed + a * a / 2)
    others = others[(orders[others] / z + 2 * width) / h <= MOST_NODES]
    for first in range(0, len(others), BLOCK):
        block = others[first : first + BLOCK]
        rdp[block] = _quadrature(orders[block], q, z, h, a, width)
    return rdp


def _quadrature(alpha: np.ndarray, q: float, z: float, h: float, a: float, width: float) -> np.ndarray:
    """log(1 + I) / (alpha - 1), rounded up, for several orders with the nodes of the largest order."""
    x = h * np.arange(-math.ceil(width / h), math.ceil((alpha[-1] / z + width) / h) + 1)
    exponent = (x - 0.5 / z) / z
    with np.errstate(over="ignore", divide="ignore"):
        L = np.where(exponent < 600, np.log1p(q * np.expm1(exponent)), math.log(q) + exponent)  # log(1 + u)
        beta = alpha[:, None] - 1
        # (1 + u)^alpha - 1 - alpha u = e^L (B(beta L) + beta B(-L)) with B(s) = e^s - 1 - s >= 0
        logs = L + np.logaddexp(_log_beyond_linear(beta * L), np.log(beta) + _log_beyond_linear(-L))
    rounding = 8 * np.finfo(float).eps * (alpha[:, None] * (np.abs(x) / z + 0.5 / z**2 + 1) + x * x / 2)
    logs += rounding - x * x / 2
    rows = alpha * L[-1] - x[-1] ** 2 / 2 - math.log(x[-1] - alpha[-1] / z)  # the integral beyond the last node
    top = np.maximum(logs.max(axis=1), rows)
    inside = h * np.exp(logs - top[:, None]).sum(axis=1) + np.exp(rows - top)
    log_inside = top + np.log(inside) - 0.5 * math.log(2 * math.pi)
    before = np.log(alpha * q) - x[0] ** 2 / 2
    log_off = math.log(2) + a * a / 2 - 2 * math.pi * a / h - math.log1p(-math.exp(-2 * math.pi * a / h))
    off = math.exp(log_off)
    log_I = np.logaddexp(np.logaddexp(log_inside, before), log_off + np.log(2 + 2 * alpha * q)) - math.log1p(-off)
    return np.logaddexp(0, log_I + 1e-12) / (alpha - 1) * (1 + 4 * np.finfo(float).eps)


def _log_beyond_linear(s: np.ndarray) -> np.ndarray:
    """log(e^s - 1 - s), also if e^s overflows."""
    far = np.maximum(s, 50.0)
    return np.where(s < 50, np.log(expm1_beyond_linear(np.minimum(s, 50.0))), far + np.log1p(-(1 + far) * np.exp(-far)))
