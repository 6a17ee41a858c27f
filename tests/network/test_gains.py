"""Tests of gains: the largest factors by which convolutions, poolings and derivatives multiply one record's term."""

import math

import numpy as np
import pytest

from nfa import ops
from nfa.network import Net, mlp
from nfa.network.dense import Conv2d, Dense
from nfa.network.pooling import AvgPool, MaxPool
from nfa.rules.dp_dfa import dp_dfa
from nfa.sensitivity.dfa import layer_bounds
from tests.oracles.core import assert_close
from tests.oracles.private_rules import norm

ROUNDING = 1 + 1e-12
rng = np.random.default_rng


def largest_gain(map_, seed=0, rounds=300):
    """The largest ||dW|| / (||dz|| ||h||), found by maximising over dW, dz and h in turn.

    Each step maximises over one array, while the other two are fixed.
    """
    r = rng(seed)
    h, dz = np.abs(r.normal(size=(1, *map_.in_shape))), np.abs(r.normal(size=(1, *map_.out_shape)))
    no_bias = np.zeros(map_.out_shape[0])
    for _ in range(rounds):
        dz /= np.linalg.norm(dz)
        h /= np.linalg.norm(h)
        V, _ = map_.outer(dz, h)
        found = float(np.linalg.norm(V))
        dz = map_.affine(V / found, no_bias, h)
        h = map_.transpose(V / found, dz / np.linalg.norm(dz))
    return found


@pytest.mark.verifies("lee2020:conv-dfa", "ours:convolution-gains")
@pytest.mark.parametrize(
    "map_, n, share",
    [
        (Conv2d(1, 3, padding="same"), 8, 2.766 / 3),
        (Conv2d(1, 3), 6, 2.397 / 3),
        (Conv2d(2, 3, padding="same"), 12, 0.95),
        (Conv2d(1, 2), 12, 0.95),
        (Conv2d(1, 3, stride=2, padding=1), 11, 0.75),
        (Conv2d(1, (3, 1), padding="same"), 12, 0.95),
        (Conv2d(1, 2, stride=2), 6, 1 - 1e-9),
        (Conv2d(1, 3, stride=4), 7, 1 - 1e-9),
    ],
)
def test_the_gain_of_a_convolution_is_never_exceeded_and_nearly_attained(map_, n, share):
    """No search exceeds the gain of a convolution, and one search reaches the given share of the gain, at least 0.75.

    The first two cases reach the ledger's values (E8): 2.766044 at 8 x 8 and 2.397935 at 6 x 6. These values are lower
    bounds of the largest factor.
    """
    map_ = map_.bind((1, n, n))
    found = [largest_gain(map_, seed) for seed in range(2)]
    gain_W, gain_b = map_.gains()
    assert share * gain_W < max(found) <= gain_W * ROUNDING
    dz = np.ones((1, *map_.out_shape))
    # equal dz at all P positions attain sqrt(P)
    assert norm(map_.outer_b(dz)) == pytest.approx(gain_b * norm(dz), rel=1e-12)
    assert gain_b == pytest.approx(math.sqrt(math.prod(map_.out_shape[1:])), rel=1e-15)


@pytest.mark.slow
@pytest.mark.verifies("lee2020:conv-dfa", "ours:convolution-gains")
def test_the_gain_of_a_convolution_at_the_sizes_of_the_ledger():
    """A search finds the ledger's gains of convolutions (E8): 2.397935 at 6 x 6 valid and 2.766044 at 8 x 8 same.

    The values agree to six decimals. They are lower bounds of the supremum.
    """
    assert largest_gain(Conv2d(1, 3).bind((1, 6, 6)), rounds=3000) == pytest.approx(2.397935, abs=0.51e-6)
    assert largest_gain(Conv2d(1, 3, padding="same").bind((1, 8, 8)), rounds=3000) == pytest.approx(
        2.766044, abs=0.51e-6
    )


@pytest.mark.parametrize("dtype, rtol", [(np.float32, 1e-3), (np.float64, 1e-11)])
def test_the_norm_that_a_gradient_is_clipped_by_is_its_own_where_positions_cancel(dtype, rtol):
    """The norm that the clip of a gradient uses is correct, even if the terms of two positions cancel.

    Two positions have nearly equal patches and opposite dz. There are few positions, so norms2 uses the Gram matrices.
    """
    map_, r = Conv2d(40, 5).bind((1, 5, 6)), rng(0)
    for spread in (0.0, 1e-5, 1e-4, 1e-2, 1.0):
        for _ in range(20):
            h = np.repeat(r.normal(size=(1, 1, 5, 1)), 6, axis=3) * (1 + spread * r.normal(size=(1, 1, 5, 6)))
            dz = r.normal(size=(1, 40, 1, 1)) * np.array([1, -1])
            h, dz = h.astype(dtype), dz.astype(dtype)
            W2, _ = map_.norms2(dz, h)
            assert math.sqrt(W2[0]) == pytest.approx(norm(map_.outer(dz, h)[0]), rel=rtol)


WINDOWS = [(2, 2), (2, 1), (3, 2), (3, 1), ((2, 3), (1, 2)), (2, 3), ((1, 2), (1, 1))]


@pytest.mark.verifies("ours:pooling-gains")
@pytest.mark.parametrize("k, stride", WINDOWS)
def test_the_gain_of_max_pooling_is_attained_by_a_maximum_that_windows_share(k, stride):
    """Max pooling attains its gain if one maximum belongs to as many windows as possible.

    Random inputs never exceed the gain.
    """
    pool, r = MaxPool(k, stride), rng(0)
    best = 0.0
    for row, column in np.ndindex(7, 7):
        a = np.zeros((1, 1, 7, 7))
        a[0, 0, row, column] = 1
        windows = pool.forward(a)  # 1 in every window that contains the maximum
        if windows.any():
            best = max(best, norm(pool.backward(a, windows)) / norm(windows))
    assert best == pytest.approx(pool.gain, rel=1e-12)
    for _ in range(100):
        a, v = r.normal(size=(1, 2, 7, 7)), r.normal(size=(1, 2, *pool.out_shape((2, 7, 7))[1:]))
        back = pool.backward(a, v)
        assert norm(back) <= pool.gain * norm(v) * ROUNDING
        assert (back != 0).sum(axis=(2, 3)).max() <= pool.positions((2, 7, 7))


@pytest.mark.verifies("ours:pooling-gains")
@pytest.mark.parametrize("k, stride", WINDOWS)
def test_the_gain_of_average_pooling_is_never_exceeded_and_nearly_attained(k, stride):
    """The spectral norm of the matrix of average pooling is at most its gain and nearly attains the gain.

    We build the matrix column by column. On 15 x 15 images, the norm is at least 0.8 of the gain. Without overlap, it
    equals the gain.
    """
    pool = AvgPool(k, stride)
    shape = pool.out_shape((1, 15, 15))
    cells = np.eye(math.prod(shape)).reshape(-1, *shape)
    matrix = pool.backward(np.zeros((len(cells), 1, 15, 15)), cells).reshape(len(cells), -1)
    found = np.linalg.norm(matrix, 2)
    apart = all(kn <= s for kn, s in zip(pool.k, pool.stride, strict=True))
    assert pool.gain * (1 - 1e-12 if apart else 0.8) <= found <= pool.gain * ROUNDING
    assert pool.positions((1, 15, 15)) >= (matrix != 0).any(axis=0).sum()


@pytest.mark.verifies("lee2020:conv-dfa")
def test_feedback_at_the_pooled_map_moves_a_bias_by_the_root_of_a_quarter_of_the_positions():
    """With feedback at the pooled map and 2 x 2 windows, the term of a bias can grow by sqrt(P / 4).

    The rule attains this. To attain this factor, each window has equal entries, and B has one value for each unit. P is
    the number of positions.
    """
    net = Net((1, 6, 6), [(Conv2d(2, 3, padding="same"), ops.tanh, MaxPool(2)), (Dense(2),)], rng=rng(0))
    for W, b in zip(net.W[1:], net.b[1:], strict=True):
        W[:], b[:] = 0, 0
    P, n = 36, 2 * 9
    B = [None, 0.9 * np.outer(np.ones(n), [1, -1]) / math.sqrt(2) / math.sqrt(n), None]
    x, flipped = np.ones((1, 1, 6, 6)), [np.eye(2)[:1], np.eye(2)[1:]]
    a, b = (dp_dfa(net, x, t, B=B, m=1, sigma=0.0, tau_e=0.1, tau_h=1.0, rng=rng(0)) for t in flipped)
    bound = layer_bounds(net, B)[0]
    assert (bound.gain_dz, bound.gain_W, bound.gain_b) == pytest.approx((0.9, 3, math.sqrt(P / 4)), rel=1e-12)
    assert norm(a[1][1] - b[1][1]) == pytest.approx(2 * 0.9 * 0.1 * math.sqrt(P / 4), rel=1e-12)
    below = layer_bounds(net, [None, np.ones((2 * P, 2)), None], at="z")[0]
    assert below.gain_b == pytest.approx(math.sqrt(P), rel=1e-12)


@pytest.mark.verifies("lee2020:gamma")
@pytest.mark.parametrize("phi", ops.ACTIVATIONS.values(), ids=list(ops.ACTIVATIONS))
def test_gamma_bounds_the_derivative_and_is_reached(phi):
    """gamma is the largest derivative of the activation, on a grid with spacing 1e-4.

    The paper's values for sigmoid, tanh and ReLU are 1/4, 1 and 1. Sigmoid and tanh attain them at 0.
    """
    derivatives = np.abs(phi.dphi(np.linspace(-20, 20, 400_001)))
    assert derivatives.max() <= phi.gamma_max * ROUNDING
    assert derivatives.max() == pytest.approx(phi.gamma_max, rel=1e-7)
    paper = {"sigmoid": 0.25, "tanh": 1.0, "relu": 1.0, "identity": 1.0}
    assert phi.gamma_max == paper.get(phi.name, phi.gamma_max)
    net = mlp([2, 3, 2], phi, rng=rng(0))
    B = [None, 0.8 * np.array([[0.6, 0], [0, -1], [0.8, 0]]), None]
    assert_close([bound.gain_dz for bound in layer_bounds(net, B)], [0.8 * phi.gamma_max, 1.0])
