"""Tests of softmax regression: records as vectors, and minimisers compared with loops and another program."""

import math

import numpy as np
import pytest

from nfa import ops
from nfa.network import Net, mlp, softmax_regression
from nfa.network.dense import Conv2d, Dense
from nfa.network.softmax_regression import check_one_hot, check_softmax_regression, joined_inputs, minimise
from nfa.papers.berthier2019.perturbation import problem
from tests.oracles.softmax_regression import gradient, joined

rng = np.random.default_rng


def net_of(inputs=3, classes=4, bias=True, in_shape=None, dtype=np.float64):
    return Net(in_shape or (inputs,), [(Dense(classes, bias=bias),)], rng=rng(0), dtype=dtype)


def records(k, d=3, K=4, seed=1, size=1.0):
    """k records with norms of at most 1, and labels."""
    x = size * rng(seed).standard_normal((k, d))
    return x / np.maximum(1, np.linalg.norm(x, axis=1))[:, None], np.eye(K)[rng(seed + 1).integers(K, size=k)]


# --- records ------------------------------------------------------------------------------------------------------


def test_a_record_and_its_1_are_clipped_as_one_vector_by_hand():
    """The clip treats a record and its additional entry 1 as one vector. By hand, (2, 2) with the 1 has norm 3.

    In units of R = 1.5, this record becomes a unit vector. The zero record with its 1 has norm 2/3.
    """
    shares = []
    found = joined_inputs(net_of(2), np.array([[2.0, 2.0], [0.0, 0.0]]), 1.5, shares)
    np.testing.assert_allclose(found, [[2 / 3, 2 / 3, 1 / 3], [0, 0, 2 / 3]], rtol=1e-15)
    assert shares == [0.5]


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_records_of_any_size_are_those_of_loops(bias, dtype):
    """Records of any magnitude, as vectors, equal those computed by loops. Images are flattened.

    Values that are not finite become 0. A record with squares beyond float32 is treated like any other record.
    """
    net = net_of(bias=bias, in_shape=(2, 1, 2), dtype=dtype)
    x = rng(3).standard_normal((7, 2, 1, 2)).astype(dtype)
    x[1] *= 1e30
    x[2] *= 1e-30
    x[3, 0], x[4, 1], x[5] = np.inf, np.nan, 0
    found = joined_inputs(net, x, 0.7)
    assert found.dtype == np.float64
    np.testing.assert_allclose(0.7 * found, joined(x, 0.7, bias), rtol=1e-13, atol=1e-300)
    assert (found[3:5] == 0).all()


def test_the_clip_changes_no_prediction():
    net = net_of()
    theta = rng(4).standard_normal((4, 4))
    net.W[1][:], net.b[1][:] = theta[:, :3], theta[:, 3]
    x = 3 * rng(5).standard_normal((50, 3))
    clipped = joined_inputs(net, x, 0.5) @ theta.T
    assert (clipped.argmax(axis=1) == (x @ net.W[1].T + net.b[1]).argmax(axis=1)).all()


# --- minimisers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "k, m, lam, size",
    [
        (12, 12, 0.1, 1.0),
        (12, 5.5, 1e-3, 1.0),
        (40, 40, 1e-6, 3.0),
        (40, 1e3, 1e-9, 3.0),
        (1, 2, 10.0, 1.0),
        (0, 3, 0.2, 1),
    ],
)
@pytest.mark.parametrize("pushed", [False, True])
def test_the_gradient_vanishes_by_loops(k, m, lam, size, pushed):
    """The gradient at the result, by loops, is at most the tolerance. So the minimiser is within tolerance / lam.

    We test matrix products in float32 and in float64, and an empty batch.
    """
    x, y = records(k, size=size)
    b = 0.3 * rng(6).standard_normal((4, 3)) * lam**0.5 if pushed else 0.0
    theta = minimise(x, y, m=m, lam=lam, linear=b, tolerance=1e-12)
    assert theta.shape == (4, 3)
    left = gradient(theta, x.tolist(), y, m=m, lam=lam, linear=b)
    assert np.linalg.norm(left) <= 1e-12 + 1e-15 * (1 + k / m)


def test_steps_are_shortened_where_whole_ones_lead_away(monkeypatch):
    x, y = records(40, size=3.0, seed=0)
    how = {"m": 40, "lam": 1e-3, "linear": rng(0).normal(size=(4, 3))}
    theta = minimise(x, y, tolerance=1e-12, **how)
    assert np.linalg.norm(gradient(theta, x.tolist(), y, **how)) <= 1.1e-12
    monkeypatch.setattr(softmax_regression, "SHORTER", (1.0,))
    with pytest.raises(ValueError, match="nfa finds no minimiser"):
        minimise(x, y, tolerance=1e-12, **how)


@pytest.mark.parametrize("lam", [1.0, 1e-2, 1e-4])
def test_of_two_classes_it_is_logistic_regression(lam):
    """For two classes, softmax regression is logistic regression, with theta = (w, -w) / 2.

    So the ridge term on w has half the weight. We compare with the minimiser of another program.
    """
    x, y = records(30, K=2)
    theta = minimise(x, y, m=30, lam=lam, tolerance=1e-11)
    one = problem.Problem(loss="logistic", x=x, y=y[:, 0], lam=lam / 2, x_bound=1.0)
    w = problem.minimise(one, tolerance=1e-11)
    np.testing.assert_allclose(theta, [w / 2, -w / 2], rtol=0, atol=4e-11 / lam)


def test_a_tolerance_is_kept_and_not_overdone():
    x, y = records(50)
    sizes = [
        np.linalg.norm(gradient(minimise(x, y, m=50, lam=1e-3, tolerance=t), x.tolist(), y, m=50, lam=1e-3))
        for t in (1e-2, 1e-5, 1e-8)
    ]
    assert all(size <= t for size, t in zip(sizes, (1e-2, 1e-5, 1e-8), strict=True))
    assert sizes[0] > 1e-5


def test_products_in_float32_cost_no_digit_of_the_answer(monkeypatch):
    x, y = records(200)
    fast = minimise(x, y, m=200, lam=1e-3, tolerance=1e-13)
    monkeypatch.setattr(softmax_regression, "FLOAT32", math.inf)
    slow = minimise(x, y, m=200, lam=1e-3, tolerance=1e-13)
    assert 0 < np.abs(fast - slow).max() <= 2e-10


def test_the_data_are_left_as_they_are():
    x, y = records(9)
    b = np.ones((4, 3))
    before = x.copy(), y.copy(), b.copy()
    minimise(x, y, m=9, lam=0.1, linear=b, tolerance=1e-10)
    for now, then in zip((x, y, b), before, strict=True):
        np.testing.assert_array_equal(now, then)


# --- refusals -------------------------------------------------------------------------------------------------------


def test_a_tolerance_below_the_rounding_is_a_sentence():
    x, y = records(500, size=5.0)
    with pytest.raises(
        ValueError, match=r"nfa finds no minimiser with the tolerance 1e-40: choose a larger factor lam of the"
    ):
        minimise(x, y, m=500, lam=1e-5, tolerance=1e-40)


@pytest.mark.parametrize(
    "net, got",
    [
        (mlp([3, 5, 4], ops.tanh, rng=rng(0)), "layers of 5, 4 units and the loss softmax-cross-entropy"),
        (mlp([3, 4], ops.tanh, rng=rng(0), loss=ops.squared_error), "layers of 4 units and the loss squared-error"),
        (mlp([3, 1], ops.tanh, rng=rng(0), loss=ops.logistic), "layers of 1 units and the loss sigmoid-cross-entropy"),
        (mlp([3, 1], ops.tanh, rng=rng(0)), "layers of 1 units and the loss softmax-cross-entropy"),
        (Net((2, 2, 2), [(Conv2d(3, 2), ops.tanh), (Dense(4),)], rng=rng(0)), "layers of 3, 4 units and the loss"),
    ],
)
def test_another_network_is_refused(net, got):
    with pytest.raises(ValueError, match=rf"a_rule needs softmax regression, .*, got {got}"):
        check_softmax_regression(net, rule="a_rule")


def test_softmax_regression_is_not_refused():
    check_softmax_regression(net_of(classes=2, bias=False), rule="a_rule")
    check_softmax_regression(net_of(in_shape=(1, 2, 2)), rule="a_rule")


@pytest.mark.parametrize(
    "y", [[[0.5, 0.5, 0, 0]], [[1, 1, 0, 0]], [[0, 0, 0, 0]], [[2, 0, -1, 0]], [[np.nan, 1, 0, 0]], [[1, 0, 0]]]
)
def test_targets_that_are_not_one_hot_are_refused(y):
    with pytest.raises(ValueError, match=r"^y must be one-hot: each row of y must hold a single 1 and 3 zeros$"):
        check_one_hot(net_of(), np.array([[1.0, 0, 0, 0][: len(y[0])], *y]))


def test_records_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"x must have the shape \(m, 3\), got \(2, 4\)"):
        joined_inputs(net_of(), np.zeros((2, 4)), 1.0)
