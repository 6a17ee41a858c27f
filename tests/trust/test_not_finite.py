"""Tests with records whose pass leaves the range of floats: a result changes by at most the stated sensitivity.

Such a pass has NaN, infinity or squares that vanish. The tests include every rule of nfa.rules with a mechanism that
states a sensitivity, so a rule that you add is tested without a change of this file. The only oracle is the stated
sensitivity.
"""

import numpy as np
import pytest

from nfa import feedback, ops
from nfa.audit.private_game import flat
from nfa.audit.worst_neighbours import Silent, no_noise
from nfa.mechanism import ADJACENCIES, Mechanism, NoGuarantee
from nfa.network import Net, conv2d, mlp
from nfa.network.dense import Conv2d, Dense
from nfa.network.pooling import AvgPool, MaxPool
from nfa.rules.spec import ALIASES, names, spec
from tests.oracles.rule_settings import values
from tests.trust.mechanism_rules import WHERE, coupled, layerwise, released, taken

rng = np.random.default_rng
SETTINGS = {
    "C": 0.3, "m": 3, "sigma": 0.5, "sigma_0": 1.0, "s": 1.0, "K": 2, "L": 0.3, "tau": 0.2, "tau_e": 0.2, "tau_h": 0.9,
    "tau_B": 0.5, "tau_h_max": 0.8, "lam": 0.5,
}  # fmt: skip
ROUNDING = {np.float32: 1e-5, np.float64: 1e-12}  # allowed relative excess over the stated sensitivity
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


PRIVATE = {name: spec(name) for name in names() if name not in ALIASES and spec(name).returns is Mechanism}
SOFTMAX_ALONE = {"output_perturbation"}  # rules that state no sensitivity for another loss
BY_KERNELS = " by kernels"  # suffix of a rule that gets the clips' kernels
CARRYING = {f"dp_dfa_joint carrying {what}": {"carries": what} for what in ("ternary", "label")}
CLIPPED = [name for name, rule in PRIVATE.items() if "clip_l2" in rule.given]
RULES = pytest.mark.parametrize(
    "name", [*PRIVATE, *CARRYING, *(pytest.param(name + BY_KERNELS, marks=pytest.mark.slow) for name in CLIPPED)]
)


def test_the_walk_finds_the_rules():
    assert {"dp_sgd", "dp_dfa", "dp_hybrid", "dp_ulr_sound", "pdfa", "pdfa_isotropic", "shuffled_sgd"} <= set(PRIVATE)
    assert {"dp_dfa", "dp_hybrid", "pdfa", "pdfa_isotropic"} <= set(CLIPPED)


# --- networks


def conv(c_out, pool=None, image=(2, 5, 5), k=3):
    below = (Conv2d(c_out, k), ops.relu, pool) if pool else (Conv2d(c_out, k), ops.relu)
    return lambda **how: Net(image, [below, (Dense(3), ops.sigmoid), (Dense(2),)], **how)


def wide(k, **how):
    """A network with a convolution of few positions and many channels, so it computes norms from Gram matrices."""
    return Net((4, 4, 4), [(Conv2d(12, k), ops.identity), (Dense(2),)], **how)


NETS = {
    "one linear layer": lambda **how: mlp([3, 2], ops.relu, **how),
    "tanh": lambda **how: mlp([3, 4, 2], ops.tanh, **how),
    "relu": lambda **how: mlp([3, 4, 2], ops.relu, **how),
    "gelu, skip": lambda **how: mlp([3, 3, 3, 2], ops.gelu, skip={3: 1}, **how),
    "convolution": conv(2),
    "convolution, max pooling": conv(2, MaxPool(3)),
    "convolution, average pooling": conv(2, AvgPool(3)),
    "convolution of many channels": lambda **how: wide(3, **how),
}
FORMED_TWICE = "convolution of many channels", "convolution"
FEW = "relu", "gelu, skip", "convolution, max pooling"
SOME_NETS = pytest.mark.parametrize(
    "kind", [*FEW, *(pytest.param(kind, marks=pytest.mark.slow) for kind in NETS if kind not in FEW)]
)


def made(kind, dtype, loss=ops.squared_error):
    """A network of this kind with its feedback and two batches of two ordinary records."""
    net = NETS[kind](loss=loss, rng=rng(0), dtype=dtype)
    B = feedback.draw(net, law="spectral", scale=4.0, rng=rng(1))
    x = rng(2).standard_normal((2, *net.shape_h[0])).astype(dtype)
    return net, B, x, np.eye(2, dtype=dtype)[[0, 1]]


# --- the sum that a rule releases


def known(name, net, B):
    own = values(PRIVATE[name], SETTINGS, bound=0.3, positive=0.5, noise=0.5, count=2)
    return {**own, "net": net, "B": B, "V": layerwise(net), "add_normal": no_noise}


def also(name):
    """Additional arguments of a rule, kernels or a signal, as the suffix of its name in these tests requires."""
    if not name.endswith(BY_KERNELS):
        return CARRYING.get(name, {})
    kernels = pytest.importorskip("nfa.kernels.clip", reason="numba is not installed: pip install numba")
    return {"clip_l2": kernels.clip_l2, "clip_offset": kernels.clip_offset}


def bare(name):
    """The rule's name without the suffix."""
    return "dp_dfa_joint" if name in CARRYING else name.removesuffix(BY_KERNELS)


def summed(name, net, B, x, y):
    """The sum of directions without noise, or the vector that gets the noise instead of this sum; 0 for no record."""
    more, name = also(name), bare(name)
    rule = PRIVATE[name]
    own = known(name, net, B) | more | ({"weigh": coupled} if "weigh" in rule.given else {})
    del own["net"]
    if name in SOFTMAX_ALONE:  # for large weights, the difference of two directions would have large rounding errors
        net = net.copy()
        net.W[1][:], net.b[1][:] = 0, 0
    with np.errstate(all="ignore"):
        if name == "pdfa":
            return released("pdfa_label", net, B, x, y, taken(rule, own), 0.5, Silent(np.random.PCG64(0)))
        if len(x) == 0 and name == "shuffled_sgd":
            return np.zeros(net.n_parameters)
        return flat(*rule.function(net, x, y, rng=Silent(np.random.PCG64(0)), **taken(rule, own))).astype(float)


def stated(name, net, B, adjacency):
    name = bare(name)
    return PRIVATE[name].release(adjacency, known(name, net, B) | WHERE).sensitivity


def judge(name, net, B, x, y, *, told=""):
    """Add, replace, relabel and zero out the last record of (x, y), and test the changes of the sum."""
    tolerance = 1 + ROUNDING[x.dtype.type]
    ordinary = rng(3).standard_normal((1, *net.shape_h[0])).astype(x.dtype)
    one = name == "shuffled_sgd"  # a batch has one record
    others = (x[:0], y[:0]) if one else (x[:-1], y[:-1])
    worlds = {
        "add-remove": (x[-1:], y[-1:], x[:0], y[:0]),
        "replace-one": (*(np.concatenate(p) for p in ((others[0], x[-1:]), (others[1], y[-1:]))),
                        *(np.concatenate(p) for p in ((others[0], ordinary), (others[1], y[:1])))),
        "replace-label": (x[-1:], np.eye(2, dtype=x.dtype)[:1], x[-1:], np.eye(2, dtype=x.dtype)[1:]),
        "zero-out": (*(np.concatenate(p) for p in ((others[0], x[-1:]), (others[1], y[-1:]))),
                     *(np.concatenate(p) for p in ((others[0], np.full_like(ordinary, np.nan)), (others[1], y[:1])))),
    }  # fmt: skip
    assert set(worlds) == set(ADJACENCIES)
    asked = 0
    for adjacency, (x0, y0, x1, y1) in worlds.items():
        try:
            bound = stated(name, net, B, adjacency)
        except NoGuarantee:
            continue
        here, there = summed(name, net, B, x0, y0), summed(name, net, B, x1, y1)
        assert np.isfinite([here, there]).all(), (name, adjacency, told)
        moved = np.linalg.norm(here - there)
        assert moved <= bound * tolerance, (name, adjacency, moved / bound, told)
        asked += 1
    return asked


# --- records for which squares or products overflow or underflow


def overflowing(dtype):
    """A number with a square that overflows the dtype, and a number near the largest of the dtype."""
    return (dtype(1e25), dtype(3e38)) if dtype is np.float32 else (dtype(1e200), dtype(1e308))


@RULES
@DTYPES
def test_squares_of_dz_overflow_where_h_is_zero(name, dtype):
    """Squares of dz overflow where h is 0.

    The product inf times 0 is NaN, and a comparison of NaN with a bound is false.
    """
    net, B, x, y = made("one linear layer", dtype)
    for huge in overflowing(dtype):
        x[1], y[1] = 0, huge
        assert judge(name, net, B, x, y) or name in SOFTMAX_ALONE


@RULES
@DTYPES
@SOME_NETS
def test_h_is_infinite_where_dz_is_zero(name, kind, dtype):
    """The weights above the first layer are 0, so dz of layer 1 is 0. The inputs h of layer 1 are not finite."""
    net, B, x, y = made(kind, dtype)
    for l in range(2, net.L + 1):
        net.W[l][:] = 0
    for bad in (np.inf, -np.inf, np.nan, overflowing(dtype)[1]):
        x[1] = bad
        judge(name, net, B, x, y)


@RULES
@DTYPES
@SOME_NETS
def test_activations_give_nan(name, kind, dtype):
    """Products of weights and inputs overflow, so activations are NaN: infinity minus infinity, GELU of -infinity."""
    net, B, x, y = made(kind, dtype)
    for l in range(1, net.L + 1):
        net.W[l] *= overflowing(dtype)[0]
    for size in overflowing(dtype):
        for sign in (1, -1):
            x[1] = sign * size
            judge(name, net, B, x, y)
            x[1].flat[0] *= -1
            judge(name, net, B, x, y)


@RULES
@DTYPES
def test_squares_of_dz_vanish_where_h_is_huge(name, dtype, monkeypatch):
    """||dz|| ||h|| is far above the bound, but the square of dz is 0 in the dtype."""
    net, B, x, y = made("one linear layer", dtype)
    tiny, large = (1e-23, 1e19) if dtype is np.float32 else (1e-163, 1e154)
    net.W[1][:], net.b[1][:] = 0, 0
    for bound in ("C", "L", "tau"):
        monkeypatch.setitem(SETTINGS, bound, 1e-10)
    for small in (tiny, 3 * tiny, 30 * tiny):
        x[1], y[1] = large, -small
        judge(name, net, B, x, y)


@RULES
@DTYPES
@pytest.mark.parametrize("kept", [True, False])
def test_positions_of_a_convolution_cancel(name, dtype, kept, monkeypatch):
    """The terms a, b and -(a + b) of three positions cancel, but not if each term has another factor.

    The layer above gives these values in its backward pass. The input of this upper layer is 0, so the gradient of the
    upper layer is an ordinary gradient, which the rule clips.
    """
    if not kept:
        monkeypatch.setattr(conv2d, "_TERMS_AT_ONCE", 0)
    layers = [(Conv2d(1, 1), ops.identity), (Dense(2),)]
    net = Net((1, 1, 3), layers, loss=ops.squared_error, rng=rng(0), dtype=dtype)
    a, b = (dtype(1e20 * v) for v in (1.1, 0.7))
    net.W[1][:], net.b[1][:], net.b[2][:] = 0, 0, 0
    net.W[2][:] = [[a, b, -(a + b)], [0, 0, 0]]
    B = feedback.draw(net, law="spectral", scale=4.0, rng=rng(1))
    judge(name, net, B, np.ones((2, 1, 1, 3), dtype), np.array([[0, 1], [1, 0]], dtype))


# --- records with any values


def wild(shape, dtype, generator):
    """Normal samples with magnitudes from the whole range of the dtype. Some values are 0, infinite or NaN."""
    low, high = np.log10([np.finfo(dtype).tiny, np.finfo(dtype).max])
    with np.errstate(all="ignore"):
        v = (10.0 ** generator.uniform(low, high) * generator.standard_normal(shape)).astype(dtype)
    if generator.random() < 0.3:
        v[generator.random(shape) < 0.5] = 0
    if generator.random() < 0.2:
        v.flat[generator.integers(v.size)] = generator.choice([np.inf, -np.inf, np.nan])
    return v


def draw(kind, dtype, seed):
    generator = rng((seed, 7))
    loss = [ops.squared_error, ops.softmax_cross_entropy][seed % 2]
    net, B, x, y = made(kind, dtype, loss)
    for l in range(1, net.L + 1):
        for arrays in (net.W, net.b):
            if generator.random() < 0.7:
                arrays[l] = np.nan_to_num(wild(arrays[l].shape, dtype, generator), posinf=1, neginf=0)
    x[1] = wild(x[1].shape, dtype, generator)
    if loss is ops.squared_error and generator.random() < 0.7:
        y[1] = wild(y[1].shape, dtype, generator)
    if generator.random() < 0.3:
        scale = dtype(10.0 ** generator.uniform(-15, 15))
        B = [M if M is None else scale * M for M in B]
    return net, B, x, y


@RULES
@DTYPES
def test_no_record_of_any_size_moves_more_than_is_stated(name, dtype, monkeypatch):
    for kind in NETS:
        for seed in range(2):
            judge(name, *draw(kind, dtype, seed), told=f"{kind}, seed {seed}")
    monkeypatch.setattr(conv2d, "_TERMS_AT_ONCE", 0)
    for kind in FORMED_TWICE:
        for seed in range(2):
            judge(name, *draw(kind, dtype, seed), told=f"{kind} formed twice, seed {seed}")


@pytest.mark.slow
@RULES
@DTYPES
@pytest.mark.parametrize("kind", list(NETS))
@pytest.mark.parametrize("seeds", [range(25), pytest.param(range(25, 100), marks=pytest.mark.nightly)], ids=str)
def test_many_records_of_any_size(name, dtype, kind, seeds, monkeypatch):
    for at_once in (conv2d._TERMS_AT_ONCE, 0)[: 2 if kind in FORMED_TWICE else 1]:
        monkeypatch.setattr(conv2d, "_TERMS_AT_ONCE", at_once)
        for seed in seeds:
            judge(name, *draw(kind, dtype, seed), told=f"{kind}, seed {seed}, terms at once {at_once}")
