"""The cases that judge a direction: BP, FA, DFA, DP-SGD and joint-clip DFA on networks of four kinds.

The expected values are central differences. BP is the derivative of the mean loss. For DFA and FA, let v[l] be the
error signal that reaches h[l]. The direction of layer l is the derivative of the mean of <h[l], v[l]> with respect to
W[l] and b[l] for fixed v[l]. For a private rule, we compute the direction of its base, BP or DFA, for each example
alone, clip it in a loop, and sum. The noise of a private rule is measured.
"""

import math
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import numpy as np

from nfa import feedback
from nfa.course.checking import derivatives
from nfa.course.judging import TaskCase
from nfa.network import AvgPool, Conv2d, Dense, MaxPool, Net, forward, mlp, ops

STEP = 1e-5  # shift of the central differences
DENSE, SKIPS, CONVOLUTIONS, POOLING = "dense networks", "skips", "convolutions", "pooling"
CLIP, NOISE = "clip", "noise"
BASE = {"dp_sgd": "bp", "dp_dfa_joint": "dfa"}  # the rule whose direction a private rule clips
FIXED = {"dfa": "B", "fa": "V"}  # the keyword of the fixed matrices
NO_CLIP = 1e9

HINTS = {
    DENSE: "A row of z[l], h[l] and the error is one example. W[l] has the shape (n_l, n_{l-1}).",
    CLIP: "Multiply the direction of every example, all weights and biases together, by min(1, C / norm). "
    "net.map[l].terms(dz, net.input(l, h)) has the methods norms2() for the squared norms and outer(weights) for the "
    "weighted sum.",
    NOISE: "add_normal(a, sigma, rng) adds noise to the array a in place. Call it once for each dW[l] and "
    "db[l], after the mean.",
    SKIPS: "With a skip, layer l reads net.input(l, h), and the error goes back to each h[j] for j in net.reads(l).",
    CONVOLUTIONS: "z[l] of a convolution is an image. net.pull(l, z, v, at) gives v the shape of z[l] and multiplies "
    "by phi'(z[l]). net.map[l].outer(dz, net.input(l, h)) gives the sums over examples of dz h^T and of dz. "
    "net.map[l].transpose(W, dz) is W^T dz.",
    POOLING: "net.pull(l, z, v, at) carries v from the end of layer l back through the pooling, and multiplies by "
    "phi'(z[l]).",
}


def cases(kind: str) -> Iterator[TaskCase]:
    """The cases of a rule, and probes on a network with layers of one size, on which many wrong versions can run."""
    settings: dict[str, Any]
    for stage, name, make, settings in networks(kind):
        if stage == SKIPS and kind in BASE:
            yield from _noises(kind)
        yield _case(kind, stage, name, make(), settings)
    probe = mlp([4, 4, 4, 4, 4], ops.tanh, rng=np.random.default_rng(5))
    probe.phi[probe.L] = ops.tanh  # for versions that treat the top layer as a hidden layer
    for settings in ({}, {"m": 9}) if kind not in BASE else (_private(), _private(m=9), _private(C=0.5)):
        yield TaskCase("", "probe", partial(_run, kind, probe, settings))


def networks(kind: str) -> Iterator[tuple[str, str, Callable[[], Net], dict[str, Any]]]:
    """The networks as tuples (stage, name, function that makes the network, settings of the rule)."""
    if kind in BASE:
        for stage, name, make, settings in networks(BASE[kind]):
            if stage == SKIPS:
                for C, m in ((0.1, 4), (1.0, 4), (1.0, 9)):
                    yield CLIP, f"C = {C}, m = {m}", partial(_mlp, [5, 4, 3], ops.tanh), _private(C, m)
            yield stage, name, make, _private() | settings
        return
    sizes = [5, 7, 4, 6, 3]
    dense = {name: partial(_mlp, sizes, phi) for name, phi in ops.ACTIVATIONS.items() if name not in ("tanh", "step")}
    yield DENSE, "dense network with tanh", partial(_mlp, sizes, ops.tanh), {}
    yield DENSE, "dense network with m = 9", partial(_mlp, sizes, ops.tanh), {"m": 9}
    for name, make in dense.items():
        yield DENSE, f"dense network with {name}", make, {}
    yield DENSE, "dense network with a squared error", partial(_mlp, sizes, ops.tanh, loss=ops.squared_error), {}
    yield DENSE, "network of one layer", partial(_mlp, [5, 3], ops.tanh), {}
    yield SKIPS, "dense network with skips", partial(_mlp, [4, 4, 4, 4, 3], ops.sigmoid, skip={2: 0, 3: 1, 4: 1}), {}
    yield CONVOLUTIONS, "convolutions with a skip", _convolutions, {}
    for pool in (AvgPool, MaxPool):
        yield POOLING, f"{pool.__name__}", partial(_pooled, pool), {}
        if kind == "dfa":
            yield POOLING, f'{pool.__name__}, at = "z"', partial(_pooled, pool), {"at": "z"}


def _private(C: float = NO_CLIP, m: int = 4, sigma: float = 0.0) -> dict[str, Any]:
    return {"C": C, "m": m, "sigma": sigma}


def clipped(kind: str, net: Net, x: np.ndarray, y: np.ndarray, back: list, m: float, at: str, C: float) -> dict:
    """The direction of a private rule without noise: the clipped directions of its base, summed over examples."""
    total: dict[str, list] = {}
    for i in range(len(x)):
        one = wanted(BASE[kind], net, x[i : i + 1], y[i : i + 1], back, 1, at)
        norm = math.hypot(*(t for arrays in one.values() for a in arrays[1:] for t in a.ravel()))
        for name, arrays in one.items():
            part = [None, *(min(1.0, C / norm) / m * a for a in arrays[1:])]
            old = total.get(name)
            total[name] = part if old is None else [None, *(a + b for a, b in zip(old[1:], part[1:], strict=True))]
    return total


def _noise(kind: str, k: int, settings: dict[str, Any], slot: int, rule: Callable) -> float:
    """The standard deviation of the noise on all weights (slot 0) or biases (slot 1), for k examples."""
    net = _mlp([60, 50, 40, 10], ops.tanh)
    x, y = batch(net, k)
    found = rule(net, x, y, **_fed(kind, net, "h"), **settings, rng=np.random.default_rng(6))[slot]
    return float(np.std(np.concatenate([np.ravel(a) for a in found[1:]])))


def wanted(kind: str, net: Net, x: np.ndarray, y: np.ndarray, back: list, m: float, at: str = "h") -> dict[str, list]:
    """The direction by central differences. ``back`` contains B for "dfa" and V for "fa"."""
    z, h = forward(net, x)
    dW: list = [None] * (net.L + 1)
    db: list = [None] * (net.L + 1)
    v = _come_back(kind, net, z, h, y, back)
    for l in range(net.L, 0, -1):
        for found, kept in ((dW, net.W), (db, net.b)):
            moved = net.copy()
            into = moved.W if kept is net.W else moved.b

            def value(a: np.ndarray, l: int = l, moved: Net = moved, into: list = into) -> float:
                into[l] = a
                if kind == "bp":
                    return float(moved.loss.value(forward(moved, x)[0][net.L], y).sum())
                z_l = moved.map[l].affine(moved.W[l], moved.b[l], moved.input(l, h))
                end = z_l if l == net.L else _end(moved, l, z_l, at)
                return float(np.vdot(end, v[l]))

            found[l] = derivatives(value, kept[l], STEP) / m
    return {"dW": dW, "db": db}


def _end(net: Net, l: int, z_l: np.ndarray, at: str = "h") -> np.ndarray:
    return net.activate(l, z_l) if at == "h" else net.phi[l].phi(z_l)


def _come_back(kind: str, net: Net, z: list, h: list, y: np.ndarray, back: list) -> list:
    """The error signal v[l] that reaches the output of layer l, for every l. For the top layer, it is the error."""
    v: list = [0.0] * net.L + [h[net.L] - y]
    if kind == "dfa":
        for l in range(1, net.L):
            v[l] = np.array([back[l] @ e for e in v[net.L]])
    elif kind == "fa":
        for l in range(net.L, 1, -1):
            v_l = v[l]

            def ends(a: np.ndarray, l: int = l, v_l: np.ndarray = v_l) -> float:
                return float(np.vdot(_end(net, l, a), v_l))

            dz = v_l if l == net.L else derivatives(ends, z[l], STEP)
            zero = np.zeros(len(net.b[l]))

            def carried(a: np.ndarray, l: int = l, dz: np.ndarray = dz, zero: np.ndarray = zero) -> float:
                return float(np.vdot(net.map[l].affine(back[l], zero, a), dz))

            came = derivatives(carried, net.input(l, h), STEP)
            for j in net.reads(l):
                v[j] = v[j] + came
    return v


def _noises(kind: str) -> Iterator[TaskCase]:
    """The cases of the noise, on 5,400 weights and 100 biases. Correct noise fails with probability below 1e-8."""
    for k, m, sigma in ((4, 4, 0.5), (4, 20, 3.0), (0, 4, 0.5)):
        for slot, what, rtol in ((0, "weights", 0.1), (1, "biases", 0.45)):
            run = partial(_noise, kind, k, _private(1e-3, m, sigma), slot)
            what = f"the standard deviation of the noise on the {what}"
            yield TaskCase(NOISE, f"{k} examples, m = {m}, sigma = {sigma}", run, np.array(sigma), what, rtol)


def _case(kind: str, stage: str, name: str, net: Net, settings: dict[str, Any]) -> TaskCase:
    return TaskCase(stage, name, partial(_run, kind, net, settings), _wanted(kind, name))


@cache
def _wanted(kind: str, name: str) -> dict[str, list]:
    (net, settings), *_ = [(make(), s) for _, n, make, s in networks(kind) if n == name]
    x, y = batch(net)
    at = settings.get("at", "h")
    if kind in BASE:
        return clipped(kind, net, x, y, feed(BASE[kind], net, at), settings["m"], at, settings["C"])
    return wanted(kind, net, x, y, feed(kind, net, at), settings.get("m", len(x)), at)


def _run(kind: str, net: Net, settings: dict[str, Any], rule: Callable) -> Any:
    x, y = batch(net)
    rng = {"rng": np.random.default_rng(6)} if kind in BASE else {}
    return rule(net.copy(), x, y, **_fed(kind, net, settings.get("at", "h")), **settings, **rng)


def _fed(kind: str, net: Net, at: str) -> dict[str, list]:
    base = BASE.get(kind, kind)
    return {FIXED[base]: feed(base, net, at)} if base in FIXED else {}


def feed(kind: str, net: Net, at: str = "h") -> list:
    """The fixed matrices of a network. For a probe, every slot has a matrix, because some slips use other slots."""
    rng = np.random.default_rng(11)
    if kind == "bp":
        return []
    if net.phi[net.L] is not None:  # the probe
        return [rng.normal(size=(4, 4)) for _ in range(net.L + 1)]
    if kind == "fa":
        return feedback.draw_layerwise(net, law="normal", scale=1.0, rng=rng)
    return feedback.draw(net, law="normal", scale=1.0, rng=rng, at=at)


def batch(net: Net, k: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """k examples with random classes."""
    rng = np.random.default_rng(3)
    classes = net.shape_z[net.L][0]
    return rng.normal(size=(k, *net.shape_h[0])), np.eye(classes)[rng.integers(0, classes, k)]


def _mlp(sizes: list[int], phi: Any, **settings: Any) -> Net:
    return mlp(sizes, phi, rng=np.random.default_rng(0), **settings)


def _convolutions() -> Net:
    layers = [
        (Conv2d(3, 3, stride=2, padding="same"), ops.tanh),
        (Conv2d(3, 3, padding="same"), ops.sigmoid),
        (Conv2d(2, (2, 1)), ops.tanh),
        (Dense(3),),
    ]
    return Net((2, 5, 6), layers, skip={3: 1}, rng=np.random.default_rng(0))


def _pooled(pool: Any) -> Net:
    layers = [(Conv2d(3, (3, 2), padding=1), ops.tanh, pool(3, 2)), (Dense(4), ops.sigmoid), (Dense(3),)]
    return Net((2, 5, 5), layers, rng=np.random.default_rng(0))
