"""Attacks that search for records (Berthier 2019, Section 1): brute force over data sets, and ascent on an input."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import expit

from nfa import data
from nfa.audit import reconstruction
from nfa.audit.reconstruction import ascend, confidence, gradient_by_queries, input_gradient, n_data_sets
from nfa.network import Conv2d, Dense, MaxPool, Net, mlp
from nfa.network.ops import gelu, tanh
from nfa.optim import Adam
from nfa.rules.bp import bp


def descent(records):
    """Five steps of gradient descent on the mean logistic loss of records (features, label), from 0."""
    theta = np.zeros(3)
    for _ in range(5):
        theta -= np.mean([(expit(theta @ (*x, 1)) - y) * np.array((*x, 1.0)) for x, y in records], axis=0)
    return theta


@pytest.mark.verifies("berthier2019:brute-force")
def test_brute_force_finds_the_one_data_set_and_trains_on_every_one():
    values = list(itertools.product(itertools.product((0, 1), repeat=2), (0, 1)))
    truth = [values[6], values[1], values[6]]
    trained = []

    def train(records):
        trained.append(tuple(records))
        return descent(records)

    found = reconstruction.reconstruct_by_brute_force(train, values, n=3, result=descent(truth))
    assert found == [sorted(truth)]
    assert len(set(trained)) == len(trained) == n_data_sets(values=8, n=3) == 120
    # Several data sets have the same mean. If training returns only the mean, brute force finds all of these data sets.
    once = reconstruction.reconstruct_by_brute_force(
        lambda bits: np.array([np.mean(bits)]), (0, 1, 2), n=2, result=np.array([1.0])
    )
    assert once == [[0, 2], [1, 1]]


@pytest.mark.verifies("berthier2019:brute-force")
def test_the_number_of_data_sets_is_exponential_in_the_bits_of_a_record():
    """The number of data sets with n records of d bits grows exponentially with d: it is at least 2^(d n) / n!.

    For small numbers, we count the data sets one by one.
    """
    for k, n in itertools.product(range(1, 7), range(1, 5)):
        listed = {tuple(sorted(one)) for one in itertools.product(range(k), repeat=n)}
        assert n_data_sets(values=k, n=n) == len(listed)
    for d, n in ((3, 3), (20, 5), (6272, 1)):
        assert n_data_sets(values=2**d, n=n) * math.factorial(n) >= 2 ** (d * n)
    assert n_data_sets(values=256**784, n=1) == 2**6272
    with pytest.raises(ValueError, match="values must be"):
        n_data_sets(values=0, n=3)


@pytest.fixture(scope="module")
def overfitted():
    """The network 784-64-10 after 150 steps of Adam on 100 images."""
    small = data.load("fashion-mnist-small")
    x, y = small.x_train[:100].reshape(100, 784) / 255.0, np.eye(10)[small.y_train[:100]]
    net, optimizer = mlp([784, 64, 10], gelu, rng=np.random.default_rng(0)), Adam(1e-3)
    for t in range(1, 151):
        optimizer.step(net, *bp(net, x, y), t)
    return net


NETWORKS = {
    "dense": lambda: mlp([5, 4, 3], tanh, rng=np.random.default_rng(1)),
    "skip": lambda: Net(
        [5], [(Dense(5), tanh), (Dense(5), tanh), (Dense(3),)], skip={3: 1}, rng=np.random.default_rng(2)
    ),
    "convolution": lambda: Net(
        (1, 6, 6), [(Conv2d(2, 3), tanh, MaxPool(2)), (Dense(3),)], rng=np.random.default_rng(3)
    ),
}


@pytest.mark.verifies("berthier2019:gradient-ascent")
@pytest.mark.parametrize("make", NETWORKS.values(), ids=NETWORKS)
def test_the_gradient_of_the_weights_is_that_of_the_queries(make):
    """The gradient from the weights agrees to 1e-8 with central differences of width 1e-5, which use only queries."""
    net = make()
    x = np.random.default_rng(4).standard_normal((2, *net.map[1].in_shape))
    for label in range(3):

        def answer(one, label=label):
            return math.log(confidence(net, one[None], label)[0])

        for one, expected in zip(x, input_gradient(net, x, label), strict=True):
            np.testing.assert_allclose(gradient_by_queries(answer, one, width=1e-5), expected, atol=1e-8)


@pytest.mark.verifies("berthier2019:gradient-ascent")
def test_ascent_makes_the_network_sure_and_queries_take_two_for_each_number(overfitted):
    start = np.zeros((1, 784))
    end = ascend(lambda x: input_gradient(overfitted, x, 3), start, lr=0.1, steps=50)
    before, after = (confidence(overfitted, x, 3)[0] for x in (start, end))
    assert (before, after) == pytest.approx((0.0939, 0.9632), abs=0.01)
    queries = []

    def answer(x):
        queries.append(x)
        return math.log(confidence(overfitted, x[None], 3)[0])

    slow = ascend(lambda x: gradient_by_queries(answer, x), start[0], lr=0.1, steps=1)
    assert len(queries) == 2 * 784
    fast = ascend(lambda x: input_gradient(overfitted, x, 3), start, lr=0.1, steps=1)[0]
    np.testing.assert_allclose(slow, fast, atol=1e-7)
