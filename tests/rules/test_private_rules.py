"""Tests of DP-SGD, DP-DFA and the hybrids: the ledger's values, loops and autograd, identities between the rules."""

import functools
import math
import subprocess
import sys

import numpy as np
import pytest
from scipy import stats

from nfa import feedback, ops
from nfa.network import Net, forward, mlp
from nfa.network.dense import Conv2d, Dense
from nfa.network.pooling import AvgPool, MaxPool
from nfa.rules.bp import bp
from nfa.rules.dfa import dfa
from nfa.rules.dp_dfa import dp_dfa
from nfa.rules.dp_dfa_joint import dp_dfa_joint
from nfa.rules.dp_hybrid import dp_hybrid
from nfa.rules.dp_hybrid_joint import dp_hybrid_joint
from nfa.rules.dp_sgd import dp_sgd
from nfa.rules.hybrid import convolutions, hybrid
from nfa.rules.spec import names, spec
from nfa.sensitivity.dfa import corrected_dfa_sensitivity, layer_bounds
from tests.oracles.core import (
    assert_close,
    assert_same_direction,
    batch,
    fix_a,
    pooled_cnn,
    residual_cnn,
    top_eigenvalue,
)
from tests.oracles.private_rules import (
    clip_weight,
    dp_dfa_by_records,
    dp_hybrid_by_records,
    dp_sgd_by_records,
    entries,
    fix_b,
    norm,
    torch_gradients,
    torch_hybrid,
)
from tests.oracles.rule_settings import values
from tests.project.tree import ROOT

HUGE = 1e9  # a bound that no norm exceeds
rng = np.random.default_rng


def small_cnn(pool=MaxPool, *, seed=0, **settings):
    """One convolution of stride 2 on a 7 x 6 image with overlapping pooling, and two dense layers."""
    layers = [(Conv2d(2, (3, 2), stride=(2, 1), padding="same"), ops.tanh, pool(2, 1)), (Dense(4), ops.sigmoid)]
    return Net((2, 7, 6), [*layers, (Dense(3),)], rng=rng(seed), **settings)


def small_mlp(phi=ops.tanh, **settings):
    return mlp([4, 5, 3, 3], phi, rng=rng(0), **settings)


NETS = {
    "relu": functools.partial(small_mlp, ops.relu),
    "tanh": small_mlp,
    "sigmoid, squared error": functools.partial(small_mlp, ops.sigmoid, loss=ops.squared_error),
    "one layer": lambda **s: mlp([5, 3], ops.tanh, rng=rng(0), **s),
    "skips": lambda **s: mlp([4, 4, 4, 4, 3], ops.sigmoid, rng=rng(0), skip={2: 0, 3: 1, 4: 1}, **s),
    "max pooling": functools.partial(pooled_cnn, MaxPool),
    "average pooling": functools.partial(pooled_cnn, AvgPool),
    "residual same": functools.partial(residual_cnn, "same"),
    "residual valid": functools.partial(residual_cnn, "valid"),
    "stride (2, 1)": small_cnn,
}
EVERY = pytest.mark.parametrize("make", NETS.values(), ids=list(NETS))


def case(make, k=4, seed=0, **settings):
    """A network, a batch and feedback. The feedback is so large that the tests detect a missing layer."""
    net = make(**settings)
    x, y = batch(net, k, seed)
    return net, x, y, feedback.draw(net, law="normal", scale=1.0, rng=rng(11))


def digits(got, want, decimals=12):
    """Assert that values agree in every decimal that the ledger prints."""
    np.testing.assert_allclose(got, want, rtol=0, atol=0.51 * 10.0**-decimals)


def sizes(direction):
    return [(norm(dW), norm(db)) for dW, db in zip(direction[0][1:], direction[1][1:], strict=True)]


def noiseless(rule, **settings):
    """A private rule without noise. Its result must not depend on the generator."""
    return functools.partial(rule, sigma=0.0, rng=rng(5), **settings)


# --- the ledger's digits -------------------------------------------------------------------------------------


@pytest.mark.verifies("lee2020:A9", "lee2020:A10-A11", "lee2020:A12", "lee2020:A6-A8", "lee2020:clip")
def test_fix_a_dp_dfa():
    """DP-DFA gives the digits of the ledger's vector V3d.

    V3d has the average, the term of each record, the dz of record 0, and the change if record 0 has another label.
    """
    net, x, y, B = fix_a()
    rule = noiseless(dp_dfa, B=B, tau_e=0.1, tau_h=1.2)
    average = rule(net, x, y, m=4)
    digits(
        sizes(average),
        [(0.014390346157, 0.019087734144), (0.003586493216, 0.005750484141), (0.027028947041, 0.027804878503)],
    )
    dW = average[0]
    got = [dW[1][0, 0], dW[1][4, 3], dW[2][3, 4], dW[3][2, 3]]
    digits(got, [0.002385556287, -0.002885680944, 0.000896705248, 0.006369277140])
    digits(norm(entries(average)), 0.046054640433)
    alone = [rule(net, x[i : i + 1], y[i : i + 1], m=1) for i in range(4)]
    digits([norm(entries(a)) for a in alone], [0.166343661369, 0.151701951619, 0.177108944575, 0.189368135127])
    digits(alone[0][1][3], [-0.081554371267, 0.037362014268, 0.044192356999])  # the bias uses e itself
    delta_1 = [0.031224531168, 0.010702547968, -0.026611284726, 0.030443677732, 0.020350097244]
    digits(alone[0][1][1], delta_1)
    digits(alone[0][1][2], [0.011802570568, -0.009159687676, -0.004375109013, 0.012698284175])
    other = y.copy()
    other[0] = [0, 1, 0]
    moved = norm(entries(rule(net, x, other, m=4)) - entries(average))
    digits(moved, 0.064334105585)
    bound = corrected_dfa_sensitivity(layer_bounds(net, B), m=4, tau_e=0.1, tau_h=1.2, adjacency="replace-label")
    digits(bound, 0.106535498779)


@pytest.mark.verifies("lee2020:hybrid-conv", "lee2020:hybrid-delta")
def test_fix_b_hybrid():
    """The hybrid gives the digits of the ledger's vector V7.

    V7 has the gradients of the convolution for each record, their averages, and the averages after a clip to 0.02.
    """
    net, x, y, B = fix_b()
    rule = noiseless(dp_hybrid, B=B, tau_e=0.1, tau_h=HUGE)
    alone = [rule(net, x[i : i + 1], y[i : i + 1], m=1, tau=HUGE) for i in range(3)]
    digits([norm(dW[1]) for dW, _ in alone], [0.090701915901, 0.020502558108, 0.096673102036])
    digits([norm(db[1]) for _, db in alone], [0.004436103844, 0.003038913519, 0.002735104630])
    digits([norm(db[2]) for _, db in alone], [0.021547724340, 0.009084915836, 0.020661492435])
    digits([dW[1][0, 0, 0, 0] for dW, _ in alone], [0.019487422748, -0.003083174349, 0.000783084870])
    dW, _ = rule(net, x, y, m=3, tau=HUGE)
    digits([norm(dW[1]), dW[1].sum()], [0.015163522932, 0.030851696379])
    dW, db = rule(net, x, y, m=3, tau=0.02)
    digits([norm(dW[1]), norm(db[1]), dW[1].sum()], [0.006323349098, 0.000293690608, 0.008431798089])


# --- DP-SGD: every record's gradient, clipped -----------------------------------------------------------------


def middle_clip(net, x, y, clip="joint"):
    """A clip bound that some records exceed and others do not. For "layer", this holds in every layer if possible."""
    alone = [bp(net, x[i : i + 1], y[i : i + 1]) for i in range(len(x))]
    if clip == "joint":
        return float(np.median([norm(entries(a)) for a in alone]))
    return math.sqrt(net.L) * float(np.median([s for a in alone for s in np.linalg.norm(sizes(a), axis=1)]))


@EVERY
@pytest.mark.parametrize("clip", ["joint", "layer"])
def test_dp_sgd_clips_micro_batches_of_one(make, clip):
    """DP-SGD clips each record's gradient: the result equals bp on single records, followed by the
    formula of the clip.
    """
    net, x, y, _ = case(make, 5)
    C = middle_clip(net, x, y, clip)
    want = [[None] + [np.zeros(a.shape) for a in part[1:]] for part in (net.W, net.b)]
    factors = set()
    for i in range(5):
        one = bp(net, x[i : i + 1], y[i : i + 1])
        for l in range(1, net.L + 1):
            size = norm(entries(one)) if clip == "joint" else norm(one[0][l], one[1][l])
            factor = clip_weight(size, C if clip == "joint" else C / math.sqrt(net.L))
            factors.add(factor == 1)
            for into, g in zip(want, one, strict=True):
                into[l] += factor * g[l] / 7
    assert factors == {True, False}
    assert_same_direction(noiseless(dp_sgd, C=C, m=7, clip=clip)(net, x, y), want)


@pytest.mark.parametrize("make", [NETS["skips"], small_cnn, functools.partial(small_cnn, AvgPool)])
@pytest.mark.parametrize("clip", ["joint", "layer"])
def test_dp_sgd_equals_loops_over_everything(make, clip):
    net, x, y, _ = case(make, 3)
    C = middle_clip(net, x, y, clip)
    want = dp_sgd_by_records(net, x, y, C=C, m=3, clip=clip)
    assert_same_direction(noiseless(dp_sgd, C=C, m=3, clip=clip)(net, x, y), want)


@pytest.mark.peers
@EVERY
def test_dp_sgd_equals_clipped_gradients_of_autograd(torch, make):
    net, x, y, _ = case(make, 5)
    alone = torch_gradients(torch, net, x, y)
    C = middle_clip(net, x, y)
    want = sum(entries(g) * clip_weight(norm(entries(g)), C) for g in alone) / 5
    assert_close(entries(noiseless(dp_sgd, C=C, m=5)(net, x, y)), want)


CONVOLUTIONS = [
    (Conv2d(c, k, stride=stride, padding=padding), (2, 7, 5))
    for c, k, stride, padding in (
        (3, 3, 1, "same"),
        (3, 2, 2, "same"),
        (2, (3, 2), (2, 1), "valid"),
        (2, 3, 2, (2, 1)),
        (40, (5, 4), 1, 0),
        (1, 1, 3, 0),
    )
]


@pytest.mark.peers
@pytest.mark.parametrize("map_, shape", [*CONVOLUTIONS, (Dense(4), (2, 3, 3)), (Dense(1), (5,))])
def test_norms2_is_the_norm_of_autograds_gradients(torch, map_, shape):
    """norms2 is the squared norm of autograd's gradients, for one record at a time.

    Autograd computes the gradients of <z, dz> by the parameters of the layer. In one record dz is 0, and in another
    record the input is 0.
    """
    map_, r = map_.bind(shape), rng(3)
    h, dz = r.normal(size=(4, *shape)), r.normal(size=(4, *map_.out_shape))
    dz[1], h[2] = 0, 0
    W2, b2 = map_.norms2(dz, h)
    for i in range(4):
        W = torch.zeros(map_.shape_W, dtype=torch.float64, requires_grad=True)
        b = torch.zeros(map_.out_shape[0], dtype=torch.float64, requires_grad=True)
        here = torch.as_tensor(h[i : i + 1])
        if isinstance(map_, Conv2d):
            above, below, left, right = map_.pad
            here = torch.nn.functional.pad(here, (left, right, above, below))
            z = torch.nn.functional.conv2d(here, W, b, stride=map_.stride)
        else:
            z = torch.nn.functional.linear(here.flatten(1), W, b)
        (z * torch.as_tensor(dz[i : i + 1])).sum().backward()
        assert W2[i] == pytest.approx(norm(W.grad.numpy()) ** 2, rel=1e-12)
        assert b2[i] == pytest.approx(norm(b.grad.numpy()) ** 2, rel=1e-12)


@EVERY
@pytest.mark.parametrize("clip", ["joint", "layer"])
def test_dp_sgd_with_a_huge_bound_is_bp(make, clip):
    net, x, y, _ = case(make)
    assert_same_direction(noiseless(dp_sgd, C=HUGE, m=4, clip=clip)(net, x, y), bp(net, x, y))


@EVERY
@pytest.mark.verifies("lee2020:clip")
def test_no_record_adds_more_than_the_bound(make):
    """A record adds a vector of norm at most C. If the rule clips each layer, each layer adds at most C / sqrt(L)."""
    net, x, y, _ = case(make, 6)
    C = middle_clip(net, x, y)
    together = [norm(entries(noiseless(dp_sgd, C=C, m=1)(net, x[i : i + 1], y[i : i + 1]))) for i in range(6)]
    assert max(together) == pytest.approx(C, rel=1e-12)
    C = middle_clip(net, x, y, "layer")
    for i in range(6):
        one = x[i : i + 1], y[i : i + 1]
        got = np.linalg.norm(sizes(noiseless(dp_sgd, C=C, m=1, clip="layer")(net, *one)), axis=1)
        free = np.linalg.norm(sizes(bp(net, *one)), axis=1)
        np.testing.assert_allclose(got, np.minimum(free, C / math.sqrt(net.L)), rtol=1e-12)


def test_records_without_a_gradient_add_nothing():
    """A record with error 0 adds nothing, and its clip does not compute 0 / 0."""
    net = small_mlp(loss=ops.squared_error)
    x, _ = batch(net, 3)
    y = forward(net, x)[1][net.L]
    y[1] += 1
    for clip in ("joint", "layer"):
        got = noiseless(dp_sgd, C=1e-3, m=3, clip=clip)(net, x, y)
        assert_same_direction(got, noiseless(dp_sgd, C=1e-3, m=3, clip=clip)(net, x[1:2], y[1:2]))
    B = feedback.draw(net, law="normal", scale=1.0, rng=rng(1))
    rule = noiseless(dp_dfa, B=B, m=3, tau_e=0.1, tau_h=0.5)
    assert_same_direction(rule(net, x, y), rule(net, x[1:2], y[1:2]))


# --- DP-DFA ---------------------------------------------------------------------------------------------------


@EVERY
@pytest.mark.verifies("lee2020:A9", "lee2020:A10-A11", "lee2020:A12", "lee2020:A6-A8", "lee2020:A13")
def test_dp_dfa_equals_record_by_record_loops(make):
    """DP-DFA equals loops over the records with both clips active.

    The loops go from the first layer to the top. The rule goes from the top to the first layer (line A13).
    """
    net, x, y, B = case(make, 3)
    settings = {"m": 5, "tau_e": 0.3, "tau_h": 0.8}
    assert_same_direction(noiseless(dp_dfa, B=B, **settings)(net, x, y), dp_dfa_by_records(net, x, y, B, **settings))


@pytest.mark.parametrize("pool", [MaxPool, AvgPool])
@pytest.mark.parametrize("at", ["h", "z"])
@pytest.mark.parametrize(
    "top",
    [
        {},
        {"top": "derivative"},
        {"top": "derivative", "beta_top": 0.9},
        {"beta_top": 0.7},
        {"top": "unclipped", "beta_top": 0.7},
    ],
)
def test_the_readings_of_dp_dfa_equal_loops(pool, at, top):
    net = small_cnn(pool)
    x, y = batch(net, 3)
    B = feedback.draw(net, law="spectral", scale=0.9, rng=rng(2), at=at)
    settings = {"m": 3, "tau_e": 0.3, "tau_h": 0.8, "at": at, **top}
    assert_same_direction(noiseless(dp_dfa, B=B, **settings)(net, x, y), dp_dfa_by_records(net, x, y, B, **settings))


@EVERY
@pytest.mark.verifies("lee2020:A10-A11", "lee2020:A12")
def test_dp_dfa_without_noise_and_clips_is_dfa(make):
    net, x, y, B = case(make)
    rule = noiseless(dp_dfa, B=B, m=4, tau_e=HUGE, tau_h=HUGE)
    assert_same_direction(rule(net, x, y), dfa(net, x, y, B=B))


@EVERY
@pytest.mark.verifies("lee2020:A10-A11")
def test_dp_dfa_with_transported_weights_is_bp_in_the_layer_below_the_top(make):
    net, x, y, B = case(make)
    if net.L > 1:
        B[net.L - 1] = net.W[net.L].T
    got, want = noiseless(dp_dfa, B=B, m=4, tau_e=HUGE, tau_h=HUGE)(net, x, y), bp(net, x, y)
    for l in range(max(1, net.L - 1), net.L + 1):
        assert_close(got[0][l], want[0][l])
        assert_close(got[1][l], want[1][l])


@pytest.mark.verifies("lee2020:A1-A2")
@pytest.mark.parametrize("at", ["h", "z"])
def test_feedback_has_spectral_norm_beta_and_feeds_the_layers_below_the_top(at):
    """Each feedback matrix has spectral norm beta and feeds a layer below the top layer, which uses e.

    We compute the norm by power iteration on B^T B. The paper prints B^1..B^L.
    """
    net = small_cnn()
    B = feedback.draw(net, law="spectral", scale=0.9, rng=rng(4), at=at)
    assert [l for l in range(net.L + 1) if B[l] is not None] == [1, 2]
    assert [math.sqrt(top_eigenvalue(B[l])) for l in (1, 2)] == pytest.approx([0.9, 0.9], rel=1e-10)


# --- the hybrids ----------------------------------------------------------------------------------------------


@pytest.mark.peers
@EVERY
@pytest.mark.verifies("lee2020:hybrid-delta", "lee2020:hybrid-conv")
def test_the_hybrid_equals_autograd_of_its_surrogate_for_every_ell(torch, make):
    net, x, y, B = case(make)
    for ell in range(net.L):
        want = torch_hybrid(torch, net, x, y, B, ell=ell, m=4)
        assert_same_direction(hybrid(net, x, y, B=B, ell=ell), want)


@pytest.mark.peers
@pytest.mark.verifies("lee2020:hybrid-conv")
@pytest.mark.parametrize("make", [small_cnn, NETS["residual same"], NETS["max pooling"]])
def test_the_private_hybrid_clips_autograds_gradients_of_each_record(torch, make):
    net, x, y, B = case(make)
    ell = convolutions(net)
    assert ell >= 1
    dW, db = noiseless(dp_hybrid, B=B, m=4, tau=0.05, tau_e=0.3, tau_h=1.0)(net, x, y)
    alone = [torch_hybrid(torch, net, x[i : i + 1], y[i : i + 1], B, ell=ell, m=1, tau_e=0.3) for i in range(4)]
    factors = {clip_weight(norm(g[l]), 0.05) == 1 for one in alone for g in one for l in range(1, ell + 1)}
    assert factors == {True, False}
    for l in range(1, ell + 1):
        for got, part in ((dW[l], 0), (db[l], 1)):
            assert_close(got, sum(one[part][l] * clip_weight(norm(one[part][l]), 0.05) for one in alone) / 4)


@EVERY
@pytest.mark.verifies("lee2020:hybrid-delta", "lee2020:hybrid-conv")
def test_the_private_hybrid_equals_record_by_record_loops(make):
    net, x, y, B = case(make, 2)
    for ell in range(net.L):
        tau_h = [0.5 + 0.3 * j for j in range(net.L - ell)]
        settings = {"m": 3, "tau": 0.1, "tau_e": 0.3, "tau_h": tau_h, "ell": ell}
        got = noiseless(dp_hybrid, B=B, **settings)(net, x, y)
        assert_same_direction(got, dp_hybrid_by_records(net, x, y, B, **settings))


@EVERY
@pytest.mark.verifies("lee2020:hybrid-delta")
def test_the_ends_of_the_hybrid_are_dfa_and_bp(make):
    net, x, y, B = case(make)
    assert_same_direction(hybrid(net, x, y, B=B, ell=0), dfa(net, x, y, B=B))
    assert_same_direction(hybrid(net, x, y, B=[None] * (net.L + 1), ell=net.L - 1), bp(net, x, y))
    assert_same_direction(
        hybrid(net, x, y, B=B, m=9), [[None, *(d * 4 / 9 for d in p[1:])] for p in hybrid(net, x, y, B=B)]
    )


@pytest.mark.verifies("lee2020:hybrid-delta")
def test_the_hybrid_with_transported_weights_is_bp_where_one_layer_is_replaced():
    """If only one layer uses feedback (ell = L - 2) and B[L-1] = W[L]^T, the hybrid rule equals BP.

    The network has no skips. All layers agree.
    """
    net, x, y, B = case(small_cnn)
    B[2] = net.W[3].T
    assert convolutions(net) == 1
    assert_same_direction(hybrid(net, x, y, B=B), bp(net, x, y))


@EVERY
def test_the_private_hybrid_without_noise_and_clips_is_the_hybrid(make):
    net, x, y, B = case(make)
    for ell in (None, *range(net.L)):
        rule = noiseless(dp_hybrid, B=B, m=4, tau=HUGE, tau_e=HUGE, tau_h=HUGE, ell=ell)
        assert_same_direction(rule(net, x, y), hybrid(net, x, y, B=B, ell=ell))


@EVERY
def test_the_private_hybrid_on_no_layer_is_dp_dfa_bit_by_bit(make):
    net, x, y, B = case(make)
    settings = {"B": B, "m": 4, "sigma": 0.3, "tau_e": 0.2, "tau_h": 0.7}
    got = dp_hybrid(net, x, y, ell=0, tau=0.1, rng=rng(6), **settings)
    assert np.array_equal(entries(got), entries(dp_dfa(net, x, y, rng=rng(6), **settings)))


# --- properties of all private rules: noise, m, empty batches, dtypes ----------------------------------------------


def private(net, B):
    """The rules with each of their readings, and every other rule whose noise has a std on the sum divided by m."""
    found = {
        "dp_sgd": functools.partial(dp_sgd, C=0.4),
        "dp_sgd, layer": functools.partial(dp_sgd, C=0.4, clip="layer"),
        "dp_dfa": functools.partial(dp_dfa, B=B, tau_e=0.2, tau_h=0.7),
        "dp_hybrid": functools.partial(dp_hybrid, B=B, tau=0.1, tau_e=0.2, tau_h=0.7),
        "dp_dfa_joint": functools.partial(dp_dfa_joint, B=B, C=0.4),
        "dp_dfa_joint, ternary": functools.partial(dp_dfa_joint, B=B, C=0.4, carries="ternary"),
        "dp_dfa_joint, label": functools.partial(dp_dfa_joint, B=B, C=0.4, carries="label"),
        "dp_hybrid_joint": functools.partial(dp_hybrid_joint, B=B, C=0.4),
    }
    for name in names():
        rule = spec(name)
        noise_on_the_sum = rule.sum_over_examples and {"m", rule.noise} <= rule.mechanism_defaults.keys()
        if name not in found and rule.states and noise_on_the_sum and "weigh" not in rule.given:
            V = None if net is None else feedback.draw_layerwise(net, law="normal", scale=0.7, rng=rng(2))
            known = values(rule, {"B": B, "V": V, "m": 1, rule.noise: 0.0}, bound=0.4, positive=1.0, count=2)
            del known["m"], known[rule.noise]
            found[name] = functools.partial(with_noise, rule, known)
    return found


def with_noise(rule, known, net, x, y, *, sigma, **more):
    """One call of a rule with noise, under the name that this rule uses for its noise setting."""
    return rule.function(net, x, y, **known, **{rule.noise: sigma}, **more)


PRIVATE = pytest.mark.parametrize("name", list(private(None, None)))
NOISES = pytest.mark.parametrize(
    "name",
    [
        "dp_sgd",
        "dp_hybrid_joint",
        *(pytest.param(n, marks=pytest.mark.slow) for n in ("dp_sgd, layer", "dp_dfa", "dp_hybrid", "dp_dfa_joint")),
    ],
)


@PRIVATE
@pytest.mark.parametrize("make", [small_mlp, small_cnn, NETS["residual same"]])
@pytest.mark.verifies("lee2020:A10-A11", "lee2020:A12")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_an_empty_batch_gives_noise_alone(name, make, dtype):
    """For an empty batch, the result is only noise, bitwise identical to noise that the test draws.

    Each array has its own noise. The rule draws from the top layer down, W before b.
    """
    net, x, y, B = case(make, 0, dtype=dtype)
    x, y = x.astype(dtype), y.astype(dtype)
    dW, db = private(net, B)[name](net, x, y, m=8, sigma=0.5, rng=rng(7))
    r = rng(7)
    for l in range(net.L, 0, -1):
        assert np.array_equal(dW[l], dtype(0.5) * r.standard_normal(net.W[l].shape, dtype))
        assert np.array_equal(db[l], dtype(0.5) * r.standard_normal(net.b[l].shape, dtype))


@PRIVATE
@pytest.mark.verifies("lee2020:A10-A11", "lee2020:A12")
def test_the_noise_is_added_once_to_every_array_and_last(name):
    """The rule adds noise once to every array, after all other operations.

    We replace the noise by a function that adds 1 to the first array, 2 to the second array, and so on. sigma is not
    divided by m.
    """
    net, x, y, B = case(small_cnn)
    rule, calls = private(net, B)[name], []

    def marks(out, std, generator):
        calls.append((out.shape, std, generator))
        out += len(calls)

    generator = rng(8)
    got = rule(net, x, y, m=4, sigma=0.25, rng=generator, add_normal=marks)
    want = rule(net, x, y, m=4, sigma=0.0, rng=generator)
    for l, first in ((3, 1), (2, 3), (1, 5)):
        assert_close(got[0][l], want[0][l] + first)
        assert_close(got[1][l], want[1][l] + first + 1)
    assert [shape for shape, _, _ in calls] == [a.shape for l in (3, 2, 1) for a in (net.W[l], net.b[l])]
    assert {(std, generator) for _, std, generator in calls} == {(0.25, generator)}


@NOISES
@pytest.mark.verifies("lee2020:A10-A11", "lee2020:A12")
def test_the_noise_has_its_size_and_its_mean_is_the_noiseless_direction(name):
    """The noise has the requested std, and the mean of 1000 noisy directions is the noiseless direction.

    The network has 55 parameters. We test the sum of squares of each array by chi-square, and the means and
    correlations of entries and of steps. A correct program fails with probability below 3e-6 (seeds are fixed). A
    product of two independent normals has E exp(t X Y) = (1 - t^2)^(-1/2). So by Chernoff's bound, the mean of n = 1000
    such products exceeds 7 / sqrt(n) with probability below exp(-23.9). For neighbouring steps, we use two means of
    products, for even and for odd steps. The test misses the following errors with probability below 1e-6: a mean wrong
    by 0.35 std, a variance wrong by 40 %, and a correlation of 0.4.
    """
    net, x, y, B = case(small_mlp)
    rule, r, n = private(net, B)[name], rng(9), 1000
    exact = entries(rule(net, x, y, m=4, sigma=0.0, rng=r))
    draws = np.array([entries(rule(net, x, y, m=4, sigma=0.5, rng=r)) for _ in range(n)])
    noise = (draws - exact) / 0.5  # independent N(0, 1) for a correct rule
    cuts = np.cumsum([a.size for a in (*net.W[1:], *net.b[1:])])[:-1]
    for part in np.split(noise, cuts, axis=1):
        low, high = stats.chi2.ppf([1e-6 / 12, 1 - 1e-6 / 12], part.size)
        assert low < (part**2).sum() < high
    assert np.abs(noise.mean(axis=0)).max() * math.sqrt(n) < stats.norm.isf(5e-7 / noise.shape[1])
    products = (noise.T @ noise / n)[np.triu_indices(noise.shape[1], 1)]
    assert np.abs(products).max() * math.sqrt(n) < 7
    assert abs((noise[1:] * noise[:-1]).mean()) * math.sqrt(noise[1:].size) < 7 * math.sqrt(2)


@PRIVATE
@pytest.mark.parametrize("m", [3, 12, 12.5])
@pytest.mark.verifies("lee2020:A10-A11")
def test_m_is_public_and_divides_the_sum_whatever_the_batch(name, m):
    """The public m divides the sum for any number of records. For four records, another m changes only the divisor.

    The noise does not change.
    """
    net, x, y, B = case(small_cnn)
    rule = private(net, B)[name]
    noise = entries(rule(net, x[:0], y[:0], m=1, sigma=0.3, rng=rng(4)))
    total = entries(rule(net, x, y, m=1, sigma=0.0, rng=rng(4)))
    assert_close(entries(rule(net, x, y, m=m, sigma=0.3, rng=rng(4))), total / m + noise)
    alone = sum(entries(rule(net, x[i : i + 1], y[i : i + 1], m=1, sigma=0.0, rng=rng(4))) for i in range(4))
    assert_close(total, alone)


@PRIVATE
@pytest.mark.parametrize("make", [small_mlp, small_cnn, NETS["skips"]])
@pytest.mark.parametrize("m", [4, np.float64(4)])
def test_float32_stays_float32_with_noise(name, make, m):
    net, x, y, B = case(make, dtype=np.float32)
    x, y = x.astype(np.float32), y.astype(np.float32)
    dW, db = private(net, B)[name](net, x, y, m=m, sigma=0.3, rng=rng(4))
    assert {a.dtype for a in (*dW[1:], *db[1:])} == {np.dtype(np.float32)}


@PRIVATE
def test_a_private_rule_changes_nothing_that_it_is_given(name):
    net, x, y, B = case(small_cnn)
    given = (x, y, *net.W[1:], *net.b[1:], *B[1:3])
    kept = [a.copy() for a in given]
    private(net, B)[name](net, x, y, m=4, sigma=0.3, rng=rng(4))
    assert all(np.array_equal(a, b) for a, b in zip(given, kept, strict=True))


STEP = """
import resource
import numpy as np
from nfa.network import lee2020_cnn_bp
from nfa.rules.dp_sgd import dp_sgd
from nfa.rules.spec import names, spec
r = np.random.default_rng(0)
net = lee2020_cnn_bp(rng=r, dtype=np.float32)
x, y = r.random((512, 1, 28, 28), np.float32), np.eye(10, dtype=np.float32)[r.integers(10, size=512)]
dp_sgd(net, x, y, C=1.5, m=512, sigma=0.01, rng=r)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in kilobytes on Linux")
def test_a_step_of_dp_sgd_on_the_paper_cnn_stays_below_3_gb():
    """A step of DP-SGD on the paper's CNN with batch size 512 in float32 needs less than 3 GB.

    The gradients of all examples alone would take 2.99 GB.
    """
    run = subprocess.run([sys.executable, "-c", STEP], cwd=ROOT, capture_output=True, text=True, check=True)
    assert int(run.stdout) * 1024 < 3e9
