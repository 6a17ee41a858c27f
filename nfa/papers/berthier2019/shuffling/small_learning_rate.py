"""A pass over shuffled records with a small learning rate: Proposition 3.1 of the report, and the sum that it bounds.

The steps on a beta-smooth loss are C-Lipschitz with C = 1 + gamma beta. In the report, gamma decreases with the number
n of records, as 1 / (beta sqrt(n)) or 1 / (beta n). For an accountant, use
`nfa.papers.berthier2019.perturbation.last_iterate`. The functions here show how the numbers of that module depend on n.
"""

import math

import numpy as np

from nfa import require
from nfa.mechanism import NoGuarantee
from nfa.papers.berthier2019.perturbation.iteration import noise_share
from nfa.papers.berthier2019.perturbation.shifted import check_alpha, check_position

RATES = ("1/sqrt(n)", "1/n")  # gamma beta, which is C - 1
# The limit of n S - log(n) for C = 1 + 1/n: Euler's constant + log((e^2 - 1) / 2)
OFFSET = np.euler_gamma + math.log(math.expm1(2) / 2)


def mean_share(C: float, n: int) -> float:
    r"""The sum of section 3.3.2: the mean of `noise_share` over the steps of a pass.

    .. math:: S(C, n) = \frac1n \sum_{i=1}^n \frac{1 - C^{-2}}{1 - C^{-2i}}

    Source: [berthier2019:sec3.3.2-mean] [berthier2019:prop3.1] [berthier2019:sec3.3.3]

    Parameters
    ----------
    C : float >= 0, Lipschitz constant of a step
    n : integer >= 1

    Returns
    -------
    S : float in (0, 1]

    Examples
    --------
    >>> mean_share(1.0, 2)
    0.75
    """
    check_position(n, n)
    return float(noise_share(C, np.arange(1, n + 1)).mean())


def asymptotic_mean_share(n: int, *, rate: str) -> float:
    r"""The leading terms of `mean_share` for a small learning rate gamma = rate / beta.

    .. math:: S(1 + 1/\sqrt n, n) \sim \frac{2}{\sqrt n}, \qquad
              S(1 + 1/n, n) = \frac{\log n + 1.7387 + o(1)}{n}

    Source: [berthier2019:prop3.1]

    Parameters
    ----------
    n : integer >= 1
    rate : "1/sqrt(n)" or "1/n"

    Returns
    -------
    leading : float; an asymptotic value, not a bound

    Raises
    ------
    ValueError : if n or the rate is out of range

    Notes
    -----
    The constant 1.7387 is Euler's constant + log((e^2 - 1) / 2). The report's rates are log(n) / sqrt(n), which is too
    large by an unbounded factor, and log(n) / n, which S exceeds.

    Examples
    --------
    >>> asymptotic_mean_share(10_000, rate="1/sqrt(n)"), round(mean_share(1.01, 10_000), 6)
    (0.02, 0.020149)
    """
    check_position(n, n)
    require.one_of(RATES, rate=rate)
    return 2 / math.sqrt(n) if rate == "1/sqrt(n)" else (math.log(n) + OFFSET) / n


def rdp_small_learning_rate(alpha, L: float, sigma: float, n: int, *, rate: str):
    r"""Proposition 3.1 as printed, for a pass over shuffled records with gamma = rate / beta, if we can prove it.

    .. math:: \epsilon(\alpha) = \frac{4 \alpha L^2}{\sigma^2} \frac{\log n}{\sqrt n} \text{ for } \gamma
              = \frac{1}{\beta \sqrt n}, \qquad \frac{4 \alpha L^2}{\sigma^2} \frac{\log n}{n} \text{ for } \gamma
              = \frac{1}{\beta n}

    Source: [berthier2019:prop3.1]

    Parameters
    ----------
    alpha : order > 1, or an array of orders
    L, sigma : as in `nfa.papers.berthier2019.perturbation.iteration.rdp_iteration`
    n : integer, number of records and steps
    rate : "1/sqrt(n)", for n >= 2, or "1/n", for n >= 4

    Returns
    -------
    rdp : nats, of the shape of alpha; at least `nfa.papers.berthier2019.perturbation.last_iterate.rdp_shuffled_epoch`,
        which you should use instead

    Raises
    ------
    ValueError : if an argument is out of range
    NoGuarantee : if n is below 2 or 4, or if sigma < L sqrt(2 alpha (alpha - 1)) at one of the orders. For smaller
        sigma, the bounds for both rates hold if n is large enough, but at a given n Lemma 3.1 may exceed the bound for
        "1/n"

    Notes
    -----
    Proof: write w_i = `noise_share` of i and y = (alpha - 1) 2 alpha L^2 / sigma^2 <= 1. Lemma 3.1 gives 2 alpha L^2 /
    sigma^2 times log(mean e^(y w)) / y <= mean(e^w - 1), and w_i <= 1/i + l with l = 2 log C <= 2 rate.

    - For 1/sqrt(n): e^w - 1 <= 2 w, and 2 S <= 2 (2 / sqrt(n) + (1 + log n) / n), at most 2 log(n) / sqrt(n) from
      n = 20 on.
    - For 1/n: e^w - 1 <= w + 0.72 w^2, and the sums of w and w^2 are at most log(n) + 3 and pi^2 / 6 + (4 log(n) + 8) /
      n. So n times the mean is at most 2 log(n) from n = 100 on.

    For smaller n, we computed both sides of the inequality at y = 1, because their ratio is largest there. The report's
    own proof does not give the bound for 1/n, because the sum in this proof is larger than log(n) / n.

    Examples
    --------
    >>> round(float(rdp_small_learning_rate(2, 1.0, 2.0, 1000, rate="1/n")), 7)
    0.0138155
    """
    alpha = check_alpha(alpha)
    require.positive(**{"the clip norm L": L}, sigma=sigma)
    check_position(n, n)
    require.one_of(RATES, rate=rate)
    smallest = 2 if rate == "1/sqrt(n)" else 4
    if n < smallest:
        raise NoGuarantee(
            "berthier2019:prop3.1", f"at the rate {rate} the bound is proved only for n >= {smallest}, got {n}"
        )
    largest = float(alpha.max())
    least = L * math.sqrt(2 * largest * (largest - 1))
    if not sigma >= least * (1 - 1e-12):  # a slack of a few roundings, for values at the limit itself
        raise NoGuarantee(
            "berthier2019:prop3.1",
            f"the bound is proved for sigma >= L sqrt(2 alpha (alpha - 1)), which is {least:g} at the order"
            f" {largest:g}, got {sigma:g}: use `rdp_shuffled_epoch`, which needs no such condition",
        )
    return 4 * alpha * (L / sigma) ** 2 * math.log(n) / (math.sqrt(n) if rate == "1/sqrt(n)" else n)
