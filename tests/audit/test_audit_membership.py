"""Tests of membership inference by loss: AUC by counting pairs, untrained networks, and networks that overfit."""

import math

import numpy as np
import pytest

from nfa import data, network, ops, optim, sampling
from nfa.audit import membership
from nfa.audit.membership import LossMembership, losses, membership_by_loss
from nfa.network import dense
from nfa.noise import Streams
from nfa.rules.bp import bp
from nfa.train import train


def images(n, seed, *, random_labels=False):
    """n members and n non-members. They are a random split of one data set, so they differ only in membership."""
    small = data.load("fashion-mnist-small")
    order = np.random.default_rng(seed).permutation(len(small.x_train))
    x, _ = data.scale_pixels(small.x_train, small.x_test[:1], "standard", np.float32)
    labels = small.y_train
    if random_labels:
        labels = np.random.default_rng(seed + 1).integers(0, 10, len(labels))
    y = data.one_hot(labels, 10, np.float32)
    x = x.reshape(len(x), -1)
    return (x[order[:n]], y[order[:n]]), (x[order[n : 2 * n]], y[order[n : 2 * n]])


def trained(members, steps, seed=0):
    streams = Streams(seed)
    net = network.mlp([784, 64, 10], ops.tanh, rng=streams("init"), dtype=np.float32)
    if steps:
        batches = sampling.WithoutReplacement(*members, 50, streams)
        for t in train(net, bp, batches, optim.Adam(2e-3), streams):
            if t == steps:
                break
    return net


def test_the_area_is_the_share_of_pairs_in_the_right_order():
    rng = np.random.default_rng(0)
    inside, outside = rng.integers(0, 5, 30).astype(float), rng.integers(0, 6, 40).astype(float)  # many equal losses
    pairs = [1.0 if a < b else 0.5 if a == b else 0.0 for a in inside for b in outside]
    result = LossMembership(member_losses=inside, other_losses=outside)
    assert result.auc == pytest.approx(sum(pairs) / len(pairs), abs=1e-12)
    best = max(np.mean(inside <= c) - np.mean(outside <= c) for c in [-1.0, *inside, *outside])
    assert result.advantage == pytest.approx(best, abs=1e-12)


def test_equal_losses_tell_nothing():
    result = LossMembership(member_losses=np.ones(3), other_losses=np.ones(5))
    assert (result.auc, result.advantage) == (0.5, 0.0)


def test_the_standard_error_is_that_of_all_orders():
    """The standard error is the standard deviation of the AUC over the 10 ways to place 2 members among 5 losses."""
    from itertools import combinations

    areas = []
    for chosen in combinations(range(5), 2):
        rest = [i for i in range(5) if i not in chosen]
        areas.append(LossMembership(member_losses=np.array(chosen, float), other_losses=np.array(rest, float)).auc)
    assert np.mean(areas) == pytest.approx(0.5)
    result = LossMembership(member_losses=np.arange(2.0), other_losses=np.arange(3.0))
    assert result.auc_error == pytest.approx(np.std(areas), rel=1e-12)


def test_losses_are_those_of_the_examples_one_by_one(monkeypatch):
    monkeypatch.setattr(membership, "CHUNK", 3)
    members, _ = images(7, 1)  # the last chunk has one example
    net = trained(members, 0)
    x, y = members[0].astype(float), members[1].astype(float)
    W, b = (
        [None if w is None else w.astype(float) for w in net.W],
        [None if w is None else w.astype(float) for w in net.b],
    )
    every = losses(net, *members)
    assert len(every) == 7
    for i, found in enumerate(every):
        z = W[2] @ np.tanh(W[1] @ x[i] + b[1]) + b[2]
        expected = math.log(sum(math.exp(v - max(z)) for v in z)) + max(z) - z[int(y[i].argmax())]
        assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_a_network_that_has_seen_nothing_tells_nothing(seed):
    """On an untrained network, the AUC of the attack is within 4 standard errors of 1/2.

    Correct code fails with one seed in 16,000. If the expected AUC is 8.8 standard errors from 1/2, the test misses
    this with probability 1e-6.
    """
    members, others = images(1000, seed)
    result = membership_by_loss(trained(members, 0, seed), members, others)
    assert abs(result.auc - 0.5) <= 4 * result.auc_error
    assert result.auc_error == pytest.approx(0.0129, abs=1e-4)


def test_the_more_a_network_knows_by_heart_the_more_it_tells():
    members, others = images(300, 5)
    early, late = (membership_by_loss(trained(members, steps), members, others) for steps in (6, 250))
    assert early.auc < late.auc
    assert late.auc > 0.65  # six standard errors above 1/2
    assert late.advantage > 0.3
    assert late.member_losses.mean() < late.other_losses.mean()
    assert 1 - membership_by_loss(trained(members, 250), others, members).auc == pytest.approx(late.auc, abs=1e-12)


def test_labels_without_sense_can_only_be_known_by_heart():
    members, others = images(300, 6, random_labels=True)
    assert membership_by_loss(trained(members, 400), members, others).auc > 0.95


def test_two_sets_of_two_laws_are_told_apart_without_any_training():
    """The attack distinguishes members from non-members if the distributions of these two sets differ.

    So both sets need the same distribution. In this test, the labels of the non-members are wrong. The network was
    trained on other records of the same data set.
    """
    members, others = images(500, 7)
    first = images(500, 8)[0]
    net = trained(first, 200)
    assert membership_by_loss(net, members, (others[0], np.roll(others[1], 1, axis=1))).auc > 0.9


@pytest.mark.parametrize(
    "members, others, sentence",
    [
        ((0, 0), (1, 1), "same number of examples, at least 1, got 0 and 0"),
        ((2, 2), (0, 0), "same number of examples, at least 1, got 0 and 0"),
        ((2, 1), (2, 2), "same number of examples, at least 1, got 2 and 1"),
    ],
)
def test_bad_sides_get_one_sentence(members, others, sentence):
    net = network.Net((1,), [(dense.Dense(1),)], loss=ops.squared_error, rng=np.random.default_rng(0))
    sides = [tuple(np.ones((k, 1)) for k in side) for side in (members, others)]
    with pytest.raises(ValueError, match=sentence):
        membership_by_loss(net, *sides)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_loss_that_is_no_number_is_refused(bad):
    with pytest.raises(ValueError, match="NaN or infinite"):
        LossMembership(member_losses=np.array([1.0, bad]), other_losses=np.ones(2))
    with pytest.raises(ValueError, match="at least one"):
        LossMembership(member_losses=np.ones(1), other_losses=np.ones(0))
