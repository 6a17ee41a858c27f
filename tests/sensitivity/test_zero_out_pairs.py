"""Tests with random zero-out neighbours: no record changes the sum of a rule by more than the rule's mechanism states.

The tests include every rule of nfa.rules that states a mechanism under zero-out, so a new rule is tested without a
change of this file. One data set contains a random record. In the other data set, the inputs of this record are NaN,
which each of these rules counts as 0. The only oracle is the stated sensitivity. The test draws networks, widths,
numbers of classes and settings. The records include duplicates, zeros and values of any size.
"""

import math

import numpy as np
import pytest

from nfa import feedback, ops
from nfa.audit.private_game import flat
from nfa.audit.worst_neighbours import Silent, no_noise
from nfa.mechanism import Mechanism, NoGuarantee
from nfa.network import Net, mlp
from nfa.network.dense import Conv2d, Dense
from nfa.network.pooling import AvgPool, MaxPool
from nfa.rules.output_perturbation import output_perturbation
from nfa.rules.spec import ALIASES, names, spec
from tests.oracles.rule_settings import values
from tests.trust.mechanism_rules import WHERE, coupled, layerwise, taken

ROUNDING = 1e-9  # relative tolerance for changes above the stated sensitivity
SOLVED = {"output_perturbation", "objective_perturbation"}


def counts(rule):
    """Whether the rule's mechanism states a sensitivity under zero-out, on a network that all rules accept."""
    net = mlp([3, 2], ops.tanh, rng=np.random.default_rng(0))
    try:
        rule.release("zero-out", hyper(rule, net, np.random.default_rng(0)) | {"net": net} | WHERE)
    except NoGuarantee:
        return False
    return True


def size(rng, low=-2.0, high=2.0):
    return float(10 ** rng.uniform(low, high))


def hyper(rule, net, rng):
    """Random values for the settings of a rule, by the setting's name or by the rule's declaration of the setting."""
    known = {"m": size(rng), "K": int(rng.integers(1, 4)), "t": float(rng.random()), "net": net, rule.noise: 1.0}
    # The gradient at the computed minimiser may have norm `tolerance`, so the weight of the regulariser must not be
    # small.
    known |= {"lam": size(rng, -1, 1), "R": size(rng, -1, 1), "tolerance": 1e-8}
    known |= {"B": feedback.draw(net, law="normal", scale=size(rng), rng=rng), "V": layerwise(net)}
    for name in ("C", "tau", "tau_e", "tau_h", "tau_B", "tau_h_max", "L", "sigma"):
        known[name] = size(rng)
    if "carries" in {one.name for one in rule.settings}:
        known["carries"] = str(rng.choice(["error", "ternary", "label"]))
    if "clip" in {one.name for one in rule.settings}:
        known["clip"] = str(rng.choice(["joint", "layer"]))
    if rule.name == "shuffled_sgd":
        known |= {"ridge": size(rng), "ridge_clipped": bool(rng.random() < 0.5)}
    known[rule.noise] = 1.0
    return values(rule, known, bound=size(rng), positive=size(rng), noise=1.0, count=2)


COUNTED = [name for name in names() if name not in ALIASES and spec(name).states and counts(spec(name))]
RULES = pytest.mark.parametrize("name", COUNTED)


def test_the_walk_finds_the_rules():
    sums = {"dp_sgd", "dp_dfa", "dp_hybrid", "dp_dfa_joint", "dp_hybrid_joint", "dp_ulr_sound", "pdfa_isotropic"}
    assert sums <= set(COUNTED)
    assert SOLVED | {"shuffled_sgd"} <= set(COUNTED)
    assert "pdfa" not in COUNTED  # pdfa protects only labels


# --- the random cases


def network(name, rng):
    """A network of one to three dense layers, or with a convolution. Its weights have any size, and some are 0."""
    activations, classes = [ops.tanh, ops.sigmoid, ops.relu, ops.gelu, ops.identity], int(rng.integers(2, 7))
    losses = [ops.softmax_cross_entropy] if name in SOLVED else [ops.softmax_cross_entropy, ops.squared_error]
    loss, phi = losses[rng.integers(len(losses))], activations[rng.integers(len(activations))]
    if name in SOLVED:
        return mlp([int(rng.integers(1, 9)), classes], phi, loss=loss, rng=rng)
    if name != "pdfa_isotropic" and rng.random() < 0.2:
        pool = [None, MaxPool(2), AvgPool(2)][rng.integers(3)]
        first = (Conv2d(int(rng.integers(1, 4)), 2), phi, *([pool] if pool else []))
        net = Net((int(rng.integers(1, 3)), 4, 4), [first, (Dense(3), phi), (Dense(classes),)], loss=loss, rng=rng)
    else:
        widths = [int(rng.integers(1, 10)) for _ in range(rng.integers(1, 4))]
        net = mlp([*widths, classes], phi, loss=loss, rng=rng)
    for l in range(1, net.L + 1):
        for arrays in (net.W, net.b):
            if rng.random() < 0.5:
                arrays[l] *= size(rng, -3, 3)
            elif rng.random() < 0.2:
                arrays[l][...] = 0
    return net


def record(shape, rng):
    """An ordinary record, a zero record, a record of any magnitude, or a record with values that are not finite."""
    v = rng.standard_normal(shape) * size(rng)
    kind = rng.random()
    if kind < 0.15:
        return 0 * v
    if kind < 0.45:
        return np.nan_to_num(v * 10.0 ** rng.uniform(-300, 300), posinf=1e308, neginf=-1e308)
    if kind < 0.5:
        v.flat[rng.integers(v.size)] = rng.choice([np.inf, -np.inf, np.nan])
    return v


def neighbours(name, net, rng):
    """(x, y, place): a batch, and the place of the record that is zeroed out in the other data set."""
    k = 1 if name == "shuffled_sgd" else int(rng.integers(1, 7))
    x = np.stack([record(net.shape_h[0], rng) for _ in range(k)])
    classes = net.shape_h[net.L][0]
    y = np.eye(classes)[rng.integers(classes, size=k)]
    if net.loss is ops.squared_error:
        y = y * size(rng) if rng.random() < 0.5 else rng.standard_normal(y.shape) * 10.0 ** rng.uniform(-100, 100)
    place = int(rng.integers(k))
    if rng.random() < 0.3:  # add duplicates of the record, with the same label or another label
        for other in range(k):
            x[other] = x[place]
            if rng.random() < 0.5:
                y[other] = y[place]
    return x, y, place


def without_noise(rule, net, own, x, y):
    """The direction without noise.

    If a rule draws samples for examples, they depend only on the place of the example.
    """
    quiet = {name: no_noise for name in ("add_normal", "add_normal_each") if name in rule.given}
    quiet |= {"weigh": coupled} if "weigh" in rule.given else {}
    if rule.name in SOLVED:  # with large weights, the difference would have large rounding errors
        net = net.copy()
        net.W[1][:], net.b[1][:] = 0, 0
    with np.errstate(all="ignore"):
        dW, db = rule.function(net, x, y, rng=Silent(np.random.PCG64(0)), **{**taken(rule, own), **quiet})
        return flat(dW, db).astype(float)


def stated(rule, net, own):
    """The stated change of the direction without noise.

    A rule that states a curve minimises an objective. The stated change is then that of the minimiser without noise.
    """
    said = rule.release("zero-out", own | {"net": net} | WHERE)
    if isinstance(said, Mechanism):
        return said.sensitivity
    twin = spec(output_perturbation.__name__)
    return twin.release("zero-out", own | {"net": net} | WHERE).sensitivity


def ratio(name, seed):
    """The change for one random pair of neighbours, divided by the stated change."""
    rng = np.random.default_rng((seed, COUNTED.index(name)))
    rule, net = spec(name), network(name, rng)
    own = hyper(rule, net, rng)
    x, y, place = neighbours(name, net, rng)
    zeroed = x.copy()
    zeroed[place] = math.nan
    here, there = (without_noise(rule, net, own, batch, y) for batch in (x, zeroed))
    assert np.isfinite(there).all(), (name, seed)
    return float(np.linalg.norm((here - there) / stated(rule, net, own)))


@RULES
@pytest.mark.verifies("ours:zero-out")
@pytest.mark.parametrize(
    "pairs",
    [150, pytest.param(1500, marks=pytest.mark.slow), pytest.param(10_000, marks=pytest.mark.nightly)],
)
def test_no_random_pair_moves_further_than_stated(name, pairs):
    ratios = [ratio(name, seed) for seed in range(pairs)]
    assert max(ratios) <= 1 + ROUNDING, (name, int(np.argmax(ratios)))
    assert max(ratios) > (0.05 if name in SOLVED else 0.5)  # so the search finds large changes


@RULES
@pytest.mark.verifies("ours:zero-out")
def test_a_record_of_nan_is_the_zero_record(name):
    """A record of NaN counts as zero: the sum is that of the other records, up to rounding.

    A batch of this record alone gives the result of an empty batch.
    """
    rule = spec(name)
    for seed in range(20):
        rng = np.random.default_rng((seed, 99))
        net = mlp([3, 2] if name in SOLVED else [3, 4, 2], ops.tanh, rng=rng)
        own = hyper(rule, net, rng)
        x, y = rng.standard_normal((4, 3)), np.eye(2)[rng.integers(2, size=4)]
        if name == "shuffled_sgd":
            lone = without_noise(rule, net, own | {"ridge": 0.0}, np.full((1, 3), math.nan), y[:1])
            assert not lone.any()
            continue
        x[3] = math.nan
        whole, others = (without_noise(rule, net, own, x[:k], y[:k]) for k in (4, 3))
        scale = stated(rule, net, own)
        np.testing.assert_allclose(whole / scale, others / scale, rtol=1e-9, atol=1e-9)
        assert not np.abs(without_noise(rule, net, own, x[3:], y[3:]) / scale).max() > 1e-6
