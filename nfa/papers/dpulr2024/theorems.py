r"""The theorems of "Forward Learning with Differential Privacy" on batches with rejection, and its claims on DP-ULR.

The letters are those of the paper. N_B is the least size of a batch, and N-bar (here N_bar) is a public lower bound on
the number of records. q is the sampling rate before rejection. The letters p and P stand for the binomial mass and
distribution functions, and T is the number of steps. Neighbours differ by one added or removed record. Epsilons of
Renyi curves are in nats.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy import optimize, special, stats

from nfa import require
from nfa.privacy.divergences import LogDensity, check_order

Law = tuple[np.ndarray, np.ndarray]  # means and their probabilities, for a mixture of Gaussians with equal variances


def impairment(*, q: float, N_B: int, N_bar: int) -> float:
    r"""The term that rejection adds to the bound of Theorem 1 at every order.

    .. math:: \frac{q \, p(N_B - 1; \bar N, q)}{1 - P(N_B - 1; \bar N, q)}

    Source: [dpulr2024:eq39] [dpulr2024:eq40] [dpulr2024:sec3.4-example] [dpulr2024:rejection-text]
    [dpulr2024:impairment-text]

    Parameters
    ----------
    q : float in (0, 1]
    N_B : int, 1 <= N_B <= N_bar
    N_bar : int

    Notes
    -----
    1 plus this term is c_0 / c_1, the ratio of the factors by which rejection scales the laws of batches from N and
    from N + 1 records. The term decreases in N, so N_bar is the worst case. We compute the term as a sum of positive
    numbers, in logarithms.

    Examples
    --------
    One record at q = 1/2 with N_B = 1 gives (1/2) (1/2) / (1/2).

    >>> impairment(q=0.5, N_B=1, N_bar=1)
    0.5
    """
    _check(q=q, N_B=N_B, N=N_bar)
    if q == 1:
        return 0.0
    k = np.arange(N_B - 1, N_bar)
    rise = np.cumsum(np.log((N_bar - k) / (k + 1) * (q / (1 - q))))  # log p(k) / p(N_B - 1) for k = N_B .. N_bar
    return q * math.exp(-special.logsumexp(rise))


def acceptance(*, q: float, N_B: int, N: int) -> float:
    """The probability that a Poisson batch from N records has at least N_B records; q and N_B as in `impairment`.

    Source: [dpulr2024:alg1.L195]
    """
    _check(q=q, N_B=N_B, N=N)
    return float(stats.binom.sf(N_B - 1, N, q))


def inclusion_probability(*, q: float, N_B: int, N: int) -> float:
    r"""The probability, more than q, that an accepted batch from N + 1 records contains a given record.

    .. math:: q' = q \, \frac{1 - P(N_B - 2; N, q)}{1 - P(N_B - 1; N + 1, q)}

    Source: [dpulr2024:alg1.L195]

    Examples
    --------
    For two records, q = 1/2 and at least one record in the batch, {a}, {b} and {a, b} are equally likely.

    >>> round(inclusion_probability(q=0.5, N_B=1, N=1), 12)
    0.666666666667
    """
    _check(q=q, N_B=N_B, N=N)
    rho = impairment(q=q, N_B=N_B, N_bar=N)  # (1 - P(N_B - 2)) / (1 - P(N_B - 1)) - 1, times q
    return (q + rho) / (1 + rho)


def largest_order(*, q: float, sigma: float) -> float:
    r"""The largest order that Theorem 1 covers; 1 if it covers no order.

    .. math:: \alpha \le \tfrac12 \sigma^2 A - 2 \ln \sigma, \qquad
              \alpha \le \frac{\frac12 \sigma^2 A^2 - \ln 5 - 2 \ln \sigma}{A + \ln(q \alpha) + 1 / (2 \sigma^2)},

    .. math:: A = \ln\Big(1 + \frac{1}{q (\alpha - 1)}\Big)

    Source: [dpulr2024:thm1]

    Parameters
    ----------
    q : float in (0, 1/5]
    sigma : float >= 4, noise std / sensitivity

    Notes
    -----
    A depends on alpha, so the conditions on alpha are implicit. Both conditions hold for all orders above 1 up to the
    returned order.
    """
    _check_theorem(q, sigma)

    def slack(alpha: float) -> float:
        A = math.log1p(1 / (q * (alpha - 1)))
        first = sigma**2 * A / 2 - 2 * math.log(sigma) - alpha
        below = A + math.log(q * alpha) + 1 / (2 * sigma**2)
        second = sigma**2 * A**2 / 2 - math.log(5) - 2 * math.log(sigma) - alpha * below
        return min(first, second)

    low = 1 + 1e-9
    if slack(low) < 0:
        return 1.0
    high = 2.0
    while slack(high) >= 0:
        low, high = high, 2 * high
    return float(optimize.brentq(slack, low, high, xtol=1e-13, rtol=1e-14))


def rejection_renyi(*, alpha: float, q: float, sigma: float, N_B: int, N_bar: int) -> float:
    r"""Theorem 1: the bound for Gaussian noise on batches drawn with rejection, with l2 sensitivity 1.

    .. math:: \gamma = \frac{q \, p(N_B - 1; \bar N, q)}{1 - P(N_B - 1; \bar N, q)} + \frac{2 q^2}{\sigma^2} \alpha

    Source: [dpulr2024:thm1] [dpulr2024:sec3.1-domain] [dpulr2024:eq29] [dpulr2024:eq32b] [dpulr2024:eq33]
    [dpulr2024:eq41]

    Parameters
    ----------
    alpha : float > 1
    q : float in (0, 1/5]
    sigma : float >= 4, noise std / sensitivity
    N_B, N_bar : ints, 1 <= N_B <= q N_bar

    Returns
    -------
    gamma : float, nats; inf at orders above `largest_order`, which the theorem does not cover

    Raises
    ------
    ValueError : if q, sigma, N_B or alpha is outside the theorem's range

    Notes
    -----
    The paper proves one direction, D from D', and calls the other direction similar. We know no violation in either
    direction, and the searches in the tests find no violation.
    """
    check_order(alpha)
    _check_theorem(q, sigma)
    added = _impairment_of_theorem(q, N_B, N_bar)
    if alpha > largest_order(q=q, sigma=sigma):
        return math.inf
    return added + 2 * q**2 * alpha / sigma**2


def claimed_dp_ulr_renyi(*, alpha: float, T: int, q: float, sigma_0: float, N_B: int, N_bar: int) -> float:
    r"""Theorem 2 as published: T times Theorem 1 with the controller's target sigma_0 in place of sigma.

    Source: [dpulr2024:thm2]

    Parameters
    ----------
    alpha, q, N_B, N_bar : as in `rejection_renyi`
    T : int >= 1, number of steps
    sigma_0 : float >= 4, the controller's target, in units of C

    Returns
    -------
    gamma : float, nats, as claimed; inf at orders above `largest_order`

    Notes
    -----
    The claim is false for Algorithm 1 as printed, for two reasons. The controller bounds the covariance of the
    estimates before the clip. The controller also reads the batch that it protects. `nfa audit dpulr2024:thm2` shows
    both faults. No accountant calls this function.
    """
    require.integer(1, steps=T)
    return T * rejection_renyi(alpha=alpha, q=q, sigma=sigma_0, N_B=N_B, N_bar=N_bar)


def claimed_dp_ulr_epsilon(
    *, delta: float, T: int, q: float, sigma_0: float, N_B: int, N_bar: int
) -> tuple[float, float]:
    r"""The epsilon of Theorem 2 with Proposition 1, at the best of the orders that the theorem covers.

    Source: [dpulr2024:thm2]

    Parameters
    ----------
    delta : float in (0, 1)
    T, q, sigma_0, N_B, N_bar : as in `claimed_dp_ulr_renyi`

    Returns
    -------
    epsilon, alpha : floats, the claimed epsilon and its order; (inf, 1.0) if the theorem covers no order
    """
    require.within("(0, 1)", delta=delta)
    require.integer(1, steps=T)
    _check_theorem(q, sigma_0)
    added = T * _impairment_of_theorem(q, N_B, N_bar)
    slope = 2 * T * q**2 / sigma_0**2
    most = largest_order(q=q, sigma=sigma_0)
    if most <= 1:
        return math.inf, 1.0
    best = min(most, 1 + math.sqrt(math.log(1 / delta) / slope))
    return added + slope * best + math.log(1 / delta) / (best - 1), best


def rejection_laws(f: Callable[[int, bool], float], *, N: int, q: float, N_B: int) -> tuple[Law, Law]:
    r"""The laws of a query's mean for batches drawn with rejection, from N records and from N + 1 records.

    Source: [dpulr2024:def4] [dpulr2024:eq31] [dpulr2024:f1-split]

    Parameters
    ----------
    f : function (number of other records in the batch, whether x is in the batch) -> mean. For sensitivity 1, adding a
        record must move f by at most 1
    N : int, number of records besides x
    q, N_B : as in `impairment`

    Returns
    -------
    without, with_x : each a pair (means (k,), probabilities (k,)); the release adds N(0, sigma^2)
    """
    _check(q=q, N_B=N_B, N=N)
    size = np.arange(N + 1)
    p = stats.binom.pmf(size, N, q)
    enough, nearly = size >= N_B, size >= N_B - 1
    means = np.array([[f(int(k), there) for k in size] for there in (False, True)], float)
    with_x = np.concatenate([(1 - q) * p[enough], q * p[nearly]])
    return (
        (means[0, enough], p[enough] / p[enough].sum()),
        (np.concatenate([means[0, enough], means[1, nearly]]), with_x / with_x.sum()),
    )


def log_density(law: Law, *, sigma: float) -> LogDensity:
    """The log density of a mixture of N(mean, sigma^2), for the quadratures of `nfa.privacy.divergences`.

    Source: [dpulr2024:eq9]
    """
    means, probabilities = law
    constant = 0.5 * math.log(2 * math.pi * sigma**2)
    return lambda v: float(special.logsumexp(-(((v - means) / sigma) ** 2) / 2, b=probabilities)) - constant


def impairment_ratio(*, alpha: float, q: float, sigma_0: float, N_B: int, N: int) -> float:
    r"""Figure 2: the impairment in units of the second term of Theorem 1, 2 q^2 alpha / sigma_0^2.

    Source: [dpulr2024:fig2]
    """
    check_order(alpha)
    return impairment(q=q, N_B=N_B, N_bar=N) / (2 * q**2 * alpha / sigma_0**2)


def _check(*, q: float, N_B: int, N: int) -> None:
    require.within("(0, 1]", **{"the sampling rate q": q})
    if not 1 <= N_B <= N:
        raise ValueError(f"the smallest batch size N_B must be between 1 and the number {N} of records, got {N_B}")


def _impairment_of_theorem(q: float, N_B: int, N_bar: int) -> float:
    added = impairment(q=q, N_B=N_B, N_bar=N_bar)
    if N_B > q * N_bar * (1 + 1e-12):  # q is often N_B / N_bar with rounding
        raise ValueError(f"Theorem 1 needs N_B <= q N_bar = {q * N_bar:g}, got {N_B}")
    return added


def _check_theorem(q: float, sigma: float) -> None:
    if not 0 < q <= 0.2:
        raise ValueError(f"Theorem 1 needs a sampling rate q in (0, 1/5], got {q}")
    if not 4 <= sigma < math.inf:
        raise ValueError(f"Theorem 1 needs a noise multiplier of at least 4, got {sigma}")
