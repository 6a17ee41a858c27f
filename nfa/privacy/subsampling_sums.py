"""Logarithms of sums of positive terms, for the bounds on subsampling."""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy import special

from nfa import require
from nfa.mechanism import NoGuarantee
from nfa.privacy.gaussians import check_noise
from nfa.privacy.rdp import check_orders

Curve = Callable[[np.ndarray], np.ndarray]  # function from orders to nats
ROUNDING = 4 * np.finfo(float).eps  # relative error of each part of an exponent after a few operations


def check_rate(sampling_rate: float) -> None:
    """Raise ValueError unless the sampling rate is in (0, 1]."""
    require.within("(0, 1]", **{"the sampling rate q": sampling_rate})


def curve_at_integers(orders, theorem: str, curve: Curve) -> tuple[np.ndarray, np.ndarray]:
    """The orders as integers, and the curve at the integers from 0 to the largest order. Entries 0 and 1 are 0."""
    orders = check_orders(orders)
    for alpha in orders[orders != np.round(orders)][:1]:
        raise NoGuarantee(
            theorem, f"the theorem covers only integer orders, got the order {alpha:g}: give integer orders"
        )
    orders = orders.astype(int)
    base = np.zeros(orders[-1] + 1)
    base[2:] = curve(np.arange(2, len(base)))
    if np.isnan(base).any() or (base < 0).any():
        raise ValueError("the curve must contain one number >= 0 for every order")
    return orders, base


@lru_cache(maxsize=4096)
def log_binomials(alpha: int) -> np.ndarray:
    """log C(alpha, l) for l = 0 .. alpha, computed from exact integers."""
    row = [1]
    for l in range(alpha):
        row.append(row[-1] * (alpha - l) // (l + 1))
    return np.array([math.log(c) for c in row])


def log_sum_over_batches(orders: np.ndarray, q: float, terms: np.ndarray, base: np.ndarray) -> np.ndarray:
    """log(1 + sum_{l >= 2} C(alpha, l) q^l e^{terms[l]}) / (alpha - 1), rounded up; inf if the curve is infinite."""
    check_rate(q)
    chosen = np.arange(len(terms)) * math.log(q)
    return _over_orders(orders, base, lambda alpha: (log_binomials(alpha), chosen[: alpha + 1], terms[: alpha + 1]))


def log_sum_poisson(orders: np.ndarray, q: float, terms: np.ndarray, base: np.ndarray) -> np.ndarray:
    """log(1 + sum_{l >= 2} C(alpha, l) (1-q)^{alpha-l} q^l e^{terms[l]}) / (alpha - 1), rounded up, also for q = 1."""
    check_rate(q)

    def parts(alpha: int) -> tuple[np.ndarray, ...]:
        l = np.arange(alpha + 1)
        absent = special.xlog1py(alpha - l, -q)  # the result is 0 for l = alpha, also if q = 1
        return log_binomials(alpha), absent, l * math.log(q), terms[: alpha + 1]

    return _over_orders(orders, base, parts)


def _over_orders(orders: np.ndarray, base: np.ndarray, parts: Callable[[int], tuple[np.ndarray, ...]]) -> np.ndarray:
    """log(1 + sum_{l >= 2} e^{sum of the parts at l}) / (alpha - 1), rounded up.

    Parts of size 10^5 can add up to an exponent near 0, whose rounding error is that of the parts. We increase each
    exponent by its largest possible error, so the result remains an upper bound.
    """
    rdp = np.full(len(orders), math.inf)
    for i, alpha in enumerate(orders.tolist()):
        if np.isfinite(base[: alpha + 1]).all():
            found = np.array(parts(alpha))[:, 2:]
            lost = ROUNDING * np.abs(found, where=np.isfinite(found), out=np.zeros_like(found)).sum(axis=0)
            rdp[i] = np.logaddexp(0, _log_sum(found.sum(axis=0) + lost)) / (alpha - 1)
    return rdp


def _log_sum(logs: np.ndarray) -> float:
    """The logarithm of the sum of e^logs. In the loop of `_over_orders`, it is faster than scipy.special.logsumexp."""
    top = float(logs.max())
    return top if math.isinf(top) else top + math.log(np.exp(logs - top).sum())


def log_expm1(x):
    """log(e^x - 1) for x >= 0, -inf at 0."""
    x = np.asarray(x, float)
    with np.errstate(divide="ignore", over="ignore"):
        return np.where(x > 1, x + np.log1p(-np.exp(-np.maximum(x, 1))), np.log(np.expm1(np.minimum(x, 1))))


def log_3_exp_minus_1(x: np.ndarray) -> np.ndarray:
    """log(3 e^x - 1) for x >= 0."""
    return x + np.log(3 - np.exp(-x))


# Distance of the nodes of the trapezoidal rule. For these integrands, the error is of the size e^{-2 pi^2 / STEP^2}.
STEP = 0.1


# Half the width of the window around a mode. At the ends of the window, the integrand is at most e^{-WIDTH^2 / 2} times
# its maximum.
WIDTH = 12.0


def log_moment(j, *, noise_multiplier: float) -> np.ndarray:
    r"""log B(j), the j-th moment about 1 of the likelihood ratio of P = N(1/z, 1) to Q = N(0, 1) under Q.

    .. math:: B(j) = E_Q\Big[\Big(\frac{dP}{dQ} - 1\Big)^j\Big]
              = \sum_{i=0}^j (-1)^{j-i} \binom{j}{i} e^{i(i-1) / 2 z^2}
              = \int (e^{x/z - 1/(2 z^2)} - 1)^j \varphi(x) \, dx

    Source: [wbk2019:thm27]

    Parameters
    ----------
    j : integer >= 2, or an array of such integers
    noise_multiplier : float z > 0

    Returns
    -------
    log_B : array of j's shape

    Raises
    ------
    ValueError : if a j is not an integer >= 2, or if the noise multiplier is not in [1e-6, inf)

    Notes
    -----
    The terms of the alternating sum cancel. In float64, with z = 8.5, its fifth digit is wrong at j = 16, and all its
    digits are wrong at j = 32. So we compute the integral. The integrand has two modes, one on each side of its zero x
    = 1/(2z). On each side, its logarithm is at least as concave as the logarithm of a normal density. So the mass
    outside the windows around the modes is negligible. For even j, the integrals of the two sides are added. For odd j,
    the integral of the left side is subtracted from that of the right side, which loses digits if z is large.

    Examples
    --------
    B(2) = e^{1/z^2} - 1.

    >>> round(float(np.exp(log_moment(2, noise_multiplier=1))) + 1, 9), round(float(np.e), 9)
    (2.718281828, 2.718281828)
    """
    check_noise(noise_multiplier)
    j = np.asarray(j)
    if (j != np.round(j)).any() or (j < 2).any() or noise_multiplier < 1e-6:
        raise ValueError(
            "the order j of a moment must be an integer >= 2, and the noise multiplier must be at least 1e-6, got"
            f" j={j} "
            f"and the noise multiplier {noise_multiplier}"
        )
    rows, z = np.atleast_1d(j).astype(float).reshape(-1, 1), float(noise_multiplier)
    zero = 0.5 / z  # where dP/dQ = 1
    # The mode x on the right satisfies x (1 - e^{-u}) = j/z, and u / (1 + u) < 1 - e^{-u} < 1. So the mode is in this
    # interval.
    mode = _bisect(lambda x: _derivative(x, rows, z), rows / z, zero + np.sqrt(rows))
    right = _log_integral(rows, z, mode, above=True)
    left = _log_integral(
        rows, z, _bisect(lambda x: _derivative(x, rows, z), -np.sqrt(rows), np.sqrt(rows)), above=False
    )
    odd = rows[:, 0] % 2 == 1
    with np.errstate(divide="ignore"):
        total = np.where(odd, right + np.log1p(-np.exp(np.minimum(left - right, 0))), np.logaddexp(right, left))
    return total.reshape(j.shape)


def _log_ratio_gap(x: np.ndarray, z: float) -> np.ndarray:
    """log |e^u - 1| with u = x/z - 1/(2 z^2)."""
    u = (x - 0.5 / z) / z
    with np.errstate(divide="ignore"):
        return np.maximum(u, 0) + np.log(-np.expm1(-np.abs(u)))


def _derivative(x: np.ndarray, j: np.ndarray, z: float) -> np.ndarray:
    """Derivative of the integrand's logarithm, j u' e^u / (e^u - 1) - x. It decreases on each side of the zero."""
    u = (x - 0.5 / z) / z
    with np.errstate(divide="ignore", over="ignore"):
        return -j / z / np.expm1(-u) - x


def _bisect(derivative, low: np.ndarray, width: np.ndarray) -> np.ndarray:
    """The zero of the decreasing derivative between low and low + width, with an error of at most 0.01."""
    high = low + width
    for _ in range(max(1, math.ceil(math.log2(100 * float(width.max()))))):
        middle = (low + high) / 2
        rising = derivative(middle) > 0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    return (low + high) / 2


def _log_integral(j: np.ndarray, z: float, mode: np.ndarray, *, above: bool) -> np.ndarray:
    """log of the trapezoidal sum over the multiples of STEP within WIDTH of the mode, on one side of the zero."""
    k = np.arange(-round(WIDTH / STEP), round(WIDTH / STEP) + 1)
    x = (np.round(mode / STEP) + k) * STEP  # (rows, nodes)
    logs = j * _log_ratio_gap(x, z) - x * x / 2
    logs = np.where((x > 0.5 / z) == above, logs, -np.inf)
    return special.logsumexp(logs, axis=1) + math.log(STEP) - 0.5 * math.log(2 * math.pi)
