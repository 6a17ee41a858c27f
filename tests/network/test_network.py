"""Tests of networks: forward passes, pull, skips, copies, laws of first weights, the papers' architectures."""

import inspect
import tracemalloc

import numpy as np
import pytest
from scipy import stats

from nfa import network, ops
from nfa.network import Net, forward, mlp
from nfa.network.dense import Conv2d, Dense
from nfa.network.net import outputs
from nfa.network.pooling import AvgPool, MaxPool
from tests.oracles.chance import follows
from tests.oracles.core import (
    assert_close,
    batch,
    central_difference,
    forward_record,
    pooled_cnn,
    residual_cnn,
    torch_forward,
    torch_parameters,
)

NETS = {
    "mlp": lambda **s: mlp([5, 4, 6, 3], ops.tanh, rng=np.random.default_rng(0), **s),
    "squared error": lambda **s: mlp([5, 4, 3], ops.gelu, rng=np.random.default_rng(0), loss=ops.squared_error, **s),
    "skips": lambda **s: mlp([4, 4, 4, 4, 3], ops.sigmoid, rng=np.random.default_rng(0), skip={2: 0, 3: 1, 4: 1}, **s),
    "max pooling": lambda **s: pooled_cnn(MaxPool, **s),
    "average pooling": lambda **s: pooled_cnn(AvgPool, **s),
    "residual same": lambda **s: residual_cnn("same", **s),
    "residual valid": lambda **s: residual_cnn("valid", **s),
}
EVERY = pytest.mark.parametrize("make", NETS.values(), ids=list(NETS))


# --- forward -------------------------------------------------------------------------------------------------


@pytest.mark.verifies("lee2020:eq1", "ohana2021:eq2")
@pytest.mark.parametrize("phi", ops.ACTIVATIONS.values(), ids=list(ops.ACTIVATIONS))
@pytest.mark.parametrize("loss", ops.LOSSES.values(), ids=list(ops.LOSSES))
def test_forward_equals_record_by_record_loops(phi, loss):
    net = mlp([4, 4, 4, 3], phi, rng=np.random.default_rng(1), skip={3: 1}, loss=loss)
    x, _ = batch(net, 5)
    z, h = forward(net, x)
    assert h[0] is x
    assert z[0] is None
    for i in range(5):
        z_i, h_i = forward_record(net, x[i])
        for l in range(1, net.L + 1):
            assert_close(z[l][i], z_i[l])
            assert_close(h[l][i], h_i[l])


@pytest.mark.verifies("ohana2021:eq2")
def test_a_bias_is_a_last_column_of_w_against_a_one():
    net = mlp([4, 3, 2], ops.tanh, rng=np.random.default_rng(2))
    x, _ = batch(net, 6)
    want = x
    for l in (1, 2):
        with_one = np.concatenate([want, np.ones((6, 1))], axis=1)
        want = with_one @ np.concatenate([net.W[l], net.b[l][:, None]], axis=1).T
        want = np.tanh(want) if l == 1 else want
    assert_close(forward(net, x)[0][2], want)


@pytest.mark.peers
@pytest.mark.verifies("lee2020:eq1")
@EVERY
def test_forward_equals_torch(torch, make):
    net = make()
    x, _ = batch(net, 4)
    z, h = forward(net, x)
    z_torch, _, h_torch = torch_forward(torch, net, *torch_parameters(torch, net), x)
    for l in range(1, net.L + 1):
        assert_close(z[l], z_torch[l].detach().numpy())
        if l < net.L:
            assert_close(h[l], h_torch[l].detach().numpy())


@EVERY
def test_shapes_are_as_declared(make):
    net = make()
    z, h = forward(net, batch(net, 4)[0])
    assert len(net.W) == len(net.b) == len(net.map) == len(z) == len(h) == net.L + 1
    for l in range(1, net.L + 1):
        assert z[l].shape == (4, *net.shape_z[l])
        assert h[l].shape == (4, *net.shape_h[l])
        assert net.W[l].shape == net.map[l].shape_W
        assert net.b[l].shape == net.W[l].shape[:1]


@EVERY
def test_a_suffix_pass_equals_the_full_pass(make):
    """A pass that begins at layer l equals the last layers of a full pass.

    A change of b[l] changes z[l] by the same amount. So we compare the pass from the changed z[l] with a full pass of a
    network with the changed b[l].
    """
    net = make()
    x, _ = batch(net, 3)
    z, h = forward(net, x)
    for l in range(1, net.L + 1):
        other = net.copy()
        shift = np.random.default_rng(l).normal(size=net.b[l].shape)
        other.b[l] += shift
        z_new = list(z)
        z_new[l] = z[l] + shift.reshape(-1, *[1] * (z[l].ndim - 2))
        got, want = forward(net, start=l, z=z_new, h=h), forward(other, x)
        for mine, theirs in zip(got, want, strict=True):
            for a, b in zip(mine[1:], theirs[1:], strict=True):
                assert_close(a, b)


def test_a_suffix_pass_leaves_the_lists_given_alone():
    net = NETS["mlp"]()
    z, h = forward(net, batch(net, 3)[0])
    z_given, h_given = list(z), list(h)
    z_given[2] = z[2] + 1
    forward(net, start=2, z=z_given, h=h_given)
    assert all(a is b for a, b in zip(h_given, h, strict=True))
    assert z_given[3] is z[3]


@EVERY
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_everything_has_the_dtype_asked_for(make, dtype):
    net = make(dtype=dtype)
    z, h = forward(net, batch(net, 2)[0].astype(dtype))
    assert {a.dtype for a in (*net.W[1:], *net.b[1:], *z[1:], *h)} == {np.dtype(dtype)}


@EVERY
def test_forward_takes_an_empty_batch(make):
    net = make()
    z, h = forward(net, np.empty((0, *net.shape_h[0])))
    assert [a.shape for a in z[1:]] == [(0, *shape) for shape in net.shape_z[1:]]
    assert [a.shape for a in h] == [(0, *shape) for shape in net.shape_h]


# --- skips, pull, copy ---------------------------------------------------------------------------------------


def test_a_skip_adds_its_h_to_what_the_layer_reads():
    net = NETS["skips"]()
    _, h = forward(net, batch(net, 3)[0])
    assert [net.reads(l) for l in (1, 2, 3, 4)] == [[0], [1, 0], [2, 1], [3, 1]]
    assert net.input(1, h) is h[0]
    assert np.array_equal(net.input(2, h), h[1] + h[0])
    assert np.array_equal(net.input(4, h), h[3] + h[1])


@EVERY
def test_pull_is_the_derivative_of_h_by_z(make):
    """pull multiplies by the derivative of h by z: the derivative of <v, h(z + s u)> by s is <pull(v), u>.

    h includes the pooling, so the test covers phi' and pooling together.
    """
    net = make()
    z, h = forward(net, batch(net, 3)[0])
    rng = np.random.default_rng(3)
    for l in range(1, net.L):
        v, u = rng.normal(size=h[l].shape), rng.normal(size=z[l].shape)
        derivative = central_difference(lambda s, l=l, v=v, u=u: np.vdot(v, net.activate(l, z[l] + s * u)))
        assert np.vdot(net.pull(l, z, v), u) == pytest.approx(derivative, rel=1e-6)


@EVERY
def test_pull_at_z_is_the_derivative_before_pooling(make):
    net = make()
    z, _ = forward(net, batch(net, 3)[0])
    rng = np.random.default_rng(4)
    for l in range(1, net.L):
        v, u = rng.normal(size=(2, *z[l].shape))
        derivative = central_difference(lambda s, l=l, v=v, u=u: np.vdot(v, net.phi[l].phi(z[l] + s * u)))
        assert np.vdot(net.pull(l, z, v, at="z"), u) == pytest.approx(derivative, rel=1e-6)


@pytest.mark.parametrize("pool", [MaxPool, AvgPool])
def test_a_batch_that_is_worked_on_in_parts_is_still_one_batch(pool):
    """A batch of at least 2^17 entries is processed in parts, with the result of the whole batch.

    We test activation and pull. The last part is smaller than the others.
    """
    net = pooled_cnn(pool)
    z, h = forward(net, batch(net, 3)[0])
    v = np.random.default_rng(6).normal(size=h[1].shape)
    times = 1 + 3 * 2**17 // z[1].size
    many, many_v = np.tile(z[1], (times, 1, 1, 1)), np.tile(v, (times, 1, 1, 1))
    assert np.array_equal(net.activate(1, many), np.tile(h[1], (times, 1, 1, 1)))
    assert np.array_equal(net.pull(1, [None, many], many_v), np.tile(net.pull(1, z, v), (times, 1, 1, 1)))


def test_pull_takes_flat_rows():
    net = NETS["max pooling"]()
    z, h = forward(net, batch(net, 3)[0])
    v = np.random.default_rng(5).normal(size=h[1].shape)
    assert np.array_equal(net.pull(1, z, v.reshape(3, -1)), net.pull(1, z, v))


def test_a_place_that_is_neither_h_nor_z_is_refused():
    net = NETS["max pooling"]()
    z, h = forward(net, batch(net, 3)[0])
    with pytest.raises(ValueError, match="at must be 'h' or 'z', got 'x'"):
        net.pull(1, z, h[1], at="x")


def test_a_vector_for_z_is_refused_at_h():
    net = NETS["max pooling"]()
    z, _ = forward(net, batch(net, 1)[0])
    with pytest.raises(ValueError, match=r"layer 1 needs 48 entries of h\[1\] for each example, got shape"):
        net.pull(1, z, z[1])


def test_a_copy_has_parameters_of_its_own():
    net = NETS["mlp"]()
    before = [a.copy() for a in (*net.W[1:], *net.b[1:])]
    twin = net.copy()
    for l in range(1, net.L + 1):
        twin.W[l] += 1
        twin.b[l] = twin.b[l] * 2
    assert all(np.array_equal(a, b) for a, b in zip((*net.W[1:], *net.b[1:]), before, strict=True))
    assert twin.map == net.map


# --- the papers' networks ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name, shapes, parameters",
    [
        ("ohana2021", [(784,), (512,), (512,), (10,)], 784 * 512 + 512 + 512 * 512 + 512 + 512 * 10 + 10),
        ("lee2020-fc-fmnist", [(784,), (128,), (256,), (10,)], 136_074),
        ("lee2020-fc-cifar", [(3072,), (256,), (256,), (256,), (10,)], 3072 * 256 + 2 * 256 * 256 + 3 * 256 + 2570),
        ("lee2020-cnn", [(1, 28, 28), (64, 14, 14), (64, 7, 7), (384,), (384,), (10,)], 1_460_426),
        ("lee2020-cnn-bp", [(1, 28, 28), (64, 14, 14), (64, 7, 7), (384,), (384,), (10,)], 1_460_426),
        ("lee2020-cnn-valid", [(1, 28, 28), (64, 12, 12), (64, 4, 4), (384,), (384,), (10,)], 649_418),
        ("lee2020-cnn-bp-valid", [(1, 28, 28), (64, 12, 12), (64, 4, 4), (384,), (384,), (10,)], 649_418),
        ("dpulr2024-mlp", [(784,), (128,), (64,), (32,), (10,)], 100_480 + 8_256 + 2_080 + 330),
        (
            "dpulr2024-resnet5",
            [(3, 32, 32), (8, 16, 16), (16, 8, 8), (32, 4, 4), (32, 4, 4), (10,)],
            224 + 1_168 + 4_640 + 9_248 + 10 * (32 * 4 * 4 + 1),
        ),
        (
            "dpulr2024-resnet5-unpooled",
            [(3, 32, 32), (8, 32, 32), (16, 32, 32), (32, 32, 32), (32, 32, 32), (10,)],
            224 + 1_168 + 4_640 + 9_248 + 10 * (32 * 32 * 32 + 1),
        ),
        (
            "dpulr2024-resnet5-valid",
            [(3, 32, 32), (8, 15, 15), (16, 6, 6), (32, 2, 2), (32, 2, 2), (10,)],
            224 + 1_168 + 4_640 + 9_248 + 10 * (32 * 2 * 2 + 1),
        ),
        ("berthier2019-logistic", [(2000,), (1,)], 2000),
    ],
)
def test_the_papers_networks_have_their_sizes(name, shapes, parameters):
    net = network.ARCHITECTURES[name](rng=np.random.default_rng(0), dtype=np.float32)
    assert net.shape_h == shapes
    assert net.n_parameters == parameters == sum(a.size for a in (*net.W[1:], *net.b[1:]))
    assert {a.dtype for a in (*net.W[1:], *net.b[1:])} == {np.dtype(np.float32)}


def test_every_named_network_is_tested_above():
    assert set(network.ARCHITECTURES) == {
        "ohana2021",
        "lee2020-fc-fmnist",
        "lee2020-fc-cifar",
        "lee2020-cnn",
        "lee2020-cnn-bp",
        "lee2020-cnn-valid",
        "lee2020-cnn-bp-valid",
        "dpulr2024-mlp",
        "dpulr2024-resnet5",
        "dpulr2024-resnet5-unpooled",
        "dpulr2024-resnet5-valid",
        "berthier2019-logistic",
    }


@pytest.mark.parametrize("name", network.ARCHITECTURES)
def test_a_named_network_says_whether_it_is_built_for_the_shape_of_the_data(name):
    """A named network declares whether its sizes follow from the shape of the data.

    The sizes of logistic regression and of networks that begin with a convolution do. All other networks have the sizes
    of their papers.
    """
    build, rng = network.ARCHITECTURES[name], np.random.default_rng(0)
    net = build(rng=rng)
    takes = isinstance(net.map[1], Conv2d) or name == "berthier2019-logistic"
    assert ("in_shape" in inspect.signature(build).parameters) == takes
    if takes:
        shape = (2, 26, 24)[-len(net.shape_h[0]) :]
        assert build(in_shape=shape, rng=rng).shape_h[0] == shape


@pytest.mark.parametrize(
    "name, activations",
    [
        ("ohana2021", ["tanh"] * 2),
        ("lee2020-fc-fmnist", ["sigmoid"] * 2),
        ("lee2020-fc-cifar", ["sigmoid"] * 3),
        ("lee2020-cnn", ["tanh", "tanh", "sigmoid", "sigmoid"]),
        ("lee2020-cnn-bp", ["relu"] * 4),
        ("lee2020-cnn-valid", ["tanh", "tanh", "sigmoid", "sigmoid"]),
        ("lee2020-cnn-bp-valid", ["relu"] * 4),
        ("dpulr2024-mlp", ["gelu"] * 3),
    ],
)
def test_the_papers_networks_have_their_activations(name, activations):
    net = network.ARCHITECTURES[name](rng=np.random.default_rng(0))
    assert [phi.name for phi in net.phi[1:-1]] == activations
    assert net.loss is ops.softmax_cross_entropy


def test_the_cnn_takes_cifar_images_and_valid_padding():
    cifar = network.lee2020_cnn((3, 32, 32), padding="valid", rng=np.random.default_rng(0))
    assert cifar.shape_h == [(3, 32, 32), (64, 14, 14), (64, 5, 5), (384,), (384,), (10,)]


# --- initial laws --------------------------------------------------------------------------------------------

FALSE_ALARM = 1e-6  # probability that a test below fails on correct code with another seed


@pytest.mark.parametrize(
    "init, law",
    [
        ("uniform-fan-in", lambda i, o: stats.uniform(-1 / np.sqrt(i), 2 / np.sqrt(i))),
        ("normal-fan-in", lambda i, o: stats.norm(0, np.sqrt(1 / i))),
        ("he-normal", lambda i, o: stats.norm(0, np.sqrt(2 / i))),
        ("glorot-uniform", lambda i, o: stats.uniform(-np.sqrt(6 / (i + o)), 2 * np.sqrt(6 / (i + o)))),
    ],
)
def test_initial_weights_follow_their_law(init, law):
    net = Net(
        (5, 12, 12),
        [(Conv2d(40, (3, 2)), ops.tanh), (Dense(20), ops.tanh), (Dense(9),)],
        init=init,
        rng=np.random.default_rng(6),
    )
    # Fans are the numbers of inputs and outputs of one unit. A 3 x 2 kernel from 5 to 40 channels has the fans 5 * 6
    # and 40 * 6.
    for l, fans in ((1, (30, 240)), (2, (40 * 10 * 11, 20)), (3, (20, 9))):
        follows(net.W[l], law(*fans).cdf, sees=0.4)
    if init == "uniform-fan-in":
        b = net.b[1] * np.sqrt(30), net.b[2] * np.sqrt(4400), net.b[3] * np.sqrt(20)
        follows(np.concatenate(b), stats.uniform(-1, 2).cdf, sees=0.65)
    else:
        assert all((b == 0).all() for b in net.b[1:])


@pytest.mark.parametrize("init", list(network.INITS))
def test_float32_weights_are_the_float64_draws_rounded(init):
    exact, rounded = (
        mlp([6, 5, 3], ops.tanh, init=init, rng=np.random.default_rng(7), dtype=dtype)
        for dtype in (np.float64, np.float32)
    )
    for l in (1, 2):
        assert np.array_equal(rounded.W[l], exact.W[l].astype(np.float32))
        assert np.array_equal(rounded.b[l], exact.b[l].astype(np.float32))


# --- predictions ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chunk", [1, 3, 7, 100])
def test_predictions_do_not_depend_on_the_chunk(chunk):
    net = NETS["max pooling"]()
    x, _ = batch(net, 7)
    alone = [forward(net, x[i : i + 1]) for i in range(7)]
    want = [int(np.argmax(z[net.L][0])) for z, _ in alone]
    assert network.predict(net, x, chunk=chunk).tolist() == want
    for found, own in zip(outputs(net, x, chunk), zip(*alone, strict=True), strict=True):
        np.testing.assert_allclose(found, [layer[net.L][0] for layer in own], rtol=0, atol=1e-12)


def test_outputs_hold_the_layers_of_one_chunk_at_a_time():
    net = NETS["max pooling"]()
    x, _ = batch(net, 128)
    peak = {}
    for chunk in (128, 4, 128, 4):  # different chunk sizes, so that the test would detect a cached size
        tracemalloc.start()
        outputs(net, x, chunk)
        peak[chunk] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak[4] < peak[128] / 4


def test_accuracy_is_the_share_of_right_labels():
    net = NETS["mlp"]()
    x, _ = batch(net, 8)
    labels = network.predict(net, x)
    labels[:2] = (labels[:2] + 1) % 3
    assert network.accuracy(net, x, labels) == 6 / 8


# --- bad input -----------------------------------------------------------------------------------------------


def net_of(*layers, in_shape=(4,), **settings):
    return Net(in_shape, layers, rng=np.random.default_rng(0), **settings)


HIDDEN = (Dense(4), ops.tanh)


@pytest.mark.parametrize(
    "make, sentence",
    [
        (lambda: net_of((Dense(2),), init="ones"), "init must be one of uniform-fan-in, .*, got 'ones'"),
        (
            lambda: net_of(),
            r"layers must be tuples \(map, phi\) or \(map, phi, pool\), and the last layer must be a tuple \(map,\)",
        ),
        (lambda: net_of((Dense(2),), in_shape=(0,)), r"in_shape must contain whole numbers >= 1, got \(0,\)"),
        (
            lambda: net_of((Dense(2),), in_shape=(1, -3, 2)),
            r"in_shape must contain whole numbers >= 1, got \(1, -3, 2\)",
        ),
        (lambda: net_of((Dense(2),), in_shape=(2.0,)), r"in_shape must contain whole numbers >= 1, got \(2.0,\)"),
        (lambda: net_of((Dense(2),), in_shape=()), r"in_shape must contain whole numbers >= 1, got \(\)"),
        (lambda: net_of(HIDDEN), r"the last layer must be a tuple \(map,\)"),
        (lambda: net_of((Dense(4),), (Dense(2),)), r"layers must be tuples \(map, phi\) or \(map, phi, pool\)"),
        (lambda: net_of((Conv2d(1, 3), ops.tanh), (Dense(2),)), r"a convolution needs an input of shape .* got \(4,\)"),
        (lambda: net_of((Dense(4), ops.tanh, MaxPool(2)), (Dense(2),)), r"pooling needs an input of shape .* \(4,\)"),
        (lambda: net_of(HIDDEN, (Dense(2),), skip={2: 1}), r"skip \{2: 1\} must add the output h\[j\] .* 0 <= j < 1"),
        (lambda: net_of(HIDDEN, (Dense(2),), skip={2: -1}), r"skip \{2: -1\} must add the output h\[j\] .* 0 <= j < 1"),
        (lambda: net_of(HIDDEN, (Dense(2),), skip={5: 1}), r"each layer of skip must be between 1 and 2, got layer 5"),
        (
            lambda: net_of((Dense(3), ops.tanh), (Dense(2),), skip={2: 0}),
            r"skip \{2: 0\} needs h\[0\] and h\[1\] of the same shape, got \(4,\) and \(3,\)",
        ),
        (
            lambda: net_of((Conv2d(2, 3),), in_shape=(1, 5, 5)),
            r"the last layer must give a vector of outputs for each example, got the shape \(2, 3, 3\)",
        ),
    ],
)
def test_networks_that_do_not_fit_get_a_sentence(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


@pytest.mark.parametrize(
    "call, sentence",
    [
        (lambda net, x: forward(net, x[:, :3]), r"x must have the shape \(m, 5\), got \(2, 3\)"),
        (lambda net, x: forward(net, x[0]), r"x must have the shape \(m, 5\), got \(5,\)"),
        (lambda net, x: forward(net), "`forward` needs either x, or `start` together with z and h of an earlier pass"),
        (lambda net, x: forward(net, x, start=1), "`forward` needs either x, or `start` together with"),
        (
            lambda net, x: forward(net, start=0, z=[None], h=[x]),
            "start must be the number of a layer, between 1 and 3, got 0",
        ),
        (
            lambda net, x: forward(net, start=4, z=[None], h=[x]),
            "start must be the number of a layer, between 1 and 3, got 4",
        ),
    ],
)
def test_bad_calls_of_forward_get_a_sentence(call, sentence):
    net = NETS["mlp"]()
    with pytest.raises(ValueError, match=sentence):
        call(net, np.ones((2, 5)))


def test_labels_of_another_length_are_refused():
    net = NETS["mlp"]()
    with pytest.raises(ValueError, match=r"labels must have one entry for each of the 8 examples, got shape \(1,\)"):
        network.accuracy(net, np.ones((8, 5)), np.array([0]))


@pytest.mark.verifies("dpulr2024:fig4")
@pytest.mark.parametrize("name, padded", [("dpulr2024-resnet5", True), ("dpulr2024-resnet5-valid", False)])
def test_the_resnet_adds_what_convolution_4_reads_to_what_it_gives(name, padded):
    """The ResNet adds the input of convolution 4 to the output of convolution 4. We check this by loops over pixels.

    In this test, the network has 2 channels. The ledger gives the parameters of the convolutions.
    """
    net = network.ARCHITECTURES[name](in_shape=(2, 22, 22), rng=np.random.default_rng(0))
    x = np.random.default_rng(1).normal(size=(2, 2, 22, 22))

    def convolved(image, W, b, pad):
        image = np.pad(image, ((0, 0), (1, 1), (1, 1))) if pad else image
        rows, columns = image.shape[1] - 2, image.shape[2] - 2
        return np.array(
            [[[(W[o] * image[:, i : i + 3, j : j + 3]).sum() + b[o] for j in range(columns)] for i in range(rows)]
             for o in range(len(W))]
        )  # fmt: skip

    for image, got in zip(x, forward(net, x)[0][5], strict=True):
        h = image
        for l in (1, 2, 3):
            z = np.maximum(convolved(h, net.W[l], net.b[l], padded), 0)
            rows, columns = z.shape[1] // 2, z.shape[2] // 2
            h = np.array([[[c[2 * i : 2 * i + 2, 2 * j : 2 * j + 2].max() for j in range(columns)]
                           for i in range(rows)] for c in z])  # fmt: skip
        h = h + np.maximum(convolved(h, net.W[4], net.b[4], True), 0)
        assert got == pytest.approx(net.W[5] @ h.ravel() + net.b[5], rel=1e-10)
    whole = network.ARCHITECTURES[name](rng=np.random.default_rng(0))
    assert [whole.W[l].size + whole.b[l].size for l in (1, 2, 3, 4)] == [224, 1168, 4640, 9248]
