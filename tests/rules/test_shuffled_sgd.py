"""Tests of Algorithm 1 of Berthier (2019): the rule with its sampler, compared with the printed algorithm."""

import functools
import math
import re

import numpy as np
import pytest
from scipy import stats

from nfa import network, ops, optim
from nfa.mechanism import NoGuarantee
from nfa.network import dense
from nfa.noise import Streams
from nfa.privacy.accountant import epsilon
from nfa.rules.bp import bp
from nfa.rules.shuffled_sgd import mechanism, private_sgd_shuffling, shuffled_sgd
from nfa.sampling import EpochPartition, PartialPasses, number_of_passes, records_per_pass
from nfa.train import train

FALSE_ALARM = 1e-6  # probability that a statistical test fails on correct code with another seed


def records(n=6):
    rng = np.random.default_rng(3)
    return rng.standard_normal((n, 3)), rng.standard_normal((n, 2))


def linear(rng=None):
    """A network z = W x + b with half the squared error and 8 parameters."""
    rng = rng or np.random.default_rng(1)
    return network.Net((3,), [(dense.Dense(2),)], loss=ops.squared_error, rng=rng)


def by_hand(theta, record):
    """The gradient of half the squared error with respect to W and b, as one vector."""
    x, y = record
    e = theta[:6].reshape(2, 3) @ x + theta[6:] - y
    return np.concatenate([np.outer(e, x).ravel(), e])


def as_vector(net):
    return np.concatenate([net.W[1].ravel(), net.b[1]])


# The algorithm


@pytest.mark.verifies("berthier2019:alg1")
@pytest.mark.parametrize("tau, e", [(1 / 6, 2), (0.5, 3), (0.7, 1.4), (1, 2)])
@pytest.mark.parametrize("L, sigma", [(0.6, 0.3), (math.inf, 0.0)])
def test_the_rule_its_sampler_and_the_loop_are_the_algorithm_as_printed(tau, e, L, sigma):
    """The rule, its sampler and the loop give every iterate of the printed algorithm, to 1e-12.

    The test has noise and active clips. The gradients have norms from 0.4 to 6.
    """
    (x, y), net, streams = records(), linear(), Streams(5)
    given = {"gamma": 0.1, "grad": by_hand, "L": L, "e": e, "tau": tau, "sigma": sigma, "streams": streams}
    printed = private_sgd_shuffling(list(zip(x, y, strict=True)), as_vector(net), sequence=True, **given)
    assert len(printed) == round(e / tau) * math.floor(tau * 6 + 1e-9)

    def rule(*args, rng):
        return shuffled_sgd(*args, L=None if L == math.inf else L, sigma=sigma, rng=rng)

    loop = train(net, rule, PartialPasses(x, y, tau, streams), optim.SGD(0.1), streams)
    for t, theta in zip(loop, printed, strict=False):
        np.testing.assert_allclose(as_vector(net), theta, rtol=0, atol=1e-12)
        if t == len(printed):
            break
    last = private_sgd_shuffling(list(zip(x, y, strict=True)), as_vector(linear()), **given)
    assert np.array_equal(last, printed[-1])


def used(n, e, tau, seed=0):
    """The records in the order in which the algorithm uses them."""
    seen = []
    given = {"gamma": 1.0, "L": 1.0, "sigma": 0.0, "streams": Streams(seed)}
    private_sgd_shuffling(
        range(n), np.zeros(1), grad=lambda theta, x: (seen.append(x), 0 * theta)[1], e=e, tau=tau, **given
    )
    return np.array(seen)


@pytest.mark.verifies("berthier2019:alg1")
@pytest.mark.parametrize(
    "n, e, tau, passes, k", [(7, 3, 1, 3, 7), (8, 2, 0.5, 4, 4), (7, 2, 0.5, 4, 3), (100, 2.9, 0.29, 10, 29)]
)
def test_a_pass_reads_different_records_and_stops_part_way(n, e, tau, passes, k):
    order = used(n, e, tau).reshape(passes, k)
    assert all(len(set(row)) == k for row in order.tolist())
    assert tau < 1 or np.array_equal(np.bincount(order.ravel()), [e] * n)
    assert len({tuple(row) for row in order.tolist()}) == passes  # every pass has a new order


@pytest.mark.verifies("berthier2019:alg1")
def test_one_whole_pass_without_noise_is_cyclic_sgd():
    """Without noise, one whole pass is cyclic SGD. We write out least squares in one dimension, record by record.

    The update is theta <- theta - gamma a (a theta - b).
    """
    a, b = np.array([1.0, -0.5, 2.0, 0.25]), np.array([0.5, 1.0, -1.0, 3.0])
    given = {"gamma": 0.2, "grad": lambda theta, r: r[0] * (r[0] * theta - r[1]), "sigma": 0.0, "streams": Streams(4)}
    ours = private_sgd_shuffling(list(zip(a, b, strict=True)), np.ones(1), L=math.inf, e=2, tau=1, **given)
    theta = 1.0
    for epoch in (0, 1):
        for i in Streams(4)("batch", epoch).permutation(4):
            theta -= 0.2 * a[i] * (a[i] * theta - b[i])
    assert ours == pytest.approx(theta, rel=1e-15)


@pytest.mark.verifies("berthier2019:alg1")
@pytest.mark.parametrize("tau, cells", [(0.25, 16), (0.5, 12)])
def test_passes_of_one_record_are_draws_with_replacement(tau, cells):
    """If a pass has one record, the steps draw records with replacement.

    The test counts the pairs of records in the steps 2 k - 1 and 2 k, for 4 records. With tau = 1/n, all 16 pairs are
    equally likely. With tau = 1/2, the 12 pairs of different records are equally likely. If the probabilities have a
    relative error of a third (root mean square), a chi2 test of 1,500 pairs misses this with probability 1e-6.
    """
    first, second = used(4, 750, tau).reshape(-1, 2).T
    counts = np.bincount(4 * first + second, minlength=16)
    assert (counts > 0).sum() == cells
    statistic = ((counts[counts > 0] - 1500 / cells) ** 2).sum() / (1500 / cells)
    assert FALSE_ALARM / 2 < stats.chi2.sf(statistic, cells - 1) < 1 - FALSE_ALARM / 2


# The sampler


@pytest.mark.verifies("berthier2019:alg1")
def test_whole_passes_are_the_epoch_partition_in_batches_of_one():
    x, y = records(9)
    ours, theirs = PartialPasses(x, y, 1.0, Streams(2)), EpochPartition(x, y, 1, Streams(2))
    assert (ours.scheme, ours.rate, ours.steps_per_epoch) == (theirs.scheme, theirs.rate, theirs.steps_per_epoch)
    assert [ours.indices(t).tolist() for t in range(1, 28)] == [theirs.indices(t).tolist() for t in range(1, 28)]
    steps = [20, 3, 11, 3]
    assert [ours.indices(t).tolist() for t in steps] == [
        PartialPasses(x, y, 1.0, Streams(2)).indices(t).tolist() for t in steps
    ]


def test_a_pass_over_one_record_is_one_step():
    assert PartialPasses(*records(1), 1.0, Streams(0)).steps_per_epoch == 1


@pytest.mark.parametrize("n", [1, 7, 49, 100, 1000])
def test_the_floor_is_that_of_the_decimal_number_and_not_of_its_float(n):
    """floor(tau n) is that of the decimal number: in floating point, floor(0.29 * 100) would be 28.

    We test k / n and, for n = 100, every whole percent.
    """
    for k in range(1, n + 1):
        assert records_per_pass(k / n, n) == k
        assert number_of_passes(3 * k, k / n) == 3 * n


@pytest.mark.parametrize(
    "call, sentence",
    [
        (
            lambda: records_per_pass(0.0, 5),
            "tau, the share of the records that a pass takes, must be in (0, 1], got 0.0",
        ),
        (
            lambda: records_per_pass(math.nan, 5),
            "tau, the share of the records that a pass takes, must be in (0, 1], got nan",
        ),
        (
            lambda: records_per_pass(1.5, 5),
            "tau, the share of the records that a pass takes, must be in (0, 1], got 1.5",
        ),
        (
            lambda: records_per_pass(0.19, 5),
            "tau must be at least 1/n, because a pass uses floor(tau n) examples, got tau = 0.19 and n = 5",
        ),
        (lambda: number_of_passes(5, 0.3), "e / tau must be a whole number of passes, got 5 / 0.3 = 16.6667"),
        (lambda: number_of_passes(0.2, 0.5), "e / tau must be a whole number of passes, got 0.2 / 0.5 = 0.4"),
        (
            lambda: number_of_passes(0, 0.5),
            "the number of epochs e must be positive and finite, and tau must be in (0, 1], got e=0 and tau=0.5",
        ),
        (lambda: PartialPasses(*records(), 0.1, Streams(0)), "uses floor(tau n) examples, got tau = 0.1 and n = 6"),
        (
            lambda: driver(gamma=0.0),
            "the learning rate gamma must be positive and sigma at least 0, got gamma=0.0 and sigma=0.0",
        ),
        (
            lambda: driver(sigma=-1.0),
            "the learning rate gamma must be positive and sigma at least 0, got gamma=1.0 and sigma=-1.0",
        ),
        (lambda: driver(L=0.0), "the clipping bound c must be positive, got 0.0"),
        (lambda: step(n=2), "shuffled_sgd needs batches of one record, got a batch of 2"),
        (
            lambda: step(L=-1.0),
            "the clipping bound L must be positive and finite, or None to leave out the clip, got -1.0",
        ),
        (
            lambda: step(L=0.0),
            "the clipping bound L must be positive and finite, or None to leave out the clip, got 0.0",
        ),
        (
            lambda: step(L=np.inf),
            "the clipping bound L must be positive and finite, or None to leave out the clip, got inf",
        ),
        (lambda: step(ridge=-0.1), "the factor ridge of the l2 penalty must be a number >= 0, got -0.1"),
        (lambda: step(sigma=-0.5), "the standard deviation of the noise must be a number >= 0, got -0.5"),
    ],
)
def test_bad_input_gets_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        call()


def driver(**changed):
    given = {"gamma": 1.0, "L": 1.0, "sigma": 0.0, "e": 1, "tau": 1, "streams": Streams(0)}
    return private_sgd_shuffling([0.0], np.zeros(1), grad=lambda theta, x: theta, **(given | changed))


def step(n=1, sigma=0.0, net=None, seed=0, **settings):
    x, y = records(n)
    return shuffled_sgd(net or linear(), x, y, sigma=sigma, rng=np.random.default_rng(seed), **settings)


# The step


def test_the_regulariser_is_inside_the_clip_or_outside():
    """The rule puts the regulariser inside or outside the clip, as the caller requests.

    We compare with central differences of the loss with the regulariser 0.3 ||theta||^2. If the regulariser is inside
    the clip, the norm of the whole gradient is clipped to 0.5.
    """
    (x, y), net = records(1), linear()
    theta = as_vector(net)

    def loss(theta):
        z = theta[:6].reshape(2, 3) @ x[0] + theta[6:]
        return ((z - y[0]) ** 2).sum() / 2 + 0.3 * theta @ theta

    gradient = np.array([(loss(theta + h) - loss(theta - h)) / 2e-5 for h in 1e-5 * np.eye(8)])
    free, inside, outside = (
        np.concatenate([dW[1].ravel(), db[1]])
        for dW, db in (
            step(net=net, ridge=0.3),
            step(net=net, ridge=0.3, L=0.5),
            step(net=net, ridge=0.3, L=0.5, ridge_clipped=False),
        )
    )
    np.testing.assert_allclose(free, gradient, atol=1e-8)
    np.testing.assert_allclose(inside, 0.5 * gradient / np.linalg.norm(gradient), atol=1e-8)
    bare = gradient - 0.6 * theta
    np.testing.assert_allclose(outside, 0.5 * bare / np.linalg.norm(bare) + 0.6 * theta, atol=1e-8)


@pytest.mark.verifies("berthier2019:sec4.6.3")
def test_with_step_size_0_noisy_passes_differ_and_noiseless_ones_do_not():
    """With fixed weights, the directions of a whole noiseless pass add up to the full gradient. Noisy passes differ.

    The sums of 400 noisy passes have mean n grad and variance n sigma^2 = 6 * 0.49 in each coordinate. If a mean is
    wrong by 0.55 std, or a variance by 28 %, the test misses this with probability 1e-6.
    """
    (x, y), net = records(), linear()
    dW, db = bp(net, x, y, m=1)
    whole = np.concatenate([dW[1].ravel(), db[1]])

    def total(sigma, seed, tau=1.0):
        batches = PartialPasses(x, y, tau, Streams(seed))
        found = [
            shuffled_sgd(net, *batches.at(t), sigma=sigma, rng=Streams(seed)("noise", t))
            for t in range(1, batches.k + 1)
        ]
        return sum(np.concatenate([dW[1].ravel(), db[1]]) for dW, db in found)

    for seed in range(3):
        np.testing.assert_allclose(total(0.0, seed), whole, atol=1e-13)
    halves = [total(0.0, seed, tau=0.5) for seed in range(3)]
    assert np.linalg.norm(halves[0] - halves[1]) > 0.1  # half a pass does not give the full gradient
    noisy = np.array([total(0.7, seed) for seed in range(400)])
    z = (noisy.mean(axis=0) - whole) / math.sqrt(6 * 0.49 / 400)
    assert stats.chi2.sf(z @ z, 8) > FALSE_ALARM  # E eta = 0, so the noise does not change the objective
    spread = ((noisy - whole) ** 2).sum() / (6 * 0.49)
    assert FALSE_ALARM / 2 < stats.chi2.sf(spread, 8 * 400) < 1 - FALSE_ALARM / 2


# The release


def released(tau, n=1000, **changed):
    x = np.zeros((n, 1))
    batches = PartialPasses(x, x, tau, Streams(0))
    given = {"L": 0.7, "sigma": 1.4, "adjacency": "replace-one"} | changed
    return mechanism(sampling=batches.scheme, sampling_rate=batches.rate, **given)


@pytest.mark.verifies("berthier2019:alg1")
@pytest.mark.parametrize("e", [1, 10])
def test_whole_passes_have_the_bound_of_one_release_a_pass(e):
    """The bound for e whole passes is that of one release per pass: R + 2 sqrt(R log(1 / delta)) with R = e / 2.

    With sigma = 2 L, the Rényi divergence of each pass is 2 alpha L^2 / sigma^2 = alpha / 2. Real orders on a grid are
    within 1e-4 of the best order: 4.79193205 for e = 1 and delta = 1e-4.
    """
    ours = epsilon([(released(1), 1000 * e)], delta=1e-4, conversion="mironov2017")
    R = e / 2
    assert ours.epsilon == pytest.approx(R + 2 * math.sqrt(R * math.log(1e4)), rel=1e-4)
    assert e > 1 or ours.epsilon == pytest.approx(4.79193205, rel=1e-4)
    assert (ours.uses, ours.adjacency, ours.noise_multiplier) == (e, "replace-one", 1.0)


@pytest.mark.verifies("berthier2019:alg1")
def test_draws_with_replacement_have_the_bound_of_batches_of_one():
    """Draws with replacement have the bound of batches of one record. Two theorems give the reference values.

    The theorems are the report's Theorem 3.2 and the theorem of its source, which also has an upper limit.
    """
    m = released(1 / 1000)
    assert (m.sampling, m.sampling_rate, m.noise_multiplier) == ("without-replacement", 1 / 1000, 1.0)
    assert epsilon(
        [(m, 1000)], delta=1e-4, conversion="mironov2017", bound="berthier2019:thm3.2"
    ).epsilon == pytest.approx(0.81456399, abs=1e-8)
    assert epsilon([(m, 1000)], delta=1e-4, conversion="mironov2017", bound="wbk2019:thm9").epsilon == pytest.approx(
        0.80523107, abs=1e-8
    )


@pytest.mark.parametrize("tau", [2 / 1000, 0.5, 999 / 1000])
def test_between_the_two_there_is_a_conjecture_and_no_guarantee(tau):
    assert PartialPasses(*np.zeros((2, 1000, 1)), tau, Streams(0)).scheme == PartialPasses.scheme
    with pytest.raises(NoGuarantee, match="the smaller epsilon of partial passes is only a conjecture") as refusal:
        released(tau)
    assert refusal.value.id == "berthier2019:conj1"


@pytest.mark.parametrize("changed, why", [({"sigma": 0}, "has no noise"), ({"L": None}, "without the clip")])
def test_no_noise_or_no_clip_is_no_mechanism(changed, why):
    with pytest.raises(NoGuarantee, match=why):
        released(1, **changed)


def test_the_sampler_and_the_mechanism_agree_in_the_loop():
    """`train` compares the scheme and the sampling rate of the sampler with those of the mechanism."""
    (x, y), streams = records(), Streams(0)

    rule = functools.partial(shuffled_sgd, L=1.0, sigma=2.0)
    whole = PartialPasses(x, y, 1, streams)
    m = mechanism(L=1.0, sigma=2.0, adjacency="replace-one", sampling=whole.scheme, sampling_rate=whole.rate)
    assert next(train(linear(), rule, whole, optim.SGD(0.1), streams, mechanism=m)) == 1
    with pytest.raises(ValueError, match="got batches by 'partial-passes'"):
        next(train(linear(), rule, PartialPasses(x, y, 0.5, streams), optim.SGD(0.1), streams, mechanism=m))
