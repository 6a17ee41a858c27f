"""Tests of first weights that are aligned with the feedback. Matrix products of the weights must be multiples of B."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from nfa import feedback
from nfa.experiments.prepare import prepare
from nfa.feedback import OPU, Camera, Unstored, align_weights, optical, project_unstored
from nfa.network import ARCHITECTURES, Conv2d, Dense, MaxPool, Net, mlp, ops
from nfa.rules.bp import bp
from nfa.rules.dfa import dfa
from tests.experiments.tiny_runs import tiny_settings, write_data

SIZES = [(7, 5, 3), (6, 9, 8, 4), (5, 11, 6, 10, 3), (4, 3, 2, 5)]


def drawn(sizes, dtype=np.float64, phi=ops.tanh, seed=0):
    net = mlp(sizes, phi, init="he-normal", rng=np.random.default_rng(seed), dtype=dtype)
    return net, feedback.draw(net, law="normal", scale=0.7, rng=np.random.default_rng(seed + 1))


def ratios(net, B):
    """The transposed product of W[L] to W[l+1] as a multiple of B[l], for each l: (relative error, factor)."""
    found = []
    for l in range(1, net.L):
        back = np.eye(net.W[net.L].shape[0])
        for k in range(net.L, l, -1):
            back = net.W[k].T.astype(float) @ back
        scale = np.sum(back * B[l]) / np.sum(B[l] ** 2)
        found.append((np.abs(back - scale * B[l]).max() / np.abs(back).max(), scale))
    return found


@pytest.mark.verifies("ours:aligned-weights")
@pytest.mark.parametrize("sizes", SIZES[:3])
def test_transported_errors_are_parallel_to_those_of_the_feedback(sizes):
    net, B = drawn(sizes)
    assert max(apart for apart, _ in ratios(net, B)) > 0.5
    align_weights(net, B, rng=np.random.default_rng(9))
    assert all(apart < 1e-12 and scale > 0 for apart, scale in ratios(net, B))


@pytest.mark.verifies("ours:aligned-weights")
@pytest.mark.parametrize("sizes", SIZES)
def test_what_stays(sizes):
    """Alignment changes neither W[1] nor the norm of W[L].

    For each W between them, split W into its part in the range of B[l] and the rest. Alignment changes neither the rest
    nor the norm of the part.
    """
    net, B = drawn(sizes)
    before = net.copy()
    kept = [None if b is None else b.copy() for b in B]
    align_weights(net, B, rng=np.random.default_rng(9))
    assert np.array_equal(net.W[1], before.W[1])
    assert all(np.array_equal(net.b[l], before.b[l]) for l in range(1, net.L + 1))
    assert all(np.array_equal(B[l], kept[l]) for l in range(1, net.L))
    assert np.linalg.norm(net.W[net.L]) == pytest.approx(np.linalg.norm(before.W[net.L]), rel=1e-12)
    for l in range(2, net.L):
        outside = np.eye(len(B[l])) - B[l] @ np.linalg.pinv(B[l])
        np.testing.assert_allclose(outside @ net.W[l], outside @ before.W[l], atol=1e-12)
        if len(B[l]) >= net.shape_z[net.L][0]:
            assert np.linalg.norm(net.W[l].T @ B[l]) == pytest.approx(np.linalg.norm(before.W[l].T @ B[l]), rel=1e-11)


@pytest.mark.verifies("ours:aligned-weights")
@pytest.mark.parametrize("sizes", SIZES[:3])
def test_dfa_on_a_linear_network_begins_as_backpropagation(sizes):
    """On a linear network, DFA begins like backpropagation: each direction is a positive multiple of the gradient."""
    net, B = drawn(sizes, phi=ops.identity)
    align_weights(net, B, rng=np.random.default_rng(9))
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(6, sizes[0])), np.eye(sizes[-1])[rng.integers(sizes[-1], size=6)]
    (dW, db), (gW, gb) = dfa(net, x, y, B=B, rng=rng), bp(net, x, y, rng=rng)
    for l in range(1, net.L + 1):
        mine, theirs = np.append(dW[l], db[l]), np.append(gW[l], gb[l])
        assert mine @ theirs == pytest.approx(np.linalg.norm(mine) * np.linalg.norm(theirs), rel=1e-12)


@pytest.mark.verifies("ours:aligned-weights")
@pytest.mark.parametrize(
    "kind, project, apart",
    [
        (OPU, optical, 1e-5),
        (partial(OPU, camera=Camera(photons=1e6)), optical, 0.02),
        (Unstored, project_unstored, 1e-5),
    ],
    ids=["ideal", "shot noise", "unstored"],
)
def test_devices_are_asked_by_unit_errors(kind, project, apart):
    """Alignment measures a device by projections of unit errors.

    With a million photons, the noise of an intensity is 0.1 %. The tolerance 0.02 is at least ten standard deviations
    of this noise. The probability that one of 200 entries exceeds it is below 1e-20.
    """
    net, _ = drawn((6, 30, 20, 4))
    devices = feedback.draw_devices(kind, net, scale=0.5, rng=np.random.default_rng(2))
    align_weights(net, devices, project=project, rng=np.random.default_rng(9))
    B = [None, *(project(np.eye(4), one, rng=np.random.default_rng(8)).T for one in devices[1:-1]), None]
    assert all(found < apart for found, _ in ratios(net, B))


@pytest.mark.verifies("ours:aligned-weights")
def test_above_convolutions_and_not_below_them():
    """Weights of dense layers above convolutions are aligned with the feedback. Convolutions are not aligned.

    B[2] feeds the pooled convolution, and all layers above it are dense. The convolution's own kernels are unchanged.
    """
    net = Net(
        (1, 6, 6),
        [(Conv2d(2, 3), ops.tanh), (Conv2d(3, 3), ops.tanh, MaxPool(2)), (Dense(5), ops.tanh), (Dense(4),)],
        rng=np.random.default_rng(0),
    )
    B = feedback.draw(net, law="normal", scale=1.0, rng=np.random.default_rng(1))
    before = net.copy()
    align_weights(net, B, rng=np.random.default_rng(9))
    assert all(np.array_equal(net.W[l], before.W[l]) for l in (1, 2))
    assert [apart < 1e-12 for apart, _ in ratios_of_dense(net, B)] == [True, True]


def ratios_of_dense(net, B):
    top = net.W[4].T
    for l, back in ((3, top), (2, net.W[3].T @ top)):
        scale = np.sum(back * B[l]) / np.sum(B[l] ** 2)
        yield np.abs(back - scale * B[l]).max() / np.abs(back).max(), scale


def test_what_is_refused():
    net, B = drawn(SIZES[1])
    with pytest.raises(ValueError, match="no feedback for layer 2"):
        align_weights(net, [None, B[1], None, None], rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="the network has no hidden layer"):
        align_weights(mlp((3, 2), ops.tanh, rng=np.random.default_rng(0)), [None, None], rng=np.random.default_rng(0))
    skipping = ARCHITECTURES["dpulr2024-resnet5"](rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="network without skips"):
        align_weights(skipping, [None] * (skipping.L + 1), rng=np.random.default_rng(0))


@pytest.mark.parametrize("opu", [None, {"photons": 100.0, "bits": 8, "saturation": 85.0}], ids=["matrices", "opu"])
def test_a_run_begins_with_them(opu, tmp_path):
    own = {"C": 1.0, "sigma": 0.1, "carries": "ternary"}
    settings = tiny_settings(write_data(tmp_path / "tiny.npz"), rule="dp_dfa_joint", rule_settings=own, opu=opu)
    plain, turned = (prepare(replace(settings, first_weights=given)) for given in (None, "aligned"))
    assert np.array_equal(plain.net.W[1], turned.net.W[1])
    shown = [None, *(np.asarray(getattr(one, "B", one)) for one in turned.rule.keywords["B"][1:-1]), None]
    apart = 1e-4 if opu is None else 0.5
    assert all(
        found < apart < before
        for (found, _), (before, _) in zip(ratios(turned.net, shown), ratios(plain.net, shown), strict=True)
    )
    assert settings.to_json() == {
        k: v for k, v in replace(settings, first_weights="aligned").to_json().items() if k != "first_weights"
    }


def test_a_run_that_cannot_have_them_says_why(tmp_path):
    data = write_data(tmp_path / "tiny.npz")
    with pytest.raises(ValueError, match="rule bp has no feedback B"):
        prepare(tiny_settings(data, rule="bp", first_weights="aligned"))
    with pytest.raises(ValueError, match="needs at='h', got at='z'"):
        prepare(tiny_settings(data, rule="dfa", at="z", first_weights="aligned"))
    with pytest.raises(ValueError, match="first_weights must be"):
        prepare(tiny_settings(data, first_weights="turned"))
