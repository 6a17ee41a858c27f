"""Networks: their layers, activations and losses, and the networks of the papers.

The module `net` contains the network and its passes. `ops` contains the activations and losses. `dense`, `conv2d` and
`pooling` contain the layers.
"""

from nfa.network.architectures import (
    ARCHITECTURES,
    berthier2019_logistic,
    dpulr2024_mlp,
    dpulr2024_resnet5,
    dpulr2024_resnet5_unpooled,
    dpulr2024_resnet5_valid,
    lee2020_cnn,
    lee2020_cnn_bp,
    lee2020_cnn_bp_valid,
    lee2020_cnn_valid,
    lee2020_fc_cifar,
    lee2020_fc_fmnist,
    ohana2021,
)
from nfa.network.conv2d import Conv2d
from nfa.network.dense import Dense
from nfa.network.net import INITS, Net, accuracy, forward, mlp, predict
from nfa.network.pooling import AvgPool, MaxPool

__all__ = [
    "ARCHITECTURES",
    "INITS",
    "AvgPool",
    "Conv2d",
    "Dense",
    "MaxPool",
    "Net",
    "accuracy",
    "berthier2019_logistic",
    "dpulr2024_mlp",
    "dpulr2024_resnet5",
    "dpulr2024_resnet5_unpooled",
    "dpulr2024_resnet5_valid",
    "forward",
    "lee2020_cnn",
    "lee2020_cnn_bp",
    "lee2020_cnn_bp_valid",
    "lee2020_cnn_valid",
    "lee2020_fc_cifar",
    "lee2020_fc_fmnist",
    "mlp",
    "ohana2021",
    "predict",
]
