"""Tests that the optimizers' kernels round each value like NumPy, for any memory layout and number of threads."""

import numpy as np
import pytest

from nfa import noise, ops, optim, sampling
from nfa.network import mlp
from nfa.rules.bp import bp
from nfa.train import train
from tests.kernels.python_source import in_python

kernels = pytest.importorskip("nfa.kernels.optim", reason="numba is not installed: pip install numba")
from nfa.kernels import cores  # noqa: E402

# (reference, kernel), for tests/kernels/test_twins.py. This file compares the reference, the kernel as Python and the
# compiled kernel.
PAIRS = [
    (optim.sgd_update, kernels.sgd_update),
    (optim.adam_update, kernels.adam_update),
]
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
DOORS = pytest.mark.parametrize("door", [in_python(kernels, cores=cores), kernels], ids=["python", "compiled"])
LAYOUTS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "every second row": lambda a: np.repeat(a, 2, axis=0)[::2],
}
EXTREMES = [1.0, 0.0, 1e-40, 1e30, np.inf, np.nan]


def arrays(dtype, shape, scale):
    """Arrays p, dp, m and v; v is not negative."""
    rng = np.random.default_rng(0)
    made = [rng.normal(size=shape) for _ in range(4)]
    made[1] = made[1] * scale
    made[3] = np.abs(made[3])
    with np.errstate(over="ignore"):
        return [a.astype(dtype) for a in made]


def updates(door):
    """The updates of all optimizers, as functions of p, dp, m and v."""
    adam = (0.01, (0.9, 0.999), (0.1, 0.001), 1e-8)
    return (
        lambda p, dp, m, v: door.sgd_update(p, dp, None, 0.1, 0.0),
        lambda p, dp, m, v: door.sgd_update(p, dp, m, 0.1, 0.9),
        lambda p, dp, m, v: door.adam_update(p, dp, m, v, *adam),
    )


@DOORS
@DTYPES
@pytest.mark.parametrize("lay", LAYOUTS.values(), ids=list(LAYOUTS))
def test_the_three_ways_are_equal(door, dtype, lay):
    """NumPy, the kernel as Python and the compiled kernel are bitwise identical: each rounds every sum and product.

    The update does not change the direction.
    """
    for shape in ((), (0,), (1,), (7,), (3, 5), (2, 3, 2, 2)):
        for scale in EXTREMES:
            for ours, theirs in zip(updates(door), updates(optim), strict=True):
                with np.errstate(all="ignore"):
                    want, got = ([lay(a) if a.ndim > 1 else a for a in arrays(dtype, shape, scale)] for _ in range(2))
                    theirs(*want)
                    ours(*got)
                for a, b in zip(got, want, strict=True):
                    assert np.array_equal(a, b, equal_nan=True)


@pytest.mark.slow
@DTYPES
def test_the_same_numbers_whatever_the_threads(dtype, monkeypatch):
    monkeypatch.setattr(kernels, "SHARED", 100)
    try:
        for ours, theirs in zip(updates(kernels), updates(optim), strict=True):
            want = arrays(dtype, (1001,), 1.0)
            theirs(*want)
            for threads in (1, 2, 3, 7):
                cores.limit(threads)
                got = arrays(dtype, (1001,), 1.0)
                ours(*got)
                assert all(np.array_equal(a, b) for a, b in zip(got, want, strict=True))
    finally:
        cores.limit()


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda **door: optim.SGD(0.1, **{k: v.sgd_update for k, v in door.items()}),
        lambda **door: optim.SGD(lambda t: 0.1 / t, 0.9, **{k: v.sgd_update for k, v in door.items()}),
        lambda **door: optim.Adam(**{k: v.adam_update for k, v in door.items()}),
    ],
    ids=["sgd", "momentum", "adam"],
)
def test_a_training_is_the_same(make):
    """A training gives the same parameters and memory after ten steps, and a checkpoint can store the memory."""
    ends = []
    for door in ({}, {"update": kernels}):
        streams = noise.Streams(0)
        net = mlp([5, 4, 3], ops.tanh, rng=streams("init"), dtype=np.float32)
        x, y = (
            np.random.default_rng(1).normal(size=(6, 5)).astype(np.float32),
            np.eye(3, dtype=np.float32)[[0, 1, 2] * 2],
        )
        optimizer = make(**door)
        steps = train(net, bp, sampling.Full(x, y), optimizer, streams)
        for _ in range(10):
            next(steps)
        memory = [a for kept in optimizer.state.values() for a in kept]
        ends.append([a.copy() for a in (*net.W[1:], *net.b[1:], *memory)])
    assert all(np.array_equal(a, b) for a, b in zip(*ends, strict=True))
