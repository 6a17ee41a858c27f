"""Sums over batch compositions in log space, over positive terms: what the bounds on subsampling have in common."""

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy import special

from nfa import require
from nfa.mechanism import NoGuarantee
from nfa.privacy.rdp import check_orders

Curve = Callable[[np.ndarray], np.ndarray]  # orders -> nats
ROUNDING = 4 * np.finfo(float).eps  # relative, of each part of an exponent: a few operations' worth


def check_rate(sampling_rate: float) -> None:
    """Raise ValueError unless the sampling rate is in (0, 1]."""
    require.within("(0, 1]", **{"the sampling rate q": sampling_rate})


def curve_at_integers(orders, theorem: str, curve: Curve) -> tuple[np.ndarray, np.ndarray]:
    """The orders as integers, and the curve at 0 .. the largest, where slots 0 and 1 hold 0."""
    orders = check_orders(orders)
    for alpha in orders[orders != np.round(orders)][:1]:
        raise NoGuarantee(theorem, f"the theorem is for integer orders, got {alpha:g}; give integer orders")
    orders = orders.astype(int)
    base = np.zeros(orders[-1] + 1)
    base[2:] = curve(np.arange(2, len(base)))
    if np.isnan(base).any() or (base < 0).any():
        raise ValueError("the curve must hold one number >= 0 for every order")
    return orders, base


@lru_cache(maxsize=4096)
def log_binomials(alpha: int) -> np.ndarray:
    """log C(alpha, l) for l = 0 .. alpha, from exact integers."""
    row = [1]
    for l in range(alpha):
        row.append(row[-1] * (alpha - l) // (l + 1))
    return np.array([math.log(c) for c in row])


def log_sum_over_batches(orders: np.ndarray, q: float, terms: np.ndarray, base: np.ndarray) -> np.ndarray:
    """log(1 + sum_{l >= 2} C(alpha, l) q^l e^{terms[l]}) / (alpha - 1) an order, rounded up; inf where the curve is."""
    check_rate(q)
    chosen = np.arange(len(terms)) * math.log(q)
    return _over_orders(orders, base, lambda alpha: (log_binomials(alpha), chosen[: alpha + 1], terms[: alpha + 1]))


def log_sum_poisson(orders: np.ndarray, q: float, terms: np.ndarray, base: np.ndarray) -> np.ndarray:
    """log(1 + sum_{l >= 2} C(alpha, l) (1-q)^{alpha-l} q^l e^{terms[l]}) / (alpha - 1), rounded up, also for q = 1."""
    check_rate(q)

    def parts(alpha: int) -> tuple[np.ndarray, ...]:
        l = np.arange(alpha + 1)
        absent = special.xlog1py(alpha - l, -q)  # 0 for l = alpha, also where q = 1
        return log_binomials(alpha), absent, l * math.log(q), terms[: alpha + 1]

    return _over_orders(orders, base, parts)


def _over_orders(orders: np.ndarray, base: np.ndarray, parts: Callable[[int], tuple[np.ndarray, ...]]) -> np.ndarray:
    """log(1 + sum_{l >= 2} e^{sum of the parts at l}) / (alpha - 1), rounded up.

    Parts of 10^5 can add up to an exponent near 0, whose rounding error is then that of the parts: each exponent is
    raised by what it may have lost, so that a bound stays one.
    """
    rdp = np.full(len(orders), math.inf)
    for i, alpha in enumerate(orders.tolist()):
        if np.isfinite(base[: alpha + 1]).all():
            found = np.array(parts(alpha))[:, 2:]
            lost = ROUNDING * np.abs(found, where=np.isfinite(found), out=np.zeros_like(found)).sum(axis=0)
            rdp[i] = np.logaddexp(0, _log_sum(found.sum(axis=0) + lost)) / (alpha - 1)
    return rdp


def _log_sum(logs: np.ndarray) -> float:
    """log of the sum of exponentials; scipy.special.logsumexp, without its overhead in the loop above."""
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
