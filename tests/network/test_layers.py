"""Tests of layers. References: the definition of a convolution, torch, adjoint identities, batches of one record."""

import numpy as np
import pytest

from nfa.network import conv2d, convolution
from nfa.network.dense import Conv2d, Dense
from nfa.network.pooling import AvgPool, MaxPool
from tests.oracles.core import assert_close, convolve

# (map, input shape): odd sizes, stride 2, kernel (3, 2), every kind of padding, one pixel, one channel
MAPS = [
    (Dense(4), (5,)),
    (Dense(3), (2, 3, 2)),
    (Conv2d(3, 3), (2, 5, 7)),
    (Conv2d(2, (3, 2), stride=2, padding=(1, 2)), (3, 7, 4)),
    (Conv2d(4, (3, 2), stride=(2, 3), padding="same"), (1, 7, 9)),
    (Conv2d(2, 4, stride=1, padding="same"), (2, 5, 6)),
    (Conv2d(3, 5, stride=2, padding="valid"), (2, 9, 8)),
    (Conv2d(5, 1, stride=3, padding="same"), (3, 5, 4)),
    (Conv2d(1, (2, 3)), (1, 2, 3)),
    (Conv2d(12, 3, padding=1), (7, 2, 2)),
]
EVERY = pytest.mark.parametrize("map_, shape", MAPS, ids=lambda v: repr(v).replace(" ", ""))
CONVS = pytest.mark.parametrize(
    "map_, shape", [case for case in MAPS if isinstance(case[0], Conv2d)], ids=lambda v: repr(v).replace(" ", "")
)


def bound_case(map_, shape, m=3, seed=0, dtype=np.float64):
    """The bound map, with random W, b, h and dz."""
    rng = np.random.default_rng(seed)
    map_ = map_.bind(shape)
    sizes = (map_.shape_W, map_.shape_W[:1], (m, *shape), (m, *map_.out_shape))
    return map_, *(rng.normal(size=size).astype(dtype) for size in sizes)


# --- the affine map ------------------------------------------------------------------------------------------


@pytest.mark.verifies("lee2020:eq1")
@pytest.mark.parametrize("shape", [(5,), (2, 3, 2)])
def test_dense_is_w_h_plus_b(shape):
    map_, W, b, h, _ = bound_case(Dense(4), shape)
    assert W.shape == (4, np.prod(shape))
    want = [[sum(W[i, j] * h_r.flat[j] for j in range(h_r.size)) + b[i] for i in range(4)] for h_r in h]
    assert_close(map_.affine(W, b, h), want)


@CONVS
def test_a_convolution_is_its_definition(map_, shape):
    map_, W, b, h, _ = bound_case(map_, shape)
    z = map_.affine(W, b, h)
    assert z.shape == (3, *map_.out_shape)
    assert_close(z, convolve(W, b, h, map_.stride, map_.pad))


@pytest.mark.peers
@CONVS
def test_a_convolution_equals_torch(torch, map_, shape):
    map_, W, b, h, _ = bound_case(map_, shape)
    above, below, left, right = map_.pad
    F, t = torch.nn.functional, torch.as_tensor
    want = F.conv2d(F.pad(t(h), (left, right, above, below)), t(W), t(b), stride=map_.stride)
    assert_close(map_.affine(W, b, h), want.numpy())


@pytest.mark.parametrize(
    "k, stride, shape, pad, out",
    [
        (3, 1, (5, 7), (1, 1, 1, 1), (5, 7)),
        # if the number of zeros is odd, the additional zero is below and on the right
        (4, 1, (5, 6), (1, 2, 1, 2), (5, 6)),
        (2, 2, (5, 6), (0, 1, 0, 0), (3, 3)),
        ((3, 2), (2, 3), (7, 9), (1, 1, 0, 0), (4, 3)),
        (5, 2, (28, 28), (1, 2, 1, 2), (14, 14)),
        (1, 3, (5, 4), (0, 0, 0, 0), (2, 2)),  # if the stride is larger than the kernel, no zeros are needed
    ],
)
def test_same_padding_by_hand(k, stride, shape, pad, out):
    map_ = Conv2d(1, k, stride=stride, padding="same").bind((1, *shape))
    assert map_.pad == pad
    assert map_.out_shape == (1, *out)
    # the size is ceil(n / s)
    assert out == tuple(-(-n // s) for n, s in zip(shape, np.broadcast_to(stride, 2), strict=True))


def test_other_paddings_by_hand():
    assert Conv2d(1, 3, padding="valid").bind((1, 5, 7)).pad == (0, 0, 0, 0)
    assert Conv2d(1, 3, padding=2).bind((1, 5, 7)).pad == (2, 2, 2, 2)
    assert Conv2d(1, 3, padding=(1, 2)).bind((1, 5, 7)).pad == (1, 1, 2, 2)
    assert Conv2d(1, 3, stride=2, padding=(1, 2)).bind((1, 5, 8)).out_shape == (1, 3, 5)


@pytest.mark.peers
# torch warns that it copies the image
@pytest.mark.filterwarnings("ignore:Using padding='same' with even kernel lengths")
@pytest.mark.parametrize("k", [1, 2, 3, 4, (3, 2), (2, 5)])
def test_same_padding_equals_torch(torch, k):
    """Padding "same" equals torch's: the additional zero is below and on the right. Torch supports only stride 1."""
    map_, W, b, h, _ = bound_case(Conv2d(2, k, padding="same"), (3, 6, 5))
    t = torch.as_tensor
    want = torch.nn.functional.conv2d(t(h), t(W), t(b), padding="same")
    assert_close(map_.affine(W, b, h), want.numpy())


# --- the adjoints --------------------------------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("seed", range(3))
def test_transpose_and_outer_are_the_adjoints_of_affine(map_, shape, seed):
    """transpose and outer are the adjoints of affine: <affine(h) - b, dz> = <h, transpose(dz)> = <W, outer's dW>.

    Also <b, outer's db> = <the bias's share, dz>.
    """
    map_, W, b, h, dz = bound_case(map_, shape, seed=seed)
    linear = map_.affine(W, np.zeros_like(b), h)
    want, size = np.vdot(linear, dz), np.abs(linear * dz).sum()
    back = map_.transpose(W, dz)
    dW, db = map_.outer(dz, h)
    assert back.shape == h.shape
    assert dW.shape == W.shape
    assert db.shape == b.shape
    assert abs(np.vdot(h, back) - want) <= 1e-12 * size
    assert abs(np.vdot(W, dW) - want) <= 1e-12 * size
    assert abs(np.vdot(b, db) - np.vdot(map_.affine(W, b, h) - linear, dz)) <= 1e-12 * size


@pytest.mark.verifies("lee2020:eq3")
@EVERY
def test_outer_is_the_sum_of_micro_batches_of_one(map_, shape):
    map_, _, _, h, dz = bound_case(map_, shape, m=4)
    parts = [map_.outer(dz[i : i + 1], h[i : i + 1]) for i in range(4)]
    for whole, each in zip(map_.outer(dz, h), zip(*parts, strict=True), strict=True):
        assert_close(whole, sum(each))


@EVERY
@pytest.mark.parametrize("m", [1, 4])
def test_norms2_equals_micro_batches_of_one(map_, shape, m):
    map_, _, _, h, dz = bound_case(map_, shape, m=m)
    h[0] *= 1e3
    W2, b2 = map_.norms2(dz, h)
    assert W2.shape == b2.shape == (m,)
    for i in range(m):
        dW, db = map_.outer(dz[i : i + 1], h[i : i + 1])
        assert W2[i] == pytest.approx((dW**2).sum(), rel=1e-12)
        assert b2[i] == pytest.approx((db**2).sum(), rel=1e-12)


def test_the_cases_reach_both_ways_to_a_norm():
    """The test cases cover the two methods to compute a norm: from Gram matrices, and from the terms.

    If there are few positions and the kernel is large, nfa uses Gram matrices. In the other cases, nfa forms the terms.
    """
    cheap = set()
    for map_, shape in MAPS:
        if isinstance(map_, Conv2d):
            c_out, rows, columns = map_.bind(shape).out_shape
            patch = np.prod(map_.bind(shape).shape_W[1:])
            cheap.add(bool(rows * columns * (c_out + patch) < c_out * patch))
    assert cheap == {True, False}


@CONVS
@pytest.mark.parametrize("entries", [1, 40, 10**9])
def test_the_size_of_a_part_of_the_batch_changes_nothing(monkeypatch, map_, shape, entries):
    """The results do not depend on the size of the parts of a batch: parts of 1, 40 or 10^9 entries.

    With 1 entry, a part has one record. With 40 entries, some cases have two records in a part, and a smaller last
    part. With 10^9 entries, one part has all records.
    """
    map_, W, b, h, dz = bound_case(map_, shape, m=5)
    want = (map_.affine(W, b, h), *map_.outer(dz, h), *map_.norms2(dz, h))
    monkeypatch.setattr(convolution, "_COLUMNS_AT_ONCE", entries)
    for whole, parts in zip(want, (map_.affine(W, b, h), *map_.outer(dz, h), *map_.norms2(dz, h)), strict=True):
        assert_close(parts, whole)


@EVERY
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_layers_keep_the_dtype(map_, shape, dtype):
    map_, W, b, h, dz = bound_case(map_, shape, dtype=dtype)
    for a in (map_.affine(W, b, h), map_.transpose(W, dz), *map_.outer(dz, h), *map_.norms2(dz, h)):
        assert a.dtype == dtype


@EVERY
def test_an_empty_batch_gives_zeros_of_the_right_shape(map_, shape):
    map_, W, b, h, dz = bound_case(map_, shape, m=0)
    assert map_.affine(W, b, h).shape == (0, *map_.out_shape)
    assert map_.transpose(W, dz).shape == (0, *shape)
    dW, db = map_.outer(dz, h)
    assert np.array_equal(dW, np.zeros_like(W))
    assert np.array_equal(db, np.zeros_like(b))
    assert [a.shape for a in map_.norms2(dz, h)] == [(0,), (0,)]


# --- pooling -------------------------------------------------------------------------------------------------

# windows side by side, overlapping, with gaps, of two sizes; (7, 8) leaves a remainder for several of them
WINDOWS = pytest.mark.parametrize("k, stride", [(2, None), (3, None), (3, 2), ((2, 3), 1), ((1, 2), (3, 2)), (7, 1)])
POOLS = pytest.mark.parametrize("pool", [MaxPool, AvgPool])


@pytest.mark.parametrize(
    "pool, forward, backward",
    [
        (MaxPool, [[5.0, 6.0]], [[0, 0, 0, 0, 0], [0, 10, 0, 20, 0], [0, 0, 0, 0, 0]]),
        (AvgPool, [[2.75, 2.5]], [[2.5, 2.5, 5, 5, 0], [2.5, 2.5, 5, 5, 0], [0, 0, 0, 0, 0]]),
    ],
)
def test_pooling_by_hand(pool, forward, backward):
    """Pooling agrees with values computed by hand.

    No 2 x 2 window on 3 x 5 entries contains the last row and column.
    """
    a = np.array([[[[1.0, 2, 3, 0, 9], [3, 5, 1, 6, 9], [9, 9, 9, 9, 9]]]])
    v = np.array([[[[10.0, 20]]]])
    assert pool(2).forward(a)[0, 0].tolist() == forward
    assert pool(2).backward(a, v)[0, 0].tolist() == backward
    assert pool(2).out_shape((1, 3, 5)) == (1, 1, 2)


def test_the_first_of_equal_maxima_in_row_order_gets_all():
    a = np.array([[[[1.0, 2, 2], [2, 2, 1], [0, 2, 0]]]])
    assert MaxPool(3).backward(a, np.array([[[[7.0]]]]))[0, 0].tolist() == [[0, 7, 0], [0, 0, 0], [0, 0, 0]]


@pytest.mark.peers
@POOLS
@WINDOWS
@pytest.mark.parametrize("ties", [False, True])
def test_pooling_equals_torch(torch, pool, k, stride, ties):
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, (2, 3, 7, 8)).astype(float) if ties else rng.normal(size=(2, 3, 7, 8))
    mine = pool(k, stride)
    there = torch.tensor(a, requires_grad=True)
    theirs = getattr(torch.nn.functional, "max_pool2d" if pool is MaxPool else "avg_pool2d")(there, k, stride)
    v = rng.normal(size=mine.forward(a).shape)
    assert_close(mine.forward(a), theirs.detach().numpy())
    theirs.backward(torch.as_tensor(v))
    assert_close(mine.backward(a, v), there.grad.numpy())


@POOLS
@WINDOWS
def test_backward_is_the_adjoint_of_forward(pool, k, stride):
    """backward is the adjoint of forward at the point a: <forward(a), v> = <a, backward(a, v)>.

    The two functions are linear as long as every maximum stays at its place.
    """
    rng = np.random.default_rng(1)
    mine, a = pool(k, stride), rng.normal(size=(2, 3, 7, 8))
    v = rng.normal(size=mine.forward(a).shape)
    assert np.vdot(mine.forward(a), v) == pytest.approx(np.vdot(a, mine.backward(a, v)), rel=1e-12)


@POOLS
@WINDOWS
def test_pooling_is_its_window_by_window_definition(pool, k, stride):
    a = np.random.default_rng(2).normal(size=(2, 2, 7, 8))
    mine = pool(k, stride)
    (k0, k1), (s0, s1) = mine.k, mine.stride
    got = mine.forward(a)
    assert got.shape[1:] == mine.out_shape((2, 7, 8))
    for n, c, i, j in np.ndindex(got.shape):
        window = a[n, c, i * s0 : i * s0 + k0, j * s1 : j * s1 + k1]
        assert window.shape == (k0, k1)
        assert got[n, c, i, j] == pytest.approx(window.max() if pool is MaxPool else window.mean(), rel=1e-12)


@POOLS
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pooling_keeps_the_dtype_and_its_input(pool, dtype):
    a = np.random.default_rng(3).normal(size=(0, 2, 4, 4)).astype(dtype)
    assert pool(2).forward(a).shape == (0, 2, 2, 2)
    a = np.random.default_rng(3).normal(size=(3, 2, 4, 4)).astype(dtype)
    before, v = a.copy(), np.ones((3, 2, 2, 2), dtype)
    assert pool(2).forward(a).dtype == pool(2).backward(a, v).dtype == dtype
    assert np.array_equal(a, before)


# --- bad input -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make, sentence",
    [
        (lambda: Dense(0), "n_out of outputs of a dense layer must be a whole number >= 1, got 0"),
        (lambda: Dense(2.0), "n_out of outputs of a dense layer must be a whole number >= 1, got 2.0"),
        (lambda: Dense(np.nan), "n_out of outputs of a dense layer must be a whole number >= 1, got nan"),
        (lambda: Conv2d(0, 3), "c_out of output channels of a convolution must be at least 1, got 0"),
        (lambda: Conv2d(1, 0), "the kernel's size k must be a whole number >= 1 or a pair of such numbers, got 0"),
        (lambda: Conv2d(1, (3, 2, 1)), r"the kernel's size k must be .* got \(3, 2, 1\)"),
        (lambda: Conv2d(1, 2.5), "the kernel's size k must be .* got 2.5"),
        (lambda: Conv2d(1, 3, stride=0), "stride must be a whole number >= 1 or a pair of such numbers, got 0"),
        (lambda: Conv2d(1, 3, padding=-1), "padding must be a whole number >= 0 or a pair of such numbers, got -1"),
        (lambda: Conv2d(1, 3, padding="full"), "padding must be .* 'same' .* got 'full'"),
        (lambda: Conv2d(1, 3).bind((784,)), r"a convolution needs an input of shape .* got \(784,\)"),
        (
            lambda: Conv2d(1, 5).bind((1, 4, 9)),
            r"got a kernel of size \(5, 5\) for an input of shape \(1, 4, 9\)",
        ),
        (lambda: MaxPool(0), "the pooling window k must be a whole number >= 1 or a pair of such numbers, got 0"),
        (lambda: AvgPool(2, 0), "stride must be a whole number >= 1 or a pair of such numbers, got 0"),
        (lambda: MaxPool(2).out_shape((10,)), r"pooling needs an input of shape .* got \(10,\)"),
        (lambda: AvgPool(5).out_shape((3, 4, 6)), r"got the window \(5, 5\) for an input of shape \(3, 4, 6\)"),
    ],
)
def test_bad_sizes_get_a_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


@pytest.mark.parametrize("keep", [True, False], ids=["kept", "formed twice"])
@pytest.mark.parametrize(
    "map_, in_shape",
    [(Dense(4), (7,)), (Conv2d(3, 2), (2, 5, 4)), (Conv2d(5, 3, stride=2), (2, 4, 4)), (Conv2d(2, 3), (1, 9, 9))],
    ids=["dense", "convolution", "few positions", "many positions"],
)
def test_terms_are_those_of_the_examples_one_by_one(map_, in_shape, keep, monkeypatch):
    """The norms and weighted sums of `terms` agree with those from `outer` for each example alone.

    In this test, a part of the batch has two examples.
    """
    monkeypatch.setattr(conv2d, "_TERMS_AT_ONCE", 1 << 25 if keep else 0)
    monkeypatch.setattr(convolution, "_COLUMNS_AT_ONCE", 2 * 8 * 12)
    map_ = map_.bind(in_shape)
    rng = np.random.default_rng(0)
    dz, h = rng.normal(size=(5, *map_.out_shape)), rng.normal(size=(5, *in_shape))
    weight, weight_b = rng.uniform(size=5), rng.uniform(size=5)
    alone = [map_.outer(dz[i : i + 1], h[i : i + 1]) for i in range(5)]
    own = map_.terms(dz, h)
    for _ in range(2):  # a second call returns the same values
        norms = own.norms2()
        for got, want in zip(norms, zip(*alone, strict=True), strict=True):
            np.testing.assert_allclose(got, [np.square(term).sum() for term in want], rtol=1e-12)
        dW, db = own.outer(weight)
        np.testing.assert_allclose(
            dW, sum(w * W for w, (W, _) in zip(weight, alone, strict=True)), rtol=1e-11, atol=1e-12
        )
        np.testing.assert_allclose(
            db, sum(w * b for w, (_, b) in zip(weight, alone, strict=True)), rtol=1e-11, atol=1e-12
        )
    again, db = own.outer(weight, weight_b)
    np.testing.assert_allclose(again, dW, rtol=1e-12)
    np.testing.assert_allclose(
        db, sum(w * b for w, (_, b) in zip(weight_b, alone, strict=True)), rtol=1e-11, atol=1e-12
    )
    nothing = map_.terms(dz[:0], h[:0])
    assert [len(n) for n in nothing.norms2()] == [0, 0]
    assert not nothing.outer(weight[:0])[0].any()
    assert nothing.outer(weight[:0])[0].shape == map_.shape_W


@pytest.mark.parametrize("least", [1, 10**6], ids=["row by row", "whole patches"])
@pytest.mark.parametrize(
    "map_, in_shape",
    [
        (Conv2d(3, (3, 2), padding=(1, 0)), (2, 5, 6)),
        (Conv2d(2, 2, padding=3), (2, 3, 4)),  # more zeros than the rotated kernel can have
        (Conv2d(2, (1, 3), padding="same"), (3, 4, 5)),
        (Conv2d(2, (4, 3), stride=(1, 2), padding="same"), (1, 6, 7)),
        (Conv2d(2, 3, stride=(2, 1), padding=1), (2, 7, 6)),
        (Conv2d(40, 3), (2, 4, 4)),  # a layer whose Gram matrices are smaller than its terms
    ],
    ids=lambda thing: "x".join(map(str, thing)) if isinstance(thing, tuple) else None,
)
def test_both_ways_to_lay_patches(map_, in_shape, least, monkeypatch):
    """The two memory layouts of patches give correct results.

    We compare values with the definition, adjoints with the values, and norms with the terms of single examples.
    """
    monkeypatch.setattr(convolution, "_LEAST_ROW", least)
    monkeypatch.setattr(convolution, "_COLUMNS_AT_ONCE", 300)
    map_ = map_.bind(in_shape)
    rng = np.random.default_rng(0)
    W, b = rng.normal(size=map_.shape_W), rng.normal(size=map_.c_out)
    h, dz = rng.normal(size=(3, *in_shape)), rng.normal(size=(3, *map_.out_shape))
    z = map_.affine(W, b, h)
    np.testing.assert_allclose(z, convolve(W, b, h, map_.stride, map_.pad), rtol=1e-12, atol=1e-12)
    without_b = z - b[:, None, None]
    assert np.vdot(without_b, dz) == pytest.approx(np.vdot(h, map_.transpose(W, dz)), rel=1e-10)
    dW, db = map_.outer(dz, h)
    assert np.vdot(without_b, dz) == pytest.approx(np.vdot(W, dW), rel=1e-10)
    np.testing.assert_allclose(db, dz.sum(axis=(0, 2, 3)), rtol=1e-12)
    own = map_.terms(dz, h)
    alone = [map_.outer(dz[i : i + 1], h[i : i + 1])[0] for i in range(3)]
    np.testing.assert_allclose(own.norms2()[0], [np.square(term).sum() for term in alone], rtol=1e-10)
    np.testing.assert_allclose(own.outer(np.ones(3))[0], dW, rtol=1e-10, atol=1e-12)
