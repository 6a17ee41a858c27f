"""Tests of the distinguishing game. They enumerate its error probabilities, and play sound and broken mechanisms."""

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from scipy import stats

from nfa.audit.bounds import clopper_pearson, epsilon_lower_bound
from nfa.audit.game import MOST_THRESHOLDS, GameResult, play, projection
from nfa.clip import clip_l2

# ---------------------------------------------------------------- oracles


def binomial_pmf(n, p):
    """P(X = k) for k = 0..n, exactly in rational arithmetic."""
    return [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


def at_least(n, k, p):
    return sum(binomial_pmf(n, p)[k:])


def true_epsilon(distance, std, delta):
    """The epsilon of additive Gaussian noise, by bisection on its delta(epsilon)."""
    mu = distance / std

    def spent(epsilon):
        return stats.norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * stats.norm.cdf(-mu / 2 - epsilon / mu)

    low, high = 0.0, 100.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if spent(middle) > delta else (low, middle)
    return high


def most_false_alarms(games, rate, doubt=1e-6):
    """The largest allowed number of false alarms. A sound mechanism exceeds it with probability at most ``doubt``."""
    return int(stats.binom.isf(doubt, games, rate))


# ---------------------------------------------------------------- Clopper and Pearson


@pytest.mark.parametrize("n", [1, 2, 7, 12])
@pytest.mark.parametrize("error", [Fraction(1, 40), Fraction(1, 80), Fraction(1, 3)])
def test_bounds_solve_their_equations_in_rational_arithmetic(n, error):
    """The bounds solve P(X >= k | low) = error and P(X <= k | high) = error, in rational arithmetic.

    We evaluate the two probabilities exactly, slightly outside and slightly inside the bound.
    """
    low, high = clopper_pearson(np.arange(n + 1), n, error=float(error))
    hair = Fraction(1, 10**11)
    assert low[0] == 0
    assert high[n] == 1
    for k in range(n + 1):
        if k > 0:
            assert at_least(n, k, Fraction(low[k]) - hair) < error < at_least(n, k, Fraction(low[k]) + hair)
        if k < n:
            at_most = [1 - at_least(n, k + 1, Fraction(high[k]) + sign * hair) for sign in (1, -1)]
            assert at_most[0] < error < at_most[1]


@pytest.mark.parametrize("n", [1, 3, 10])
def test_coverage_by_enumeration(n):
    """Each bound is wrong with probability at most its error, summed over all outcomes, for every p of a grid."""
    error = Fraction(1, 20)
    low, high = clopper_pearson(np.arange(n + 1), n, error=float(error))
    worst = Fraction(0)
    for p in (Fraction(i, 97) for i in range(98)):
        pmf = binomial_pmf(n, p)
        too_high = sum(q for k, q in enumerate(pmf) if Fraction(low[k]) > p)
        too_low = sum(q for k, q in enumerate(pmf) if Fraction(high[k]) < p)
        assert too_high <= error
        assert too_low <= error
        worst = max(worst, too_high, too_low)
    assert worst > error * Fraction(1, 2)  # so the bound is not trivial


def test_the_bounds_are_those_of_scipys_binomial_test():
    for k, n in ((0, 9), (3, 9), (9, 9), (371, 1000)):
        theirs = stats.binomtest(k, n).proportion_ci(0.9, method="exact")
        assert clopper_pearson(k, n, error=0.05) == pytest.approx((theirs.low, theirs.high), rel=1e-9, abs=1e-15)


# ---------------------------------------------------------------- the bound on epsilon


@pytest.mark.parametrize("n", [(8, 8), (12, 12), (14, 6)])
@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95])
def test_false_alarms_by_enumeration(n, confidence):
    """The bound exceeds the true epsilon with at most the stated probability, for a grid of pairs (p_0, p_1)."""
    delta = 0.05
    k0, k1 = np.meshgrid(np.arange(n[0] + 1), np.arange(n[1] + 1), indexing="ij")
    bound = epsilon_lower_bound((k0, k1), n, delta=delta, confidence=confidence)
    grid = np.linspace(0, 1, 33)
    laws = [stats.binom.pmf(np.arange(k + 1), k, grid[:, None]) for k in n]
    worst = 0.0
    for p0, law0 in zip(grid, laws[0], strict=True):
        for p1, law1 in zip(grid, laws[1], strict=True):
            # `epsilon` is the smallest epsilon for which the two Bernoulli laws are (epsilon, delta)-indistinguishable.
            # The definition has four inequalities, because there are two outcomes and two orders of the laws.
            pairs = [(p1, p0), (1 - p1, 1 - p0), (p0, p1), (1 - p0, 1 - p1)]
            if any(a - delta > 0 and b == 0 for a, b in pairs):
                continue  # epsilon is infinite
            epsilon = max(0.0, *(math.log(max(a - delta, 1e-300) / b) for a, b in pairs if b > 0))
            alarms = np.outer(law0, law1)[bound > epsilon + 1e-12].sum()
            assert alarms <= 1 - confidence + 1e-12, (p0, p1)
            worst = max(worst, alarms)
    assert worst > 0  # so the grid contains pairs for which the bound can err


def test_the_bound_is_the_formula_on_hand_made_bounds():
    """The bound is the formula for intervals computed by hand, with one trial and with ten trials on each side.

    With one trial at confidence 1/2, low = 1/4 after a hit and high = 3/4 after a miss. Then log 1/3 < 0, so the bound
    is 0. With ten trials, low = 4^(-1/10) and high = 1 - 4^(-1/10).
    """
    assert epsilon_lower_bound((0, 1), 1, delta=0, confidence=0.5) == 0
    low = 0.25**0.1
    assert epsilon_lower_bound((0, 10), 10, delta=0, confidence=0.5) == pytest.approx(
        math.log(low / (1 - low)), rel=1e-12
    )
    # There are a hundred trials with data set 0, and only one trial with data set 1. This trial hits, so its lower
    # bound is 1/4. The complement of this event gives no larger bound. If the two data sets are exchanged, only the
    # complement gives a bound above 0.
    few = epsilon_lower_bound((0, 1), (100, 1), delta=0, confidence=0.5)
    assert few == pytest.approx(math.log(0.25 / (1 - 0.25**0.01)), rel=1e-12)
    assert epsilon_lower_bound((0, 100), (1, 100), delta=0, confidence=0.5) == pytest.approx(few, rel=1e-12)
    assert epsilon_lower_bound((10, 0), 10, delta=0, confidence=0.5) == 0  # the reverse direction gives nothing
    assert epsilon_lower_bound((0, 10), 10, delta=0.99, confidence=0.5) == 0


def test_a_perfect_attack_of_1000_trials_a_side_shows_5_6():
    assert epsilon_lower_bound((0, 1000), 1000, delta=1e-5, confidence=0.95) == pytest.approx(5.6006, abs=1e-4)


# ---------------------------------------------------------------- mechanisms with a known epsilon


def respond(keep, bit, rng, n):
    flips = rng.random(n) >= keep
    return np.where(flips, 1 - bit, bit)


def gauss(mean, std, world, rng, n):
    return world * mean + std * rng.standard_normal(n)


def itself(output):
    return output


@pytest.mark.slow
def test_randomised_response_is_bounded_below_its_epsilon():
    """The bound on randomised response rarely exceeds epsilon, and the median bound is above 0.75 epsilon.

    The tested event attains epsilon = log(keep / (1 - keep)). In 1,000 games at 90 % confidence, the number of bounds
    above epsilon is at most binomial(1000, 0.1). With another seed, this test fails on correct code with probability
    1e-6 at most.
    """
    keep = 0.8
    rng = np.random.default_rng(3)
    bounds = [
        play(partial(respond, keep), itself, claimed_epsilon=0, delta=0, trials=400, confidence=0.9, threshold=0.5,
             batch=400, rng=rng).lower_bound
        for _ in range(1000)
    ]  # fmt: skip
    alarms = sum(bound > math.log(4) for bound in bounds)
    assert alarms <= most_false_alarms(1000, 0.1)
    assert np.median(bounds) > 0.75 * math.log(4)


@pytest.mark.parametrize("high_means", [1, None])
@pytest.mark.slow
def test_a_sound_gaussian_mechanism_is_not_refuted(high_means):
    """At most 27 of 200 seeds refute a sound Gaussian mechanism, at 95 % confidence and with the exact claim.

    A binomial(200, 0.05) exceeds 27 with probability 1e-6 at most. The median bound is above 0.3 of the claim, so the
    game can detect a broken mechanism.
    """
    delta, std = 1e-3, 1.0
    claimed = true_epsilon(1.0, std, delta)
    results = [
        play(partial(gauss, 1.0, std), itself, claimed_epsilon=claimed, delta=delta, trials=5000, tuning=1000,
             high_means=high_means, batch=5000, rng=np.random.default_rng(seed))
        for seed in range(200)
    ]  # fmt: skip
    assert most_false_alarms(200, 0.05) == 27
    assert sum(result.refuted for result in results) <= 27
    assert np.median([result.lower_bound for result in results]) > 0.3 * claimed
    assert all(result.high_means == 1 for result in results)


CLIP, DIM, STD = 1.0, 20, 4.0
DELTA = 1e-3
# Claimed epsilon of a sum of two clipped records with noise. The adjacency is replace-one, so the sensitivity is 2 C.
CLAIM = true_epsilon(2 * CLIP, STD, DELTA)


def clipped_sum(world, rng, n, *, clip=True, std=STD, bound=CLIP):
    """The release of a DP-SGD step: a sum of clipped vectors, with noise.

    In world 1, the first record has the other sign.
    """
    records = np.zeros((2, DIM))
    records[0, 0] = -5.0 if world else 5.0
    records[1, 1] = 0.3
    f = (clip_l2(records, bound) if clip else records).sum(axis=0)
    return f + std * rng.standard_normal((n, DIM))


def expected_answer(world):
    return clipped_sum(world, np.random.default_rng(0), 1, std=0.0)[0]


def audit_clipped_sum(seed, trials=3000, **change):
    statistic = projection(expected_answer(0), expected_answer(1))
    return play(partial(clipped_sum, **change), statistic, claimed_epsilon=CLAIM, delta=DELTA, trials=trials,
                tuning=1000, batch=1000, rng=np.random.default_rng(seed))  # fmt: skip


@pytest.mark.slow
def test_a_sound_clipped_sum_is_not_refuted_over_200_seeds():
    assert sum(audit_clipped_sum(seed).refuted for seed in range(200)) <= most_false_alarms(200, 0.05)


@pytest.mark.parametrize(
    ("change", "distance", "std"),
    [
        ({"std": STD / 2}, 2 * CLIP, STD / 2),
        ({"clip": False}, 10.0, STD),
        ({"bound": 2 * CLIP}, 4 * CLIP, STD),
    ],
    ids=["noise halved", "clip forgotten", "2C for C"],
)
def test_a_broken_clipped_sum_is_caught(change, distance, std):
    """At least three of five games refute a broken clipped sum, and no bound exceeds the true epsilon of this sum.

    Each game has 20,000 trials on each side. With half of the noise, the mean bound is 3.6 standard deviations of the
    bound above the claim. One game misses this fault with probability 2e-4. Three of five games miss this fault with
    probability below 1e-9.
    """
    found = [audit_clipped_sum(seed, trials=20_000, **change) for seed in range(5)]
    assert sum(result.refuted for result in found) >= 3
    for result in found:
        assert result.lower_bound <= true_epsilon(distance, std, DELTA)
        assert ("is refuted" in result.words) == result.refuted


@pytest.mark.slow
def test_a_statistic_of_pure_noise_shows_nothing_although_its_threshold_is_chosen():
    """A statistic of pure noise gives no bound above 0 too often, although a part of the trials chooses its threshold.

    In 400 games at 80 % confidence, the number of bounds above 0 is at most binomial(400, 0.2). If we also counted the
    trials that choose the threshold, more bounds would be above 0.
    """
    n, alarms, leaks = 60, 0, 0
    rng = np.random.default_rng(5)
    for _ in range(400):
        result = play(partial(gauss, 0.0, 1.0), itself, claimed_epsilon=0, delta=0, trials=n, confidence=0.8,
                      high_means=None, batch=n, rng=rng)  # fmt: skip
        alarms += result.refuted
        thresholds = np.concatenate(result.scores)
        above = [(one[:, None] >= thresholds).sum(axis=0) for one in result.scores]
        below = [(one[:, None] <= thresholds).sum(axis=0) for one in result.scores]
        leaks += any((epsilon_lower_bound(k, n, delta=0, confidence=0.8) > 0).any() for k in (above, below))
    assert alarms <= most_false_alarms(400, 0.2)
    assert leaks > most_false_alarms(400, 0.2)


@pytest.mark.parametrize("games", [60, pytest.param(500, marks=pytest.mark.slow)])
def test_both_readings_of_a_fixed_threshold_share_the_error(games):
    """With high_means=None and a fixed threshold, the game counts two events, and they share the error probability.

    Each event has a bound with half the error probability, and the game reports the larger bound. In n sound games at
    80 % confidence, the number of wrong reported bounds is at most binomial(n, 0.2).
    """
    rng = np.random.default_rng(6)
    options = {"claimed_epsilon": 0, "delta": 0, "trials": 40, "confidence": 0.8, "threshold": 0.0, "batch": 40}
    for mean in (2.0, -2.0):
        result = play(partial(gauss, mean, 1.0), itself, high_means=None, rng=rng, **options)
        k0, k1 = result.hits
        either = [epsilon_lower_bound(k, 40, delta=0, confidence=0.9) for k in ((k0, k1), (40 - k0, 40 - k1))]
        assert result.lower_bound == max(either) > 0
    sound = [play(partial(gauss, 0.0, 1.0), itself, high_means=None, rng=rng, **options) for _ in range(games)]
    assert sum(game.refuted for game in sound) <= most_false_alarms(games, 0.2)


# ---------------------------------------------------------------- how a game is played


def test_one_at_a_time_as_a_pair_and_in_batches_are_the_same_game():
    settings = {"claimed_epsilon": 1, "delta": 0.01, "trials": (30, 50), "tuning": 20}
    worlds = play(lambda world, rng: world + rng.standard_normal(), float, rng=np.random.default_rng(1), **settings)
    pair = play(
        [lambda rng: rng.standard_normal(), lambda rng: 1 + rng.standard_normal()],
        float, rng=np.random.default_rng(1), **settings,
    )  # fmt: skip
    batches = play(partial(gauss, 1.0, 1.0), itself, batch=7, rng=np.random.default_rng(1), **settings)
    assert worlds == pair == batches
    assert worlds.trials == (30, 50)
    assert worlds.tuning == 20
    for one, other in zip(worlds.scores, batches.scores, strict=True):
        np.testing.assert_array_equal(one, other)


def test_what_is_counted_is_what_was_not_used_to_choose():
    """The game counts only trials that did not choose the threshold.

    The sampler numbers its outputs. The first 2 x 5 outputs choose the threshold, and the last 3 + 4 outputs are
    counted.
    """
    numbers = iter(range(100))
    seen = play(lambda world, rng: next(numbers), float, claimed_epsilon=0, delta=0, trials=(3, 4), tuning=5,
                rng=np.random.default_rng(0))  # fmt: skip
    assert [s.tolist() for s in seen.scores] == [[10, 11, 12], [13, 14, 15, 16]]
    assert seen.threshold == 4.5  # between the tuning outputs of the two worlds, 0..4 and 5..9
    assert seen.hits == (3, 4)


def test_scores_that_speak_for_world_0():
    result = play(partial(gauss, -3.0, 1.0), itself, claimed_epsilon=0, delta=0, trials=200, threshold=-1.5,
                  high_means=0, batch=200, rng=np.random.default_rng(2))  # fmt: skip
    s0, s1 = result.scores
    assert result.hits == ((s0 <= -1.5).sum(), (s1 <= -1.5).sum())
    assert result.lower_bound > 1
    assert result.auc == pytest.approx(np.mean(s1[:, None] < s0[None, :]), abs=1e-12)
    chosen = play(partial(gauss, -3.0, 1.0), itself, claimed_epsilon=0, delta=0, trials=200, high_means=None,
                  batch=200, rng=np.random.default_rng(2))  # fmt: skip
    assert chosen.high_means == 0
    assert chosen.lower_bound > 1


@pytest.mark.parametrize("tuning", [50, 2 * MOST_THRESHOLDS])
def test_infinite_and_tied_scores(tuning):
    """The game accepts infinite and equal scores.

    A likelihood ratio is infinite if one data set cannot give the output. If a statistic has only two values, the game
    has one threshold.
    """

    def ratio(output):
        return np.where(output > 2, np.inf, np.where(output < -1, -np.inf, output))

    result = play(partial(gauss, 1.0, 1.0), ratio, claimed_epsilon=0, delta=0, trials=50, tuning=tuning, batch=50,
                  rng=np.random.default_rng(0))  # fmt: skip
    assert math.isfinite(result.lower_bound)
    assert 0.5 < result.auc <= 1
    sure = play(lambda world, rng: math.inf if world else -math.inf, float, claimed_epsilon=0, delta=0, trials=5,
                rng=np.random.default_rng(0))  # fmt: skip
    assert (sure.threshold, sure.hits, sure.auc) == (math.inf, (0, 5), 1)
    bit = play(lambda world, rng: 1 - world, float, claimed_epsilon=0, delta=0, trials=5, threshold=0, high_means=0,
               rng=np.random.default_rng(0))  # fmt: skip
    assert (bit.hits, bit.auc) == ((0, 5), 1)  # a score equal to the threshold counts in both directions
    coin = play(lambda world, rng: 3.0, float, claimed_epsilon=0, delta=0, trials=5, rng=np.random.default_rng(0))
    assert (coin.lower_bound, coin.auc, coin.hits) == (0, 0.5, (5, 5))


def test_progress_counts_all_trials():
    calls = []
    play(partial(gauss, 1.0, 1.0), itself, claimed_epsilon=1, delta=0, trials=10, tuning=4, batch=4,
         progress=lambda done, of: calls.append((done, of)), rng=np.random.default_rng(0))  # fmt: skip
    assert calls == [(4, 28), (8, 28), (12, 28), (16, 28), (18, 28), (22, 28), (26, 28), (28, 28)]


def test_the_projection_is_the_likelihood_ratio_up_to_scale():
    rng = np.random.default_rng(4)
    f0, f1, out = rng.standard_normal((3, 4, 5))
    std = 0.7
    ratio = (stats.norm.logpdf(out, f1, std) - stats.norm.logpdf(out, f0, std)).sum()
    assert projection(f0, f1)(out) * np.linalg.norm(f1 - f0) / std**2 == pytest.approx(ratio, rel=1e-12)
    stack = rng.standard_normal((3, 4, 5))
    np.testing.assert_allclose(projection(f0, f1)(stack), [projection(f0, f1)(one) for one in stack], rtol=1e-12)
    scores = projection(f0, f1)(f0 + std * rng.standard_normal((20_000, 4, 5)))
    half = np.linalg.norm(f1 - f0) / 2
    assert scores.mean() == pytest.approx(-half, abs=5 * std / math.sqrt(20_000))  # 5 sigma: probability 6e-7
    assert scores.std() == pytest.approx(std, abs=5 * std / math.sqrt(40_000))


def test_words():
    base = {
        "claimed_epsilon": 1.0, "delta": 1e-5, "lower_bound": 2.0, "confidence": 0.95, "trials": (10, 10),
        "hits": (0, 10), "tuning": 0, "threshold": 0.5, "high_means": 1, "auc": 1.0,
        "scores": (np.zeros(10), np.ones(10)),
    }  # fmt: skip
    refuted = GameResult(**base)
    assert refuted.refuted
    assert refuted.words == "With 95 % confidence epsilon is at least 2 at delta = 1e-05: the claim of 1 is refuted."
    kept = GameResult(**base | {"lower_bound": 1.0})
    assert not kept.refuted  # only a bound above the claim refutes the claim
    assert kept.words.endswith("the claim of 1 is not refuted. This result does not prove the claim.")
    free = GameResult(**base | {"claimed_epsilon": math.inf})
    assert not free.refuted
    assert free.words.endswith("No epsilon is claimed.")


GOOD = {"claimed_epsilon": 1, "delta": 0, "trials": 5, "threshold": 0.5}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"claimed_epsilon": -1}, "claimed_epsilon must be at least 0, got -1"),
        ({"claimed_epsilon": math.nan}, "claimed_epsilon must be at least 0, got nan"),
        ({"delta": 1}, r"delta must be in \[0, 1\), got 1"),
        ({"delta": math.nan}, r"delta must be in \[0, 1\), got nan"),
        ({"confidence": 1.0}, r"confidence must be in \(0, 1\), got 1.0"),
        ({"confidence": 0}, r"confidence must be in \(0, 1\), got 0"),
        ({"trials": 0}, "trials must be a whole number >= 1, got 0"),
        ({"trials": (5, 0)}, "trials must be a whole number >= 1, got 0"),
        ({"trials": 5.0}, "trials must be a whole number >= 1, got 5.0"),
        ({"tuning": 5}, "either a threshold or tuning trials"),
        ({"threshold": None, "tuning": 0}, "tuning must be a whole number >= 1, got 0"),
        ({"threshold": math.nan}, "threshold must be a number, got nan"),
        ({"high_means": 2}, "high_means must be 0, 1 or None, got 2"),
        ({"batch": 0}, "batch must be a whole number >= 1, got 0"),
        ({"statistic": lambda out: math.nan}, "the statistic is NaN for an output of world 0"),
        ({"statistic": lambda out: [1.0, 2.0]}, r"one number for each output, got the shape \(2,\)"),
        ({"sample": [float]}, "sample must be a function"),
    ],
)
def test_bad_input(change, said):
    settings = GOOD | {"sample": lambda world, rng: world, "statistic": float} | change
    with pytest.raises(ValueError, match=said):
        play(**settings, rng=np.random.default_rng(0))


def test_bad_input_of_the_parts():
    for hits, trials, error, said in (
        (3, 2, 0.1, "hits must be between 0 and the 2 trials, got 3"),
        (-1, 2, 0.1, "hits must be between 0 and the 2 trials, got -1"),
        (math.nan, 2, 0.1, "hits must be between 0 and the 2 trials, got nan"),
        (1, 0, 0.1, "trials must be"),
        (1, 2, 1.0, "error must be in"),
    ):
        with pytest.raises(ValueError, match=said):
            clopper_pearson(hits, trials, error=error)
    for f0, f1, said in (
        (np.zeros(2), np.zeros(2), "f0 and f1 must differ"),
        (np.zeros(2), np.zeros(3), "of the same shape"),
        (np.zeros(2), np.array([1, np.nan]), "finite"),
    ):
        with pytest.raises(ValueError, match=said):
            projection(f0, f1)
