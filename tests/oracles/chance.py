"""Statistical tests of samples, with known probabilities that correct samples fail and that wrong samples pass.

Each of the two probabilities is at most `CHANCE`, by exact laws or by bounds for independent samples. Only for a
correlation, we use a normal approximation. ``sees`` is the smallest error that a test must detect, except with
probability `CHANCE`. If a sample is too small to detect this error, the test raises a ValueError. ``tests`` is the
number of tests that belong together. Each test divides the probability of a false alarm by this number.
"""

import math

import numpy as np
from scipy import optimize, stats

from nfa.audit.private_game import epsilon_of_shift, shift_lower_bound

CHANCE = 1e-6


def follows(sample, cdf, *, sees: float, tests: int = 1, **arguments) -> None:
    """Kolmogorov-Smirnov test of independent samples of a continuous law; ``sees`` is a distance of laws.

    The distance of two laws is the largest difference of their distribution functions.

    Suppose that the samples have another law, whose distribution function differs by ``sees`` at a point. By
    Hoeffding's inequality, the share of the n samples below this point differs by less than ``sees`` - e with
    probability at most exp(-2 n e^2). For example, a normal law with a std 10 % too large has the distance 0.024. A
    normal law moved by 0.1 std has the distance 0.04.
    """
    n = np.size(sample)
    shows = stats.kstwo.isf(CHANCE / tests, n) + math.sqrt(-math.log(CHANCE) / (2 * n))
    _enough(shows, sees)
    assert stats.kstest(np.ravel(sample), cdf, **arguments).pvalue > CHANCE / tests


def fits(observed, expected=None, *, sees: float, tests: int = 1) -> None:
    """Pearson's chi-square test of counts; ``sees`` is the square root of the sum of (p' - p)^2 / p over the cells."""
    n, degrees = np.sum(observed), len(observed) - 1
    most = stats.chi2.isf(CHANCE / tests, degrees)
    far = optimize.brentq(lambda a: stats.ncx2.cdf(most, degrees, a) - CHANCE, 1e-3, 1e4)
    _enough(math.sqrt(far / n), sees)
    assert stats.chisquare(observed, expected).statistic < most


def has_rate(count: int, n: int, p: float, *, sees: float, tests: int = 1) -> None:
    """Binomial test of the probability p; detects a probability that is ``sees`` larger or smaller (at least 0)."""
    low, high = stats.binom.ppf([CHANCE / tests / 2, 1 - CHANCE / tests / 2], n, p)
    missed = stats.binom.cdf(high, n, p + sees), stats.binom.sf(low - 1, n, max(0, p - sees))
    _rare(max(missed), sees)
    assert low <= count <= high


def is_at_most(count: int, n: int, p: float, *, sees: float, tests: int = 1) -> None:
    """Binomial test of a probability of p or less; detects a probability that exceeds p by ``sees``."""
    most = stats.binom.isf(CHANCE / tests, n, p)
    _rare(stats.binom.cdf(most, n, p + sees), sees)
    assert count <= most


def has_variance(squares: float, degrees: int, *, sees: float, tests: int = 1) -> None:
    """Test of a sum of squares of independent N(0, 1).

    The test detects variances that are too large or too small by the factor 1 + ``sees``.
    """
    low, high = stats.chi2.ppf(CHANCE / tests / 2, degrees), stats.chi2.isf(CHANCE / tests / 2, degrees)
    missed = stats.chi2.cdf(high / (1 + sees), degrees), stats.chi2.sf(low * (1 + sees), degrees)
    _rare(max(missed), sees)
    assert low < squares < high


def is_score(z, n: int, *, sees: float) -> None:
    """Test that z is N(0, 1), for example sqrt(n) times a mean; detects an error of ``sees`` in this mean."""
    bound = stats.norm.isf(CHANCE / 2 / np.size(z))
    _enough((bound + stats.norm.isf(CHANCE)) / math.sqrt(n), sees)
    assert np.abs(z).max() < bound


def is_uncorrelated(one, other, *, sees: float, tests: int = 1) -> None:
    """Test of the correlation of independent pairs; detects a correlation of ``sees``."""
    n = np.size(one)
    bound = stats.norm.isf(CHANCE / 2 / tests)
    _enough((bound + stats.norm.isf(CHANCE)) / math.sqrt(n), sees)
    assert abs(np.corrcoef(np.ravel(one), np.ravel(other))[0, 1]) * math.sqrt(n) < bound


def _enough(shows: float, sees: float) -> None:
    if shows > sees:
        raise ValueError(f"the sample is too small: it shows an error of {shows:.3g}, not {sees:g}")


def _rare(missed: float, sees: float) -> None:
    if missed > CHANCE:
        raise ValueError(f"the sample is too small: an error of {sees:g} passes with probability {missed:.2g}")


def game_exceeds(shift: float, claimed: float, trials: int, *, delta: float, confidence: float = 0.95) -> None:
    """Check that a game has enough trials: its bound exceeds the claimed epsilon, except with probability `CHANCE`.

    The game's scores are N(0, 1) and N(shift, 1). Its threshold is the middle between the two means, as in
    `nfa.audit.private_game.measure`.
    """
    stated = optimize.brentq(lambda mu: epsilon_of_shift(mu, delta) - claimed, 1e-6, 1e3) if claimed else 0.0
    enough = (k for k in range(trials // 2, trials + 1)
              if shift_lower_bound((trials - k, k), trials, confidence=confidence) > stated)  # fmt: skip
    missed = 2 * stats.binom.cdf(next(enough, trials + 1) - 1, trials, stats.norm.cdf(shift / 2))
    if missed > CHANCE:
        raise ValueError(f"{trials} trials are too few: a claim of {claimed:g} stands with probability {missed:.2g}")
