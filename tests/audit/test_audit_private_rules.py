"""Tests of the audits of DP-SGD and DP-DFA. An audit must not refute sound rules, and must refute broken rules.

An audit refutes the paper's formula for the sensitivity in the cases in which this formula is not a bound.
"""

import functools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, stats

from nfa.audit import dp_sgd as sgd_audit
from nfa.audit.bounds import epsilon_lower_bound
from nfa.audit.private_game import epsilon_of_shift, flat, measure, rare_threshold, shift_lower_bound
from nfa.audit.reports import AuditOptions
from nfa.audit.worst_neighbours import LEFT_OUT
from nfa.papers.lee2020 import audit_dp_dfa as dfa_audit
from nfa.rules.dp_dfa import dp_dfa
from nfa.rules.dp_sgd import dp_sgd
from nfa.sensitivity import clipped_sensitivity
from tests.oracles.chance import game_exceeds

DELTA = 1e-5


def most_false_alarms(games, rate, doubt=1e-6):
    """The largest allowed number of false alarms. A sound rule exceeds it with probability at most ``doubt``."""
    return int(stats.binom.isf(doubt, games, rate))


def spent(z):
    """Epsilon of Lemmas 1 and 2 for one step, minimised over real orders: 1 / (2 z^2) + sqrt(2 log(1/delta)) / z."""
    return 0.5 / z**2 + math.sqrt(2 * math.log(1 / DELTA)) / z


def gauss(shift, world, rng):
    return (world - 0.5) * shift + rng.standard_normal()


# ---------------------------------------------------------------- the bound from the law of the noise


@functools.cache
def shift_bounds(confidence):
    """The bounds on the shift for every outcome of 30 runs with each data set."""
    counts = range(31)
    return np.array([[shift_lower_bound((k0, k1), 30, confidence=confidence) for k1 in counts] for k0 in counts])


@pytest.mark.parametrize("mu", [0.0, 0.7, 2.0])
@pytest.mark.parametrize("confidence", [0.5, 0.9])
def test_false_alarms_of_the_shift_by_enumeration(mu, confidence):
    """The bound on the shift exceeds mu with at most the stated probability, summed over all outcomes of 30 + 30 runs.

    We test each threshold of a grid.
    """
    counts, bounds = range(31), shift_bounds(confidence)
    worst = 0.0
    for t in np.linspace(-3, 3 + mu, 61):
        chances = [stats.binom.pmf(counts, 30, stats.norm.sf(t - mean)) for mean in (0.0, mu)]
        wrong = np.outer(*chances)[bounds > mu].sum()
        assert wrong <= 1 - confidence
        worst = max(worst, wrong)
    assert worst > (1 - confidence) / 40  # so the bound is not trivial


def test_events_of_other_laws_with_the_same_privacy_show_no_more():
    """The events of other laws with the same privacy do not show more than the events of the Gaussian law.

    In this test, the other law is a mixture: with probability 0.2, two Gaussians with means mu apart are exchanged.
    This mixture is at least as private as the two Gaussians.
    """
    mu, t = 1.3, np.linspace(-4, 5, 200)
    p0, p1 = ((0.8 * stats.norm.sf(t - m) + 0.2 * stats.norm.cdf(t - m)) for m in (0.0, mu))
    assert (stats.norm.ppf(p1) - stats.norm.ppf(p0) <= mu).all()


@pytest.mark.parametrize("mu", [0.2, 1.0, 3.0])
def test_the_epsilon_of_a_shift_by_quadrature(mu):
    """The epsilon of a shift satisfies its definition: the integral of (p - e^epsilon q)_+ is delta, by quadrature."""
    for delta in (1e-5, 1e-2):
        found = epsilon_of_shift(mu, delta)
        start = mu / 2 + found / mu  # where p = e^epsilon q
        area, _ = integrate.quad(
            lambda x, e=found: stats.norm.pdf(x - mu) - math.exp(e) * stats.norm.pdf(x),
            start, start + 40, points=[start + 1, start + 4], epsabs=1e-14, epsrel=1e-10, limit=200,
        )  # fmt: skip
        assert area == pytest.approx(delta, rel=1e-7)
    assert epsilon_of_shift(0.0, DELTA) == 0


def test_the_rare_threshold_is_the_best_of_those_with_whole_counts():
    """The rare threshold gives at least 98 % of the largest bound of a fine grid of thresholds.

    We compute each bound from the expected numbers of events, rounded to whole numbers.
    """
    for mu, n in ((1.0, 2000), (1.9, 6000), (0.5, 100)):

        def promised(t, mu=mu, n=n):
            counts = [np.rint(n * stats.norm.sf(t - m)).astype(int) for m in (-mu / 2, mu / 2)]
            return epsilon_lower_bound(counts, n, delta=DELTA, confidence=0.95)

        best = promised(np.linspace(-8, 8, 20_001)).max()
        assert promised(rare_threshold(mu, n, delta=DELTA, confidence=0.95)) >= 0.98 * best


@pytest.mark.parametrize("bound", ["lower_bound", "any_law"])
@pytest.mark.slow
def test_a_sound_gaussian_is_not_refuted_beyond_the_stated_rate(bound):
    """The bound on a sound Gaussian exceeds the exact epsilon at most as often as stated, in 150 games at 80 %.

    A binomial(150, 0.2) exceeds the allowed number of games with probability 1e-6 at most. With 2,000 runs for each
    data set, the bound that uses the distribution of the noise is above 75 % of epsilon.
    """
    exact = epsilon_of_shift(1.0, DELTA)
    shown = [
        measure("own", functools.partial(gauss, 1.0), float, shift=1.0, std=1.0, trials=300, claims={}, exact=exact,
                settings=AuditOptions(confidence=0.8, seed=seed), stream=0)
        for seed in range(150)
    ]  # fmt: skip
    assert sum(getattr(one, bound) > exact for one in shown) <= most_false_alarms(150, 0.2)
    large = measure("own", functools.partial(gauss, 1.0), float, shift=1.0, std=1.0, trials=2000, claims={},
                    exact=exact, settings=AuditOptions(), stream=0)  # fmt: skip
    assert 0.75 * exact < large.lower_bound < exact
    assert 0.2 * exact < large.any_law < large.lower_bound


# ---------------------------------------------------------------- DP-SGD


def unclipped(net, x, y, *, C, **rest):
    return dp_sgd(net, x, y, C=math.inf, **rest)


def half_noise(net, x, y, *, sigma, **rest):
    return dp_sgd(net, x, y, sigma=sigma / 2, **rest)


def each_layer_to_C(net, x, y, *, C, **rest):
    """DP-SGD that clips each layer's gradient to C. The gradients of two layers together reach norm sqrt(2) C."""
    return dp_sgd(net, x, y, C=math.sqrt(net.L) * C, clip="layer", **rest)


@pytest.mark.parametrize("adjacency", ["replace-one", *LEFT_OUT])
def test_the_neighbours_are_the_worst_there_are(adjacency):
    """The neighbours are a worst case, because they differ in one record and attain the rule's stated sensitivity.

    They also attain this sensitivity at each step of a training.
    """
    for seed in range(20):
        net, x, y = sgd_audit.worst_pair(adjacency, seed)
        if adjacency in LEFT_OUT:
            np.testing.assert_array_equal(x[1][1:], x[0])
            np.testing.assert_array_equal(y[1][1:], y[0])
        else:
            np.testing.assert_array_equal(x[0], x[1])
            assert (y[0] != y[1]).any(axis=1).tolist() == [True] + [False] * (sgd_audit.M - 1)
        rng = np.random.default_rng(seed)
        for _ in range(sgd_audit.STEPS):
            f0, f1 = (flat(*dp_sgd(net, x[w], y[w], C=sgd_audit.C, m=sgd_audit.M, sigma=0.0, rng=rng)) for w in (0, 1))
            whole = clipped_sensitivity(C=sgd_audit.C, m=sgd_audit.M, adjacency=adjacency)
            assert np.linalg.norm(f1 - f0) == pytest.approx(whole, rel=1e-10)
            noise = math.sqrt(sgd_audit.STEPS) * sgd_audit.SIGMA
            step = dp_sgd(net, x[0], y[0], C=sgd_audit.C, m=sgd_audit.M, sigma=noise, rng=rng)
            for W, b, dW, db in zip(net.W[1:], net.b[1:], step[0][1:], step[1][1:], strict=True):
                W -= sgd_audit.LR * dW
                b -= sgd_audit.LR * db


@pytest.mark.verifies("lee2020:acct")
def test_the_claims_are_the_papers_accounting_and_the_exact_one():
    """An audit states the epsilon of the paper's accounting as its claim, and also the exact epsilon.

    The noise multiplier is 1 if a record is replaced, and 2 if a record is added. Three steps with sqrt(3) times the
    noise have the same epsilon as one step. The closed form minimises over all real Rényi orders, and the accountant
    over a fine grid of orders.
    """
    settings = AuditOptions(trials=1)
    replaced = sgd_audit.one_step("replace-one", settings, trials=1)
    added = sgd_audit.one_step("add-remove", settings, trials=1)
    steps = sgd_audit.training(settings, trials=1)
    for one, z in ((replaced, 1), (added, 2), (steps, 1)):
        assert one.claims["claimed"] == pytest.approx(spent(z), rel=1e-4)
        assert one.claims["claimed"] >= spent(z)
        assert one.exact == pytest.approx(epsilon_of_shift(1 / z, DELTA), rel=1e-12)
        assert one.exact < one.claims["claimed"]


@pytest.mark.slow
def test_a_sound_dp_sgd_is_not_refuted_beyond_the_stated_rate():
    """The bound on a sound DP-SGD exceeds the exact epsilon at most as often as stated, at 80 % confidence.

    We use 50 networks and batches. A binomial(50, 0.2) exceeds the allowed number of bounds with probability 1e-6 at
    most. The exact epsilon is below the accountant's epsilon. At 95 % confidence with 2,000 runs for each data set, the
    bounds of two seeds are below the exact epsilon.
    """
    bounds, exact = [], epsilon_of_shift(1.0, DELTA)
    for seed in range(50):
        one = sgd_audit.one_step("replace-one", AuditOptions(confidence=0.8, seed=seed), trials=100)
        bounds.append(one.lower_bound)
        assert one.any_law <= one.claims["claimed"]
    assert sum(bound > exact for bound in bounds) <= most_false_alarms(50, 0.2)
    assert np.median(bounds) > 0.4 * exact
    for seed in (0, 1):
        one = sgd_audit.one_step("replace-one", AuditOptions(seed=seed), trials=2000)
        assert 0.7 * exact < one.lower_bound < exact < one.claims["claimed"]


@pytest.mark.parametrize(
    ("rule", "least", "trials"),
    [
        pytest.param(half_noise, 2.0, 1000, marks=pytest.mark.slow),
        pytest.param(each_layer_to_C, math.sqrt(2), 8000, marks=pytest.mark.slow),
        (unclipped, 50.0, 300),
    ],
    ids=["noise halved", "each layer to C", "clip forgotten"],
)  # fmt: skip
def test_a_broken_dp_sgd_is_caught(rule, least, trials):
    """An audit refutes a broken DP-SGD on each of two networks.

    Its bound is at most the true epsilon of the broken rule. With another seed, the audit would miss the broken rule
    with probability below 1e-6.
    """
    for seed in (1, 2):
        one = sgd_audit.one_step("replace-one", AuditOptions(seed=seed), rule, trials=trials)
        assert one.lower_bound > one.claims["claimed"]
        net, x, y = sgd_audit.worst_pair("replace-one", seed)
        f0, f1 = (
            flat(*rule(net, x[w], y[w], C=sgd_audit.C, m=sgd_audit.M, sigma=0.0, rng=np.random.default_rng(0)))
            for w in (0, 1)
        )
        noise = sgd_audit.SIGMA / (2 if rule is half_noise else 1)
        true = float(np.linalg.norm(f1 - f0)) / noise
        assert true >= 0.99 * least
        game_exceeds(0.99 * least, one.claims["claimed"], trials, delta=DELTA)
        assert one.lower_bound <= epsilon_of_shift(true, DELTA)


@pytest.mark.slow
def test_a_training_is_audited_step_by_step():
    """The audit of a whole training uses its steps together.

    The bound on a sound training of three steps is below epsilon. With half of the noise, the same audit refutes the
    claim. With Poisson batches, only the bound that holds for any distribution is available. This bound is above 0 and
    below the accountant's epsilon.
    """
    settings = AuditOptions(seed=3)
    sound = sgd_audit.training(settings, trials=200)
    assert 0.2 * sound.exact < sound.lower_bound < sound.exact
    broken = sgd_audit.training(settings, half_noise, trials=1000)
    game_exceeds(2.0, broken.claims["claimed"], 1000, delta=DELTA)
    assert broken.lower_bound > broken.claims["claimed"] > sound.lower_bound

    def little_noise(net, x, y, *, sigma, **rest):
        return dp_sgd(net, x, y, sigma=sigma / 50, **rest)

    poisson = sgd_audit.poisson_training(settings, trials=200)
    assert poisson.lower_bound is None
    assert 0 < poisson.any_law < poisson.claims["claimed"]
    assert 0.55 < poisson.auc < 0.75
    # The score assumes the noise of the sound rule. At least one of three Poisson batches contains the record with
    # probability 37 / 64.
    seen = sgd_audit.poisson_training(settings, little_noise, trials=200)
    assert seen.auc == pytest.approx(1 - 27 / 64 / 2, abs=5 * 0.5 / math.sqrt(200))  # 5 sigma for 200 coins
    assert seen.any_law > 2 * poisson.any_law


# ---------------------------------------------------------------- DP-DFA


@pytest.fixture(scope="module")
def cases():
    return {case.name: case for case in dfa_audit.cases()}


@pytest.mark.verifies("lee2020:sens-total", "lee2020:hybrid-sens")
def test_what_the_networks_move(cases):
    """For each network, the exchange of one record moves the update by the expected norm.

    For the first two networks, an independent computation gave the expected digits. The other three networks attain the
    corrected sensitivity.
    """
    moved = {name: case.moved * len(case.x) for name, case in cases.items()}
    assert moved["1-1-2"] == pytest.approx(0.2828427122, abs=5.1e-11)
    assert moved["784-128-256-10"] == pytest.approx(3.32827918, abs=5.1e-9)
    assert [cases[n].printed for n in ("1-1-2", "784-128-256-10")] == pytest.approx([0.09, 2], rel=1e-12)
    assert cases["1-1-2"].corrected == pytest.approx(0.2899137803, abs=5.1e-11)
    for name in ("4-4-4-2", "4-4-4-2, derivative", "hybrid"):
        assert cases[name].moved == pytest.approx(cases[name].corrected, rel=1e-12)
    for name in ("1-1-2", "784-128-256-10", "4-4-4-2"):
        assert cases[name].printed < cases[name].moved <= cases[name].corrected * (1 + 1e-12)
    derivative = cases["4-4-4-2, derivative"]
    assert derivative.printed == pytest.approx(derivative.corrected, rel=1e-12)
    for case in cases.values():
        y0, y1 = case.pair.y
        assert (y0 != y1).any(axis=1).tolist() == [True] + [False] * (len(y0) - 1)
        assert (y1.sum(axis=1) == 1).all()


@pytest.mark.verifies("lee2020:sens-total")
@pytest.mark.parametrize("name", ["1-1-2", pytest.param("4-4-4-2", marks=pytest.mark.slow)])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_the_printed_formula_is_refuted_by_the_rule_itself(cases, name, seed):
    """Runs of the rule refute the printed formula: with 1,500 + 1,500 runs, the bound is above twice the claim.

    The bound is not above the epsilon from the corrected formula.
    """
    one = dfa_audit.play_case(cases[name], AuditOptions(seed=seed, trials=1500))
    assert one.claims["printed"] == pytest.approx(spent(1.5), rel=1e-4)
    assert one.lower_bound > 2 * one.claims["printed"]
    assert 0.8 * one.exact < one.lower_bound < one.exact < one.claims["corrected"]


@pytest.mark.verifies("lee2020:sens-total", "lee2020:exp-fc")
@pytest.mark.slow
def test_the_printed_formula_is_refuted_on_the_papers_network(cases):
    """On the paper's network with 136,074 weights, 300 runs for each data set refute the printed formula."""
    one = dfa_audit.play_case(cases["784-128-256-10"], AuditOptions(trials=12 * 300))
    assert one.trials == 300
    assert one.claims["printed"] == pytest.approx(spent(0.7), rel=1e-4)
    assert one.claims["printed"] < one.lower_bound < one.exact < one.claims["corrected"]


@pytest.mark.verifies("lee2020:sens-total")
@pytest.mark.slow
def test_without_the_law_of_the_noise_too(cases):
    """Rare events in 6,000 runs for each data set refute the printed formula without the distribution of the noise."""
    one = dfa_audit.play_case(cases["1-1-2"], AuditOptions(trials=6000))
    assert one.claims["printed"] < one.any_law < one.exact


@pytest.mark.parametrize("name", ["4-4-4-2, derivative", "hybrid"])
@pytest.mark.slow
def test_what_is_a_bound_is_not_refuted_beyond_the_stated_rate(cases, name):
    """An audit refutes a valid sensitivity at most as often as stated, for 30 seeds at 80 % confidence.

    A binomial(30, 0.2) exceeds the allowed number of bounds above the exact epsilon with probability 1e-6 at most. With
    2,000 runs for each data set, the bound is above 70 % of the exact epsilon.
    """
    case = replace(cases[name], fewer=1)
    shown = [dfa_audit.play_case(case, AuditOptions(confidence=0.8, seed=seed, trials=60)) for seed in range(30)]
    assert sum(one.lower_bound > one.exact for one in shown) <= most_false_alarms(30, 0.2)
    one = dfa_audit.play_case(case, AuditOptions(trials=2000))
    assert 0.7 * one.exact < one.lower_bound < one.exact < one.claims["corrected"]


@pytest.mark.slow
def test_a_broken_dp_dfa_is_caught(cases):
    """An audit with 2,000 runs for each data set refutes two broken versions of DP-DFA.

    The first version does not clip the errors, which have the norm sqrt(1/2). The second version has half of the noise.
    """

    def unclipped_error(net, x, y, *, tau_e, **rest):
        return dp_dfa(net, x, y, tau_e=math.inf, **rest)

    def less_noise(net, x, y, *, sigma, **rest):
        return dp_dfa(net, x, y, sigma=sigma / 2, **rest)

    for rule in (unclipped_error, less_noise):
        one = dfa_audit.play_case(replace(cases["4-4-4-2, derivative"], rule=rule), AuditOptions(trials=2000))
        assert one.lower_bound > one.claims["corrected"]
