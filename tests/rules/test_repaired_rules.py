"""Tests of the repaired photonic rules: results without noise, the change from one record, and refused guarantees."""

import math
from functools import partial

import numpy as np
import pytest
from scipy import stats

from nfa import feedback, ops
from nfa.feedback.opu import OPU, optical
from nfa.mechanism import NoGuarantee
from nfa.network import Net, mlp
from nfa.network.dense import Conv2d, Dense
from nfa.network.pooling import MaxPool
from nfa.privacy.accountant import epsilon
from nfa.rules import pdfa as pdfa_file
from nfa.rules import pdfa_isotropic as isotropic_file
from nfa.rules.dfa import dfa
from nfa.rules.pdfa import pdfa
from nfa.rules.pdfa_isotropic import pdfa_isotropic
from nfa.rules.spec import spec
from nfa.sensitivity.pdfa import label_sensitivity, repaired_pdfa_sensitivity
from tests.oracles.core import assert_close

FALSE_ALARM = 1e-6  # probability that correct code fails a Monte Carlo test of this file; seeds are fixed

rng = np.random.default_rng


def entries(direction):
    """All weights and biases of a direction, as one vector."""
    return np.concatenate([a.ravel() for part in direction for a in part[1:]])


def fixture(seed=0, k=7, phi=ops.tanh, loss=ops.softmax_cross_entropy, skip=None, sizes=(6, 5, 5, 3)):
    r = rng(seed)
    layers = [(Dense(n), phi) for n in sizes[1:-1]]
    net = Net((sizes[0],), [*layers, (Dense(sizes[-1]),)], loss=loss, skip=skip, rng=r)
    B = feedback.draw(net, law="normal", scale=1.0, rng=r)
    x, y = r.normal(size=(k, sizes[0])), np.eye(sizes[-1])[r.integers(sizes[-1], size=k)]
    return net, x, y, B


# --- without noise -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("t", [None, 0.2])
@pytest.mark.parametrize("floor", ["literal", "signed"])
@pytest.mark.parametrize("bias", ["one", "clipped"])
@pytest.mark.parametrize("skip", [None, {3: 1}])
def test_without_noise_it_is_pdfa_without_noise_bit_by_bit(t, floor, bias, skip):
    net, x, y, B = fixture(skip=skip)
    readings = {"B": B, "m": 9, "tau_B": 0.5, "tau_h_max": 1.3, "tau_h_min": 0.2, "t": t, "floor": floor, "bias": bias}
    ours = pdfa_isotropic(net, x, y, s=0.0, **readings, rng=rng(1))
    theirs = pdfa(net, x, y, sigma=0.0, clip_x=True, top="noiseless", **readings, rng=rng(2))
    np.testing.assert_array_equal(entries(ours), entries(theirs))


def test_without_noise_and_active_clips_it_is_dfa():
    net, x, y, B = fixture()
    ours = pdfa_isotropic(net, x, y, B=B, m=len(x), s=0.0, tau_B=1e6, tau_h_max=1e6, rng=rng(1))
    np.testing.assert_array_equal(entries(ours), entries(dfa(net, x, y, B=B)))


def test_with_an_opu_it_is_pdfa_with_that_opu():
    net, x, y, _ = fixture()
    opus = [None, *(OPU(3, 5, rng=rng(l)) for l in (1, 2)), None]
    readings = {"B": opus, "m": 7, "t": 0.2, "project": optical}
    ours = pdfa_isotropic(net, x, y, s=0.0, **readings, rng=rng(1))
    theirs = pdfa(net, x, y, sigma=0.0, top="noiseless", **readings, rng=rng(1))
    np.testing.assert_array_equal(entries(ours), entries(theirs))


def test_a_noisy_projection_draws_from_the_rng_of_the_rule():
    net, x, y, B = fixture()
    given, own = [], rng(1)

    def noting(e, matrix, *, rng):
        given.append(rng)
        return feedback.project(e, matrix)

    pdfa_isotropic(net, x, y, B=B, m=7, s=0.1, project=noting, rng=own)
    assert len(given) == 2
    assert all(one is own for one in given)


@pytest.mark.parametrize("top", ["noisy", "noiseless", "raw"])
def test_the_label_rule_is_pdfa_draw_by_draw(top):
    net, x, y, B = fixture()
    given = {"B": B, "m": 9, "sigma": 0.3, "tau_B": 0.6, "tau_h_max": 1.3, "tau_h_min": 0.2, "t": 0.2}
    given |= {"clip_x": False, "floor": "signed", "top": top, "bias": "clipped"}
    ours, theirs = (rule(net, x, y, **given, rng=rng(3)) for rule in (spec("pdfa_label").function, pdfa))
    np.testing.assert_array_equal(entries(ours), entries(theirs))


# --- the noise -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_noise_has_mean_0_deviation_s_and_no_correlation_between_any_two_entries():
    """The noise has mean 0, std s and no correlation between any two entries, in 4,000 samples of 15 entries.

    The thresholds include a Bonferroni correction. Means are normal, and sums of squares are chi-squared. For two
    independent normals, the t statistic of their correlation has Student's law. The test misses the following errors
    with probability 1e-6: a mean wrong by 0.18 s, a variance wrong by a third, and a correlation of 0.18.
    """
    net, x, y, B = fixture(sizes=(2, 2, 2, 1), loss=ops.squared_error)
    n, s = 4000, 0.37
    still = entries(pdfa_isotropic(net, x, y, B=B, m=7, s=0.0, rng=rng(0)))
    r = rng(1)
    G = np.array([entries(pdfa_isotropic(net, x, y, B=B, m=7, s=s, rng=r)) for _ in range(n)]) - still
    d = G.shape[1]
    assert d == 3 * 2 + 3 * 2 + 3
    each = FALSE_ALARM / (d * (d + 3) / 2)
    assert np.abs(G.mean(axis=0)).max() <= stats.norm.isf(each / 2) * s / math.sqrt(n)
    low, high = stats.chi2.interval(1 - each, n)
    squares = ((G / s) ** 2).sum(axis=0)
    assert low <= squares.min() <= squares.max() <= high
    c = np.corrcoef(G.T)[np.triu_indices(d, 1)]
    assert np.abs(c * np.sqrt((n - 2) / (1 - c**2))).max() <= stats.t.isf(each / 2, n - 2)


def test_an_empty_batch_returns_noise_alone():
    net, x, y, B = fixture()
    dW, db = pdfa_isotropic(net, x[:0], y[:0], B=B, m=7, s=0.5, rng=rng(4))
    noise = rng(4)
    for l in (3, 2, 1):
        np.testing.assert_array_equal(dW[l], 0.5 * noise.standard_normal(net.W[l].shape))
        np.testing.assert_array_equal(db[l], 0.5 * noise.standard_normal(net.b[l].shape))


def test_m_is_what_it_is_told_not_the_size_of_the_batch():
    net, x, y, B = fixture()
    once, twice = (entries(pdfa_isotropic(net, x, y, B=B, m=m, s=0.0, rng=rng(0))) for m in (7, 14))
    assert_close(once, 2 * twice)


def test_float32_stays_float32():
    net, x, y, B = fixture()
    for l in (1, 2, 3):
        net.W[l], net.b[l] = net.W[l].astype(np.float32), net.b[l].astype(np.float32)
    B = [b if b is None else b.astype(np.float32) for b in B]
    dW, db = pdfa_isotropic(net, x.astype(np.float32), y.astype(np.float32), B=B, m=7, s=0.1, rng=rng(0))
    assert {a.dtype for a in (*dW[1:], *db[1:])} == {np.dtype(np.float32)}


# --- the change from one record: a search comes near the bound and does not exceed it ----------------------------

PHI = {"tanh": ops.tanh, "sigmoid": ops.sigmoid, "relu": ops.relu, "identity": ops.identity}
GAMMA = {"tanh": 1.0, "sigmoid": 0.25, "relu": 1.0, "identity": 1.0}


class Neighbours:
    """A network and two records as one real vector.

    The class computes the change if one record replaces the other record. The other records of the batch add equal
    terms to the two directions, so each neighbour needs only one record. Targets are real.
    """

    def __init__(self, phi, skip, seed, **readings):
        self.net, _, _, self.B = fixture(seed, phi=PHI[phi], loss=ops.squared_error, skip=skip)
        self.readings = {"tau_B": 0.8, "tau_h_max": 1.2, "tau_h_min": 0.3} | readings
        self.shapes = [a.shape for l in (1, 2, 3) for a in (self.net.W[l], self.net.b[l])] + [(2, 6), (2, 3)]
        self.size = sum(math.prod(shape) for shape in self.shapes)

    def directions(self, v):
        cuts = np.split(v, np.cumsum([math.prod(shape) for shape in self.shapes])[:-1])
        parts = [cut.reshape(shape) for cut, shape in zip(cuts, self.shapes, strict=True)]
        for l in (1, 2, 3):
            self.net.W[l], self.net.b[l] = parts[2 * l - 2], parts[2 * l - 1]
        x, y = parts[6], parts[7]
        return [
            entries(pdfa_isotropic(self.net, x[i], y[i], B=self.B, m=2, s=0.0, **self.readings, rng=rng(0)))
            for i in ([0], [1], [])
        ]

    def replaced(self, v):
        one, other, _ = self.directions(v)
        return np.linalg.norm(one - other)

    def removed(self, v):
        one, _, none = self.directions(v)
        return np.linalg.norm(one - none)


def largest_found(distance, size, seed, draws=150, climbs=350):
    """A random search at several scales, then a random local search.

    After a successful change, the next changes are larger. The local search uses the one-fifth rule.
    """
    r = rng(seed)
    tried = [r.normal(0, 10 ** r.uniform(-1.5, 1.5), size) for _ in range(draws)]
    found = [distance(v) for v in tried]
    best, v, step = max(found), tried[int(np.argmax(found))], 0.5
    for _ in range(climbs):
        w = v + step * (0.3 + np.abs(v)) * r.normal(size=size) * (r.random(size) < 0.2)
        reached = distance(w)
        step *= 1.5 if reached > best else 0.92
        if reached > best:
            best, v = reached, w
    return best


@pytest.mark.slow
@pytest.mark.verifies("ohana2021:prop2", "ours:pdfa-sensitivity")
@pytest.mark.parametrize("adjacency, distance", [("replace-one", "replaced"), ("add-remove", "removed")])
@pytest.mark.parametrize(
    "phi, skip, readings",
    [
        ("identity", None, {"bias": "one"}),
        ("identity", {3: 1}, {"bias": "clipped"}),
        ("relu", None, {"bias": "one"}),
        ("tanh", None, {"bias": "clipped", "floor": "signed"}),
        ("tanh", {3: 1}, {"bias": "one", "t": 0.2}),
        ("sigmoid", None, {"bias": "one"}),
    ],
)
def test_no_record_found_moves_the_direction_past_the_bound(phi, skip, readings, adjacency, distance):
    """In a search, no record changes the direction by more than the bound, and the largest change is near the bound.

    The largest change is at least 0.7 of the bound for identity and ReLU, because their phi' is gamma on active units.
    For the other activations, the largest change is at least 0.4 of the bound.
    """
    pair = Neighbours(phi, skip, 5, **readings)
    nu, c = 0.3 / np.sqrt([6, 5, 5]), 1.2 / np.sqrt([6, 5, 5])
    bias = np.minimum(c, 1 + nu) if readings["bias"] == "clipped" else np.ones(3)
    bound = repaired_pdfa_sensitivity(
        m=2, tau_B=0.8, tau_h_max=1.2, gamma_max=[GAMMA[phi]] * 2, bias=bias.tolist(), adjacency=adjacency
    )
    best = largest_found(getattr(pair, distance), pair.size, seed=6)
    assert best <= bound * (1 + 1e-12)
    assert best >= bound * {"identity": 0.7, "relu": 0.7, "tanh": 0.4, "sigmoid": 0.4}[phi]


@pytest.mark.verifies("ohana2021:prop2", "ours:pdfa-sensitivity")
@pytest.mark.parametrize("bias", ["one", "clipped"])
@pytest.mark.parametrize("m", [1, 256])
def test_a_flipped_label_attains_the_bound(m, bias):
    """A changed label attains the bound, because the two errors are opposite.

    We set W = 0, tau_h_min = tau_h_max and phi' = 1, so every input is at the corner of its clip. The output p = (1/2,
    1/2) makes the two errors opposite. The test uses the record x = 0. The result holds for any record, and for any
    other records.
    """
    net, x, y, B = fixture(sizes=(6, 5, 4, 2))
    for l in (1, 2, 3):
        net.W[l][:], net.b[l][:] = 0.0, 0.0
    B = [b if b is None else 100 * b for b in B]
    x[0], other = 0.0, y.copy()
    other[0] = y[0, ::-1]
    rule = partial(pdfa_isotropic, net, B=B, m=m, s=0.0, tau_B=0.7, tau_h_max=1.5, tau_h_min=1.5, bias=bias, rng=rng(0))
    moved = np.linalg.norm(entries(rule(x, y)) - entries(rule(x, other)))
    release = isotropic_file.mechanism(
        net=net,
        m=m,
        s=1.0,
        tau_B=0.7,
        tau_h_max=1.5,
        tau_h_min=1.5,
        bias=bias,
        adjacency="replace-one",
        sampling="none",
        sampling_rate=1.0,
    )
    assert_close(moved, release.sensitivity)


@pytest.mark.verifies("ours:pdfa-labels")
@pytest.mark.parametrize(
    "loss, tau_B, best_case",
    [
        (ops.softmax_cross_entropy, 1.0, math.sqrt(2)),
        (ops.softmax_cross_entropy, 0.3, 0.6),
        pytest.param(ops.squared_error, 1.0, 2.0, marks=pytest.mark.slow),
    ],
)
def test_no_label_found_moves_the_projected_errors_past_the_bound(loss, tau_B, best_case):
    """In a search, no label changes the projected errors by more than the bound.

    With m = 1, phi = identity and a bias input of 1, db[l] is the projected error u^l. The network has two hidden
    layers and the top. The search has 500 pairs of labels at random weights, and its largest change is within 5 % of
    the bound. For squared error, the labels are any two targets, because a "scaled" top allows them.
    """
    r = rng(7)
    net, x, _, B = fixture(phi=ops.identity, loss=loss, sizes=(6, 5, 4, 2))
    B = [b if b is None else 30 * b for b in B]
    top = "softmax" if loss is ops.softmax_cross_entropy else "scaled"
    bound = label_sensitivity(tau_B=tau_B, hidden=2, top=top)
    assert_close(bound, math.sqrt(8 * tau_B**2 + best_case**2))
    found, plain = [], {"m": 1, "sigma": 0.0, "clip_x": False}
    for _ in range(500):
        for l in (1, 2, 3):
            net.W[l], net.b[l] = r.normal(0, 0.3, net.W[l].shape), r.normal(0, 0.3, net.b[l].shape)
        labels = np.eye(2)[[0, 1]] if loss is ops.softmax_cross_entropy else r.normal(0, 3, (2, 2))
        one, other = (
            np.concatenate(pdfa(net, x[:1], label[None], B=B, tau_B=tau_B, **plain, rng=rng(0))[1][1:])
            for label in labels
        )
        found.append(np.linalg.norm(one - other))
    assert 0.95 * bound <= max(found) <= bound * (1 + 1e-12)


# --- mechanisms ----------------------------------------------------------------------------------------------


def released(net, adjacency="replace-one", sampling="none", sampling_rate=1.0, **settings):
    given = {"net": net, "m": 10, "s": 0.5} | settings
    return isotropic_file.mechanism(**given, adjacency=adjacency, sampling=sampling, sampling_rate=sampling_rate)


def test_the_mechanism_by_hand():
    """The mechanism agrees with a hand computation: two sigmoid layers and the top give (1/16 + 1/16 + 1) 10 = 11.25.

    The factor 10 is 3^2 + 1^2, because tau_h = 3 and the bias input is 1.
    """
    net = mlp([6, 5, 4, 3], ops.sigmoid, rng=rng(0))
    one = released(net, tau_h_max=3.0, tau_B=2.0)
    assert_close(one.sensitivity, 2 / 10 * 2.0 * math.sqrt(11.25))
    assert (one.law, one.noise_std, one.adjacency, one.sampling) == ("gaussian", 0.5, "replace-one", "none")
    assert_close(released(net, "add-remove", tau_h_max=3.0, tau_B=2.0).sensitivity, one.sensitivity / 2)


def label_release(net, adjacency="replace-label", sampling="none", sampling_rate=1.0, **settings):
    given = {"net": net, "sigma": 2.0} | settings
    return pdfa_file.mechanism(**given, adjacency=adjacency, sampling=sampling, sampling_rate=sampling_rate)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("sampling", ["none", "epoch-partition", "without-replacement", "poisson"])
def test_the_accountant_counts_what_it_has_a_theorem_for(adjacency, sampling):
    net, *_ = fixture()
    mechanism = released(net, adjacency, sampling, 1.0 if sampling == "none" else 0.1, s=2.0)
    counted = {("replace-one", "none"), ("replace-one", "epoch-partition"), ("replace-one", "without-replacement")}
    counted |= {("add-remove", "none"), ("add-remove", "poisson")}
    if (adjacency, sampling) in counted:
        assert 0 < epsilon([(mechanism, 5)], delta=1e-5).epsilon < math.inf
    else:
        with pytest.raises(NoGuarantee):
            epsilon([(mechanism, 5)], delta=1e-5)


@pytest.mark.parametrize("sampling", ["none", "epoch-partition", "without-replacement", "poisson"])
def test_labels_are_counted_without_sampling_or_by_epochs(sampling):
    net, *_ = fixture()
    mechanism = label_release(net, sampling=sampling, sampling_rate=1.0 if sampling == "none" else 0.1)
    assert_close(mechanism.sensitivity, math.sqrt(10))
    if sampling in ("none", "epoch-partition"):
        assert epsilon([(mechanism, 5)], delta=1e-5).uses == (5 if sampling == "none" else 1)
    else:
        with pytest.raises(NoGuarantee):
            epsilon([(mechanism, 5)], delta=1e-5)


def test_of_another_loss_labels_can_be_two_tau_B_apart_at_the_top():
    net, *_ = fixture(loss=ops.squared_error)
    assert_close(label_release(net, tau_B=0.5).sensitivity, math.sqrt(3))


def convolutional():
    layers = [(Conv2d(2, 3), ops.tanh), (Dense(4), ops.tanh), (Dense(3),)]
    return Net((1, 5, 5), layers, rng=rng(0))


def pooled():
    layers = [(Conv2d(2, 2), ops.tanh, MaxPool(2)), (Dense(3),)]
    return Net((1, 5, 5), layers, rng=rng(0))


@pytest.mark.parametrize(
    "release, id, why",
    [
        (lambda net: released(net, "replace-label"), "ohana2021:prop2", "Use the adjacency replace-one"),
        (lambda net: released(convolutional()), "ohana2021:prop2", "only fully connected layers"),
        (lambda net: released(pooled()), "ohana2021:prop2", "only fully connected layers"),
        (lambda net: released(net, s=0.0), "ohana2021:rem2.1", "s is 0"),
        (lambda net: label_release(net, "replace-one"), "ohana2021:prop3-cols", "Use the adjacency replace-label"),
        (lambda net: label_release(net, "add-remove"), "ohana2021:prop3-cols", "Use the adjacency replace-label"),
        (lambda net: label_release(net, None), "ohana2021:prop3-cols", "sum over the columns is not a valid bound"),
        (lambda net: label_release(net, top="raw"), "ohana2021:alg1.13-15", "reveals the error"),
        (lambda net: label_release(net, top="noiseless"), "ohana2021:alg1.13-15", "reveals the error"),
        (lambda net: label_release(net, sigma=0.0), "ohana2021:rem2.1", "sigma is 0"),
    ],
)
def test_what_has_no_proof_is_refused_by_name(release, id, why):
    with pytest.raises(NoGuarantee, match=why) as refusal:
        release(fixture()[0])
    assert refusal.value.id == id


def test_labels_of_a_convolutional_net_are_covered():
    assert_close(label_release(convolutional()).sensitivity, math.sqrt(10))


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"m": 0}, "m of pdfa_isotropic must be positive"),
        ({"s": -1.0}, "s must be a number >= 0"),
        ({"tau_B": math.inf}, "tau_B must be positive and finite"),
        ({"tau_h_max": math.inf}, "tau_h_max < inf"),
        ({"tau_h_min": 2.0}, "0 <= tau_h_min <= tau_h_max"),
        ({"floor": "none"}, "floor must be one of literal, signed"),
        ({"bias": "none"}, "bias must be one of one, clipped"),
    ],
)
def test_bad_settings_of_the_rule_get_a_sentence(change, sentence):
    net, x, y, B = fixture()
    with pytest.raises(ValueError, match=sentence):
        pdfa_isotropic(net, x, y, **({"B": B, "m": 7, "s": 0.1, "rng": rng(0)} | change))


@pytest.mark.parametrize(
    "release, sentence",
    [
        (lambda net: released(net, s=-1.0), "s must be a number >= 0, got -1.0"),
        (lambda net: released(net, bias="none"), "bias must be one of one, clipped"),
        (lambda net: released(net, tau_h_max=math.inf), "tau_h_max < inf"),
        (lambda net: label_release(net, sigma=-1.0), "sigma must be a number >= 0, got -1.0"),
        (lambda net: label_release(net, sigma=math.inf), "sigma must be a number >= 0, got inf"),
        (lambda net: label_release(net, tau_B=0.0), "tau_B must be positive"),
    ],
)
def test_bad_settings_of_a_mechanism_get_a_sentence(release, sentence):
    with pytest.raises(ValueError, match=sentence):
        release(fixture()[0])


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"m": 0}, "m must be positive and finite"),
        ({"tau_B": math.inf}, "tau_B must be positive and finite"),
        ({"tau_h_max": math.nan}, "tau_h_max must be positive and finite"),
        (
            {"gamma_max": [1.0]},
            "got 1 values of gamma_max and 3 of bias",
        ),
        ({"gamma_max": [1.0, math.nan]}, "gamma_max must contain finite numbers >= 0"),
        ({"gamma_max": [1.0, math.inf]}, "gamma_max must contain finite numbers >= 0"),
        ({"bias": [1.0, 1.0, -1.0]}, "bias must contain finite numbers >= 0"),
        ({"adjacency": "replace-label"}, "adjacency must be one of replace-one, add-remove"),
    ],
)
def test_bad_input_of_the_sensitivity_gets_a_sentence(change, sentence):
    given = {"m": 4, "tau_B": 1.0, "tau_h_max": 1.0, "gamma_max": [1.0, 1.0], "bias": [1.0] * 3}
    with pytest.raises(ValueError, match=sentence):
        repaired_pdfa_sensitivity(**({**given, "adjacency": "replace-one"} | change))
