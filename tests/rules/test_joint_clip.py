"""Tests of joint-clip DFA and its hybrid: loops and autograd, special cases, the change from one record, refusals."""

import functools
import math

import numpy as np
import pytest

from nfa import feedback, ledger, ops
from nfa.feedback.opu import OPU, optical
from nfa.mechanism import NoGuarantee
from nfa.network import Net, forward, mlp
from nfa.network.dense import Conv2d, Dense
from nfa.network.pooling import AvgPool, MaxPool
from nfa.privacy.accountant import epsilon
from nfa.rules import dp_dfa_joint as joint_file
from nfa.rules import dp_hybrid_joint as hybrid_file
from nfa.rules.bp import bp
from nfa.rules.dfa import dfa
from nfa.rules.dp_dfa_joint import dp_dfa_joint
from nfa.rules.dp_hybrid_joint import dp_hybrid_joint
from nfa.rules.dp_sgd import dp_sgd
from nfa.rules.drtp import drtp
from nfa.rules.hybrid import convolutions, hybrid
from nfa.rules.tdfa import tdfa
from tests.oracles.core import assert_close, assert_same_direction, batch, pooled_cnn, residual_cnn
from tests.oracles.joint_clip import (
    direction_of_record,
    joint_by_records,
    median_norm,
    shown,
    torch_joint,
    torch_joint_hybrid,
)
from tests.oracles.private_rules import entries, norm

HUGE = 1e9  # a bound that no norm exceeds
rng = np.random.default_rng


def small_cnn(pool=MaxPool, phi=ops.tanh, **settings):
    """One convolution of stride (2, 1) on a 7 x 6 image with overlapping pooling, and two dense layers."""
    layers = [(Conv2d(2, (3, 2), stride=(2, 1), padding="same"), phi, pool(2, 1)), (Dense(4), ops.sigmoid)]
    return Net((2, 7, 6), [*layers, (Dense(3),)], rng=rng(0), **settings)


NETS = {
    "identity": lambda **s: mlp([4, 5, 3, 3], ops.identity, rng=rng(0), **s),
    "relu": lambda **s: mlp([4, 5, 3, 3], ops.relu, rng=rng(0), **s),
    "gelu": lambda **s: mlp([4, 5, 3, 3], ops.gelu, rng=rng(0), **s),
    "sigmoid, squared error": lambda **s: mlp([4, 5, 3, 3], ops.sigmoid, rng=rng(0), loss=ops.squared_error, **s),
    "one layer": lambda **s: mlp([5, 3], ops.tanh, rng=rng(0), **s),
    "skips": lambda **s: mlp([4, 4, 4, 4, 3], ops.tanh, rng=rng(0), skip={2: 0, 3: 1, 4: 1}, **s),
    "max pooling": small_cnn,
    "average pooling": functools.partial(small_cnn, AvgPool),
    "relu, max pooling": functools.partial(small_cnn, MaxPool, ops.relu),
    "two convolutions": functools.partial(pooled_cnn, AvgPool),
    "residual convolutions": functools.partial(residual_cnn, "same"),
}
EVERY = pytest.mark.parametrize("make", NETS.values(), ids=list(NETS))
FEW = pytest.mark.parametrize("make", [NETS["skips"], small_cnn], ids=["skips", "max pooling"])
CARRIES = pytest.mark.parametrize("carries, t", [("error", 0.5), ("ternary", 0.0), ("ternary", 0.6), ("label", 0.5)])
PLACES = pytest.mark.parametrize("at", ["h", "z"])


def case(make, k=4, at="h", dtype=np.float64):
    """A network, a batch and feedback.

    The feedback is so large that the tests detect a layer that is missing in the norm.
    """
    net = make(dtype=dtype)
    x, y = batch(net, k, 3)
    B = feedback.draw(net, law="normal", scale=1.0, rng=rng(11), at=at)
    return net, x.astype(dtype), y.astype(dtype), B


def still(rule, **settings):
    """A rule without noise. Its result must not depend on the generator."""
    return functools.partial(rule, sigma=0.0, rng=rng(5), **settings)


def alone(net, x, y, B, **how):
    return [direction_of_record(net, x[i], y[i], B, **how) for i in range(len(x))]


# --- every example's direction, clipped as a whole ------------------------------------------------------------


@pytest.mark.verifies("ours:joint-clip")
@EVERY
@CARRIES
@PLACES
def test_it_is_the_sum_of_the_records_own_directions_each_clipped(make, carries, t, at):
    """The result is the sum of the records' own directions, each clipped as a whole. We compute this sum by loops.

    Half of the records are scaled down, and m differs from the number of records.
    """
    net, x, y, B = case(make, at=at)
    how = {"carries": carries, "t": t, "at": at}
    C = median_norm(alone(net, x, y, B, **how))
    state = {}
    got = dp_dfa_joint(net, x, y, B=B, C=C, m=7, sigma=0.0, rng=rng(5), state=state, **how)
    assert_same_direction(got, joint_by_records(net, x, y, B, C=C, m=7, **how), 1e-11)
    assert state == {"clipped": [0.5]}


@pytest.mark.peers
@EVERY
@CARRIES
@PLACES
def test_it_is_what_autograd_gives_for_each_record_clipped(torch, make, carries, t, at):
    net, x, y, B = case(make, 5, at=at)
    how = {"carries": carries, "t": t, "at": at}
    want = torch_joint(torch, net, x, y, B, C=1.5, m=5, **how)
    assert_same_direction(still(dp_dfa_joint, B=B, C=1.5, m=5, **how)(net, x, y), want, 1e-11)


@pytest.mark.verifies("ours:joint-clip")
@EVERY
def test_the_hybrid_is_the_sum_of_the_records_own_directions_each_clipped(make):
    net, x, y, B = case(make, 2)
    for ell in range(net.L):
        C = median_norm(alone(net, x, y, B, ell=ell))
        state = {}
        got = dp_hybrid_joint(net, x, y, B=B, C=C, m=3, sigma=0.0, ell=ell, rng=rng(5), state=state)
        assert_same_direction(got, joint_by_records(net, x, y, B, C=C, m=3, ell=ell), 1e-11)
        assert state == {"clipped": [0.5]}


@pytest.mark.peers
@EVERY
def test_the_hybrid_is_what_autograd_gives_for_each_record_clipped(torch, make):
    net, x, y, B = case(make)
    for ell in range(net.L):
        want = torch_joint_hybrid(torch, net, x, y, B, C=1.5, m=4, ell=ell)
        assert_same_direction(still(dp_hybrid_joint, B=B, C=1.5, m=4, ell=ell)(net, x, y), want, 1e-11)


@FEW
@CARRIES
def test_float32_is_float64_up_to_its_rounding(make, carries, t):
    """In float32, the direction agrees with float64 to 1e-4 of the largest entry: a few hundred roundings of 6e-8."""
    net, x, y, B = case(make, dtype=np.float32)
    wide = net.copy()
    wide.W, wide.b = ([None, *(a.astype(float) for a in part[1:])] for part in (net.W, net.b))
    B64 = [M if M is None else M.astype(float) for M in B]
    got = still(dp_dfa_joint, B=B, C=1.5, m=4, carries=carries, t=t)(net, x, y)
    assert {a.dtype for part in got for a in part[1:]} == {np.dtype(np.float32)}
    want = joint_by_records(wide, x.astype(float), y.astype(float), B64, C=1.5, m=4, carries=carries, t=t)
    assert_same_direction(got, want, 1e-4)


@EVERY
def test_no_record_adds_more_than_the_bound(make):
    """For B times 1e-3 or 1e3, no record adds a vector of norm above C. The largest norm is C."""
    for scale in (1e-3, 1e3):
        net, x, y, B = case(make, 6)
        B = [M if M is None else scale * M for M in B]
        for rule, ell in ((dp_dfa_joint, 0), (dp_hybrid_joint, convolutions(net))):
            C = median_norm(alone(net, x, y, B, ell=ell))
            sizes = [norm(entries(still(rule, B=B, C=C, m=1)(net, x[i : i + 1], y[i : i + 1]))) for i in range(6)]
            assert max(sizes) == pytest.approx(C, rel=1e-12)


# --- effects of the relative threshold -------------------------------------------------------------------------


def test_the_relative_threshold_keeps_what_is_learnt():
    """With the relative threshold, an error of 1e-9 has the same effect as an error of 1.

    With the fixed threshold of TDFA, an error of 1e-9 has no effect.
    """
    e = rng(2).normal(size=(40, 5))
    for t in (0.0, 0.3, 1.0):
        want = [[np.sign(v) for v in shown(list(row), None, "ternary", t)] for row in e]
        for size in (1.0, 1e-9):
            np.testing.assert_array_equal(feedback.ternarize_relative(size * e, t), want)
    assert not feedback.ternarize(1e-9 * e, 0.15).any()
    assert (np.abs(feedback.ternarize_relative(e, 1.0)).sum(axis=1) == 1).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_relative_threshold_on_rows_of_every_kind(dtype):
    """The relative threshold is correct for rows of every kind.

    The rows have equal entries, zeros, a single nonzero entry, or numbers at the limits of the dtype. No entry is NaN.
    """
    tiny, huge = np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max
    e = np.array([[2, -2], [0, 0], [0, -1], [tiny, -tiny], [huge, -huge], [np.inf, -1], [np.nan, 1]], dtype)
    want = np.array([[1, -1], [0, 0], [0, -1], [1, -1], [1, -1], [1, 0], [0, 0]])
    got = feedback.ternarize_relative(e, 0.5)
    np.testing.assert_array_equal(got, want)
    assert got.dtype == dtype
    assert feedback.ternarize_relative(e[:0], 0.5).shape == (0, 2)
    assert not np.isnan(feedback.ternarize_relative(e, 0.0)).any()


@pytest.mark.parametrize("t", [-0.1, 1.5, math.nan])
def test_a_relative_threshold_out_of_range_gets_a_sentence(t):
    with pytest.raises(ValueError, match=rf"t must be in \[0, 1\], got {t}"):
        feedback.ternarize_relative(np.ones((1, 2)), t)


# --- special cases --------------------------------------------------------------------------------------------


@EVERY
@PLACES
def test_without_noise_and_clip_it_is_dfa_tdfa_drtp_or_the_hybrid(make, at):
    net, x, y, B = case(make, at=at)
    rule = still(dp_dfa_joint, B=B, C=HUGE, m=4, at=at)
    assert_same_direction(rule(net, x, y), dfa(net, x, y, B=B, at=at))
    assert_same_direction(rule(net, x, y, carries="label"), drtp(net, x, y, B=B, at=at))
    if at == "h":
        for ell in (None, *range(net.L)):
            got = still(dp_hybrid_joint, B=B, C=HUGE, m=4, ell=ell)(net, x, y)
            assert_same_direction(got, hybrid(net, x, y, B=B, ell=ell))


def test_of_a_record_alone_the_ternary_error_is_tdfas_times_its_norm():
    """For a single record, the ternary error gives TDFA's direction, with the factor ||e|| in the hidden layers.

    For this comparison, the threshold of TDFA is t times the largest entry.
    """
    net, x, y, B = case(small_cnn)
    for i in range(4):
        one = x[i : i + 1], y[i : i + 1]
        e = net.loss.error(forward(net, one[0])[0][net.L], one[1])[0]
        want = tdfa(net, *one, B=B, t=0.3 * float(np.abs(e).max()))
        got = still(dp_dfa_joint, B=B, C=HUGE, m=1, carries="ternary", t=0.3)(net, *one)
        for l in range(1, net.L + 1):
            factor = 1 if l == net.L else norm(e)
            assert_close(got[0][l], factor * want[0][l])
            assert_close(got[1][l], factor * want[1][l])


@EVERY
def test_the_ends_of_the_hybrid_are_joint_dfa_and_dp_sgd(make):
    """At its two ends, the hybrid equals joint DFA and DP-SGD.

    With ell = 0, the hybrid is bitwise identical with joint DFA, also with noise. With ell = L - 1, the hybrid equals
    DP-SGD up to the order of sums.
    """
    net, x, y, B = case(make)
    settings = {"C": 0.7, "m": 4, "sigma": 0.3}
    got = dp_hybrid_joint(net, x, y, B=B, ell=0, rng=rng(6), **settings)
    assert np.array_equal(entries(got), entries(dp_dfa_joint(net, x, y, B=B, rng=rng(6), **settings)))
    got = dp_hybrid_joint(net, x, y, B=[], ell=net.L - 1, rng=rng(6), **settings)
    assert_same_direction(got, dp_sgd(net, x, y, rng=rng(6), **settings))


def test_with_transported_weights_it_is_dp_sgd_on_one_hidden_layer():
    net = mlp([4, 5, 3], ops.gelu, rng=rng(0))
    x, y = batch(net, 6)
    B, C = [None, net.W[2].T, None], median_norm([bp(net, x[i : i + 1], y[i : i + 1]) for i in range(6)])
    assert_same_direction(still(dp_dfa_joint, B=B, C=C, m=6)(net, x, y), still(dp_sgd, C=C, m=6)(net, x, y))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_by_opus_it_is_the_rule_on_the_matrices_of_the_opus(dtype):
    """With OPUs, the rule gives the result for the matrices of the OPUs, up to rounding.

    An OPU can display the ternary error and a one-hot label.
    """
    net, x, y, _ = case(NETS["skips"], 6, dtype=dtype)
    opus = [None, *(OPU(3, 4, rng=rng(l)) for l in (1, 2, 3)), None]
    B = [opu and opu.B for opu in opus]
    for carries in ("ternary", "label"):
        how = {"C": 1.5, "m": 6, "carries": carries}
        got = still(dp_dfa_joint, B=opus, project=optical, **how)(net, x, y)
        assert_same_direction(got, still(dp_dfa_joint, B=B, **how)(net, x, y), 1e-11 if dtype is np.float64 else 1e-4)
        empty = dp_dfa_joint(net, x[:0], y[:0], B=opus, project=optical, sigma=0.0, rng=rng(5), **how)
        assert not entries(empty).any()


def test_a_projection_draws_from_the_rng_of_the_rule_before_the_noise():
    net, x, y, B = case(NETS["relu"])
    own, order = rng(1), []

    def noting(c, matrix, *, rng):
        order.append(("projection", rng))
        return feedback.project(c, matrix)

    def marks(out, std, generator):
        order.append(("noise", generator))

    dp_dfa_joint(net, x, y, B=B, C=1.0, m=4, sigma=0.1, project=noting, add_normal=marks, rng=own)
    assert order == [("projection", own)] * 2 + [("noise", own)] * 6


# --- the change from one record --------------------------------------------------------------------------------


def stated(rule, adjacency, **settings):
    file = {"dp_dfa_joint": joint_file, "dp_hybrid_joint": hybrid_file}[rule]
    where = {"sampling": "poisson", "sampling_rate": 0.1}
    return file.mechanism(**{"C": 0.3, "m": 5, "sigma": 0.2, "adjacency": adjacency, **where, **settings})


TWO = {
    "dense": lambda: mlp([3, 4, 4, 2], ops.tanh, rng=rng(0)),
    "skip": lambda: mlp([3, 3, 3, 2], ops.relu, rng=rng(0), skip={3: 1}),
    "pooling": lambda: Net((1, 4, 4), [(Conv2d(2, 2), ops.tanh, MaxPool(2)), (Dense(2),)], rng=rng(0)),
}


@pytest.mark.verifies("ours:joint-clip")
@pytest.mark.parametrize("name", TWO)
@pytest.mark.parametrize(
    "rule, carries", [("dp_dfa_joint", "error"), ("dp_dfa_joint", "ternary"), ("dp_hybrid_joint", None)]
)
def test_the_other_label_moves_two_classes_by_all_that_is_stated(name, rule, carries):
    """If the label of a record changes, the direction for two classes changes by the full stated sensitivity.

    For any B, opposite errors give opposite directions of norm above C, so the change is 2C before the division by m.
    If the record is left out, the change is half as large.
    """
    net = TWO[name]()
    B = feedback.draw(net, law="normal", scale=0.7, rng=rng(4))
    x, y = batch(net, 5)
    how = {"B": B, "C": 1e-3, "m": 5} | ({"carries": carries} if carries else {})
    call = still({"dp_dfa_joint": dp_dfa_joint, "dp_hybrid_joint": dp_hybrid_joint}[rule], **how)
    other = np.concatenate([1 - y[:1], y[1:]])
    here, there, without = (entries(call(net, *world)) for world in ((x, y), (x, other), (x[1:], y[1:])))
    for one, adjacency in ((there, "replace-one"), (there, "replace-label"), (without, "add-remove")):
        assert norm(here - one) == pytest.approx(stated(rule, adjacency, C=1e-3).sensitivity, rel=1e-9)


@pytest.mark.verifies("ours:joint-clip")
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize(
    "loss, C", [(ops.softmax_cross_entropy, 0.7), (ops.squared_error, 1e-3), (ops.squared_error, 1e4)]
)
@pytest.mark.parametrize("sizes", [(3, 2), (3, 4, 2), (3, 5, 4, 2)])
@pytest.mark.parametrize("carries", ["error", "ternary", "label"])
def test_a_record_without_hidden_derivatives_attains_what_is_stated(carries, sizes, loss, C, scale):
    """For any B, a record without hidden derivatives attains the stated sensitivity.

    All hidden units are below 0, so only the output layer learns, from opposite errors.
    """
    net = mlp(sizes, ops.relu, loss=loss, rng=rng(0))
    for l in range(1, net.L):
        net.W[l][:], net.b[l][:] = 0, -1
    net.W[net.L][:], net.b[net.L][:] = 0, 0
    B = feedback.draw(net, law="normal", scale=scale, rng=rng(4))
    x, y = rng(1).normal(size=(3, 3)), np.eye(2)[[0, 1, 0]]
    if loss is ops.squared_error:
        y[0] = [1.5 * C, 0]
    opposite = 1 - y[0] if loss is ops.softmax_cross_entropy else -y[0]
    call = still(dp_dfa_joint, B=B, C=C, m=5, carries=carries)
    worlds = ((x, y), (x, np.concatenate([[opposite], y[1:]])), (x[1:], y[1:]))
    here, there, without = (entries(call(net, *world)) for world in worlds)
    for one, adjacency in ((there, "replace-one"), (without, "add-remove")):
        assert norm(here - one) == pytest.approx(stated("dp_dfa_joint", adjacency, C=C).sensitivity, rel=1e-12)


@pytest.mark.verifies("ours:joint-clip")
@pytest.mark.parametrize("phi", [ops.tanh, ops.relu, ops.gelu, ops.identity], ids=lambda phi: phi.name)
def test_two_labels_are_as_far_apart_as_stated_only_where_the_error_is_carried(phi):
    """Another label changes the direction by 2C if the signal of the rule is the error or the ternary error.

    The signal of a rule is the vector that the feedback projects. If the signal is the label, changes of any size up to
    2C occur. The networks are random and have two classes.
    """
    found: dict[str, list] = {"error": [], "ternary": [], "label": []}
    for seed in range(100):
        draws = rng(seed)
        net = mlp((3, 4, 4, 2), phi, rng=draws)
        for l in range(1, net.L):
            net.W[l] *= 10 ** draws.normal()
        x, B = draws.normal(size=(1, 3)), feedback.draw(net, law="normal", scale=10 ** draws.normal(), rng=draws)
        if max(abs(np.diff(forward(net, x)[0][net.L][0]))) > 30:
            continue  # one of the two errors is 0 up to rounding, so the norm of its direction is below C
        for carries, ratios in found.items():
            call = still(dp_dfa_joint, B=B, C=1e-16, m=1, carries=carries)
            ratios.append(norm(np.subtract(*(entries(call(net, x, y[None])) for y in np.eye(2)))) / 1e-16)
    assert min(map(len, found.values())) > 60
    for carries in ("error", "ternary"):
        np.testing.assert_allclose(found[carries], 2, rtol=1e-9)
    assert max(found["label"]) <= 2 + 1e-9
    assert min(found["label"]) < 1 < 1.9 < max(found["label"])


@pytest.mark.verifies("ours:joint-clip")
@pytest.mark.parametrize("rule", ["dp_dfa_joint", "dp_hybrid_joint"])
@pytest.mark.parametrize("adjacency, bounds", [("replace-one", 2), ("replace-label", 2), ("add-remove", 1)])
def test_a_mechanism_says_what_one_step_releases(rule, adjacency, bounds):
    """The mechanism of a step does not depend on the network, the feedback or the device."""
    said = stated(rule, adjacency)
    assert (said.law, said.adjacency, said.sampling, said.sampling_rate) == ("gaussian", adjacency, "poisson", 0.1)
    assert said.sensitivity == pytest.approx(bounds * 0.3 / 5, rel=1e-15)
    assert said.noise_multiplier == pytest.approx(0.2 * 5 / 0.3 / bounds, rel=1e-15)
    if adjacency == "add-remove":
        assert 0 < epsilon([(said, 50)], delta=1e-5).epsilon < math.inf
    with pytest.raises(NoGuarantee, match="sigma is 0, so the release has no noise and no guarantee") as refusal:
        stated(rule, adjacency, sigma=0.0)
    assert ledger.find(refusal.value.id).id == "lee2020:lem1"


# --- refusals --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"C": 0.0}, "the clipping bound C must be positive, got 0.0"),
        ({"C": math.nan}, "the clipping bound C must be positive, got nan"),
        ({"C": 1e-160}, "for float64 arrays, got 1e-160"),
        ({"m": 0}, "the normaliser m of RULE must be positive, got m=0"),
        ({"m": math.inf}, "the normaliser m of RULE must be positive, got m=inf"),
        ({"sigma": -1.0}, "the standard deviation of the noise must be"),
        (
            {"B": [None, None, np.ones((3, 3)), None]},
            r"B must have feedback for each of the layers 1\.\.2, but has no feedback for layer 1",
        ),
        (
            {"B": [None, np.ones((5, 3))]},
            r"B must have feedback for each of the layers 1\.\.2, but has no feedback for layer 2",
        ),
    ],
)
@pytest.mark.parametrize("rule", [dp_dfa_joint, dp_hybrid_joint])
def test_bad_settings_get_a_sentence(rule, change, sentence):
    net, x, y, B = case(NETS["relu"])
    with pytest.raises(ValueError, match=sentence.replace("RULE", rule.__name__)) as refusal:
        rule(net, x, y, **({"B": B, "C": 1.0, "m": 4, "sigma": 0.1, "rng": rng(0)} | change))
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("carries", ["error", "ternary", "label"])
@pytest.mark.parametrize("t", [-0.1, 1.5, math.nan])
def test_a_threshold_out_of_range_is_refused_whatever_is_carried(carries, t):
    net, x, y, B = case(NETS["relu"])
    with pytest.raises(ValueError, match=rf"t must be in \[0, 1\], got {t}"):
        still(dp_dfa_joint, B=B, C=1.0, m=4, carries=carries, t=t)(net, x, y)


def test_readings_that_are_none_get_a_sentence():
    net, x, y, B = case(small_cnn)
    rule = still(dp_dfa_joint, B=B, C=1.0, m=4)
    with pytest.raises(ValueError, match="carries must be one of error, ternary, label, got 'errors'"):
        rule(net, x, y, carries="errors")
    with pytest.raises(ValueError, match="at must be 'h' or 'z', got 'x'"):
        rule(net, x, y, at="x")
    opus = [None, OPU(3, 2 * 3 * 5, rng=rng(0)), OPU(3, 4, rng=rng(0)), None]
    with pytest.raises(ValueError, match="every entry of an error for an OPU must be -1, 0 or 1"):
        rule(net, x, y, B=opus, project=optical)


@pytest.mark.parametrize("ell", [-1, 3])
def test_the_hybrid_refuses_layers_that_it_does_not_have(ell):
    net, x, y, B = case(small_cnn)
    with pytest.raises(
        ValueError, match=rf"the number ell of layers with backpropagation must be between 0 and 2, got {ell}"
    ):
        still(dp_hybrid_joint, B=B, C=1.0, m=4, ell=ell)(net, x, y)
    assert convolutions(net) == 1
    assert_same_direction(
        still(dp_hybrid_joint, B=[None, None, *B[2:]], C=1.0, m=4)(net, x, y),
        still(dp_hybrid_joint, B=B, C=1.0, m=4, ell=1)(net, x, y),
    )
