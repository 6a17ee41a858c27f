"""Tests of the mistakes that `nfa audit --rule` detects. The references are SciPy's densities and linear algebra."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import stats

from nfa import ops
from nfa.audit import own_rule
from nfa.audit.bounds import clopper_pearson
from nfa.audit.outliers import outlier, resized
from nfa.audit.private_game import epsilon_of_shift, flat, shift_lower_bound
from nfa.audit.reports import AuditOptions
from nfa.audit.rule_games import Claim, GameOutcome, Steps, distinguish, runs_needed
from nfa.audit.scores import Ends, learn
from nfa.audit.worst_neighbours import NeighbourPair
from nfa.mechanism import Mechanism
from nfa.network import mlp
from tests.trust import broken_noise, broken_rules
from tests.trust.broken_claims import SGD, claim
from tests.trust.mechanism_rules import dense

rng = np.random.default_rng
D, MU = 6, 0.5  # number of values in the release of `toy`, and its sensitivity divided by the std of its noise


def toy(noise):
    """A release of D values: MU times the first unit vector if there is a record, plus noise(rng, record, state)."""
    net = mlp((1, 2), ops.tanh, rng=rng(0))

    def rule(net, B, x, y, rng, state):
        return [None, MU * len(x) * np.eye(D)[0] + noise(rng, len(x), state)], [None, np.zeros(0)]

    said = Mechanism(
        law="gaussian", sensitivity=MU, adjacency="add-remove", noise_std=1.0, sampling="none", sampling_rate=1.0
    )
    one = Claim(
        name="toy",
        rule=rule,
        quiet=lambda net, B, x, y, seed, state: rule(net, B, x, y, None, state),
        mechanism=lambda net, B: said,
        draw=lambda rng: pair,
    )
    x, y = np.ones((1, 1)), np.eye(2)[:1]
    pair = NeighbourPair(net=net, B=[], x=(x[1:], x), y=(y[1:], y), adjacency="add-remove")
    return one, pair


def silent_or(draw):
    """Noise that is 0 in a run without noise. Such a run has no generator."""
    return lambda rng, record, state: np.zeros(D) if rng is None else draw(rng, record, state)


def fresh(rng, record, state):
    return rng.standard_normal(D)


# --- scores


def test_the_quadratic_score_is_the_likelihood_ratio_of_two_normal_laws():
    draws, ends = rng(1), Ends(f0=np.zeros(3), f1=np.ones(3), std=2.0)
    outputs = draws.standard_normal((50, 3)) @ np.diag([1, 2, 3]), 1 + draws.standard_normal((50, 3))
    scores = learn(outputs, ends, 1, draws)
    at = draws.standard_normal((5, 3))

    def log_ratio(covariance):
        logs = [
            stats.multivariate_normal(one.mean(axis=0), covariance(np.cov(one, rowvar=False))).logpdf(at)
            for one in outputs
        ]
        return logs[1] - logs[0]

    np.testing.assert_allclose(scores["spread and correlation"](at), log_ratio(lambda S: S), rtol=1e-9)
    np.testing.assert_allclose(scores["spread of each number"](at), log_ratio(lambda S: np.diag(np.diag(S))), rtol=1e-9)


def test_scores_of_several_steps_weigh_them_by_their_covariance():
    """The score weights the steps by the inverse of their covariance. The three steps share a sample: W = I + 11'.

    The shared sample adds noise to the sum of the steps, but not to their differences.
    """
    draws, ends = rng(2), Ends(f0=np.zeros(3 * D), f1=np.repeat([1.0, 1.0, 0.0], D), std=1.0)

    def some():
        return (draws.standard_normal((4000, 3, D)) + draws.standard_normal((4000, 1, D))).reshape(4000, 3 * D)

    weights = learn((some(), some()), ends, 3, draws)["steps together"](np.eye(3 * D)).reshape(3, D)
    expected = np.linalg.solve(np.eye(3) + 1, [1.0, 1.0, 0.0])  # 48,000 samples for each value: 3 % are 6.6 sigma
    np.testing.assert_allclose(weights, np.repeat(expected[:, None], D, axis=1), atol=0.03)


def test_noise_left_out_or_used_twice_is_told_from_fresh():
    f0, f1 = np.arange(4.0), np.arange(4.0) + [0, 0, 0.5, 0.25]
    ends = Ends(f0=f0, f1=f1, std=0.1)
    noise = 0.1 * np.array([[0.3, -1.2, 0.7, 0.1], [0.3, -1.2, 0.0, 0.1], [0.3, -1.2, 0.7, -0.3], [0.3, 0.3, 0.7, 1.0]])
    assert ends.coincidences(f0 + noise).tolist() == [0, -1, -1, 0]  # an event in both data sets does not count
    assert ends.coincidences(f1 + noise).tolist() == [0, 1, 1, 0]
    fresh = np.vstack([f0, f0]) + 0.1 * rng(0).standard_normal((2, 4))
    fresh[1, 2] = np.nan
    assert ends.coincidences(fresh).tolist() == [0, 0]


def test_scores_take_what_is_not_finite_and_what_is_large():
    ends = Ends(f0=np.zeros(2), f1=np.array([np.inf, 1.0]), std=1.0)
    outputs = np.array([[0.0, 1.0], [np.nan, 1e300], [np.inf, 0.0], [1.0, -1e300]])
    scores = learn((outputs[[0, 0, 3]], outputs), ends, 1, rng(0))
    assert all(np.isfinite(score(outputs)).all() for score in scores.values())
    assert scores["not finite"](outputs).tolist() == [0, 1, 1, 0]


# --- games


def test_steps_state_the_noise_of_those_with_the_record():
    one, pair = toy(silent_or(fresh))
    for steps, uses in ((1, 1), (2, 1), (3, 2), (4, 2)):
        game = Steps(claim=one, pair=pair, steps=steps)
        assert game.stated == pytest.approx(MU * math.sqrt(uses), rel=1e-12)
        assert game.ends.f1.reshape(steps, D)[:, 0].tolist() == [MU] * uses + [0] * (steps - uses)
        assert not game.ends.f0.any()
        assert game.outputs(1, 3, rng(0)).shape == (3, steps * D)


def larger(rng, record, state):
    return (1 + 0.5 * record) * rng.standard_normal(D)


def correlated(rng, record, state):
    v = rng.standard_normal(D)
    v[1::2] = 0.6 * v[1::2] + (0.8 if record else -0.8) * v[::2]
    return v


def rarely_none(rng, record, state):
    return rng.standard_normal(D) * (rng.random() >= 0.05)


def kept(rng, record, state):
    return state.setdefault("noise", rng.standard_normal(D))


def taken_back(rng, record, state):
    before, state["last"] = state.get("last", 0), rng.standard_normal(D)
    return state["last"] - before


@pytest.mark.parametrize("noise", [larger, correlated, rarely_none, kept, taken_back])
def test_what_no_mean_of_one_step_shows_is_refuted(noise):
    """The games refute a mistake that does not change the mean of a single step, with 1,000 runs for each data set.

    Each mistake has a game that misses it with probability below 1e-6. The next two tests compute this probability for
    the weakest games.
    """
    one, pair = toy(silent_or(noise))
    outcomes = own_rule.games(one, {"alone": pair}, AuditOptions(trials=1000))
    assert any(game.refuted for game in outcomes)
    assert outcomes[0].refuted == (noise not in (kept, taken_back))


@pytest.mark.parametrize("share, trials, known", [(1.0, 500, math.sqrt(13)), (0.8, 1000, math.sqrt(7.640704))])
def test_the_power_of_the_game_on_noise_that_is_taken_back(share, trials, known):
    """The game detects noise that the next step subtracts. The game misses this mistake with probability below 1e-6.

    The sums of the first 1, 2, 3 and 4 steps contain the record 1, 2, 2 and 2 times. Each sum has the noise of only one
    step. By the mechanism, the record's effect is only sqrt(2) times its effect in one step. If each step subtracts
    eight tenths of the noise of the previous step, the factors are 1, 1.8, 1.44 and 1.152. We use a threshold in the
    middle and a score that is 10 % worse than the best score. The audit plays four games, and each game has two bounds.
    """
    one, pair = toy(silent_or(fresh))
    back = np.eye(4) - share * np.eye(4, k=-1)
    true = MU * float(np.linalg.norm(np.linalg.solve(back, [1.0, 1.0, 0.0, 0.0])))
    assert true == pytest.approx(MU * known, rel=1e-9)
    low, high = clopper_pearson(np.arange(trials + 1), trials, error=0.05 / 16)
    bounds = stats.norm.ppf(low) - stats.norm.ppf(high)[:, None]
    laws = [stats.binom.pmf(np.arange(trials + 1), trials, stats.norm.cdf(s * 0.9 * true / 2)) for s in (-1, 1)]
    stated = Steps(claim=one, pair=pair, steps=4).stated
    assert np.outer(*laws)[~(bounds > stated)].sum() < 1e-6


@pytest.mark.parametrize("rate", [0.002, 0.02, 0.2])
def test_the_power_of_the_game_on_rare_events(rate):
    """The game on rare events misses a mistake with probability below 1e-6.

    We plan the number of runs from earlier runs, in which the event occurred at exactly its rate.
    """
    one, pair = toy(silent_or(fresh))
    game, settings = Steps(claim=one, pair=pair), AuditOptions(trials=2000, confidence=1 - 0.05 / 4)
    shown = distinguish("a", game, replace(settings, trials=10), stream=1).summary
    seen = GameOutcome(summary=shown, score="", one_step=0.0, alike=(0, round(4000 * rate)), runs=4000)
    n = runs_needed(seen, game, settings)
    confidence = (1 + settings.confidence) / 2
    enough = next(k for k in range(n) if shift_lower_bound((0, k), n, confidence=confidence) > game.stated)
    assert stats.binom.cdf(enough - 1, n, rate) < 1e-6
    assert runs_needed(replace(seen, alike=(1, 0)), game, settings) == math.inf


@pytest.mark.slow
def test_a_sound_release_is_not_refuted_beyond_the_stated_rate():
    """Audits refute a sound release at most as often as stated, in 100 audits at 80 % confidence.

    The release attains its stated sensitivity. A binomial(100, 0.2) exceeds the allowed number of refutations with
    probability 1e-6 at most.
    """
    one, pair = toy(silent_or(fresh))
    settings = [AuditOptions(trials=40, confidence=0.8, seed=seed) for seed in range(100)]
    refuted = [any(g.refuted for g in own_rule.games(one, {"alone": pair}, how, steps=2)) for how in settings]
    assert sum(refuted) <= stats.binom.isf(1e-6, 100, 0.2)


def test_a_game_bounds_a_gaussian_release_by_what_it_is():
    """A game's bound on a Gaussian release is below the exact epsilon with 95 % confidence, for one and four steps."""
    one, pair = toy(silent_or(fresh))
    for steps in (1, 4):
        outcome = distinguish(
            "a", Steps(claim=one, pair=pair, steps=steps), AuditOptions(trials=2000, seed=3), stream=1
        )
        exact = epsilon_of_shift(MU * math.sqrt((steps + 1) // 2), 1e-5)
        assert outcome.summary.claims["stated"] == pytest.approx(exact, rel=1e-12)
        assert 0 < outcome.summary.lower_bound < exact
        assert 0 < outcome.one_step < epsilon_of_shift(MU, 1e-5)
        assert outcome.alike == (0, 0)
        assert outcome.runs == 4000


# --- outliers


def search_of(rule):
    net = dense(ops.tanh, (4, 3, 2))
    one = claim(rule.__name__, rule, broken_rules.mechanism, SGD, "add-remove", net)
    return (
        lambda net, B, x, y: flat(*one.quiet(net, B, x, y, 0, {})),
        lambda net, B: one.mechanism(net, B).sensitivity,
        [one.draw(rng(0))],
    )


def test_records_of_all_sizes_do_not_move_a_sound_rule_by_more():
    found = outlier(*search_of(broken_rules.sound))
    assert found.ratio <= 1 + 1e-4
    assert not found.exceeded
    assert found.raised == 0


@pytest.mark.parametrize("rule", [broken_noise.overflow_passes, broken_noise.nan_for_outliers])
def test_a_clip_that_an_overflow_passes_is_found_by_an_outlier(rule):
    """An outlier finds a clip that fails if squares overflow: values above 1e19 in float32, above 1e154 in float64.

    Records of moderate size do not show the failure.
    """
    answer, stated, pairs = search_of(rule)
    found = outlier(answer, stated, pairs)
    assert found.exceeded
    assert found.size > (1e18 if found.dtype == np.float32 else 1e150)
    moved = [np.linalg.norm(answer(p.net, p.B, p.x[1], p.y[1]) - answer(p.net, p.B, p.x[0], p.y[0])) for p in pairs]
    assert max(moved) <= stated(pairs[0].net, []) * (1 + 1e-12)


def test_sizes_that_raise_are_counted_and_not_judged():
    answer, stated, pairs = search_of(broken_rules.sound)

    def careful(net, B, x, y):
        if np.abs(x).max(initial=0) > 1e30:
            raise ValueError("too large")
        return answer(net, B, x, y)

    found = outlier(careful, stated, pairs)
    assert not found.exceeded
    assert found.raised > 0


def test_a_resized_place_moves_only_the_record_that_differs():
    x = np.arange(1.0, 7.0).reshape(3, 2)
    change = partial(NeighbourPair, net=mlp((2, 2), ops.tanh, rng=rng(0)), B=[], y=(np.eye(2), np.eye(2)))
    pair = change(x=(x[:2], x[1:]), adjacency="replace-one")
    both, one = resized(pair, 10.0), resized(pair, 10.0, entries=slice(1), both=False)
    assert both.x[0].tolist() == [[1, 2], [7.5, 10]]
    assert both.x[1].tolist() == [[3, 4], [25 / 3, 10]]
    assert one.x[0].tolist() == [[1, 2], [3, 4]]
    assert one.x[1].tolist() == [[3, 4], [10, 6]]
    same = resized(change(x=(x[:2], x[:2]), adjacency="replace-label"), 8.0)
    assert np.array_equal(*same.x)
    alone = resized(change(x=(x[:0], x[:1]), adjacency="add-remove"), 4.0)
    assert alone.x[1].tolist() == [[2, 4]]
    assert len(alone.x[0]) == 0
    assert x[0].tolist() == [1, 2]
