"""An audit [lee2020:def1] [berthier2019:unmeasurable]

An algorithm claims (epsilon, delta)-DP. We run it n times without a record and n times with this record. A run in which
a chosen event happens is a hit. There are k_0 hits without the record and k_1 hits with the record. If the true
probabilities of a hit are p_0 and p_1, epsilon is at least log((p_1 - delta) / p_0). Counts are random, so take a lower
bound for p_1 and an upper bound for p_0. The lower bound is the p at which k_1 or more hits in n have probability (1 -
confidence) / 2. The upper bound is the p at which k_0 or fewer hits in n have this probability. Return the lower bound
on epsilon, at least 0.

Hint: These are the Clopper-Pearson bounds, scipy.stats.beta.ppf(error, k, n - k + 1) and
scipy.stats.beta.ppf(1 - error, k + 1, n - k). Without a hit, the lower bound is 0. With n hits, the upper bound is 1.
"""

# %% task
import math

from scipy import stats


def lower_bound(k_0, k_1, n, delta, confidence):
    """Return a lower bound on epsilon that is wrong with probability at most 1 - confidence.

    k_0, k_1 : integers from 0 to n, hits without and with the record
    n : integer >= 1, runs in each world
    delta, confidence : numbers in (0, 1)
    returns a number >= 0
    """
    ### BEGIN SOLUTION
    error = (1 - confidence) / 2
    low_1 = stats.beta.ppf(error, k_1, n - k_1 + 1) if k_1 > 0 else 0.0
    high_0 = stats.beta.ppf(1 - error, k_0 + 1, n - k_0) if k_0 < n else 1.0
    return max(0.0, math.log((low_1 - delta) / high_0)) if low_1 > delta else 0.0
    ### END SOLUTION


# %% cases
import numpy as np

from nfa.course.judging import TaskCase


def tail(p, n, hits):
    """The probability that the number of hits is one of these numbers."""
    return math.fsum(math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in hits)


def solved(n, hits, error, rising):
    """The p at which these numbers of hits have probability error, by 60 bisections."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        above = tail(middle, n, hits) > error
        low, high = (low, middle) if above is rising else (middle, high)
    return low


def exact(k_0, k_1, n, delta, confidence):
    error = (1 - confidence) / 2
    low_1 = solved(n, range(k_1, n + 1), error, True) if k_1 else 0.0
    high_0 = solved(n, range(k_0 + 1), error, False) if k_0 < n else 1.0
    return max(0.0, math.log((low_1 - delta) / high_0)) if low_1 > delta else 0.0


def cases():
    for k_0, k_1, n, delta, confidence in (
        (2, 18, 20, 1e-5, 0.95),
        (0, 20, 20, 0.01, 0.9),
        (5, 14, 30, 0.05, 0.95),
        (10, 11, 20, 1e-5, 0.95),
        (3, 0, 20, 1e-5, 0.95),
    ):
        want = np.array(exact(k_0, k_1, n, delta, confidence))
        name = f"{k_0} and {k_1} hits in {n}, delta = {delta}, confidence {confidence}"
        given = (k_0, k_1, n, delta, confidence)
        yield TaskCase("", name, lambda f, given=given: f(*given), want, "the lower bound", rtol=1e-3)


# %% slips
(
    "error = (1 - confidence) / 2",
    "error = 1 - confidence",
    "The error is not divided between the bounds: each of the two bounds gets (1 - confidence) / 2.",
)
(
    "low_1 = stats.beta.ppf(error, k_1, n - k_1 + 1) if k_1 > 0 else 0.0",
    "low_1 = k_1 / n",
    "p_1 is the observed share: take its lower bound, because counts are random.",
)
(
    "high_0 = stats.beta.ppf(1 - error, k_0 + 1, n - k_0) if k_0 < n else 1.0",
    "high_0 = max(k_0, 1e-300) / n",
    "p_0 is the observed share: take its upper bound, because counts are random.",
)
(
    "stats.beta.ppf(error, k_1, n - k_1 + 1) if k_1 > 0",
    "stats.beta.ppf(1 - error, k_1 + 1, n - k_1) if 0 < k_1 < n",
    "p_1 is replaced by its upper bound, which would overstate epsilon: take its lower bound.",
)
("(low_1 - delta) / high_0", "low_1 / high_0", "delta is missing: subtract it from p_1.")
(
    "max(0.0, math.log((low_1 - delta) / high_0))",
    "math.log((low_1 - delta) / high_0)",
    "The bound is negative: return at least 0, because epsilon is never negative.",
)
(
    "math.log((low_1 - delta) / high_0)",
    "(low_1 - delta) / high_0",
    "The logarithm is missing: the ratio is exp(epsilon).",
)
(
    "math.log((low_1 - delta) / high_0)",
    "math.log10((low_1 - delta) / high_0)",
    "This is the logarithm to base 10: use math.log.",
)
(
    "math.log((low_1 - delta) / high_0)",
    "math.log(high_0 / (low_1 - delta))",
    "The ratio is inverted: divide p_1 - delta by p_0.",
)
