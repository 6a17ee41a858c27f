"""Tests of a user's own networks: networks that a text describes, and checks of a network that a function returns."""

import re

import numpy as np
import pytest

from nfa.network import AvgPool, Conv2d, Dense, MaxPool, Net, forward, mlp
from nfa.network.ops import gelu, relu, softmax_cross_entropy, squared_error, tanh
from nfa.network.own import from_function, from_text, is_text, sizes_of

SAME = {"padding": "same"}
BY_HAND = {
    "1x28x28:conv16-5,pool2,dense64,10": (
        (1, 28, 28),
        [(Conv2d(16, 5, **SAME), relu, MaxPool(2)), (Dense(64), relu), (Dense(10),)],
    ),
    "3x9x12:conv4-3,conv2-2,avgpool3,dense7,dense5": (
        (3, 9, 12),
        [(Conv2d(4, 3, **SAME), relu), (Conv2d(2, 2, **SAME), relu, AvgPool(3)), (Dense(7), relu), (Dense(5),)],
    ),
    "6:3": ((6,), [(Dense(3),)]),
    "2x3x4:5": ((2, 3, 4), [(Dense(5),)]),
}


@pytest.mark.parametrize("text", BY_HAND)
def test_a_text_is_the_network_that_its_layers_are(text):
    """A text gives the network that it describes: with equal generators, weights and outputs are bitwise identical."""
    given = {"init": "he-normal", "loss": squared_error, "dtype": np.float32}
    net = from_text(text, relu, rng=np.random.default_rng(3), **given)
    hand = Net(*BY_HAND[text], rng=np.random.default_rng(3), **given)
    assert (net.shape_z, net.shape_h, net.loss) == (hand.shape_z, hand.shape_h, squared_error)
    x = np.random.default_rng(4).standard_normal((5, *net.shape_h[0])).astype(np.float32)
    for one, other in zip(forward(net, x)[1], forward(hand, x)[1], strict=True):
        assert one.dtype == np.float32
        assert np.array_equal(one, other)


def test_a_dense_text_is_the_mlp_of_its_sizes():
    net = from_text("6:dense5,dense4,3", gelu, rng=np.random.default_rng(3))
    hand = mlp([6, 5, 4, 3], gelu, rng=np.random.default_rng(3))
    assert all(map(np.array_equal, net.W[1:], hand.W[1:]))
    assert net.phi == hand.phi
    assert sizes_of("6-5-4-3") == [6, 5, 4, 3]


def test_blanks_between_the_pieces_of_a_text_are_no_part_of_them():
    net = from_text("1x28x28 : conv16-5, pool2,\tdense64 , 10 ", relu, rng=np.random.default_rng(3))
    hand = Net(*BY_HAND["1x28x28:conv16-5,pool2,dense64,10"], rng=np.random.default_rng(3))
    assert net.shape_h == hand.shape_h
    assert all(map(np.array_equal, net.W[1:], hand.W[1:]))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "1x28x28:flat16,10",
            "no layer is called 'flat16'. The layers are convCHANNELS-SIZE, poolSIZE, avgpoolSIZE and",
        ),
        ("1x28x28:conv16,10", "'conv16' must be conv and digits, as in conv16-5$"),
        ("1x28x28:dense5-5,10", "'dense5-5' must be dense and digits, as in dense64$"),
        ("6:dense1e3,3", "'dense1e3' must be dense and digits, as in dense64$"),
        ("6:dense+64,3", r"'dense\+64' must be dense and digits, as in dense64$"),
        ("1x28x28:conv4-3,pool2.,10", "'pool2.' must be pool and digits, as in pool2$"),
        ("1x28x28:conv4-3,avgpool,10", "'avgpool' must be avgpool and digits, as in avgpool2$"),
        ("1x28x28:Conv16-5,10", "no layer is called 'Conv16-5'"),
        ("1x28x28:conv٣-5,10", "'conv٣-5' must be conv and digits, as in conv16-5$"),
        ("6:dense 4,3", "'dense 4' must be dense and digits"),
        ("6:,3", "there is no layer before a comma. The layers are convCHANNELS-SIZE"),
        (
            "6:dense4,3,",
            "the last comma must be followed by the number of outputs, such as 10. Give this number, or leave out"
            " the comma$",
        ),
        ("6:dense4, ", "the last comma must be followed by the number of outputs"),
        ("6:dense4,1e1", "the last layer must be the number of outputs in digits, such as 10, got '1e1'$"),
        ("28x28:10", "the input must be written as UNITS or CHANNELSxROWSxCOLUMNS, got '28x28'"),
        ("6x:3", "the input must be"),
        ("1x28x28:", "the last layer must be the number of outputs in digits, such as 10, got ''"),
        ("6:dense5,conv4-3", "the last layer must be the number of outputs in digits, such as 10, got 'conv4-3'"),
        ("1x28x28:pool2,10", "pool2 must follow a conv layer, but follows the input"),
        ("1x28x28:conv4-3,pool2,avgpool2,10", "avgpool2 must follow a conv layer, but follows another pooling"),
        ("6:conv4-3,3", "conv4-3 needs an input of images, CHANNELSxROWSxCOLUMNS"),
        ("6:dense4,pool2,3", "pool2 needs an input of images, CHANNELSxROWSxCOLUMNS"),
        (
            "1x28x28:conv16-50,10",
            r"conv16-50 has a kernel of 50x50, which is larger .*28x28\. Use conv16-28 or less$",
        ),
        (
            "1x28x28:conv4-3,pool4,conv2-8,10",
            r"conv2-8 has a kernel of 8x8, which is larger .*7x7\. Use conv2-7 or less$",
        ),
        (
            "1x28x28:conv4-3,pool29,10",
            r"pool29 has a window of 29x29, which is larger .*28x28\. Use pool28 or less$",
        ),
        ("1x28x28:conv4-3,pool0,10", "."),
        ("1x0x28:conv4-3,10", "in_shape must contain whole numbers >= 1"),
        ("0:3", "in_shape must contain whole numbers >= 1"),
        ("6:dense0,3", "the number n_out of outputs of a dense layer must be a whole number >= 1, got 0"),
        ("6:0", "the number n_out of outputs of a dense layer must be a whole number >= 1, got 0"),
        ("6:dense99999999999999999999,3", "."),
        (f"6:dense{'9' * 5000},3", "."),
    ],
)
def test_a_text_that_cannot_be_read_says_where(text, said):
    with pytest.raises(ValueError, match=rf"^network {re.escape(text)}: {said}"):
        from_text(text, tanh, rng=np.random.default_rng(0))


def test_what_is_a_text():
    assert is_text("1x28x28:10")
    assert is_text("7:x")
    assert not any(map(is_text, ("784-10", "nets:small", "", ":small", "_1:x")))


# --- networks from a function


GIVEN = {"loss": softmax_cross_entropy, "init": "he-normal", "dtype": np.float32}
SHARED = mlp([6, 3], tanh, rng=np.random.default_rng(0), **GIVEN)


def generator():
    return np.random.default_rng(7)


def small(**given):
    return mlp([6, 4, 3], tanh, **given)


def fails(**given):
    raise KeyError("no such layer")


def refuses(**given):
    raise ValueError("it is not the day for it")


def test_a_functions_network_is_what_it_builds():
    net = from_function(small, "nets:small", generator, **GIVEN)
    hand = small(rng=generator(), **GIVEN)
    assert all(map(np.array_equal, net.W[1:], hand.W[1:]))


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (fails, r"nets:one, called with the keywords loss, init, rng and dtype, fails: KeyError: 'no such layer'"),
        (lambda rng: small(rng=rng), "nets:one, called with the keywords .* unexpected keyword argument"),
        (refuses, "nets:one: it is not the day for it"),
        (lambda **given: [small(**given)], "nets:one must return a Net, got list"),
        (lambda loss, **given: small(loss=squared_error, **given), "nets:one must use the loss that nfa passes, got"),
        (lambda dtype, **given: small(**given), "nets:one must use the dtype float32 that nfa passes, got float64"),
        (
            lambda rng, **given: small(rng=np.random.default_rng(), **given),
            "nets:one must return a new Net at every call",
        ),
        (lambda **given: SHARED, "nets:one must return a new Net at every call, and the weights must depend only on"),
    ],
    ids=["fails", "other keywords", "refuses", "no net", "its own loss", "its own dtype", "its own rng", "one for all"],
)
def test_a_functions_network_is_checked(build, said):
    with pytest.raises(ValueError, match=f"^network {said}"):
        from_function(build, "nets:one", generator, **GIVEN)
