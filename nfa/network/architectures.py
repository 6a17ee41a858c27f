"""The papers' own networks, by name."""

from collections.abc import Callable

from nfa.network.conv2d import Conv2d
from nfa.network.dense import Dense
from nfa.network.net import Net, mlp
from nfa.network.ops import Activation, gelu, relu, sigmoid, tanh
from nfa.network.pooling import MaxPool


def ohana2021(**settings) -> Net:
    """784-512-512-10 with tanh: the network of Ohana et al., Section 4.

    Source: [ohana2021:exp-net]
    """
    return mlp([784, 512, 512, 10], tanh, **settings)


def lee2020_fc_fmnist(**settings) -> Net:
    """784-128-256-10 with sigmoid: the fully connected network of Lee & Kifer on Fashion-MNIST, Section 5."""
    return mlp([784, 128, 256, 10], sigmoid, **settings)


def lee2020_fc_cifar(**settings) -> Net:
    """3072-256-256-256-10 with sigmoid: the fully connected network of Lee & Kifer on CIFAR-10, Section 5."""
    return mlp([3072, 256, 256, 256, 10], sigmoid, **settings)


def lee2020_cnn(
    in_shape=(1, 28, 28),
    phi_conv: Activation = tanh,
    phi_fc: Activation = sigmoid,
    padding="same",
    ops=None,
    **settings,
) -> Net:
    """Two 5x5 convolutions of 64 channels with 2x2 max pooling, two layers of 384, 10 classes: Lee & Kifer, Section 5.

    The paper does not state the padding. Our default is "same". For BP, the paper uses ReLU throughout
    (``phi_conv=phi_fc=relu``).
    """
    fast = {"ops": ops} if ops else {}
    conv = (Conv2d(64, 5, padding=padding, **fast), phi_conv, MaxPool(2, **fast))
    return Net(in_shape, [conv, conv, (Dense(384), phi_fc), (Dense(384), phi_fc), (Dense(10),)], **settings)


def lee2020_cnn_bp(in_shape=(1, 28, 28), **settings) -> Net:
    """`lee2020_cnn` with ReLU in every hidden layer, as the paper trains it by backpropagation."""
    return lee2020_cnn(in_shape, phi_conv=relu, phi_fc=relu, **settings)


def lee2020_cnn_valid(in_shape=(1, 28, 28), **settings) -> Net:
    """`lee2020_cnn` without padding."""
    return lee2020_cnn(in_shape, padding="valid", **settings)


def lee2020_cnn_bp_valid(in_shape=(1, 28, 28), **settings) -> Net:
    """`lee2020_cnn_bp` without padding."""
    return lee2020_cnn_bp(in_shape, padding="valid", **settings)


def dpulr2024_mlp(**settings) -> Net:
    """784-128-64-32-10 with GELU in the hidden layers: the MLP of "Forward Learning with Differential Privacy"."""
    return mlp([784, 128, 64, 32, 10], gelu, **settings)


def dpulr2024_resnet5(in_shape=(3, 32, 32), padding="same", pooled=True, **settings) -> Net:
    """Four 3x3 convolutions of 8, 16, 32 and 32 channels with ReLU, and 10 classes: the ResNet-5 of the DP-ULR paper.

    Source: [dpulr2024:fig4] [dpulr2024:A5-dims]

    Parameters
    ----------
    in_shape : (channels, rows, columns) of an image
    padding : padding of the first three convolutions, "same" or "valid"
    pooled : whether 2x2 max pooling follows each of the first three convolutions

    Notes
    -----
    The convolutions have 224, 1,168, 4,640 and 9,248 parameters, biases included, on images of 3 channels. In the
    paper, "the residual connection is between the third and fourth". So the input of convolution 4 is added to its
    output, and convolution 4 must be padded and cannot be pooled. The paper does not state the pooling, the padding,
    the place of the sum and the dense layer. We chose 2x2 pooling after the other three convolutions, padding, the sum
    after ReLU, and one dense layer above the sum. Then the dense layer has 512 inputs, and the network has 20,410
    parameters.
    """
    c1, c2, c3 = (Conv2d(n, 3, padding=padding) for n in (8, 16, 32))
    below = [(c, relu, MaxPool(2)) if pooled else (c, relu) for c in (c1, c2, c3)]
    return Net(in_shape, [*below, (Conv2d(32, 3, padding="same"), relu), (Dense(10),)], skip={5: 3}, **settings)


def dpulr2024_resnet5_unpooled(in_shape=(3, 32, 32), **settings) -> Net:
    """`dpulr2024_resnet5` without pooling: 32,768 inputs of the dense layer, and 342,970 parameters of the network."""
    return dpulr2024_resnet5(in_shape, pooled=False, **settings)


def dpulr2024_resnet5_valid(in_shape=(3, 32, 32), **settings) -> Net:
    """`dpulr2024_resnet5` with padding only in convolution 4. The dense layer has 128 inputs."""
    return dpulr2024_resnet5(in_shape, padding="valid", **settings)


def berthier2019_logistic(in_shape=(2000,), **settings) -> Net:
    """theta^T x without a bias, for the loss "sigmoid-cross-entropy": logistic regression as in Berthier's Section 4.6.

    Source: [berthier2019:exp4.6]
    """
    return Net(in_shape, [(Dense(1, bias=False),)], **settings)


# The networks by name. If a function takes in_shape, nfa passes the shape of the data.
ARCHITECTURES: dict[str, Callable[..., Net]] = {
    "ohana2021": ohana2021,
    "lee2020-fc-fmnist": lee2020_fc_fmnist,
    "lee2020-fc-cifar": lee2020_fc_cifar,
    "lee2020-cnn": lee2020_cnn,
    "lee2020-cnn-bp": lee2020_cnn_bp,
    "lee2020-cnn-valid": lee2020_cnn_valid,
    "lee2020-cnn-bp-valid": lee2020_cnn_bp_valid,
    "dpulr2024-mlp": dpulr2024_mlp,
    "dpulr2024-resnet5": dpulr2024_resnet5,
    "dpulr2024-resnet5-unpooled": dpulr2024_resnet5_unpooled,
    "dpulr2024-resnet5-valid": dpulr2024_resnet5_valid,
    "berthier2019-logistic": berthier2019_logistic,
}
