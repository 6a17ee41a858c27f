"""Tests of the sound DP-ULR: its release, and each condition (a to g) of its proof.

Each condition is of one of three kinds. The rule always satisfies it, the rule refuses a call that violates it, or the
caller must satisfy it.
"""

import functools
import inspect
import math

import numpy as np
import pytest

from nfa import ops
from nfa.clip import clip_factor
from nfa.mechanism import NoGuarantee
from nfa.network import Net, mlp
from nfa.network.dense import Dense
from nfa.network.pooling import MaxPool
from nfa.noise import Streams
from nfa.noise import add_normal as numpy_normal
from nfa.optim import SGD
from nfa.privacy.accountant import epsilon
from nfa.rules import dp_sgd
from nfa.rules.dp_ulr import dp_ulr
from nfa.rules.dp_ulr_sound import dp_ulr_sound, mechanism
from nfa.rules.ulr import ulr
from nfa.sampling import Poisson, PoissonRejection
from nfa.train import train
from tests.oracles import chance
from tests.oracles.core import assert_close, assert_same_direction, batch, pooled_cnn, residual_cnn
from tests.oracles.private_rules import entries, norm
from tests.oracles.ulr import Given, add_clipped, draws, estimates, loss_of

rng = np.random.default_rng
FALSE_ALARM = 1e-6  # probability that a statistical test below fails on correct code with another seed
HUGE = 1e9  # a bound that no norm exceeds

NETS = {
    "dense": lambda **s: mlp([4, 5, 3, 3], ops.tanh, rng=rng(0), **s),
    "step": lambda **s: mlp([4, 5, 3], ops.step, rng=rng(0), **s),
    "skips": lambda **s: mlp([4, 4, 4, 4, 3], ops.sigmoid, rng=rng(0), skip={2: 0, 3: 1, 4: 1}, **s),
    "max pooling": functools.partial(pooled_cnn, MaxPool),
    "residual": functools.partial(residual_cnn, "same"),
}
EVERY = pytest.mark.parametrize("make", NETS.values(), ids=list(NETS))


def middle(net, found):
    """A clip bound that some estimates exceed and others do not."""
    return float(np.median([norm(*dW[1:], *db[1:]) for dW, db in found]))


# --- the release ----------------------------------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("how", [{}, {"baseline": False}, {"antithetic": True}], ids=["baseline", "raw", "antithetic"])
def test_a_step_without_noise_equals_records_one_by_one(make, how):
    """A step without noise equals a loop over records with full passes, one clip, and division by the public m.

    The loop makes a full pass for each record and each noise vector. The clip applies to all layers and biases
    together.
    """
    net = make()
    x, y = batch(net, 4)
    u = draws(net, 2, 4)
    found = estimates(net, x, y, u, [0.3] * (net.L + 1), **({"baseline": True} | how))
    C = middle(net, found)
    K = 4 if how.get("antithetic") else 2
    got = dp_ulr_sound(net, x, y, sigma=0.3, sigma_0=0.0, C=C, K=K, m=7, rng=Given(*u[:0:-1]), **how)
    assert_same_direction(got, add_clipped(net, found, C, 7, joint=True), 1e-11)


@EVERY
@pytest.mark.parametrize("baseline", [True, False])
def test_without_noise_and_clip_it_is_ulr(make, baseline):
    net = make()
    x, y = batch(net, 4)
    how = {"sigma": 0.3, "K": 6, "m": 4, "baseline": baseline}
    want = ulr(net, x, y, rng=rng(1), **how)
    assert_same_direction(dp_ulr_sound(net, x, y, sigma_0=0.0, C=HUGE, rng=rng(1), **how), want)


def test_the_noise_is_on_every_weight_and_bias():
    """In 400 runs, each weight and bias has noise of std sigma_0 C / m, and no two entries are correlated."""
    net = NETS["dense"]()
    x, y = batch(net, 3)
    how = {"sigma": 0.3, "C": 0.8, "K": 1, "m": 5.0}
    runs = 400
    noise = [
        entries(dp_ulr_sound(net, x, y, sigma_0=2.5, rng=rng(t), **how))
        - entries(dp_ulr_sound(net, x, y, sigma_0=0.0, rng=rng(t), **how))
        for t in range(runs)
    ]
    noise = np.array(noise) / (2.5 * 0.8 / 5)
    assert noise.shape == (runs, net.n_parameters)
    for squares in np.square(noise).sum(axis=0):
        chance.has_variance(squares, runs, sees=1.2, tests=100)
    chance.follows(noise, "norm", sees=0.06)
    correlation = np.corrcoef(noise.T)[np.triu_indices(net.n_parameters, 1)]
    chance.is_score(correlation * math.sqrt(runs), runs, sees=0.6)


def test_noise_from_another_function():
    """The rule calls a replacement for the noise function once for every array, from the top down, with one std."""
    net = NETS["residual"]()
    asked = []

    def add_normal(out, std, rng):
        asked.append((out.shape, std))
        numpy_normal(out, std, rng)

    x, y = batch(net, 3)
    how = {"sigma": 0.3, "sigma_0": 2.0, "C": 0.5, "K": 1, "m": 4}
    got = dp_ulr_sound(net, x, y, add_normal=add_normal, rng=rng(0), **how)
    assert asked == [(p.shape, 0.25) for l in range(net.L, 0, -1) for p in (net.W[l], net.b[l])]
    assert_same_direction(got, dp_ulr_sound(net, x, y, rng=rng(0), **how), 0)


def test_the_mechanism_is_that_of_dp_sgd():
    """The rule has the mechanism of DP-SGD: noise of std sigma_0 C / m on a sum of sensitivity C / m."""
    how = {"C": 0.5, "m": 500.0, "sampling": "poisson", "sampling_rate": 1 / 120}
    released = mechanism(sigma_0=4.0, adjacency="add-remove", **how)
    assert released.noise_std == 4.0 * 0.5 / 500
    assert released.sensitivity == 0.5 / 500
    assert released.noise_multiplier == 4.0
    assert released == dp_sgd.mechanism(sigma=4.0 * 0.5 / 500, adjacency="add-remove", **how)
    spent = epsilon([(released, 3000)], delta=1e-5, conversion="canonne2020", orders=[34, 35, 36])
    assert spent.epsilon == pytest.approx(0.444522, rel=1e-5)  # the ledger's vector E9: batches of 500, 25 epochs


# --- (a) the internal noise depends on one example only, not on the losses of other examples ----------------------


@EVERY
@pytest.mark.parametrize("i", [0, 2])
def test_a_replaced_record_changes_its_own_term_alone(make, i):
    """For fixed internal noise, replacing a record changes the sum by the difference of the two clipped terms.

    This property follows from conditions a and b.
    """
    net = make()
    x, y = batch(net, 4)
    other_x, other_y = x.copy(), y.copy()
    other_x[i], other_y[i] = 30 * batch(net, 1, seed=9)[0][0], np.roll(y[i], 1)
    u = draws(net, 2, 4)
    both = [(x, y), (other_x, other_y)]
    found = [estimates(net, *pair, u, [0.3] * (net.L + 1), baseline=True)[i] for pair in both]
    C = middle(net, found)
    how = {"sigma": 0.3, "sigma_0": 0.0, "C": C, "K": 2, "m": 4}
    before, after = (dp_ulr_sound(net, *pair, rng=Given(*u[:0:-1]), **how) for pair in both)
    terms = [entries(add_clipped(net, [f], C, 4, joint=True)) for f in found]
    np.testing.assert_allclose(entries(after) - entries(before), terms[1] - terms[0], rtol=0, atol=1e-11 * C)


@pytest.mark.verifies("ours:ulr-sound")
def test_a_controller_that_reads_the_batch_breaks_the_bound():
    """The noise of Equation 8 violates condition a: one record of loss 1000 changes the sum by more than 190 C.

    The other 200 records have the loss 1 + 0.9 sin(10 z), with noise on the parameters. Equation 8 gives sigma = 0.11
    without the record of loss 1000. With this record, sigma is 7.9, so the gradients of all other records vanish. With
    a public sigma of 0.11, the sum changes by at most C.
    """
    wavy = loss_of(lambda z, y: np.where(y[:, 0] > 0, 1000.0, 1 + 0.9 * np.sin(10 * z[:, 0])))
    net = Net((1,), [(Dense(1),)], loss=wavy, rng=rng(0))
    net.W[1][:], net.b[1][:] = 0, 0
    x, y = np.zeros((201, 1)), np.zeros((201, 1))
    y[200] = 1
    K, C = 1000, 1.0
    sums = {}
    for n in (200, 201):
        how = {"C": C, "K": K, "rng": rng(0), "state": (state := {})}
        dp_ulr(net, x[:n], y[:n], sigma_0=4.0, N_B=200, remedy="parameters", **how)
        for law, sigma in (("Equation 8", state["sigma"][0]), ("public", 0.11)):
            u = rng(1).standard_normal((K, 201, 1))[:, :n]
            how = {"sigma": sigma, "sigma_0": 0.0, "C": C, "K": K, "m": 1, "baseline": False}
            sums[n, law] = entries(dp_ulr_sound(net, x[:n], y[:n], rng=Given(u), **how))
    assert norm(sums[201, "public"] - sums[200, "public"]) <= C * (1 + 1e-12)
    assert norm(sums[201, "Equation 8"] - sums[200, "Equation 8"]) > 190 * C


def test_the_rule_has_no_controller():
    """Condition a: the caller must give sigma as one number, which is the same for all records."""
    given = inspect.signature(dp_ulr_sound).parameters["sigma"]
    assert given.default is inspect.Parameter.empty
    assert "controller" not in inspect.getsource(dp_ulr_sound).split('"""')[2]


# --- (c) the normaliser is public, and an empty batch releases noise --------------------------------------------


@EVERY
def test_an_empty_batch_releases_noise(make):
    net = make()
    x, y = batch(net, 2)
    how = {"sigma": 0.3, "sigma_0": 2.0, "C": 0.5, "K": 2, "m": 4}
    noise = entries(dp_ulr_sound(net, x[:0], y[:0], rng=rng(0), **how))
    assert noise.shape == (net.n_parameters,)
    chance.follows(noise / 0.25, "norm", sees=0.95)


def test_the_number_of_records_drawn_is_divided_by_nowhere():
    """The rule divides only by m, not by the number of drawn records.

    So a batch with two copies of a record gives twice the direction of one copy.
    """
    net = NETS["dense"]()
    x, y = batch(net, 1)
    u = draws(net, 2, 1)
    doubled = [None, *(np.repeat(v, 2, axis=1) for v in u[1:])]
    how = {"sigma": 0.3, "sigma_0": 0.0, "C": 0.1, "K": 2, "m": 5}
    one = entries(dp_ulr_sound(net, x, y, rng=Given(*u[:0:-1]), **how))
    two = entries(dp_ulr_sound(net, np.tile(x, (2, 1)), np.tile(y, (2, 1)), rng=Given(*doubled[:0:-1]), **how))
    assert_close(two, 2 * one, 1e-12)
    assert norm(one) == pytest.approx(0.1 / 5, rel=1e-12)


# --- (d) batches are not drawn again ------------------------------------------------------------------------------


@pytest.mark.verifies("dpulr2024:thm1", "dpulr2024:def4")
def test_batches_with_rejection_are_refused():
    """The mechanism refuses batches with rejection. The training loop refuses such batches with a Poisson mechanism."""
    how = {"sigma_0": 4.0, "C": 1.0, "m": 5.0, "adjacency": "add-remove"}
    with pytest.raises(NoGuarantee, match=r"if the batch is too small \[dpulr2024:thm1\]"):
        mechanism(sampling="poisson-rejection", sampling_rate=0.2, **how)
    poisson = mechanism(sampling="poisson", sampling_rate=0.2, **how)
    net = NETS["dense"]()
    x, y = batch(net, 25)
    rule = functools.partial(dp_ulr_sound, sigma=0.3, sigma_0=4.0, C=1.0, K=1, m=5.0)
    streams = Streams(0)
    with pytest.raises(ValueError, match="poisson-rejection"):
        next(train(net, rule, PoissonRejection(x, y, 0.2, 3, streams), SGD(0.1), streams, mechanism=poisson))
    assert next(train(net, rule, Poisson(x, y, 0.2, streams), SGD(0.1), streams, mechanism=poisson)) == 1


# --- (e) the generator is not published ---------------------------------------------------------------------------


def test_noise_goes_by_the_place_in_the_batch():
    """Condition e: an additional record changes the noise of the other records, so the seed must not be published.

    Anyone with the seed could detect this change. The proof needs only that all noise is independent and that its law
    does not depend on the data. So any record may get any noise sample. If two records change places, they exchange
    their noise.
    """
    net = NETS["dense"]()
    x, y = batch(net, 3)
    how = {"sigma": 0.3, "sigma_0": 0.0, "C": HUGE, "K": 2, "m": 1}
    with_all, one_less = (dp_ulr_sound(net, x[:k], y[:k], rng=rng(0), **how) for k in (3, 2))
    alone = dp_ulr_sound(net, x[2:], y[2:], rng=rng(0), **how)
    assert norm(entries(with_all) - entries(one_less) - entries(alone)) > 0.1
    u = draws(net, 2, 3)
    there = [None, *(v[:, ::-1] for v in u[1:])]
    backwards = dp_ulr_sound(net, x[::-1], y[::-1], rng=Given(*there[:0:-1]), **how)
    assert_same_direction(backwards, dp_ulr_sound(net, x, y, rng=Given(*u[:0:-1]), **how), 1e-11)


# --- (f) an estimate that is not finite counts as 0 ---------------------------------------------------------------


@pytest.mark.parametrize("bad", [math.nan, math.inf, 1e200], ids=str)
@pytest.mark.parametrize("net", ["dense", "skip", "cnn"])
def test_a_record_whose_estimate_is_not_finite_counts_as_zero(net, bad):
    """If the loss of a record overflows or is NaN, the sum contains only the other records, with unchanged noise."""
    if net == "cnn":
        net = pooled_cnn(MaxPool, loss=ops.squared_error)
        net.phi[1:4] = [ops.identity] * 3
    else:
        skip = {"skip": {3: 0}} if net == "skip" else {}
        net = mlp([3, 3, 3, 3], ops.identity, rng=rng(0), loss=ops.squared_error, **skip)
    x, y = batch(net, 4)
    x[1] = bad
    u = draws(net, 2, 4)
    fine = np.array([0, 2, 3])
    kept = [None, *(v[:, fine] for v in u[1:])]
    found = estimates(net, x[fine], y[fine], kept, [0.3] * (net.L + 1), baseline=True)
    C = middle(net, found)
    with np.errstate(all="ignore"):
        got = dp_ulr_sound(net, x, y, sigma=0.3, sigma_0=0.0, C=C, K=2, m=4, rng=Given(*u[:0:-1]))
    assert_same_direction(got, add_clipped(net, found, C, 4, joint=True), 1e-10)


def test_the_weight_of_a_norm_that_is_not_finite_is_zero():
    """Condition f: a norm that is not finite has the clip weight 0.

    The printed formula violates this condition: a comparison with NaN is false, so the formula gives the weight 1.
    """
    norms = np.array([math.nan, math.inf, 2.0])
    assert np.where(norms > 1, 1 / norms, 1).tolist() == [1.0, 0.0, 0.5]
    assert clip_factor(norms, 1.0).tolist() == [0.0, 0.0, 0.5]


# --- (g) the largest change from one record -------------------------------------------------------------------------


@pytest.mark.verifies("ours:ulr-sound")
@pytest.mark.parametrize("adjacency, terms", [("add-remove", 1), ("replace-one", 2), ("replace-label", 2)])
def test_the_sensitivity_is_that_of_the_adjacency(adjacency, terms):
    released = mechanism(
        sigma_0=4.0, C=0.5, m=10, adjacency=adjacency, sampling="without-replacement", sampling_rate=0.1
    )
    assert released.sensitivity == terms * 0.5 / 10
    assert released.noise_multiplier == pytest.approx(4.0 / terms, rel=1e-15)


@pytest.mark.verifies("ours:ulr-sound")
@EVERY
def test_no_record_moves_the_sum_by_more_than_its_sensitivity(make):
    """In 60 random pairs, a removed record changes the sum by at most C / m, and a replaced record by at most 2 C / m.

    The two neighbours have equal noise. To remove a record, we replace it by a record that counts as 0. The changes of
    all weights and biases together reach C / m.
    """
    net = make()
    r, largest = rng(5), [0.0, 0.0]
    C, m = 0.3, 4
    for trial in range(60):
        x, y = batch(net, 3, seed=trial)
        x *= 10.0 ** r.uniform(-3, 4)
        others = [x.copy(), x.copy()]
        others[0][1] = math.nan
        others[1][1] = 10.0 ** r.uniform(-3, 4) * r.normal(size=x[1].shape)
        labels = y.copy()
        labels[1] = np.roll(y[1], r.integers(3))
        how = {"sigma": 10.0 ** r.uniform(-2, 1), "sigma_0": 0.0, "C": C, "K": 2, "m": m, "baseline": trial % 2 == 0}
        with np.errstate(all="ignore"):
            here = entries(dp_ulr_sound(net, x, y, rng=rng(trial), **how))
            for k, other in enumerate(others):
                there = entries(dp_ulr_sound(net, other, labels, rng=rng(trial), **how))
                largest[k] = max(largest[k], norm(here - there))
    assert largest[0] <= C / m * (1 + 1e-9)
    assert largest[0] >= C / m * (1 - 1e-9)
    assert C / m * 1.2 < largest[1] <= 2 * C / m * (1 + 1e-9)


# --- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change, says",
    [
        ({"m": 0}, "the normaliser m of dp_ulr_sound must be positive, got m=0"),
        ({"m": math.nan}, "the normaliser m of dp_ulr_sound must be positive, got m=nan"),
        ({"C": 0.0}, "the clipping bound C must be positive and finite, got 0.0"),
        ({"C": math.inf}, "the clipping bound C must be positive and finite, got inf"),
        ({"sigma_0": -1.0}, "the noise multiplier sigma_0 must be at least 0 and finite, got -1.0"),
        ({"sigma_0": math.nan}, "the noise multiplier sigma_0 must be at least 0 and finite, got nan"),
        ({"K": 0}, "the number K of losses must be a whole number >= 1, got K=0"),
        ({"K": 3, "antithetic": True}, "the number K of losses must be even for antithetic pairs, got K=3"),
        ({"sigma": 0.0}, "sigma must be positive and finite, got 0.0"),
    ],
)
def test_bad_input_is_one_sentence(change, says):
    net = NETS["dense"]()
    how = {"sigma": 0.3, "sigma_0": 1.0, "C": 0.5, "K": 2, "m": 4, "rng": rng(0)}
    with pytest.raises(ValueError) as error:
        dp_ulr_sound(net, *batch(net, 2), **{**how, **change})
    assert str(error.value) == says


@pytest.mark.parametrize(
    "change, error, says",
    [
        ({"sigma_0": 0.0}, NoGuarantee, "with sigma_0 = 0 the sum has no noise"),
        ({"sigma_0": -1.0}, ValueError, "sigma_0 must be positive and finite"),
        ({"sigma_0": math.inf}, ValueError, "sigma_0 must be positive and finite"),
        ({"C": 0.0}, ValueError, "C must be positive and finite"),
        ({"m": math.inf}, ValueError, "m must be positive and finite"),
        ({"adjacency": "zero"}, ValueError, "adjacency must be one of"),
        ({"sampling": "coins"}, ValueError, "sampling must be one of"),
        ({"sampling_rate": 1.5}, ValueError, "sampling_rate must be in"),
    ],
)
def test_mechanisms_that_are_refused(change, error, says):
    how = {"sigma_0": 4.0, "C": 1.0, "m": 5, "adjacency": "add-remove", "sampling": "poisson", "sampling_rate": 0.2}
    with pytest.raises(error, match=says):
        mechanism(**{**how, **change})


@pytest.mark.parametrize("make", [NETS["dense"], NETS["residual"]])
def test_float32_stays_float32_and_nothing_given_changes(make):
    net = make(dtype=np.float32)
    given = [a.astype(np.float32) for a in batch(net, 3)] + [*net.W[1:], *net.b[1:]]
    kept = [a.copy() for a in given]
    how = {"sigma": 0.3, "sigma_0": np.float64(1), "C": 0.5, "K": 2, "m": np.float64(4)}
    dW, db = dp_ulr_sound(net, *given[:2], rng=rng(0), **how)
    assert {a.dtype for a in (*dW[1:], *db[1:])} == {np.dtype(np.float32)}
    assert all(np.array_equal(a, b) for a, b in zip(given, kept, strict=True))
