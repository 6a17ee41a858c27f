"""Tests of properties of the convolution kernels that private rules need: independent examples, right norms.

The computed norm of an example must be the norm of the term that the sum adds for this example.
"""

import math

import numpy as np
import pytest

from nfa import feedback, network, ops
from nfa.network import conv2d
from nfa.rules.bp import bp
from nfa.rules.dp_dfa import dp_dfa
from nfa.rules.dp_dfa_joint import dp_dfa_joint
from nfa.rules.dp_hybrid import dp_hybrid
from nfa.rules.dp_hybrid_joint import dp_hybrid_joint
from nfa.rules.dp_sgd import dp_sgd
from nfa.rules.dp_ulr_sound import dp_ulr_sound

kernels = pytest.importorskip("nfa.kernels.conv", reason="numba is not installed: pip install numba")

rng = np.random.default_rng
# only the slow tests use float64, because each dtype needs its own compilation; tests/kernels/test_twins.py tests all
DTYPES = pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.float64, marks=pytest.mark.slow)])

# For 2 channels, the kernel copies every patch. For 11 channels, it computes rows with fewer products.
CHANNELS = pytest.mark.parametrize("c", [2, 11])


def case(m, c, dtype, seed=0):
    """A convolution with the kernels, and W, b, h and dz, for images of c channels."""
    r = rng(seed)
    map_ = network.Conv2d(12, 3, padding="same", ops=kernels).bind((c, 4, 9))
    sizes = map_.shape_W, (12,), (m, c, 4, 9), (m, 12, 4, 9)
    return map_, *(r.normal(size=size).astype(dtype) for size in sizes)


@DTYPES
@CHANNELS
@pytest.mark.parametrize("bad", [math.nan, math.inf, 3e38])
def test_what_is_no_number_stays_in_its_example(c, dtype, bad):
    """If an example contains NaN or infinity, all other examples are bitwise unchanged.

    The kernel computes each lane of a vector only from its own example.
    """
    map_, W, b, h, dz = case(40, c, dtype)

    def rows(h, dz):
        a = map_.affine(W, b, h)
        pooled = kernels.max_pool(h, (2, 2), (2, 2))
        found = [a, map_.transpose(W, dz), *map_.norms2(dz, h), pooled, kernels.max_unpool(h, pooled, (2, 2), (2, 2))]
        kept: list = []
        map_.norms2(dz, h, kept)
        return [*found, np.concatenate([terms.reshape(-1, W.size) for _, terms in kept])]

    want = rows(h, dz)
    h[7], dz[9] = bad, bad
    with np.errstate(all="ignore"):
        got = rows(h, dz)
    others = np.delete(np.arange(40), [7, 9])
    for one, other in zip(want, got, strict=True):
        np.testing.assert_array_equal(other[others], one[others])


@DTYPES
@CHANNELS
@pytest.mark.parametrize("keep", [True, False], ids=["kept", "formed twice"])
def test_a_weight_of_0_leaves_a_term_out_whatever_it_holds(c, dtype, keep, monkeypatch):
    monkeypatch.setattr(conv2d, "_TERMS_AT_ONCE", 1 << 25 if keep else 0)
    map_, _, _, h, dz = case(40, c, dtype)
    weight = rng(1).uniform(size=40).astype(dtype)
    weight[[7, 9, 12]] = 0
    found = []
    for bad in (0.0, math.nan, math.inf):
        h[7], dz[9], h[12], dz[12] = bad, bad, bad, bad
        terms = map_.terms(dz, h)
        with np.errstate(all="ignore"):
            terms.norms2()
        found.append(terms.outer(weight))
    for dW, db in found[1:]:
        np.testing.assert_array_equal(dW, found[0][0])
        np.testing.assert_array_equal(db, found[0][1])
    assert found[0][0].any()


@DTYPES
@CHANNELS
def test_a_term_does_not_depend_on_the_batch(c, dtype):
    """An example's norm is bitwise identical in batches of 1, 33, 70 and 140 examples, and in reversed order."""
    map_, _, _, h, dz = case(140, c, dtype)
    want = map_.norms2(dz, h)[0]
    for some in (slice(5, 6), slice(3, 36), slice(0, 70), slice(None, None, -1)):
        np.testing.assert_array_equal(map_.norms2(dz[some], h[some])[0], want[some])


@DTYPES
@CHANNELS
@pytest.mark.parametrize("keep", [True, False], ids=["kept", "formed twice"])
def test_positions_that_cancel_are_clipped_by_what_is_added(c, dtype, keep, monkeypatch):
    """If the terms of the positions cancel, the norm for the clip is the norm of their computed sum, with its rounding.

    dz is orthogonal to the patches of all positions, so the sum consists only of rounding errors.
    """
    monkeypatch.setattr(conv2d, "_TERMS_AT_ONCE", 1 << 25 if keep else 0)
    r, found = rng(0), []
    map_ = network.Conv2d(6, (3, 2), ops=kernels).bind((c, 6, 7))
    for _ in range(40):
        h, dz = np.zeros((1, c, 6, 7)), np.zeros((1, *map_.out_shape))
        h[0, r.integers(2)] = r.normal(size=(6, 7)) * 2.0**30
        _, s, v = np.linalg.svd(map_.patches(h)[0].T)
        unseen = v[np.sum(s > 1e-12 * s[0]) :]
        dz[0, r.integers(6)] = (r.normal(size=len(unseen)) @ unseen).reshape(map_.out_shape[1:])
        terms = map_.terms(dz.astype(dtype), h.astype(dtype))
        norm, (dW, _) = math.sqrt(terms.norms2()[0][0]), terms.outer(np.ones(1))
        assert norm > 0
        assert norm < 1e-4 * np.linalg.norm(h) * np.linalg.norm(dz)
        found.append(float(np.linalg.norm(dW.astype(float))) / norm)
    np.testing.assert_allclose(found, 1, rtol=4 * np.finfo(dtype).eps)


def cnn(ops_, dtype, phi=ops.tanh, padding="same"):
    """Two small convolutions with pooling and two dense layers."""
    fast = {"ops": ops_} if ops_ else {}
    conv = [(network.Conv2d(n, 3, padding=padding, **fast), phi, network.MaxPool(2, **fast)) for n in (3, 6)]
    return network.Net((1, 11, 10), [*conv, (network.Dense(7), phi), (network.Dense(4),)], rng=rng(0), dtype=dtype)


RULES = {
    "bp": (bp, {}),
    "dp_sgd": (dp_sgd, {"C": 0.1, "m": 20, "sigma": 0.0}),
    "dp_dfa": (dp_dfa, {"m": 20, "sigma": 0.0, "tau_e": 0.1, "tau_h": 1.0}),
    "dp_dfa_joint": (dp_dfa_joint, {"m": 20, "sigma": 0.0, "C": 0.1}),
    "dp_hybrid_joint": (dp_hybrid_joint, {"m": 20, "sigma": 0.0, "C": 0.1}),
    "dp_hybrid": (dp_hybrid, {"m": 20, "sigma": 0.0, "tau": 0.01, "tau_e": 0.1, "tau_h": 1.0}),
}


FED = "dp_dfa", "dp_dfa_joint", "dp_hybrid", "dp_hybrid_joint"


@DTYPES
@pytest.mark.parametrize("padding", ["same", "valid"])
@pytest.mark.parametrize("name", RULES)
def test_rules_are_the_same_by_either_door(name, dtype, padding):
    rule, settings = RULES[name]
    r = rng(1)
    x, y = r.normal(size=(21, 1, 11, 10)).astype(dtype), np.eye(4, dtype=dtype)[r.integers(0, 4, 21)]
    found = []
    for door in (None, kernels):
        net = cnn(door, dtype, padding=padding)
        if name in FED:
            settings = settings | {"B": feedback.draw(net, law="spectral", scale=1.0, rng=rng(2))}
        dW, db = rule(net, x, y, rng=rng(3), **settings)
        found.append([*dW[1:], *db[1:]])
    for one, other in zip(*found, strict=True):
        largest = np.abs(one).max()
        np.testing.assert_allclose(other, one, rtol=0, atol=200 * np.finfo(dtype).eps * largest)


@pytest.mark.parametrize("rule", [dp_sgd, dp_ulr_sound, dp_hybrid, dp_dfa_joint, dp_hybrid_joint])
def test_no_record_moves_a_clipped_sum_further_than_it_may(rule):
    """No record changes a clipped sum by more than the bound, for ordinary, huge and non-finite records in float32.

    Each batch has one record, and there is no noise.
    """
    net = cnn(kernels, np.float32, phi=ops.relu)
    r, C = rng(4), 0.01
    y = np.eye(4, dtype=np.float32)[:1]
    settings = {
        dp_sgd: {"C": C, "m": 1, "sigma": 0.0},
        dp_ulr_sound: {"C": C, "m": 1, "sigma": 0.1, "sigma_0": 0.0, "K": 2},
        dp_hybrid: {"m": 1, "sigma": 0.0, "tau": C, "tau_e": 0.1, "tau_h": 1.0},
        dp_dfa_joint: {"C": C, "m": 1, "sigma": 0.0},
        dp_hybrid_joint: {"C": C, "m": 1, "sigma": 0.0},
    }[rule]
    if rule.__name__ in FED:
        settings["B"] = feedback.draw(net, law="spectral", scale=1.0, rng=rng(2))
    for size in (1.0, 1e6, 1e12, 1e18, 1e30, math.inf):
        x = (r.normal(size=(1, 1, 11, 10)) * size).astype(np.float32)
        with np.errstate(all="ignore"):
            dW, db = rule(net, x, y, rng=rng(3), **settings)
        if rule is dp_hybrid:  # each gradient of the convolutions is clipped separately
            found = max(np.linalg.norm(g.astype(float)) for g in (*dW[1:3], *db[1:3]))
        else:
            found = np.linalg.norm(np.concatenate([g.astype(float).ravel() for g in (*dW[1:], *db[1:])]))
        assert found <= C * (1 + 1e-5)


@DTYPES
@pytest.mark.parametrize("door", [None, kernels], ids=["numpy", "numba"])
@pytest.mark.parametrize(
    "phi", [ops.tanh, ops.sigmoid, ops.relu, ops.step, ops.identity, ops.gelu], ids=lambda p: p.name
)
def test_pooling_before_what_never_decreases(phi, door, dtype):
    """For an increasing activation phi, phi of the pooled z equals the pooled phi(z), to two roundings.

    The computed phi is increasing only up to rounding. For ReLU, step and identity, which do not round, the results are
    bitwise identical.
    """
    net = cnn(door, dtype, phi=phi)
    r = rng(5)
    z = [None, *(r.normal(size=(6, *shape)).astype(dtype) for shape in net.shape_z[1:])]
    z[1][:, :, 2:6] = np.round(z[1][:, :, 2:6])  # rounded, so that some windows have equal maxima
    z[1][:, :, 6:] -= 4  # negative, so that ReLU has derivative 0 in some windows
    h, pool = net.activate(1, z[1]), net.pool[1]
    want = pool.forward(phi.phi(z[1]))
    v = r.normal(size=h.shape).astype(dtype)
    back = pool.backward(phi.phi(z[1]), v) * phi.dphi(z[1])
    if phi in (ops.relu, ops.step, ops.identity):
        np.testing.assert_array_equal(h, want)
        np.testing.assert_array_equal(net.pull(1, z, v), back)
    else:
        np.testing.assert_allclose(h, want, rtol=2 * np.finfo(dtype).eps)
        np.testing.assert_allclose(net.pull(1, z, v), back, rtol=1e-5 if dtype == np.float32 else 1e-12)
