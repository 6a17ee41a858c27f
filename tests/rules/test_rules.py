"""Tests of BP and DFA: autograd, differences, loops over records, and identities between BP and DFA."""

import functools
import tomllib
from importlib.resources import files

import numpy as np
import pytest

from nfa import feedback, ledger, ops
from nfa.mechanism import NoGuarantee
from nfa.network import forward, mlp
from nfa.network.pooling import AvgPool, MaxPool
from nfa.rules import bp as bp_file
from nfa.rules import dfa as dfa_file
from nfa.rules.bp import bp
from nfa.rules.dfa import dfa
from nfa.rules.spec import UNSET, names, spec
from tests.oracles.core import (
    assert_close,
    assert_same_direction,
    batch,
    bp_by_records,
    central_difference,
    dfa_by_records,
    fix_a,
    inner,
    loss_by_records,
    moved,
    pooled_cnn,
    random_direction,
    residual_cnn,
    torch_bp,
    torch_dfa,
    v11,
)


def perceptron(phi=ops.tanh, loss=ops.softmax_cross_entropy, **settings):
    return mlp([5, 7, 4, 6, 3], phi, rng=np.random.default_rng(0), loss=loss, **settings)


MLPS = {
    **{name: functools.partial(perceptron, phi) for name, phi in ops.ACTIVATIONS.items()},
    "squared error": functools.partial(perceptron, loss=ops.squared_error),
    "one layer": lambda **s: mlp([5, 3], ops.tanh, rng=np.random.default_rng(0), **s),
}
OTHERS = {
    "skips": lambda **s: mlp([4, 4, 4, 4, 3], ops.sigmoid, rng=np.random.default_rng(0), skip={2: 0, 3: 1, 4: 1}, **s),
    "max pooling": functools.partial(pooled_cnn, MaxPool),
    "average pooling": functools.partial(pooled_cnn, AvgPool),
    "average pooling, squared error": functools.partial(pooled_cnn, AvgPool, loss=ops.squared_error),
    "residual same": functools.partial(residual_cnn, "same"),
    "residual valid": functools.partial(residual_cnn, "valid"),
    "residual valid, squared error": functools.partial(residual_cnn, "valid", loss=ops.squared_error),
}


def every(nets):
    beyond = pytest.mark.beyond_dense
    params = [pytest.param(make, id=name, marks=beyond if name in OTHERS else ()) for name, make in nets.items()]
    return pytest.mark.parametrize("make", params)


def fed(net, at="h", seed=11):
    """Feedback for a network, large enough that the tests detect a missing layer."""
    return feedback.draw(net, law="normal", scale=1.0, rng=np.random.default_rng(seed), at=at)


def mean_loss(net, x, y):
    return float(net.loss.value(forward(net, x)[0][net.L], y).mean())


# --- BP is the gradient --------------------------------------------------------------------------------------


@pytest.mark.peers
@pytest.mark.verifies("lee2020:eq2", "lee2020:eq3", "ohana2021:eq3")
@every({name: net for name, net in (MLPS | OTHERS).items() if name != "step"})
def test_bp_equals_autograd(torch, make):
    net = make()
    x, y = batch(net, 6)
    assert_same_direction(bp(net, x, y), torch_bp(torch, net, x, y))


@pytest.mark.verifies("lee2020:eq2", "lee2020:eq3", "ohana2021:eq3")
@every({name: net for name, net in (MLPS | OTHERS).items() if name != "step"})
@pytest.mark.parametrize("seed", range(3))
def test_bp_is_the_derivative_of_the_mean_loss(make, seed):
    net = make()
    x, y = batch(net, 6)
    VW, Vb = random_direction(net, seed)
    # small enough to avoid the kinks of ReLU and of maxima; the relative rounding error is about 1e-8
    derivative = central_difference(lambda s: mean_loss(moved(net, VW, Vb, s), x, y), step=1e-6)
    dW, db = bp(net, x, y)
    assert inner(dW, VW) + inner(db, Vb) == pytest.approx(derivative, rel=1e-6)


@pytest.mark.verifies("lee2020:eq2", "lee2020:eq3", "ohana2021:eq3")
@every(MLPS)
def test_bp_equals_record_by_record_loops(make):
    net = make()
    x, y = batch(net, 5)
    assert_same_direction(bp(net, x, y), bp_by_records(net, x, y))


@pytest.mark.verifies("lee2020:eq3")
@every(MLPS | OTHERS)
@pytest.mark.parametrize("rule", ["bp", "dfa"])
def test_a_batch_is_the_mean_of_micro_batches_of_one(make, rule):
    net = make()
    x, y = batch(net, 4)
    direction = bp if rule == "bp" else functools.partial(dfa, B=fed(net))
    parts = [direction(net, x[i : i + 1], y[i : i + 1]) for i in range(4)]
    mean = [[None] + [sum(p[k][l] for p in parts) / 4 for l in range(1, net.L + 1)] for k in (0, 1)]
    assert_same_direction(direction(net, x, y), mean)


# --- DFA is the gradient of its surrogate --------------------------------------------------------------------


@pytest.mark.peers
@pytest.mark.verifies("lee2020:eq5", "lee2020:dfa-update", "ohana2021:eq4")
@every({name: net for name, net in (MLPS | OTHERS).items() if name != "step"})
@pytest.mark.parametrize("at", ["h", "z"])
def test_dfa_equals_autograd_of_the_surrogate(torch, make, at):
    net = make()
    x, y = batch(net, 6)
    B = fed(net, at)
    assert_same_direction(dfa(net, x, y, B=B, at=at), torch_dfa(torch, net, x, y, B, at))


@pytest.mark.verifies("lee2020:eq5", "lee2020:dfa-update", "ohana2021:eq4")
@every({name: net for name, net in (MLPS | OTHERS).items() if name != "step"})
@pytest.mark.parametrize("at", ["h", "z"])
def test_dfa_is_the_derivative_of_the_surrogate(make, at):
    """DFA is the derivative of its surrogate loss, the mean of <h_l or z_l, B_l e>, by W[l] and b[l].

    In this derivative, the layer's input and e are fixed.
    """
    net = make()
    x, y = batch(net, 6)
    B = fed(net, at)
    z, h = forward(net, x)
    e = net.loss.output(z[net.L]) - y
    dW, db = dfa(net, x, y, B=B, at=at)
    VW, Vb = random_direction(net, 0)
    for l in range(1, net.L + 1):
        target = e if l == net.L else e @ B[l].T

        def surrogate(s, l=l, target=target):
            z_l = net.map[l].affine(net.W[l] + s * VW[l], net.b[l] + s * Vb[l], net.input(l, h))
            if l < net.L:
                z_l = net.activate(l, z_l) if at == "h" else net.phi[l].phi(z_l)
            return np.vdot(z_l, target) / len(x)

        got = np.vdot(dW[l], VW[l]) + np.vdot(db[l], Vb[l])
        assert got == pytest.approx(central_difference(surrogate), rel=1e-6)


@pytest.mark.verifies("lee2020:eq5", "lee2020:dfa-update", "ohana2021:eq4")
@every(MLPS | {"skips": OTHERS["skips"]})
def test_dfa_equals_record_by_record_loops(make):
    net = make()
    x, y = batch(net, 5)
    B = fed(net)
    assert_same_direction(dfa(net, x, y, B=B), dfa_by_records(net, x, y, B))


@pytest.mark.parametrize("place", ["h", "z"])
def test_without_pooling_both_places_are_one(place):
    net = residual_cnn("same")
    x, y = batch(net, 4)
    assert_same_direction(dfa(net, x, y, B=fed(net), at=place), dfa(net, x, y, B=fed(net)), rtol=0)


def test_with_pooling_the_places_differ():
    """With pooling, feedback at h differs from feedback at z, because feedback at h has one value for each unit of h.

    The adjoint of pooling spreads this value over the window.
    """
    net = pooled_cnn(AvgPool)
    x, y = batch(net, 4)
    direction = {}
    for at in ("h", "z"):
        B = fed(net, at)
        B[1] = np.ones_like(B[1]) * [1.0, 2.0, 3.0]
        direction[at] = dfa(net, x, y, B=B, at=at)[0][1]
    assert np.linalg.norm(direction["h"]) < 0.9 * np.linalg.norm(direction["z"])


# --- identities between DFA and BP ----------------------------------------------------------------------------


@pytest.mark.verifies("lee2020:eq5")
@every({name: net for name, net in (MLPS | OTHERS).items() if name != "one layer"})
def test_transported_weights_give_bp_in_the_layer_below_the_top(make):
    """With B[L-1] = W[L]^T, DFA gives BP's direction in the layer below the top, for any layers further below.

    The top layer uses e itself, so it agrees for any B.
    """
    net = make()
    x, y = batch(net, 5)
    B = fed(net)
    B[net.L - 1] = net.W[net.L].T
    want, got = bp(net, x, y), dfa(net, x, y, B=B)
    for l in (net.L - 1, net.L):
        assert_close(got[0][l], want[0][l])
        assert_close(got[1][l], want[1][l])


@pytest.mark.verifies("lee2020:eq5")
@pytest.mark.parametrize("loss", ops.LOSSES.values(), ids=list(ops.LOSSES))
def test_transported_products_give_bp_in_every_layer_of_a_linear_network(loss):
    net = perceptron(ops.identity, loss=loss)
    x, y = batch(net, 5)
    B = [None] * (net.L + 1)
    product = np.eye(net.shape_z[net.L][0])
    for l in range(net.L - 1, 0, -1):
        product = product @ net.W[l + 1]  # W[L] ... W[l+1]
        B[l] = product.T
    assert_same_direction(dfa(net, x, y, B=B), bp(net, x, y))


# --- fixtures ------------------------------------------------------------------------------------------------


def norms(direction):
    return [(np.linalg.norm(dW), np.linalg.norm(db)) for dW, db in zip(direction[0][1:], direction[1][1:], strict=True)]


def digits(got, want, decimals=12):
    """Assert that values agree in every decimal that the ledger prints."""
    np.testing.assert_allclose(got, want, rtol=0, atol=0.51 * 10.0**-decimals)


@pytest.mark.verifies("lee2020:eq1", "lee2020:ce")
def test_fix_a_forward():
    """The forward pass of fixture A gives the digits of the ledger's vector V3a."""
    net, x, y, _ = fix_a()
    z, h = forward(net, x)
    losses = ops.cross_entropy(z[3], y)
    digits(losses, [1.246575900097, 1.123718702873, 0.940784680596, 1.268565461150])
    digits(losses.mean(), 1.144911186179)
    digits(h[3][0], [0.287487499383, 0.326419072340, 0.386093428276])
    assert loss_by_records(net, x, y) == pytest.approx(losses.mean(), rel=1e-12)


@pytest.mark.verifies("lee2020:eq5")
def test_fix_a_feedback():
    """Scaled to spectral norm 0.9, the feedback of fixture A has the first rows of the ledger's vector V2."""
    B = fix_a()[3]
    digits(B[1][0], [-0.186162321400, 0.337256423578, 0.377496109747])
    digits(B[2][0], [-0.411922578104, -0.060540609395, 0.377576414963])
    stacked = np.concatenate([B[1], B[2], np.eye(3)])
    digits(np.linalg.norm(stacked, 2), 1.618639449988)


@pytest.mark.verifies("lee2020:eq2", "lee2020:eq3")
def test_fix_a_bp():
    """BP on fixture A gives the digits of the ledger's vector V3b."""
    net, x, y, _ = fix_a()
    dW, db = bp(net, x, y)
    digits(
        norms((dW, db)),
        [(0.044466776911, 0.050022804313), (0.016666018765, 0.038337257519), (0.259028689385, 0.266760350685)],
    )
    digits([dW[1][0, 0], dW[2][0, 0], dW[3][0, 0]], [0.009722401488, 0.005236692150, -0.101901366197])
    digits(dW[1][2, 3], -0.0068258298, decimals=10)


@pytest.mark.verifies("lee2020:eq5", "lee2020:dfa-update")
def test_fix_a_dfa():
    """DFA on fixture A gives the digits of the ledger's vector V3c."""
    net, x, y, B = fix_a()
    dW, db = dfa(net, x, y, B=B)
    digits(
        norms((dW, db)),
        [(0.167077810326, 0.186596147544), (0.035643708224, 0.056339832015), (0.259028689385, 0.266760350685)],
    )
    digits([dW[1][0, 0], dW[2][0, 0]], [0.034009082405, 0.011887087882])
    gradient, _ = bp(net, x, y)
    cosines = [np.vdot(a, b) / np.linalg.norm(a) / np.linalg.norm(b) for a, b in zip(gradient[1:], dW[1:], strict=True)]
    digits(cosines, [-0.2613177535, 0.7366185344, 1], decimals=10)


@pytest.mark.verifies("ohana2021:eq2", "ohana2021:eq3")
def test_v11_bp():
    net, x, y, _ = v11()
    digits(mean_loss(net, x, y), 0.683368809816)
    dW, _ = bp(net, x, y)
    digits([np.linalg.norm(d) for d in dW[1:]], [0.0969533446, 0.1935673427, 0.0772806269], decimals=10)
    digits(dW[1][0], [0.0318513441, 0.0050535734, 0.0472290991, -0.0094800382], decimals=10)


@pytest.mark.verifies("ohana2021:eq4")
def test_v11_dfa():
    net, x, y, B = v11()
    dW, _ = dfa(net, x, y, B=B)
    digits([np.linalg.norm(d) for d in dW[1:]], [0.3511337292, 0.4323944762, 0.0772806269], decimals=10)
    digits(dW[1][0], [-0.1165363427, -0.0160607064, -0.1733260817, 0.037581365], decimals=10)
    digits(dW[2][2], [0.0999795571, 0.0497127773, -0.1241186107], decimals=10)


@pytest.mark.verifies("ohana2021:eq3", "ohana2021:eq4")
def test_v11_has_no_derivative_of_the_output_in_the_top_layer():
    """In vector V11, the top layer uses no derivative of the output.

    With a factor y_hat (1 - y_hat), the norm of its direction would be 0.0192965847.
    """
    net, x, y, B = v11()
    _, h = forward(net, x)
    e = h[3] - y
    with_factor = (e * h[3] * (1 - h[3])).T @ h[2] / 3
    digits(np.linalg.norm(with_factor), 0.0192965847, decimals=10)
    assert_close(bp(net, x, y)[0][3], e.T @ h[2] / 3)
    assert_close(dfa(net, x, y, B=B)[0][3], e.T @ h[2] / 3)


# --- the noisy projection: equation 1 of Ohana et al. --------------------------------------------------------


def noisy(noise_std, rng):
    return functools.partial(feedback.project, noise_std=noise_std, rng=rng)


@pytest.mark.verifies("ohana2021:eq1")
@pytest.mark.parametrize("m", [1, 3])
def test_dfa_with_a_noisy_projection_is_equation_1(m):
    """DFA with a noisy projection is equation 1. The test draws the same noise, from layer L-1 down."""
    net = perceptron()
    x, y = batch(net, m)
    B = fed(net)
    rng = np.random.default_rng(12)
    g = {l: 0.3 * rng.standard_normal((m, net.shape_h[l][0])) for l in range(net.L - 1, 0, -1)}
    got = dfa(net, x, y, B=B, project=noisy(0.3, np.random.default_rng(12)))
    assert_same_direction(got, dfa_by_records(net, x, y, B, g))


@pytest.mark.verifies("ohana2021:eq1")
def test_the_mean_over_noise_draws_is_the_noiseless_direction():
    """The mean of 4,000 noisy directions is the noiseless direction, within 6 standard errors in each entry.

    Correct code fails with probability below 1e-6 over all entries. If a mean is wrong by 10.8 standard errors, the
    test misses this with probability 1e-6.
    """
    net = mlp([3, 4, 4, 2], ops.tanh, rng=np.random.default_rng(13))
    x, y = batch(net, 2)
    B, rng = fed(net), np.random.default_rng(14)
    exact, _ = dfa(net, x, y, B=B)
    draws = [dfa(net, x, y, B=B, project=noisy(0.5, rng))[0] for _ in range(4000)]
    for l in (1, 2):
        sample = np.array([d[l] for d in draws])
        error = sample.std(axis=0, ddof=1) / np.sqrt(len(sample))
        assert (error > 0).all()
        assert (np.abs(sample.mean(axis=0) - exact[l]) < 6 * error).all()
    assert all(np.array_equal(d[3], exact[3]) for d in draws)  # the top layer has no projection and no noise


@pytest.mark.verifies("lee2020:dfa-update")
def test_one_step_of_sgd_is_the_printed_update():
    """For one record, one step of SGD is the printed update: W <- W - eta ((B e) * phi'(z)) h^T, and likewise for b."""
    from nfa.optim import SGD

    net = perceptron(ops.sigmoid)
    x, y = batch(net, 1)
    B = fed(net)
    before = net.copy()
    dW, db = dfa_by_records(net, x, y, B)
    SGD(0.25).step(net, *dfa(net, x, y, B=B), 1)
    for l in range(1, net.L + 1):
        assert_close(net.W[l], before.W[l] - 0.25 * dW[l])
        assert_close(net.b[l], before.b[l] - 0.25 * db[l])


# --- the public normaliser, dtype, refusals ------------------------------------------------------------------


def rules(net):
    return {"bp": bp, "dfa": functools.partial(dfa, B=fed(net))}


RULES = pytest.mark.parametrize("name", ["bp", "dfa"])


@RULES
@pytest.mark.parametrize("m", [1, 2, 12, 12.5])
def test_m_divides_the_sum_whatever_the_batch(name, m):
    net = perceptron()
    x, y = batch(net, 6)
    rule = rules(net)[name]
    mean, scaled = rule(net, x, y), rule(net, x, y, m=m)
    assert_same_direction(scaled, [[None] + [d * (6 / m) for d in part[1:]] for part in mean])


@RULES
@every(OTHERS | {"mlp": perceptron})
def test_an_empty_batch_with_m_gives_zeros(name, make):
    net = make()
    x, y = batch(net, 0)
    dW, db = rules(net)[name](net, x, y, m=8)
    for got, like in zip((*dW[1:], *db[1:]), (*net.W[1:], *net.b[1:]), strict=True):
        assert np.array_equal(got, np.zeros_like(like))


@RULES
def test_an_empty_batch_without_m_gets_a_sentence(name):
    net = perceptron()
    x, y = batch(net, 0)
    with pytest.raises(
        ValueError, match=f"the normaliser m of {name} must be positive, got m=0. Give m if a batch can be"
    ):
        rules(net)[name](net, x, y)


@RULES
@pytest.mark.parametrize("m", [0, -3])
def test_a_normaliser_that_is_not_positive_gets_a_sentence(name, m):
    net = perceptron()
    with pytest.raises(ValueError, match=f"the normaliser m of {name} must be positive, got m={m}"):
        rules(net)[name](net, *batch(net, 2), m=m)


@RULES
@every(OTHERS | MLPS)
def test_float32_stays_float32(name, make):
    net = make(dtype=np.float32)
    x, y = (a.astype(np.float32) for a in batch(net, 4))
    dW, db = rules(net)[name](net, x, y)
    assert {a.dtype for a in (*dW[1:], *db[1:])} == {np.dtype(np.float32)}


@RULES
@pytest.mark.parametrize("m", [4, np.int64(4), np.float64(4)])
def test_a_normaliser_that_is_a_numpy_number_does_not_change_the_dtype(name, m):
    net = perceptron(dtype=np.float32)
    x, y = (a.astype(np.float32) for a in batch(net, 4))
    dW, db = rules(net)[name](net, x, y, m=m)
    assert {a.dtype for a in (*dW[1:], *db[1:])} == {np.dtype(np.float32)}


@RULES
@every(OTHERS)
def test_a_rule_changes_nothing_that_it_is_given(name, make):
    net = make()
    x, y = batch(net, 4)
    rule = rules(net)[name]
    kept = [a.copy() for a in (x, y, *net.W[1:], *net.b[1:])]
    first, again = rule(net, x, y), rule(net, x, y)
    assert all(np.array_equal(a, b) for a, b in zip((x, y, *net.W[1:], *net.b[1:]), kept, strict=True))
    assert_same_direction(first, again, rtol=0)


def test_feedback_of_another_network_gets_a_sentence():
    net = pooled_cnn(MaxPool)
    with pytest.raises(ValueError, match=r"layer 2 needs 16 entries of h\[2\] for each example, got shape"):
        dfa(net, *batch(net, 2), B=fed(net, at="z"))


def test_bp_and_dfa_refuse_a_privacy_statement_by_name():
    for refuse in (bp_file.mechanism, functools.partial(dfa_file.mechanism, B=[])):
        with pytest.raises(NoGuarantee, match="adds no noise") as refusal:
            refuse(m=8)
        assert ledger.find(refusal.value.id).id == refusal.value.id


@pytest.mark.parametrize("name", [name for name in names() if spec(name).mechanism])
def test_what_is_left_out_is_the_same_for_a_rule_and_its_mechanism(name):
    """Optional arguments have the same default in a rule and its mechanism.

    Otherwise the guarantee could assume a clip that the rule does not use.
    """
    one = spec(name)
    both = {k: v for k, v in one.mechanism_defaults.items() if v is not UNSET and k in one.defaults}
    assert both == {k: one.defaults[k] for k in both}


@pytest.mark.parametrize("name", ["dp_dfa", "dp_hybrid"])
def test_the_clip_of_the_error_is_that_of_the_papers_experiments_where_none_is_given(name):
    paper = tomllib.loads(files("nfa.papers.lee2020").joinpath("numbers.toml").read_text(encoding="utf-8"))
    assert spec(name).defaults["tau_e"] == paper["figures"]["clips"]["tau_e"]


def test_the_photonic_rules_clip_at_1_and_floor_at_0_where_nothing_is_given():
    for name in ("pdfa", "pdfa_isotropic", "pdfa_label"):
        found = spec(name).defaults
        assert (found["tau_B"], found["tau_h_max"], found["tau_h_min"]) == (1, 1, 0)
