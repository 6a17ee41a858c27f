"""Tests of the mechanisms that private rules state, of their refusals, and of the messages for wrong input."""

import functools
import math

import numpy as np
import pytest

from nfa import feedback, ledger, ops
from nfa.mechanism import NoGuarantee
from nfa.network import Net, mlp
from nfa.network.dense import Conv2d, Dense
from nfa.network.pooling import MaxPool
from nfa.papers.lee2020.claims import claimed_tau_h
from nfa.privacy.accountant import epsilon
from nfa.rules import dp_dfa as dp_dfa_file
from nfa.rules import dp_hybrid as dp_hybrid_file
from nfa.rules import dp_sgd as dp_sgd_file
from nfa.rules import hybrid as hybrid_file
from nfa.sensitivity import clipped_sensitivity
from nfa.sensitivity.dfa import (
    LayerBound,
    corrected_dfa_sensitivity,
    corrected_tau_h,
    hybrid_sensitivity,
    hybrid_thresholds,
)
from tests.oracles.core import batch

rng = np.random.default_rng
SCHEME = {"adjacency": "replace-one", "sampling": "without-replacement", "sampling_rate": 0.1}


def cnn(**settings):
    layers = [(Conv2d(2, 2), ops.tanh, MaxPool(2)), (Dense(4), ops.sigmoid), (Dense(3),)]
    return Net((1, 5, 5), layers, rng=rng(0), **settings)


def fed(net):
    return feedback.draw(net, law="spectral", scale=0.9, rng=rng(1))


def asked(name, **changes):
    """The mechanism of a rule for settings with a guarantee. ``changes`` replaces some of these settings."""
    net = cnn()
    known = {
        "dp_sgd": (dp_sgd_file, {"C": 1.5}),
        "dp_dfa": (dp_dfa_file, {"net": net, "B": fed(net), "tau_h": 2.0}),
        "dp_hybrid": (dp_hybrid_file, {"net": net, "B": fed(net), "tau_h": 2.0, "tau": 0.4}),
    }
    file, settings = known[name]
    return file.mechanism(**{"m": 64, "sigma": 0.01, **SCHEME, **settings, **changes})


RULES = pytest.mark.parametrize("name", ["dp_sgd", "dp_dfa", "dp_hybrid"])


# --- the stated mechanism ------------------------------------------------------------------------------------


@RULES
@pytest.mark.parametrize(
    "adjacency, terms", [("replace-one", 2), ("replace-label", 2), ("add-remove", 1), ("zero-out", 1)]
)
def test_a_mechanism_says_what_one_step_releases(name, adjacency, terms):
    said = asked(name, adjacency=adjacency, sampling="poisson")
    assert (said.law, said.adjacency, said.sampling) == ("gaussian", adjacency, "poisson")
    assert (said.noise_std, said.sampling_rate) == (0.01, 0.1)
    # Computed by hand: a 2 x 2 kernel has k = 2, and its 4 x 4 positions pool to 4. The hidden layers have sigmoid and
    # beta = 0.9. Then comes the top layer.
    convolution = 0.9**2 * (2**2 * 2.0**2 + 4) if name == "dp_dfa" else 0.4**2 * 2 / 0.1**2
    dense = ((0.9 / 4) ** 2 + 1) * (2.0**2 + 1)
    by_hand = {"dp_sgd": 1.5}.get(name, 0.1 * math.sqrt(convolution + dense))
    assert said.sensitivity == pytest.approx(terms * by_hand / 64, rel=1e-12)


@pytest.mark.verifies("lee2020:sens-total")
def test_the_settings_of_dp_dfa_reach_its_mechanism():
    """DP-DFA's settings reach its mechanism. With feedback at z, the bias sums over 16 positions instead of 4.

    With top="slope", the top layer uses beta_top and the bound 1/4 of the derivative.
    """
    net = cnn()
    below = feedback.draw(net, law="spectral", scale=0.9, rng=rng(1), at="z")
    said = asked("dp_dfa", at="z", B=below, top="derivative", beta_top=0.8)
    by_hand = 0.9**2 * (16 + 16) + ((0.9 / 4) ** 2 + (0.8 / 4) ** 2) * 5
    assert said.sensitivity == pytest.approx(2 * 0.1 / 64 * math.sqrt(by_hand), rel=1e-12)
    said = asked("dp_dfa", tau_e=0.2, top="unclipped", beta_top=0.8)  # the norm of a softmax error is at most sqrt(2)
    by_hand = 0.2**2 * (0.9**2 * (16 + 4) + (0.9 / 4) ** 2 * 5) + 0.8**2 * 2 * 5
    assert said.sensitivity == pytest.approx(2 / 64 * math.sqrt(by_hand), rel=1e-12)
    assert asked("dp_dfa", tau_e=0.3).sensitivity == pytest.approx(3 * asked("dp_dfa").sensitivity, rel=1e-12)


def test_the_norm_of_feedback_is_the_matrix_own_and_not_its_laws():
    net = cnn()
    B = [M if M is None else 2 * M for M in fed(net)]
    by_hand = 1.8**2 * (16 + 4) + ((1.8 / 4) ** 2 + 1) * 5
    assert asked("dp_dfa", B=B).sensitivity == pytest.approx(0.2 / 64 * math.sqrt(by_hand), rel=1e-12)


@pytest.mark.verifies("lee2020:hybrid-sens")
def test_the_hybrid_needs_no_feedback_below_its_dense_layers():
    net = cnn()
    B = [None, None, *fed(net)[2:]]
    assert asked("dp_hybrid", B=B) == asked("dp_hybrid")
    x, y = batch(net, 2)
    dp_hybrid_file.dp_hybrid(net, x, y, B=B, m=2, sigma=0.1, tau=0.1, tau_h=1.0, rng=rng(0))


def test_the_hybrid_counts_its_layers_by_ell():
    """The mechanism of the hybrid rule depends on ell.

    With ell = 2, the gradients by W and b of the two lower layers are clipped to tau. Each dense layer above layer ell
    has its own tau_h.
    """
    said = asked("dp_hybrid", ell=2, tau_h=[2.0])
    assert said.sensitivity == pytest.approx(2 / 64 * math.sqrt(4 * 0.4**2 + 0.1**2 * 5), rel=1e-12)
    said = asked("dp_hybrid", tau_h=[2.0, 3.0])
    by_hand = 2 * 0.4**2 + 0.1**2 * ((0.9 / 4) ** 2 * 5 + 10)
    assert said.sensitivity == pytest.approx(2 / 64 * math.sqrt(by_hand), rel=1e-12)


@RULES
@pytest.mark.verifies("lee2020:acct")
def test_an_accountant_counts_what_the_mechanism_says(name):
    """If the noise is 4 times the stated sensitivity, the mechanism of every rule has the same epsilon."""
    said = asked(name, sigma=4 * asked(name).sensitivity)
    assert said.noise_multiplier == pytest.approx(4, rel=1e-12)
    other = asked("dp_sgd", sigma=4 * 3 / 64)
    got, want = (epsilon([(release, 50)], delta=1e-5).epsilon for release in (said, other))
    assert got == pytest.approx(want, rel=1e-9)
    assert 0 < got < math.inf


# --- refusals -------------------------------------------------------------------------------------------------


@RULES
def test_without_noise_there_is_no_guarantee(name):
    with pytest.raises(NoGuarantee, match="sigma is 0, so the release has no noise and no guarantee") as refusal:
        asked(name, sigma=0.0)
    assert refusal.value.id == "lee2020:lem1"
    assert ledger.find(refusal.value.id).id == refusal.value.id


@pytest.mark.verifies("lee2020:sens-total")
def test_the_printed_sensitivity_is_refused_by_name():
    with pytest.raises(NoGuarantee, match="the printed overall sensitivity leaves out the output layer") as refusal:
        asked("dp_dfa", sensitivity="printed")
    assert refusal.value.id == "lee2020:sens-total"
    assert asked("dp_dfa", sensitivity="corrected") == asked("dp_dfa")


def test_the_hybrid_without_noise_is_refused():
    with pytest.raises(NoGuarantee, match="adds no noise") as refusal:
        hybrid_file.mechanism(m=8)
    assert ledger.find(refusal.value.id).id == "lee2020:hybrid-delta"


BAD = {
    "dp_sgd": {
        "C": "C must be positive and finite",
        "m": "m must be positive and finite|m of .* must be positive",
    },
    "dp_dfa": {
        "tau_e": "tau_e must be positive and finite",
        "tau_h": "tau_h must be positive and finite",
        "m": "the normaliser m of dp_dfa must be positive|m must be positive",
        "beta_top": "beta_top must be positive and finite",
    },
    "dp_hybrid": {
        "tau": "the clipping bound tau must be positive|tau must be positive and finite",
        "tau_e": "tau_e must be positive and finite",
        "tau_h": "tau_h must be positive and finite",
        "m": "the normaliser m of dp_hybrid must be positive|m must be positive",
    },
}


@pytest.mark.parametrize("name, field, sentence", [(n, f, s) for n, fields in BAD.items() for f, s in fields.items()])
@pytest.mark.parametrize("value", [math.nan, math.inf, 0.0, -1.0])
def test_a_number_out_of_range_gets_a_sentence(name, field, sentence, value):
    with pytest.raises(ValueError, match=sentence) as refusal:
        asked(name, **{field: value})
    assert "\n" not in str(refusal.value)


@RULES
@pytest.mark.parametrize("sigma", [math.nan, math.inf, -0.1])
def test_a_bad_sigma_gets_a_sentence(name, sigma):
    with pytest.raises(ValueError, match=f"noise_std must be positive and finite, got {sigma}"):
        asked(name, sigma=sigma)


@RULES
@pytest.mark.parametrize(
    "field, sentence",
    [
        ("adjacency", "adjacency must be one of replace-one, .*, got 'nobody'"),
        ("sampling", "sampling must be one of .*, got 'nobody'"),
    ],
)
def test_an_unknown_name_gets_a_sentence(name, field, sentence):
    with pytest.raises(ValueError, match=sentence):
        asked(name, **{field: "nobody"})


@pytest.mark.parametrize(
    "changes, sentence",
    [
        ({"top": "softmax"}, "top must be one of error, derivative, unclipped, got 'softmax'"),
        ({"at": "x"}, "at must be 'h' or 'z', got 'x'"),
        ({"sensitivity": "claimed"}, "sensitivity must be one of corrected, printed, got 'claimed'"),
        (
            {"tau_h": [1.0, 2.0]},
            "tau_h must be one number, or a list with one number for each of the 3 layers, got a list of 2",
        ),
        (
            {"top": "derivative", "net": cnn(loss=ops.squared_error)},
            "top='derivative' has a bound only for the loss softmax-cross-entropy, not for squared-error",
        ),
        (
            {"top": "unclipped", "net": cnn(loss=ops.squared_error)},
            "top='unclipped' has a bound only for the loss softmax-cross-entropy, not for squared-error",
        ),
    ],
)
def test_a_bad_reading_of_dp_dfa_gets_a_sentence(changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        asked("dp_dfa", **changes)


@pytest.mark.parametrize(
    "changes, sentence",
    [
        ({"ell": 3}, r"the number ell of layers with backpropagation must be between 0 and 2, got 3"),
        ({"ell": -1}, r"the number ell of layers with backpropagation must be between 0 and 2, got -1"),
        (
            {"tau_h": [1.0] * 3},
            "tau_h must be one number, or a list with one number for each of the 2 dense layers, got a list of 3",
        ),
        (
            {"tau_h": []},
            "tau_h must be one number, or a list with one number for each of the 2 dense layers, got a list of 0",
        ),
    ],
)
def test_bad_layers_of_the_hybrid_get_a_sentence(changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        asked("dp_hybrid", **changes)
    net = cnn()
    x, y = batch(net, 2)
    settings = {"tau": 0.1, "tau_h": 1.0, **changes}
    with pytest.raises(ValueError, match=sentence):
        dp_hybrid_file.dp_hybrid(net, x, y, B=fed(net), m=2, sigma=0.1, rng=rng(0), **settings)


# --- the rules themselves ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, changes, sentence",
    [
        ("dp_sgd", {"C": 0.0}, "the clipping bound C must be positive, got 0.0"),
        ("dp_sgd", {"C": math.nan}, "the clipping bound C must be positive, got nan"),
        ("dp_sgd", {"clip": "each"}, "clip must be one of joint, layer, got 'each'"),
        ("dp_dfa", {"tau_e": -1.0}, "the clipping bound c must be positive, got -1.0"),
        ("dp_dfa", {"tau_h": math.nan}, "the clipping bound c must be positive, got nan"),
        ("dp_dfa", {"top": "slopes"}, "top must be one of error, derivative, unclipped, got 'slopes'"),
        ("dp_dfa", {"at": "x"}, "at must be 'h' or 'z', got 'x'"),
        ("dp_dfa", {"beta_top": 0.0}, "beta_top must be positive and finite, got 0.0"),
        ("dp_hybrid", {"tau": 0.0}, "the clipping bound tau must be positive, got 0.0"),
        ("dp_hybrid", {"tau": math.nan}, "the clipping bound tau must be positive, got nan"),
        *((name, {"m": m}, f"the normaliser m of {name} must be positive") for name in BAD for m in (0, -2, math.nan)),
        *(
            (name, {"sigma": s}, "the standard deviation of the noise must be")
            for name in BAD
            for s in (-0.1, math.nan)
        ),
    ],
)
def test_a_rule_refuses_bad_settings_in_a_sentence(name, changes, sentence):
    net = cnn()
    x, y = batch(net, 2)
    rule, settings = {
        "dp_sgd": (dp_sgd_file.dp_sgd, {"C": 1.0}),
        "dp_dfa": (dp_dfa_file.dp_dfa, {"B": fed(net), "tau_h": 1.0}),
        "dp_hybrid": (dp_hybrid_file.dp_hybrid, {"B": fed(net), "tau_h": 1.0, "tau": 0.1}),
    }[name]
    with pytest.raises(ValueError, match=sentence):
        rule(net, x, y, **{"m": 2, "sigma": 0.1, "rng": rng(0), **settings, **changes})


@pytest.mark.parametrize("ell", [-1, 3])
def test_the_plain_hybrid_refuses_layers_that_it_does_not_have(ell):
    net = cnn()
    with pytest.raises(
        ValueError, match=rf"the number ell of layers with backpropagation must be between 0 and 2, got {ell}"
    ):
        hybrid_file.hybrid(net, *batch(net, 2), B=fed(net), ell=ell)
    with pytest.raises(
        ValueError, match=r"the normaliser m of hybrid must be positive, got m=0\. Give m if a batch can be"
    ):
        hybrid_file.hybrid(net, *batch(net, 0), B=fed(net))


# --- thresholds ----------------------------------------------------------------------------------------------

LAYERS = [LayerBound(gain_dz=0.9, gain_W=5.0, gain_b=14.0), LayerBound(gain_dz=0.225), LayerBound(gain_dz=1.0)]
THRESHOLDS = {
    "corrected_tau_h": functools.partial(corrected_tau_h, LAYERS, tau_e=0.1),
    "claimed_tau_h": functools.partial(claimed_tau_h, L=3, gamma=0.25, beta=0.9, tau_e=0.1),
    "hybrid_thresholds": functools.partial(hybrid_thresholds, LAYERS[1:], L=3, tau_e=0.1),
}


@pytest.mark.parametrize(
    "name, least",
    [
        # computed by hand: 2 tau_e sqrt(sum of s^2 g_b^2); 2 gamma beta tau_e sqrt(L); 2 tau_e sqrt(L) for the output
        # layer
        ("corrected_tau_h", 0.2 * math.sqrt(0.81 * 196 + 0.225**2 + 1)),
        ("claimed_tau_h", 0.2 * 0.225 * math.sqrt(3)),
        ("hybrid_thresholds", 0.2 * math.sqrt(3)),
    ],
)
def test_an_infeasible_sensitivity_names_the_least(name, least):
    with pytest.raises(ValueError, match=f"S.*{least:g}") as refusal:
        THRESHOLDS[name](S=0.99 * least)
    assert "\n" not in str(refusal.value)
    with pytest.raises(ValueError, match=r"no tau_h|the part of the biases"):
        THRESHOLDS[name](S=least * (1 - 1e-12))
    THRESHOLDS[name](S=1.001 * least)


@pytest.mark.parametrize("name", THRESHOLDS)
@pytest.mark.parametrize("S", [math.nan, math.inf, 0.0, -2.0])
def test_a_target_out_of_range_gets_a_sentence(name, S):
    with pytest.raises(ValueError, match="S must be positive and finite"):
        THRESHOLDS[name](S=S)


@pytest.mark.parametrize(
    "call, sentence",
    [
        (lambda: corrected_dfa_sensitivity(LAYERS, m=0, tau_e=0.1, tau_h=1.0, adjacency="replace-one"), "m must be"),
        (
            lambda: corrected_dfa_sensitivity(LAYERS, m=8, tau_e=math.nan, tau_h=1.0, adjacency="replace-one"),
            "tau_e must be positive and finite, got nan",
        ),
        (
            lambda: corrected_dfa_sensitivity(LAYERS, m=8, tau_e=0.1, tau_h=[1.0, -1.0, 1.0], adjacency="replace-one"),
            "tau_h must be positive and finite, got -1.0",
        ),
        (
            lambda: corrected_dfa_sensitivity(LAYERS, m=8, tau_e=0.1, tau_h=[1.0], adjacency="replace-one"),
            "tau_h must be one number, or a list with one number for each of the 3 layers, got a list of 1",
        ),
        (
            lambda: corrected_dfa_sensitivity(LAYERS, m=8, tau_e=0.1, tau_h=1.0, adjacency="replace-two"),
            "adjacency must be one of replace-one, .*, got 'replace-two'",
        ),
        (lambda: clipped_sensitivity(C=1.0, m=8, adjacency="remove"), "adjacency must be one of .*, got 'remove'"),
        (lambda: clipped_sensitivity(C=-1.0, m=8, adjacency="add-remove"), "C must be positive and finite, got -1.0"),
        (
            lambda: hybrid_sensitivity([], ell=1, m=8, tau=1.0, tau_e=0.1, tau_h=1.0, adjacency="remove"),
            "adjacency must be one of .*, got 'remove'",
        ),
    ],
)
def test_bad_arguments_of_a_sensitivity_get_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()


def test_a_network_of_one_layer_needs_no_feedback():
    net = mlp([4, 3], ops.tanh, rng=rng(0))
    said = dp_dfa_file.mechanism(net=net, B=[None, None], m=10, sigma=0.1, tau_h=1.0, **SCHEME)
    assert said.sensitivity == pytest.approx(2 / 10 * 0.1 * math.sqrt(2), rel=1e-12)
