"""Composition in (epsilon, delta): basic, advanced, and the best possible bound, which randomised responses attain.

The best possible bound is that of Kairouz, Oh and Viswanath (2015). Take k releases that are each (epsilon, delta)-DP.
Each release may depend on the results of earlier releases. Together they reveal at most as much as k runs of one
mechanism. This mechanism reveals the data with probability delta and otherwise answers one bit by randomised response.
For the composition of Renyi curves, see `nfa.privacy.rdp.compose`.
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np
from scipy import special

from nfa import require

MOST_PATTERNS = 20  # largest number of releases with different epsilons; they have 2^20 patterns of answers


def basic_composition(spent: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """The sums of the epsilons and deltas of several releases. Each release may depend on earlier results.

    Source: [berthier2019:postproc]

    Parameters
    ----------
    spent : pairs (epsilon >= 0, delta in [0, 1])

    Examples
    --------
    >>> basic_composition([(0.5, 0.0), (0.25, 1e-6)])
    (0.75, 1e-06)
    """
    spent = list(spent)
    if not spent:
        raise ValueError("there is no guarantee to compose: give at least one pair (epsilon, delta)")
    for epsilon, delta in spent:
        _check(epsilon, delta)
    return math.fsum(epsilon for epsilon, _ in spent), min(1.0, math.fsum(delta for _, delta in spent))


def advanced_composition(*, epsilon: float, delta: float = 0.0, k: int, delta_slack: float) -> tuple[float, float]:
    r"""Epsilon and delta of k releases with the same (epsilon, delta), by Theorem 2.1.

    .. math:: \epsilon' = \sqrt{2 k \log(1/\delta')}\, \epsilon + k \epsilon (e^\epsilon - 1), \qquad
              \text{at } k \delta + \delta'

    Source: [berthier2019:thm2.1]

    Parameters
    ----------
    epsilon : float >= 0, of one release
    delta : float in [0, 1], of one release
    k : int >= 1, number of releases; each release may depend on earlier results
    delta_slack : float delta' in (0, 1); if delta' goes to 0, epsilon' goes to infinity

    Returns
    -------
    epsilon, delta : for all releases. This epsilon can exceed the k epsilon of `basic_composition`, see
        `advanced_pays_from`

    Raises
    ------
    ValueError : if an argument is out of range

    Examples
    --------
    >>> round(advanced_composition(epsilon=0.1, k=100, delta_slack=1e-5)[0], 4)  # basic: 10
    5.8502
    """
    _check(epsilon, delta)
    require.integer(1, steps=k)
    require.within("(0, 1)", delta_slack=delta_slack)
    grown = math.expm1(epsilon) if epsilon < 700 else math.inf
    total = math.sqrt(-2 * k * math.log(delta_slack)) * epsilon + k * epsilon * grown
    return total, min(1.0, k * delta + delta_slack)


def advanced_pays_from(*, epsilon: float, delta_slack: float) -> float:
    r"""The number k of releases above which Theorem 2.1 gives less than the sum k epsilon; inf for epsilon >= log 2.

    .. math:: k > \frac{2 \log(1/\delta')}{(2 - e^\epsilon)^2}, \qquad \epsilon < \log 2

    Source: [berthier2019:thm2.1]

    Examples
    --------
    >>> round(advanced_pays_from(epsilon=0.1, delta_slack=1e-5), 2), advanced_pays_from(epsilon=0.7, delta_slack=1e-5)
    (28.76, inf)
    """
    require.not_negative(epsilon=epsilon)
    require.within("(0, 1)", delta_slack=delta_slack)
    return -2 * math.log(delta_slack) / (2 - math.exp(epsilon)) ** 2 if epsilon < math.log(2) else math.inf


def optimal_delta(total_epsilon: float, *, epsilon: float, delta: float = 0.0, k: int) -> float:
    r"""The least delta, at a given total epsilon, that holds for any k releases with the same (epsilon, delta).

    .. math:: 1 - (1 - \delta)^k \Big(1 - \sum_{j : L_j > \epsilon'} \binom kj \frac{e^{j \epsilon}}{(1 +
              e^\epsilon)^k} \big(1 - e^{\epsilon' - L_j}\big)\Big), \qquad L_j = (2 j - k)\, \epsilon

    Source: [berthier2019:thm2.1] [berthier2019:rr]

    Parameters
    ----------
    total_epsilon : float epsilon' >= 0
    epsilon : float >= 0, of one release
    delta : float in [0, 1], of one release
    k : int >= 1

    Returns
    -------
    delta : float in [0, 1]

    Raises
    ------
    ValueError : if an argument is out of range

    Notes
    -----
    j is the number of truthful answers among k randomised responses, and L_j is the privacy loss. All terms of the sum
    are positive. We compute their probabilities in log space.

    Examples
    --------
    Two answers, each right with probability 3/4, give (9 - 1) / 16 at epsilon' = 0.

    >>> round(optimal_delta(0, epsilon=np.log(3), k=2), 12)
    0.5
    """
    _check(epsilon, delta)
    require.not_negative(total_epsilon=total_epsilon)
    require.integer(1, steps=k)
    j = np.arange(k + 1)
    loss = (2 * j - k) * epsilon
    j, loss = j[loss > total_epsilon], loss[loss > total_epsilon]
    log_binomial = special.gammaln(k + 1) - special.gammaln(j + 1) - special.gammaln(k - j + 1)
    log_p = log_binomial - j * np.log1p(np.exp(-epsilon)) - (k - j) * np.logaddexp(0, epsilon)
    bits = float(np.sum(np.exp(log_p) * -np.expm1(total_epsilon - loss)))
    return _with_deltas(bits, [delta] * k)


def optimal_epsilon(total_delta: float, *, epsilon: float, delta: float = 0.0, k: int) -> float:
    """The least epsilon, at a given total delta, that holds for any k releases with the same (epsilon, delta).

    Source: [berthier2019:thm2.1] [berthier2019:rr]

    Parameters
    ----------
    total_delta : float in (0, 1)
    epsilon, delta, k : as for `optimal_delta`

    Returns
    -------
    epsilon : float >= 0, rounded up, at most k epsilon; inf if the deltas alone exceed total_delta

    Raises
    ------
    ValueError : if an argument is out of range

    Examples
    --------
    >>> round(optimal_epsilon(1e-5, epsilon=0.1, k=100), 4)  # Theorem 2.1: 5.8502
    4.3068
    """
    require.within("(0, 1)", total_delta=total_delta)

    def fits(total: float) -> bool:
        return optimal_delta(total, epsilon=epsilon, delta=delta, k=k) <= total_delta

    if not fits(k * epsilon):
        return math.inf
    if fits(0.0):
        return 0.0
    low, high = 0.0, k * epsilon
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def optimal_delta_of(total_epsilon: float, *, epsilons: Sequence[float], deltas: Sequence[float] = ()) -> float:
    r"""The least delta at a given epsilon that holds for releases with different (epsilon_i, delta_i), by enumeration.

    .. math:: 1 - \prod_i (1 - \delta_i) \Big(1 - \sum_{s \in \{-1, 1\}^k} \prod_i \frac{e^{s_i \epsilon_i / 2}}{2
              \cosh(\epsilon_i / 2)} \big(1 - e^{\epsilon' - s \cdot \epsilon}\big)_+\Big)

    Source: [berthier2019:thm2.1] [berthier2019:rr]

    Parameters
    ----------
    total_epsilon : float epsilon' >= 0
    epsilons : floats >= 0, at most `MOST_PATTERNS` of them, because the sum has 2^k terms
    deltas : floats in [0, 1], one for each epsilon; if none are given, all are 0

    Raises
    ------
    ValueError : if an argument is out of range, or there are too many releases

    Notes
    -----
    The enumeration takes exponential time. The report states that finding the least delta is NP-hard
    (`nfa eq berthier2019:rem-nphard`).

    Examples
    --------
    >>> round(optimal_delta_of(0, epsilons=[np.log(3), np.log(3)]), 12)
    0.5
    """
    epsilons = list(epsilons)
    deltas = list(deltas) or [0.0] * len(epsilons)
    if not 1 <= len(epsilons) <= MOST_PATTERNS or len(deltas) != len(epsilons):
        raise ValueError(
            f"epsilons must contain 1 to {MOST_PATTERNS} numbers, and deltas must contain the same number of entries"
            f" or be left out, got {len(epsilons)} and {len(deltas)}"
        )
    for epsilon, delta in zip(epsilons, deltas, strict=True):
        _check(epsilon, delta)
    require.not_negative(total_epsilon=total_epsilon)
    loss, log_p = np.zeros(1), np.zeros(1)
    for epsilon in epsilons:  # each release doubles the number of patterns, because its answer is truthful or not
        loss = np.concatenate([loss + epsilon, loss - epsilon])
        log_p = np.concatenate([log_p - np.log1p(np.exp(-epsilon)), log_p - np.logaddexp(0, epsilon)])
    over = loss > total_epsilon
    bits = float(np.sum(np.exp(log_p[over]) * -np.expm1(total_epsilon - loss[over])))
    return _with_deltas(bits, deltas)


def _with_deltas(bits: float, deltas: Sequence[float]) -> float:
    """1 - prod (1 - delta_i) (1 - bits), accurate for small numbers. bits is the delta if all deltas are 0."""
    if bits >= 1 or max(deltas) == 1:
        return 1.0
    return -math.expm1(math.fsum([math.log1p(-bits), *(math.log1p(-delta) for delta in deltas)]))


def _check(epsilon: float, delta: float) -> None:
    require.not_negative(epsilon=epsilon)
    require.within("[0, 1]", delta=delta)
