"""Privacy of SGD with shuffling: the two conjectures of Berthier's report as printed. They are not guarantees.

Algorithm 1 makes e / tau passes. Each pass shuffles the n records afresh and takes floor(tau n) steps of batch size
one. Each step clips the gradient to L, adds noise N(0, sigma^2 I) to it and releases the iterate. Neighbours replace
one record.

The formulas here omit the O(...) of the conjectures. `nfa.papers.berthier2019.shuffling.our_bound` includes every term.
The proof of that bound is in `nfa.papers.berthier2019.shuffling.our_proof`. The proof is ours, and nobody else has
reviewed it. No accountant calls any of these modules. `nfa.privacy.accountant` counts a pass as one full release
(berthier2019:lem3.1). This count also holds for tau = 1.
"""

import math

import numpy as np

from nfa import require
from nfa.privacy.rdp import check_orders
from nfa.sampling import records_per_pass


def conjectured_step_rdp(orders, *, n: int, t: int, L: float, sigma: float, C: float = 16.0) -> np.ndarray:
    r"""Conjecture 1 without its O(...): the Renyi curve of one step, given the earlier outputs. It is not a bound.

    .. math:: \varepsilon_t(\alpha) = \frac{C \alpha L^2}{(n - t + 1)^2 \sigma^2}

    Source: [berthier2019:conj1]

    Parameters
    ----------
    orders : (k,) array of orders > 1
    n : int >= 1, number of records
    t : int in 1 .. n. In Conjecture 1, t is the number of outputs already seen, so the step is number t + 1. In
        section 4.4.2 and Conjecture 2, t is the number of the step. The weight of a record at step t is 1 / (n - t +
        1), so the second meaning is the natural meaning. The difference of one step is within the O(...)
    L : float > 0, clip norm
    sigma : float >= 2 L, noise std on each coordinate of the gradient
    C : float, at least 16 in the report; the report's experiments use 16

    Returns
    -------
    rdp : (k,) array, nats

    Raises
    ------
    ValueError : if a number is out of range

    Notes
    -----
    The omitted O((n - t + 1)^-3) is not small at large orders. At n = 1000 and sigma = 2 L this formula is below an
    exact divergence from alpha = 14 on.

    Examples
    --------
    >>> conjectured_step_rdp([2.0, 8.0], n=5, t=1, L=1.0, sigma=2.0).tolist()
    [0.32, 1.28]
    """
    _check_high_noise(L, sigma)
    if not (t == int(t) and n == int(n) and 1 <= t <= n):
        raise ValueError(
            f"the step t must be a whole number between 1 and the number n of records, got t={t} and n={n}"
        )
    return C * check_orders(orders) * (L / sigma) ** 2 / (n - t + 1) ** 2


def conjectured_rdp(orders, *, n: int, e: float, tau: float, L: float, sigma: float, C: float = 16.0) -> np.ndarray:
    r"""Conjecture 2 without its O(...): the Renyi curve of the whole run. It is not a bound.

    .. math:: \varepsilon(\alpha) = \frac{C e \alpha L^2}{n (1 - \tau) \sigma^2}

    Source: [berthier2019:conj2]

    Parameters
    ----------
    orders : (k,) array of orders > 1
    n : int >= 1, number of records
    e : float > 0, expected number of times that a record is used
    tau : float in (0, 1), share of the records that a pass uses; tau n >= 1
    L, sigma, C : as in `conjectured_step_rdp`

    Returns
    -------
    rdp : (k,) array, nats

    Raises
    ------
    ValueError : if a number is out of range

    Notes
    -----
    The formula follows from Conjecture 1 by e / tau sum_{j <= tau n} (n - j + 1)^-2 <= e / (n (1 - tau)). The bound
    2 alpha L^2 / sigma^2 for each pass holds without any conjecture. With C = 16, the formula exceeds this bound if
    n (1 - tau) < 8 tau.

    Examples
    --------
    >>> conjectured_rdp([8.0], n=1000, e=10, tau=0.5, L=1.0, sigma=2.0).tolist()
    [0.64]
    """
    _check_high_noise(L, sigma)
    check_run(n, e, tau)
    return C * e * check_orders(orders) * (L / sigma) ** 2 / (n * (1 - tau))


def conjectured_sigma2(
    *, epsilon: float, alpha: float, n: int, e: float, tau: float, L: float, C: float = 16.0
) -> float:
    r"""Conjecture 2 as printed, without its O(...): the variance of the noise for a Renyi epsilon. It is no guarantee.

    .. math:: \sigma^2 = \max\Big( \frac{C e \alpha L^2}{n (1 - \tau) \varepsilon(\alpha)},\ 4 L^2 \Big)

    Source: [berthier2019:conj2]

    Parameters
    ----------
    epsilon : float > 0, Renyi epsilon at the order alpha, nats
    alpha : float > 1
    n, e, tau, L, C : as in `conjectured_rdp`

    Returns
    -------
    sigma2 : float, variance of the noise on each coordinate of a gradient

    Raises
    ------
    ValueError : if a number is out of range

    Examples
    --------
    >>> conjectured_sigma2(epsilon=0.5, alpha=8, n=1000, e=10, tau=0.5, L=1.0)
    5.12
    >>> conjectured_sigma2(epsilon=0.5, alpha=2, n=1000, e=1, tau=0.5, L=1.0)
    4.0
    """
    require.positive(epsilon=epsilon)
    check_clip(L)
    check_run(n, e, tau)
    check_orders([alpha])
    return max(C * e * alpha * L**2 / (n * (1 - tau) * epsilon), 4 * L**2)


def conjectured_epsilon(
    *,
    n: int,
    e: float,
    tau: float,
    L: float,
    sigma: float,
    delta: float,
    C: float = 16.0,
    largest_order: float = math.inf,
    summed: bool = False,
) -> tuple[float, float]:
    r"""The epsilon from the leading term of the conjectures, a possible meaning of Figure 12. It is no guarantee.

    .. math:: \epsilon = \min_{1 < \alpha \le A} R \alpha + \frac{\log(1/\delta)}{\alpha - 1},
              \qquad R = \frac{C e L^2}{n (1 - \tau) \sigma^2}

    Without a largest order A, epsilon is R + 2 (R log(1/delta))^(1/2), at alpha = 1 + (log(1/delta) / R)^(1/2).

    Source: [berthier2019:conj1] [berthier2019:conj2]

    Parameters
    ----------
    n, e, tau, L, sigma, C : as in `conjectured_rdp`
    delta : float in (0, 1)
    largest_order : float > 1, the A of the equation
    summed : if True, replace the bound by the sum of Conjecture 1, R = C e L^2 / (tau sigma^2) sum_{j <= tau n}
        (n - j + 1)^-2

    Returns
    -------
    epsilon : float
    order : float, the order that gives this epsilon

    Raises
    ------
    ValueError : if a number is out of range

    Notes
    -----
    For few epochs, the leading term is not a bound at the order used. For example, at e = 1 and n = 1000 the order is
    49, but the leading term is a bound only up to the order 13.

    Examples
    --------
    >>> epsilon, order = conjectured_epsilon(n=1000, e=1, tau=0.001, L=1.0, sigma=2.0, delta=1e-4)
    >>> round(epsilon, 5), round(order, 1)
    (0.38808, 49.0)
    """
    require.within("(0, 1)", delta=delta)
    if not largest_order > 1:
        raise ValueError(f"largest_order must be greater than 1, got {largest_order}")
    R = float(conjectured_rdp([2.0], n=n, e=e, tau=tau, L=L, sigma=sigma, C=C)[0]) / 2
    if summed:
        k = records_per_pass(tau, n)
        R = C * e / tau * (L / sigma) ** 2 * float(((n - np.arange(k)) ** -2.0).sum())
    alpha = min(1 + math.sqrt(-math.log(delta) / R), largest_order)
    return R * alpha - math.log(delta) / (alpha - 1), alpha


def check_run(n: int, e: float, tau: float, whole: bool = False) -> None:
    if not (n == int(n) and n >= 1):
        raise ValueError(f"the number n of records must be a whole number >= 1, got {n}")
    require.positive(**{"the number e of epochs": e})
    if not whole and tau == 1:
        raise ValueError("Conjecture 2 divides by 1 - tau, so tau must be less than 1")
    records_per_pass(tau, n)


def check_clip(L: float) -> None:
    """Raise ValueError unless the clip norm is positive and finite."""
    require.positive(**{"the clip norm L": L})


def _check_high_noise(L: float, sigma: float) -> None:
    check_clip(L)
    if not 2 * L <= sigma < math.inf:
        raise ValueError(f"the conjectures assume sigma >= 2 L, got sigma={sigma} and L={L}")
