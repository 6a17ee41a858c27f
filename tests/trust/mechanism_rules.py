"""The rules that state a mechanism: networks for the search, their releases, and their mechanisms."""

import numpy as np

from nfa import feedback, ops
from nfa.audit.private_game import flat
from nfa.feedback.opu import OPU, optical
from nfa.mechanism import Mechanism
from nfa.network import Net, mlp
from nfa.network.dense import Conv2d, Dense
from nfa.network.pooling import MaxPool
from nfa.rules.spec import ALIASES, RuleSpec, names, spec
from nfa.rules.ulr import weigh

SEED = 2025
DELTA = 1e-5
WHERE = {"sampling": "none", "sampling_rate": 1.0}


# --- networks


def dense(phi, sizes=(3, 4, 2), **settings) -> Net:
    return mlp(sizes, phi, rng=np.random.default_rng(0), **settings)


def residual(phi, **settings) -> Net:
    return dense(phi, (3, 3, 3, 2), skip={3: 1}, **settings)


def cnn(phi=ops.tanh, pool=MaxPool, k=2, stride=1, padding=0, image=(1, 4, 4), **settings) -> Net:
    layers = [(Conv2d(2, k, stride, padding), phi, pool(2)), (Dense(3), ops.sigmoid), (Dense(2),)]
    return Net(image, layers, rng=np.random.default_rng(0), **settings)


def overlapping(**settings) -> Net:
    """A convolution with a stride, below overlapping max pooling; two channels and two outputs."""
    layers = [(Conv2d(2, 2, (1, 2), "same"), ops.relu, MaxPool(2, 1)), (Dense(2),)]
    return Net((2, 3, 4), layers, rng=np.random.default_rng(0), **settings)


def fed(net: Net, scale: float = 0.9, at: str = "h") -> list:
    return feedback.draw(net, law="spectral", scale=scale, rng=np.random.default_rng(1), at=at)


def layerwise(net: Net) -> list:
    """Random matrices in place of transposed weights, for a rule with the argument V.

    Equal shapes get equal matrices.
    """
    return feedback.draw_layerwise(net, law="normal", scale=0.7, rng=np.random.default_rng(2))


def media(net: Net) -> list:
    """The media of OPUs in place of feedback matrices, as the arrays for `by_light`."""
    draw = np.random.default_rng(1).standard_normal
    n_L = net.shape_h[net.L][0]
    return [None, *(draw((net.shape_h[l][0], 2 * (n_L + 1))) for l in range(1, net.L)), None]


def by_light(c, M, *, rng):
    """The projection by an ideal OPU.

    M has the real parts of the medium's columns, the imaginary parts, and the anchor.
    """
    re, im = np.split(M, 2, axis=1)
    opu = OPU(re.shape[1] - 1, len(M), rng=np.random.default_rng(0), n_anchor=1)
    opu.medium = re + 1j * im
    return optical(c, opu, rng=rng)


# --- rules: the answer without noise, and the mechanism's statement about it

BY_HAND = {"output_perturbation"}  # rules whose bound needs many records; see tests/rules/test_output_perturbation.py
# Every rule with a mechanism that returns a sensitivity. A rule with an alias has the name of the alias, for example
# `pdfa_label`.
SEARCHED = {
    other: spec(other)
    for name in names()
    if name not in ALIASES and spec(name).returns is Mechanism and name not in BY_HAND
    for other in [next((alias for alias, file in ALIASES.items() if file == name), name)]
}


def taken(rule: RuleSpec, known: dict) -> dict:
    """The known values that are arguments of the rule."""
    return {name: value for name, value in known.items() if name in rule.given or rule.setting(name)}


def run(name: str, net: Net, B: list, x, y, hyper: dict, noise: float, rng) -> tuple[list, list]:
    """The result of one call of a rule, with its internal noise."""
    rule = SEARCHED[name]
    return rule.function(net, x, y, rng=rng, **taken(rule, {**hyper, "B": B, "V": layerwise(net), rule.noise: noise}))


def says(name: str, net: Net, B: list, hyper: dict, noise: float, adjacency: str) -> Mechanism:
    """The mechanism that a rule states, for batches of all records."""
    rule = SEARCHED[name]
    return rule.release(adjacency, {**hyper, "net": net, "B": B, "V": layerwise(net), rule.noise: noise, **WHERE})


def released(name: str, net: Net, B: list, x, y, hyper: dict, noise: float, rng) -> np.ndarray:
    """The release that the guarantee covers, as one vector.

    For most rules, the release is the direction of all layers. For `pdfa_label`, the release is the projected error of
    the only record, to which the rule adds noise. We take this error at the place where it enters the network. For
    `shuffled_sgd` without a record, the release is empty.
    """
    if name == "shuffled_sgd" and len(x) == 0:
        return np.zeros(net.n_parameters)
    if name != "pdfa_label":
        return flat(*run(name, net, B, x, y, hyper, noise, rng))
    seen, pull, net = [], net.pull, net.copy()
    net.pull = lambda l, z, v, at="h": (seen.append(v.ravel().copy()), pull(l, z, v, at))[1]
    _, db = run(name, net, B, x, y, {**hyper, "m": 1, "bias": "one"}, noise, rng)
    return np.concatenate([*seen, db[net.L]])  # the bias of the top layer contains the errors


def coupled(net, l, z, h, y, sigma, draws, calm, antithetic, chunk, rng, seed=0):
    """Internal noise of `dp_ulr_sound` that depends on the record, not on its position, as in the rule's proof."""
    found = []
    for i in range(len(y)):
        z_i, h_i = ([None if v is None else v[i : i + 1] for v in some] for some in (z, h))
        own = np.random.default_rng((seed, l, i))
        found.append(weigh(net, l, z_i, h_i, y[i : i + 1], sigma, draws, calm[i : i + 1], antithetic, chunk, own))
    if not found:
        return weigh(net, l, z, h, y, sigma, draws, calm, antithetic, chunk, rng)
    return tuple(np.concatenate(part) for part in zip(*found, strict=True))
