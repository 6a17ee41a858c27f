"""Tests of the noise for a target epsilon or a noise multiplier: epsilon is at most the target, but near it."""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import optimize

from nfa.mechanism import Classic, Mechanism, NoGuarantee
from nfa.privacy.accountant import calibrate, epsilon, less_noise
from nfa.privacy.noise_asked import noise_report, setting_of_multiplier, setting_of_target

pytestmark = pytest.mark.filterwarnings("error::nfa.privacy.rdp.OrderAtGridEnd")

POISSON = {"adjacency": "add-remove", "sampling": "poisson"}
SHUFFLED = {"adjacency": "replace-one", "sampling": "epoch-partition"}
DRAWN = {"adjacency": "replace-one", "sampling": "without-replacement"}
FULL = {"adjacency": "replace-one", "sampling": "none", "sampling_rate": 1.0}


def stating(*, sensitivity=1.0, unit=1.0, law="gaussian", **scheme):
    """The mechanism of a rule. Its noise has std `unit` times the noise setting."""
    return lambda setting: Mechanism(law=law, sensitivity=sensitivity, noise_std=unit * setting, **scheme)


# --- Opacus

SETTINGS = [  # sampling rate, steps, epsilon, delta
    (0.01, 1000, 3.0, 1e-5),
    (0.01, 1000, 0.3, 1e-5),
    (512 / 60_000, 1170, 1.0, 1e-5),
    (2048 / 60_000, 580, 8.0, 1e-5),
    (500 / 6000, 120, 3.0, 1e-5),  # from tutorials/usage.md
]


@pytest.fixture(scope="module")
def opacus():
    return pytest.importorskip("opacus.accountants", reason="Opacus is not installed: pip install opacus")


@pytest.mark.slow
@pytest.mark.peers
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("rate, steps, target, delta", SETTINGS)
def test_the_noise_is_that_of_opacus(opacus, rate, steps, target, delta):
    """With the orders and the conversion of Opacus, our noise multiplier is the same as that of Opacus.

    With our own orders and conversion, the noise multiplier agrees to a thousandth. The search of Opacus has the
    tolerance 1e-6 in epsilon.
    """
    utils = pytest.importorskip("opacus.accountants.utils")
    how = {"accountant": "rdp", "epsilon_tolerance": 1e-6}
    theirs = utils.get_noise_multiplier(target_epsilon=target, target_delta=delta, sample_rate=rate, steps=steps, **how)
    run = {"target_epsilon": target, "delta": delta, "steps": steps}
    same = calibrate(
        **run,
        **POISSON,
        sampling_rate=rate,
        orders=opacus.RDPAccountant.DEFAULT_ALPHAS,
        conversion="canonne2020",
        bound="mironov2019:sec3.3",
    )
    assert same.noise_multiplier == pytest.approx(theirs, rel=5e-6)
    rule = stating(sensitivity=1 / 512, **POISSON, sampling_rate=rate)
    ours = 512 * setting_of_target(rule, accountant="rdp", **run)
    assert ours == pytest.approx(theirs, rel=1e-3)
    how = {"accountant": "prv", "epsilon_tolerance": 1e-3}  # the error of this estimate of epsilon is up to 0.01
    least, most = (
        utils.get_noise_multiplier(target_epsilon=near, target_delta=delta, sample_rate=rate, steps=steps, **how)
        for near in (target + 0.03, target - 0.03)
    )
    assert least < 512 * setting_of_target(rule, **run) < most


# --- a target


BY_RENYI = [(0.5, {"accountant": "rdp"}), (3.0, {"accountant": "rdp"}), (8.0, {"conversion": "mironov2017"})]


@pytest.mark.parametrize("target, named", [(0.5, {}), (3.0, {}), *BY_RENYI])
@pytest.mark.parametrize(
    "scheme, law, per_epoch",
    [
        pytest.param(POISSON | {"sampling_rate": 0.02}, "gaussian", None, marks=pytest.mark.slow),
        pytest.param(DRAWN | {"sampling_rate": 0.02}, "gaussian", None, marks=pytest.mark.slow),
        (SHUFFLED | {"sampling_rate": 0.02}, "gaussian", 50),
        (SHUFFLED | {"sampling_rate": 0.15}, "gaussian", 7),
        (FULL, "gaussian", None),
        (FULL, "laplace", None),
    ],
)
def test_the_target_is_kept_and_a_little_less_noise_is_too_little(scheme, law, per_epoch, target, named):
    """The noise satisfies the target, and a thousandth less noise does not, with Rényi divergences.

    With privacy losses, the search stops up to a thousandth below the target, so the test uses two thousandths less
    noise.
    """
    how = {"delta": 1e-5, "steps_per_epoch": per_epoch} | named
    rule = stating(sensitivity=0.37, unit=0.1, law=law, **scheme)
    setting = setting_of_target(rule, target_epsilon=target, steps=70, **how)
    assert setting == float(f"{setting:.5e}")
    assert epsilon([(rule(setting), 70)], **how).epsilon <= target
    assert epsilon([(rule((0.999 if named else 0.998) * setting), 70)], **how).epsilon > target


def test_the_target_of_shuffled_epochs_by_a_search_over_all_orders():
    """The noise for a target of shuffled epochs is that of a search over all orders.

    70 steps with 7 steps in an epoch use a record ten times. We find the least z with Mironov's conversion. Because nfa
    uses a grid of orders, its noise is at most a relative 1e-4 larger.
    """

    def spent(z):
        rho = 10 / (2 * z * z)
        best = optimize.minimize_scalar(lambda a: rho * (1 + math.exp(a)) - math.log(1e-5) / math.exp(a))
        return best.fun

    z = optimize.brentq(lambda z: spent(z) - 3, 1, 100)
    rule = stating(sensitivity=0.5, **SHUFFLED, sampling_rate=0.15)
    how = {"delta": 1e-5, "steps": 70, "conversion": "mironov2017", "steps_per_epoch": 7}
    assert z / 2 <= setting_of_target(rule, target_epsilon=3.0, **how) < z / 2 * (1 + 1e-4)


@pytest.mark.parametrize("target", [1.0, 1.7, 2.0])
def test_no_last_bit_takes_the_count_above_the_target(target):
    """Rounding of floats never makes the accountant's epsilon larger than the target.

    For these sensitivities, the least setting has few digits, so rounding it up adds nothing to the noise.
    """
    run = {"target_epsilon": target, "delta": 1e-5, "steps": 10}
    z = calibrate(**run, accountant="rdp", **FULL).noise_multiplier
    for few, unit, nudge in itertools.product((0.25, 0.3, 0.7, 0.123, 0.9), (1.0, 0.1, 1 / 3, 0.7), range(-6, 7)):
        rule = stating(sensitivity=unit * few / z * (1 + nudge * 1.1e-16), unit=unit, **FULL)
        setting = setting_of_target(rule, accountant="rdp", **run)
        assert epsilon([(rule(setting), 10)], delta=1e-5, accountant="rdp").epsilon <= target
        assert few <= setting < few * (1 + 2e-5)


# --- the target for a mechanism that states a Rényi curve


def known_by_curve(unit=1.0, rest=0.0):
    """The Rényi curve of Gaussian noise of `unit` times the setting, plus a part that no noise reduces."""

    def rule(setting):
        return Classic(id="ours:softmax-objective", curve=lambda a: rest + a / (2 * (unit * setting) ** 2), **FULL)

    return rule


@pytest.mark.parametrize("target, named", [(0.5, {}), *BY_RENYI])
@pytest.mark.parametrize("unit", [1.0, 6e4, 1e-7])
def test_a_curve_needs_the_noise_of_the_mechanism_that_has_it(unit, target, named):
    """By Rényi divergences, a mechanism that states only a curve needs the noise of a mechanism with this curve.

    A Rényi curve alone does not determine privacy losses.
    """
    run = {"target_epsilon": target, "delta": 1e-5, "steps": 7} | named
    setting = setting_of_target(known_by_curve(unit), **run)
    assert setting == float(f"{setting:.5e}")
    by_renyi = {"accountant": "rdp"} | run
    assert setting == pytest.approx(setting_of_target(stating(unit=unit, **FULL), **by_renyi), rel=1e-5)
    spent = [epsilon([(known_by_curve(unit)(s), 7)], delta=1e-5, **named) for s in (setting, setting / 1.0001)]
    assert spent[0].epsilon <= target < spent[1].epsilon


def test_a_curve_with_a_pure_epsilon_needs_less_noise_by_privacy_losses():
    """A mechanism that states a curve with a pure epsilon needs less noise by privacy losses.

    The mechanism is randomised response with epsilon 1 / setting, used 30 times.
    """

    def rule(setting):
        true = -math.log1p(math.exp(-1 / setting))  # log of the probability of the true answer
        other = true - 1 / setting

        def curve(a):
            return np.logaddexp(a * true + (1 - a) * other, a * other + (1 - a) * true) / (a - 1)

        return Classic(id="ours:softmax-objective", curve=curve, epsilon_infinity=1 / setting, **FULL)

    run = {"target_epsilon": 2.0, "delta": 1e-5, "steps": 30}
    least, by_renyi = setting_of_target(rule, **run), setting_of_target(rule, accountant="rdp", **run)
    assert least < 0.95 * by_renyi
    reached = epsilon([(rule(least), 30)], delta=1e-5)
    assert reached.conversion == "pld"
    assert 2 * (1 - 1.1e-3) <= reached.epsilon <= 2
    assert setting_of_target(rule, accountant="pld", **run) == least


def test_what_no_noise_lessens_is_refused_above_the_target():
    run = {"delta": 1e-5, "steps": 1}
    with pytest.raises(
        ValueError,
        match=r"no amount of noise brings epsilon to 1.9, because epsilon stays at 2 with the other settings",
    ):
        setting_of_target(known_by_curve(rest=2.0), target_epsilon=1.9, **run)
    above = setting_of_target(known_by_curve(rest=2.0), target_epsilon=2.5, **run)
    assert epsilon([(known_by_curve(rest=2.0)(above), 1)], delta=1e-5).epsilon <= 2.5


def test_a_curve_has_no_multiplier():
    with pytest.raises(
        ValueError, match="that states only a Renyi curve has no noise multiplier: give a target epsilon"
    ):
        setting_of_multiplier(known_by_curve(), 1.0)


# --- a noise multiplier


def test_a_multiplier_is_so_many_times_the_sensitivity():
    for z, sensitivity, unit in ((1.1, 1 / 512, 1.0), (0.3, 2.5 / 7, 0.1), (7e3, 1e-9, 3.0), (1e-12, 1e6, 1.0)):
        rule = stating(sensitivity=sensitivity, unit=unit, **FULL)
        assert setting_of_multiplier(rule, z) == pytest.approx(z * sensitivity / unit, rel=5e-12)
        assert rule(setting_of_multiplier(rule, z)).noise_multiplier == pytest.approx(z, rel=5e-12)


# --- refusals


def half_below_one(setting):
    """A mechanism with a sensitivity that depends on the setting."""
    return stating(sensitivity=1.0 if setting >= 1 else 0.5, **FULL)(setting)


@pytest.mark.parametrize("rule", [half_below_one, lambda _: stating(**FULL)(5.0)])
def test_noise_that_is_not_proportional_is_refused(rule):
    with pytest.raises(
        ValueError,
        match=r"must be proportional to the setting for the noise, got the noise multiplier [15] for the setting 1 and",
    ):
        setting_of_multiplier(rule, 0.3)
    with pytest.raises(ValueError, match="must be proportional to the setting"):
        setting_of_target(rule, target_epsilon=1e4, delta=1e-5, steps=1)


def test_what_no_theorem_covers_is_refused():
    rule = stating(**POISSON | {"adjacency": "replace-one"}, sampling_rate=0.1)
    with pytest.raises(NoGuarantee, match="Poisson batches cover only an added, removed or zeroed-out record"):
        setting_of_target(rule, target_epsilon=1.0, delta=1e-5, steps=1)
    with pytest.raises(ValueError, match="noise_multiplier must be positive and finite, got 0"):
        setting_of_multiplier(stating(**FULL), 0.0)


# --- the content of a record


def test_the_sentence_says_when_more_was_spent_than_asked_for():
    counted = {"epsilon": 3.2, "delta": 1e-5, "steps": 13, "bound": "lee2020:lem1", "conversion": "canonne2020"}
    asked = {"target_epsilon": 3.0, "delta": 1e-5, "steps": 12}
    found = noise_report(asked, {"s": 0.25}, 1.5, counted)
    assert found["asked"] == asked
    assert found["got"] == {"s": 0.25, "noise_multiplier": 1.5, **counted}
    assert found["statement"] == (
        "asked for epsilon at most 3 at delta 1e-05 after 12 steps. Got s = 0.25, noise multiplier 1.5, for which"
        " epsilon 3.2 at delta 1e-05 is counted after 13 steps (lee2020:lem1, canonne2020). "
        "This epsilon exceeds the target, because the run was interrupted, and each interruption can raise epsilon"
    )
    assert "more than" not in noise_report(asked, {"s": 0.25}, 1.5, counted | {"epsilon": 3.0})["statement"]
    bare = noise_report({"noise_multiplier": 1.1}, {"sigma": 0.11}, 1.1, None)
    assert bare["got"] == {"sigma": 0.11, "noise_multiplier": 1.1}
    assert bare["statement"] == "asked for noise multiplier 1.1. Got sigma = 0.11, noise multiplier 1.1"
    curve = noise_report(asked, {"s": 0.25}, None, counted | {"epsilon": 2.9})
    assert curve["got"] == {"s": 0.25, **counted, "epsilon": 2.9}
    assert "Got s = 0.25, for which epsilon 2.9 at" in curve["statement"]
    assert (
        "epsilon inf at" in noise_report(bare["asked"], {"sigma": 0.11}, 1.1, counted | {"epsilon": "inf"})["statement"]
    )


@pytest.mark.parametrize("enough", [0.9996, 0.9999, 1.0, 1.5, 40.0])
@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_the_search_for_less_noise_keeps_the_target_and_ends_close_to_it(enough, power):
    """If epsilon is z^-power, the noise for the target 1 is between 1 and about 1 + 1e-3 / power.

    The search starts from the noise `enough`. This noise can be slightly too small for the target, or far too large.
    """
    noise, found = less_noise(lambda z: SimpleNamespace(epsilon=z**-power), 1.0, enough)
    assert found.epsilon == noise**-power
    assert 1 - 1e-3 <= found.epsilon <= 1
