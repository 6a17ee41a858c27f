"""Hockey-stick divergences, total variation and Renyi divergences of two laws, computed from their definitions.

The module has functions for discrete laws and, by quadrature, for densities on the real line. It has no function for
the total variation of densities. `nfa.privacy.gaussians` has closed forms for Gaussian laws. Renyi divergences are in
nats. A hockey-stick divergence of neighbours is the delta of (epsilon, delta)-differential privacy.
"""

import itertools
import math
from collections.abc import Callable

import numpy as np
from scipy import integrate, optimize, special

from nfa import require

LogDensity = Callable[[float], float]


def hockey_stick(p: np.ndarray, q: np.ndarray, *, epsilon: float) -> float:
    r"""Hockey-stick divergence of two discrete laws: the smallest delta with P(E) <= e^epsilon Q(E) + delta for all E.

    .. math:: H_{e^\epsilon}(P \| Q) = \sum_k (p_k - e^\epsilon q_k)_+

    Source: [lee2020:def1] [ohana2021:def2.2] [berthier2019:def2.1] [dpulr2024:def1] [ohana2021:dp-impossible]
    [berthier2019:rem-unlikely] [berthier2019:rem-dirac]

    Parameters
    ----------
    p, q : (k,) arrays of probabilities over the same k outcomes
    epsilon : float >= 0

    Returns
    -------
    delta : float in [0, 1]

    Raises
    ------
    ValueError : if p or q is not a law, or epsilon is negative

    Examples
    --------
    >>> hockey_stick(np.array([0.75, 0.25]), np.array([0.25, 0.75]), epsilon=np.log(2))
    0.25
    """
    p, q = _laws(p, q)
    require.at_least(0, epsilon=epsilon)
    with np.errstate(over="ignore"):
        # 0 if q is 0, also if e^epsilon is infinite.
        scaled = np.multiply(np.exp(epsilon), q, where=q > 0, out=np.zeros_like(q))
    return float(np.clip(np.maximum(p - scaled, 0).sum(), 0, 1))


def hockey_stick_density(
    log_p: LogDensity, log_q: LogDensity, *, epsilon: float, lower: float = -math.inf, upper: float = math.inf
) -> float:
    """Hockey-stick divergence of two densities on [lower, upper], by quadrature of (p - e^epsilon q)_+.

    Source: [lee2020:def1] [ohana2021:def2.2] [dpulr2024:def1]

    Parameters
    ----------
    log_p, log_q : functions x -> log density, -inf where the density is 0
    epsilon : float >= 0
    lower, upper : floats, the range of the densities

    Returns
    -------
    delta : float in [0, 1], with an absolute error of about 1e-10

    Raises
    ------
    ValueError : if epsilon is negative or the quadrature does not converge

    Examples
    --------
    >>> round(hockey_stick_density(lambda x: -abs(x - 1) - np.log(2), lambda x: -abs(x) - np.log(2), epsilon=0.5), 6)
    0.221199
    """
    require.at_least(0, epsilon=epsilon)

    def excess(x: float) -> float:
        a, b = log_p(x), log_q(x) + epsilon
        return math.exp(a) * -math.expm1(b - a) if a > b else 0.0

    def side(x: float) -> float:
        a, b = log_p(x), log_q(x) + epsilon
        return max(-1.0, min(1.0, a - b)) if a > -math.inf else -1.0

    probes = _probes(lower, upper)
    signs = np.sign([side(x) for x in probes])
    crossings = [
        optimize.brentq(side, *probes[i : i + 2], xtol=1e-14, rtol=1e-14)
        for i in np.flatnonzero(signs[1:] * signs[:-1] < 0)
    ]  # the integrand has a kink where the excess changes its sign
    return min(1.0, _integral(excess, lower, upper, kinks=crossings))


def total_variation(p: np.ndarray, q: np.ndarray) -> float:
    r"""Total variation of two discrete laws, half the l1 distance. It is the hockey-stick divergence at epsilon = 0.

    Source: [berthier2019:def-tv]

    Parameters
    ----------
    p, q : (k,) arrays of probabilities over the same k outcomes

    Returns
    -------
    tv : float in [0, 1]

    Examples
    --------
    >>> total_variation(np.array([0.75, 0.25]), np.array([0.25, 0.75]))
    0.5
    """
    p, q = _laws(p, q)
    return float(0.5 * np.abs(p - q).sum())


def renyi(p: np.ndarray, q: np.ndarray, *, alpha: float) -> float:
    r"""Renyi divergence of two discrete laws, in nats.

    .. math:: D_\alpha(P \| Q) = \frac{1}{\alpha - 1} \log \sum_k p_k^\alpha q_k^{1 - \alpha}

    Source: [lee2020:def2] [ohana2021:def2.3] [berthier2019:def2.2] [dpulr2024:def2] [berthier2019:rem-subsampling]
    [berthier2019:rdp-between]

    Parameters
    ----------
    p, q : (k,) arrays of probabilities over the same k outcomes
    alpha : float > 1; inf gives the largest log ratio

    Returns
    -------
    divergence : float >= 0; inf if P has mass where Q has none

    Raises
    ------
    ValueError : if p or q is not a law, or alpha is at most 1

    Examples
    --------
    The sum is 0.75^2 / 0.25 + 0.25^2 / 0.75 = 7/3.

    >>> round(float(np.exp(renyi(np.array([0.75, 0.25]), np.array([0.25, 0.75]), alpha=2))), 6)
    2.333333
    """
    check_order(alpha)
    p, q = _laws(p, q)
    p, q = p[p > 0], q[p > 0]
    if (q == 0).any():
        return math.inf
    ratio = np.log(p) - np.log(q)
    if alpha == math.inf:
        return float(max(ratio.max(), 0))
    log_sum = special.logsumexp(np.log(q) + alpha * ratio)
    return max(0.0, float(log_sum) / (alpha - 1))


def renyi_density(
    log_p: LogDensity, log_q: LogDensity, *, alpha: float, lower: float = -math.inf, upper: float = math.inf
) -> float:
    r"""Renyi divergence of two densities on [lower, upper], in nats, by quadrature.

    .. math:: D_\alpha(P \| Q) = \frac{1}{\alpha - 1} \log \int p^\alpha q^{1 - \alpha}

    Source: [lee2020:def2] [ohana2021:def2.3] [berthier2019:def2.2] [lee2020:rw-moments] [ohana2021:rw-moments]

    Parameters
    ----------
    log_p, log_q : functions x -> log density, -inf where the density is 0
    alpha : float > 1
    lower, upper : floats, the range of the densities

    Returns
    -------
    divergence : float >= 0; inf if P has mass where Q has none, or if the integrand does not decrease towards an end

    Raises
    ------
    ValueError : if alpha is at most 1 or infinite, or the quadrature does not converge

    Notes
    -----
    In an infinite range, the integrand is evaluated up to |x| = 2^40. Give finite bounds if the densities are far from
    0.

    Examples
    --------
    >>> def log_normal(mean):
    ...     return lambda x: -((x - mean) ** 2) / 2 - np.log(2 * np.pi) / 2
    >>> round(renyi_density(log_normal(1.0), log_normal(0.0), alpha=2), 9)
    1.0
    """
    check_order(alpha, finite_for="quadrature")

    def exponent(x: float) -> float:
        a, b = log_p(x), log_q(x)
        if a == -math.inf:
            return -math.inf
        return math.inf if b == -math.inf else float(b + alpha * (a - b))

    probes = _probes(lower, upper)
    values = np.array([exponent(x) for x in probes])
    if np.isnan(values).any():
        raise ValueError("a log density must not be NaN within the range of the distribution")
    if math.inf in values:
        return math.inf
    # Far from 0, the exponent is a small difference of huge numbers. So we test the ends of the range only at points at
    # which the rounding errors are negligible.
    sizes = np.array(
        [abs(log_p(x)) + abs(log_q(x)) if v > -math.inf else 0.0 for x, v in zip(probes, values, strict=True)]
    )
    clear = values[1e-15 * alpha * sizes < 0.1]
    top = clear.max()
    if (lower == -math.inf and clear[0] > top - 1) or (upper == math.inf and clear[-1] > top - 1):
        return math.inf
    peak = float(probes[np.flatnonzero(values == top)[0]])
    inside = _integral(lambda x: math.exp(min(exponent(x) - top, 700.0)), lower, upper, peak)
    return max(0.0, (float(top) + math.log(inside)) / (alpha - 1))


def check_order(alpha: float, *, finite_for: str | None = None) -> None:
    """Raise ValueError unless alpha > 1. If ``finite_for`` names a method, alpha must also be finite."""
    if not alpha > 1:
        raise ValueError(f"the order alpha must be greater than 1, got {alpha}")
    if finite_for is not None and alpha == math.inf:
        raise ValueError(f"{finite_for} needs a finite order alpha, got inf")


def check_laws(**laws: np.ndarray) -> None:
    """Raise ValueError unless each array contains probabilities, which are >= 0 and add up to 1."""
    for name, law in laws.items():
        if not ((law >= 0).all() and abs(law.sum() - 1) <= 1e-9):
            raise ValueError(f"{name} must hold probabilities that add up to 1, got the sum {law.sum()}")


def _laws(p, q) -> tuple[np.ndarray, np.ndarray]:
    p, q = np.asarray(p, float), np.asarray(q, float)
    if p.ndim != 1 or p.shape != q.shape:
        raise ValueError(f"p and q must be one-dimensional and of the same length, got shapes {p.shape} and {q.shape}")
    check_laws(p=p, q=q)
    return p / p.sum(), q / q.sum()


def _probes(lower: float, upper: float) -> np.ndarray:
    """Points over the whole range: a geometric grid on each side of 0, and an even grid if the range is finite."""
    doubling = np.concatenate([-(2.0 ** np.arange(40, -11, -0.25)), [0.0], 2.0 ** np.arange(-10, 40.25, 0.25)])
    points = doubling[(doubling > lower) & (doubling < upper)]
    if math.isfinite(lower) and math.isfinite(upper):
        points = np.sort(np.concatenate([points, np.linspace(lower, upper, 402)[1:-1]]))
    return points


def _integral(f: Callable[[float], float], lower: float, upper: float, peak: float = 0.0, kinks=()) -> float:
    """Adaptive quadrature over pieces around the peak and the kinks. Raises ValueError if it does not converge."""
    around = np.concatenate([-(4.0 ** np.arange(5, -4, -1)), [0.0], 4.0 ** np.arange(-3, 6)])
    cuts = np.unique(np.concatenate([peak + around, *(kink + around for kink in kinks)]))
    edges = [lower, *cuts[(cuts > lower) & (cuts < upper)], upper]
    total = error = 0.0
    for a, b in itertools.pairwise(edges):
        piece, piece_error, *_ = integrate.quad(f, a, b, epsabs=1e-14, epsrel=1e-12, limit=400, full_output=1)
        total, error = total + piece, error + piece_error
    if not (math.isfinite(total) and error <= 1e-8 * max(total, 1e-2)):
        raise ValueError(f"the quadrature does not converge: the integral is {total} with an error of {error}")
    return total
