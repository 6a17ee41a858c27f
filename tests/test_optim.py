"""Tests of optimizers, compared with torch and with steps computed by hand, and of their memory."""

import numpy as np
import pytest

from nfa import ops, optim
from nfa.network import mlp
from nfa.optim import SGD, Adam, step_decay
from tests.oracles.core import assert_close, random_direction, residual_cnn


def small_net(dtype=np.float64):
    return mlp([3, 4, 2], ops.tanh, rng=np.random.default_rng(0), dtype=dtype)


def one_weight(value=0.0):
    """A network with a single weight and bias, both equal to value."""
    net = mlp([1, 1], ops.identity, rng=np.random.default_rng(0))
    net.W[1][:], net.b[1][:] = value, value
    return net


def given(number):
    """The direction with ``number`` for the weight, and twice this number for the bias."""
    return [None, np.array([[number]])], [None, np.array([2 * number])]


def parameters(net):
    return [*net.W[1:], *net.b[1:]]


# --- SGD -----------------------------------------------------------------------------------------------------


@pytest.mark.verifies("lee2020:eq4")
@pytest.mark.parametrize("number", [2.0, -2.0])
def test_sgd_is_w_minus_eta_times_the_direction(number):
    net = one_weight(1.0)
    SGD(0.25).step(net, *given(number), 1)
    assert net.W[1].tolist() == [[1 - 0.25 * number]]
    assert net.b[1].tolist() == [1 - 0.5 * number]


def test_momentum_by_hand():
    """SGD with momentum agrees with steps computed by hand: w = -(1 + 1.5 - 0.25) / 4.

    The values of v are 1, then 0.5 * 1 + 1 = 1.5, then 0.5 * 1.5 - 1 = -0.25.
    """
    net, optimizer = one_weight(), SGD(0.25, momentum=0.5)
    for t, number in enumerate((1.0, 1.0, -1.0), start=1):
        optimizer.step(net, *given(number), t)
    assert net.W[1].tolist() == [[-2.25 / 4]]
    assert net.b[1].tolist() == [-2.25 / 2]


@pytest.mark.verifies("lee2020:adam")
def test_adam_of_the_hand_example():
    """Adam gives the values of example V1: learning rate 1e-3, directions 0.5 and -0.25, from w = 0."""
    net, optimizer = one_weight(), Adam(lr=1e-3, eps=1e-8)
    for t, (number, want) in enumerate(((0.5, -0.00099999998000), (-0.25, -0.00126633701292)), start=1):
        optimizer.step(net, *given(number), t)
        assert net.W[1][0, 0] == pytest.approx(want, abs=5e-15)


OPTIMIZERS = {
    "sgd": (lambda: SGD(0.05), lambda torch, p: torch.optim.SGD(p, lr=0.05)),
    "momentum": (lambda: SGD(0.05, 0.9), lambda torch, p: torch.optim.SGD(p, lr=0.05, momentum=0.9)),
    "adam": (lambda: Adam(), lambda torch, p: torch.optim.Adam(p)),
    "adam, all set": (
        lambda: Adam(0.02, 0.7, 0.95, 1e-3),
        lambda torch, p: torch.optim.Adam(p, lr=0.02, betas=(0.7, 0.95), eps=1e-3),
    ),
}


@pytest.mark.peers
@pytest.mark.verifies("lee2020:eq4", "lee2020:adam")
@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("make_net", [small_net, lambda: residual_cnn("same")], ids=["mlp", "cnn"])
@pytest.mark.slow
def test_thirty_steps_equal_torch(torch, name, make_net):
    net = make_net()
    theirs = [torch.tensor(p, requires_grad=True) for p in parameters(net)]
    mine, judge = OPTIMIZERS[name][0](), OPTIMIZERS[name][1](torch, theirs)
    for t in range(1, 31):
        dW, db = random_direction(net, seed=t)
        mine.step(net, dW, db, t)
        for p, d in zip(theirs, [*dW[1:], *db[1:]], strict=True):
            p.grad = torch.tensor(d)
        judge.step()
    for p, q in zip(parameters(net), theirs, strict=True):
        assert_close(p, q.detach().numpy())


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_step_is_in_place_and_keeps_dtype_and_direction(name):
    net = small_net(np.float32)
    arrays = parameters(net)
    dW, db = ([None] + [d.astype(np.float32) for d in part[1:]] for part in random_direction(net, 0))
    before = [d.copy() for d in (*dW[1:], *db[1:])]
    optimizer = OPTIMIZERS[name][0]()
    optimizer.lr = np.float64(0.1)
    optimizer.step(net, dW, db, 1)
    assert all(p is q for p, q in zip(parameters(net), arrays, strict=True))
    assert all(np.array_equal(d, b) for d, b in zip((*dW[1:], *db[1:]), before, strict=True))
    memory = [a for kept in optimizer.state.values() for a in kept]
    assert {a.dtype for a in (*parameters(net), *memory)} == {np.dtype(np.float32)}


@pytest.mark.parametrize("name, kept", [("sgd", set()), ("momentum", {"v"}), ("adam", {"m", "v"})])
def test_the_memory_has_a_copy_of_every_parameters_shape(name, kept):
    net, optimizer = small_net(), OPTIMIZERS[name][0]()
    assert optimizer.state == {}
    optimizer.step(net, *random_direction(net, 0), 1)
    assert set(optimizer.state) == kept
    for arrays in optimizer.state.values():
        assert [a.shape for a in arrays] == [net.W[1].shape, net.b[1].shape, net.W[2].shape, net.b[2].shape]


# --- the learning rate -------------------------------------------------------------------------------------------


def test_the_old_name_of_the_type_of_a_learning_rate_still_resolves():
    with pytest.warns(DeprecationWarning, match=r"^nfa\.optim\.StepSize is deprecated: use nfa\.optim\.LearningRate$"):
        assert optim.StepSize is optim.LearningRate
    assert not hasattr(optim, "Steps")


def test_step_decay_by_hand():
    eta = step_decay(0.8, 0.5, every=3)
    assert [eta(t) for t in range(1, 10)] == [0.8] * 3 + [0.4] * 3 + [0.2] * 3


@pytest.mark.parametrize("make", [SGD, lambda lr: SGD(lr, 0.9), Adam], ids=["sgd", "momentum", "adam"])
def test_a_step_size_may_be_a_function_of_the_step(make):
    """The learning rate may be a function of the step.

    With twice the learning rate, a step changes the weights twice as much.
    """
    moves = []
    for lr in (0.1, lambda t: 0.2 if t == 1 else 0.0):
        net, optimizer = one_weight(), make(lr)
        optimizer.step(net, *given(1.0), 1)
        moves.append(net.W[1][0, 0])
        if callable(lr):
            optimizer.step(net, *given(1.0), 2)
            assert net.W[1][0, 0] == moves[-1]
    assert moves[1] == pytest.approx(2 * moves[0], rel=1e-14)


@pytest.mark.parametrize(
    "make, sentence",
    [
        (lambda: SGD(0.0), "the learning rate lr must be positive and finite, got 0.0"),
        (lambda: SGD(-1.0), "the learning rate lr must be positive and finite, got -1.0"),
        (lambda: Adam(float("nan")), "the learning rate lr must be positive and finite, got nan"),
        (lambda: SGD(float("inf")), "the learning rate lr must be positive and finite, got inf"),
        (lambda: SGD(0.1, momentum=1.0), r"momentum must be in \[0, 1\), got 1.0"),
        (lambda: SGD(0.1, momentum=-0.1), r"momentum must be in \[0, 1\), got -0.1"),
        (
            lambda: Adam(beta1=1.0),
            r"Adam needs beta1 and beta2 in \[0, 1\) and eps > 0, got beta1=1.0, beta2=0.999, eps=1e-08",
        ),
        (lambda: Adam(beta2=-0.5), r"Adam needs beta1 and beta2 in \[0, 1\) and eps > 0, got beta1=0.9, beta2=-0.5"),
        (
            lambda: Adam(eps=0.0),
            r"Adam needs beta1 and beta2 in \[0, 1\) and eps > 0, got beta1=0.9, beta2=0.999, eps=0.0",
        ),
        (
            lambda: step_decay(0.0, 0.5, 3),
            "step_decay needs lr > 0, factor > 0 and every >= 1, got lr=0.0, factor=0.5, every=3",
        ),
        (
            lambda: step_decay(0.1, -0.5, 3),
            "step_decay needs lr > 0, factor > 0 and every >= 1, got lr=0.1, factor=-0.5, every=3",
        ),
        (
            lambda: step_decay(0.1, 0.5, 0),
            "step_decay needs lr > 0, factor > 0 and every >= 1, got lr=0.1, factor=0.5, every=0",
        ),
    ],
)
def test_bad_settings_get_a_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()
