"""Bounds on a probability and on epsilon from counted events. They are valid for every number of trials."""

from collections.abc import Sequence

import numpy as np
from scipy import stats

from nfa import require


def clopper_pearson(hits, trials: int, *, error: float) -> tuple[np.ndarray, np.ndarray]:
    r"""Lower and upper bound on a probability from counted successes. Each fails with probability at most ``error``.

    .. math:: P(X \ge k \mid p = \text{low}) = \text{error}, \qquad P(X \le k \mid p = \text{high}) = \text{error}

    Parameters
    ----------
    hits : int or array of int, 0 <= hits <= trials
    trials : int >= 1
    error : float in (0, 1), error probability of each bound; both bounds hold with probability at least 1 - 2 error

    Returns
    -------
    low, high : floats or arrays in [0, 1]

    Raises
    ------
    ValueError : if an argument is out of range

    Examples
    --------
    For ten successes in ten trials, the lower bound is 1/2, because P(10 of 10) = p^10 is 1/1024 at p = 1/2.

    >>> low, high = clopper_pearson(10, 10, error=1 / 1024)
    >>> round(float(low), 12), float(high)
    (0.5, 1.0)
    """
    require.whole(1, trials=trials)
    n = int(trials)
    k = np.asarray(hits)
    if k.size and not ((k >= 0) & (k <= n)).all():
        raise ValueError(f"hits must be between 0 and the {n} trials, got {k[~((k >= 0) & (k <= n))].flat[0]}")
    require.within("(0, 1)", error=error)
    # As a function of p, P(X >= k) is the distribution function of Beta(k, n - k + 1). For k = 0 and k = n + 1 there is
    # no such Beta distribution.
    low = np.where(k == 0, 0.0, stats.beta.ppf(error, np.maximum(k, 1), n - np.maximum(k, 1) + 1))
    high = np.where(k == n, 1.0, stats.beta.isf(error, np.minimum(k, n - 1) + 1, n - np.minimum(k, n - 1)))
    return low[()], high[()]


def epsilon_lower_bound(hits, trials: int | tuple[int, int], *, delta: float, confidence: float):
    r"""Lower bound on epsilon from the counts of one event in two worlds, which run the mechanism on D and on D'.

    .. math:: \max\Big(0,\; \log\frac{\underline{p_1} - \delta}{\overline{p_0}},\;
              \log\frac{1 - \overline{p_0} - \delta}{1 - \underline{p_1}}\Big)

    Source: [berthier2019:unmeasurable]

    Parameters
    ----------
    hits : (k_0, k_1), the counts of an event in world 0 and in world 1; ints or arrays. The event must be fixed before
        the trials
    trials : int >= 1 in each world, or (n_0, n_1)
    delta : float in [0, 1)
    confidence : float in (0, 1)

    Returns
    -------
    bound : float or array >= 0

    Raises
    ------
    ValueError : if an argument is out of range

    Notes
    -----
    Guarantee: the bound is above the true epsilon with probability at most 1 - confidence. The function takes an upper
    bound on p_0 and a lower bound on p_1, each wrong with probability at most (1 - confidence) / 2. With these bounds,
    (epsilon, delta)-DP implies both inequalities. The first inequality is for the event, with D' compared to D. The
    second is for the complement of the event, with D compared to D'.

    Examples
    --------
    If no decision is wrong in 1,000 trials in each world, the bound is log(0.9963 / 0.0037) at 95 %.

    >>> round(float(epsilon_lower_bound((0, 1000), 1000, delta=1e-5, confidence=0.95)), 3)
    5.601
    """
    check_levels(delta, confidence)
    n = check_trials(trials)
    error = (1 - confidence) / 2
    k0, k1 = (np.asarray(k) for k in hits)
    _, p0_high = clopper_pearson(k0, n[0], error=error)
    p1_low, _ = clopper_pearson(k1, n[1], error=error)
    q0_low, _ = clopper_pearson(n[0] - k0, n[0], error=error)  # 1 - p0_high and 1 - p1_low, without cancellation
    _, q1_high = clopper_pearson(n[1] - k1, n[1], error=error)
    with np.errstate(divide="ignore"):  # log 0 = -inf is no bound, and the maximum below is then 0
        event = np.log(np.maximum(p1_low - delta, 0) / p0_high)
        complement = np.log(np.maximum(q0_low - delta, 0) / q1_high)
    return np.maximum(np.maximum(event, complement), 0.0)[()]


def check_trials(trials) -> tuple[int, int]:
    """The numbers of trials in the two worlds. Raises ValueError if a number is out of range."""
    n0, n1 = trials if isinstance(trials, Sequence) and len(trials) == 2 else (trials, trials)
    require.whole(1, trials=n0)
    require.whole(1, trials=n1)
    return int(n0), int(n1)


def check_levels(delta: float, confidence: float) -> None:
    """Raise ValueError unless delta and confidence are in range."""
    require.within("[0, 1)", delta=delta)
    require.within("(0, 1)", confidence=confidence)
