"""A user's own networks. The tests of runs use their names "tests.experiments.own_networks:..."."""

import numpy as np

from nfa.network import Dense, Net, mlp
from nfa.network.ops import relu, tanh


def small(*, loss, init, rng, dtype):
    """The network 6-5-4-3, which most tests of runs use."""
    return mlp([6, 5, 4, 3], tanh, loss=loss, init=init, rng=rng, dtype=dtype)


def skipping(**given):
    """A network that no list of sizes and no text can describe."""
    return Net((6,), [(Dense(6), relu), (Dense(6), tanh), (Dense(3, bias=False),)], skip={3: 1}, **given)


class Other(Net):
    """A subclass of Net."""


def of_another_class(**given):
    return Other((6,), [(Dense(4), tanh), (Dense(3),)], **given)


def seven(**given):
    return mlp([7, 3], tanh, **given)


def unlucky(*, rng, **given):
    """A network with weights that are not drawn from rng."""
    return mlp([6, 3], tanh, rng=np.random.default_rng(), **given)
