"""Tests of every numba kernel and its NumPy twin (a function in NumPy with the same results)."""

import importlib
import inspect
import pkgutil
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from nfa.network import convolution, im2col
from nfa.network.dense import Conv2d
from tests.kernels.python_source import in_python
from tests.oracles.core import convolve

kernels = pytest.importorskip("nfa.kernels.conv", reason="numba is not installed: pip install numba")
cores = pytest.importorskip("nfa.kernels.cores")
from nfa.kernels import pooling  # noqa: E402

GEOMETRIES = {  # image (c, H, W), channels of z, size of the kernel, zeros (above, below, left, right)
    "3x3": ((2, 5, 6), 3, (3, 3), (0, 0, 0, 0)),
    "uneven zeros": ((3, 4, 9), 6, (3, 2), (1, 2, 0, 1)),
    "1x1": ((1, 3, 4), 1, (1, 1), (0, 0, 0, 0)),
    "kernel as large as the image": ((2, 4, 3), 2, (4, 3), (0, 0, 0, 0)),
    "more zeros than image": ((1, 2, 2), 5, (5, 5), (2, 2, 2, 2)),
    "many channels": ((16, 4, 5), 3, (3, 2), (0, 1, 1, 1)),
    "many channels, wide kernel": ((8, 6, 11), 5, (5, 5), (2, 2, 2, 2)),
    "many channels, more zeros than the kernel has": ((12, 2, 5), 11, (3, 3), (3, 1, 4, 3)),
    "more zeros than the kernel has": ((1, 2, 3), 2, (2, 2), (3, 2, 3, 2)),
}
POOLS = {  # image (c, H, W), window, stride
    "side by side": ((2, 4, 6), (2, 2), (2, 2)),
    "a rest at the edge": ((2, 7, 5), (2, 2), (2, 2)),
    "overlapping": ((1, 5, 6), (3, 2), (1, 1)),
    "gaps": ((2, 7, 8), (2, 3), (3, 4)),
}
EXTREMES = {
    "ordinary": lambda a: a,
    "zeros": np.zeros_like,
    "huge": lambda a: (a * (np.finfo(a.dtype).max / 1e4)).astype(a.dtype),  # sums of a thousand terms are finite
    "tiny": lambda a: (a * np.finfo(a.dtype).tiny).astype(a.dtype),
    "columns in another order in memory": np.asfortranarray,
    "every second record": lambda a: np.repeat(a, 2, axis=0)[::2],
    "read backwards": lambda a: a[..., ::-1],
}


def layers(dtype, m, extreme):
    """(W, b, h, dz, zeros, weight) for every geometry, with h and dz of the given kind."""
    r = np.random.default_rng(0)
    for shape, c_out, k, pad in GEOMETRIES.values():
        rows, columns = im2col.positions(shape[1:], k, (1, 1), pad)
        sizes = (c_out, shape[0], *k), (c_out,), (m, *shape), (m, c_out, rows, columns)
        W, b, h, dz = (r.uniform(-1, 1, size).astype(dtype) for size in sizes)
        weight = r.uniform(0, 1, m).astype(dtype)
        weight[1:2] = 0
        yield W, b, extreme(h), dz, pad, weight


def affines(dtype, m, extreme):
    for W, b, h, _, pad, _ in layers(dtype, m, extreme):
        yield h, W, b, (1, 1), pad


def transposes(dtype, m, extreme):
    for W, _, h, dz, pad, _ in layers(dtype, m, lambda a: a):
        yield extreme(dz), W, h.shape[1:], (1, 1), pad


def outers(dtype, m, extreme):
    for W, _, h, dz, pad, _ in layers(dtype, m, extreme):
        yield h, dz, W.shape[2:], (1, 1), pad


def weighings(dtype, m, extreme):
    for W, _, h, dz, pad, weight in layers(dtype, m, extreme):
        yield h, dz, W.shape[2:], (1, 1), pad, weight


def sums(dtype, m, extreme):
    """Arguments dz, h and weights for `norms2` with ``kept``, and for `add_up` with the result of `norms2`."""
    yield from weighings(dtype, m, extreme)


def positions(dtype, m, extreme):
    for _, _, _, dz, *_ in layers(dtype, m, lambda a: a):
        yield (extreme(dz),)


def pools(dtype, m, extreme):
    """Arguments of pooling functions.

    The entries have few different values, so several entries of a window are its maximum.
    """
    for shape, k, stride in POOLS.values():
        a = np.round(4 * np.random.default_rng(1).uniform(-1, 1, (m, *shape))) / 4
        yield extreme(a.astype(dtype)), k, stride


def unpools(dtype, m, extreme):
    for a, k, stride in pools(dtype, m, extreme):
        shape = im2col.max_pool(a, k, stride).shape
        yield a, np.random.default_rng(2).normal(size=shape).astype(dtype), k, stride


PAIRS = [
    (convolution.affine, kernels.affine, affines),
    (convolution.transpose, kernels.transpose, transposes),
    (convolution.outer, kernels.outer, outers),
    (convolution.norms2, kernels.norms2, outers),
    (convolution.weighed, kernels.weighed, weighings),
    (convolution.add_up, kernels.add_up, sums),
    (convolution.over_positions, kernels.over_positions, positions),
    (im2col.max_pool, pooling.max_pool, pools),
    (im2col.max_unpool, pooling.max_unpool, unpools),
]
EVERY = pytest.mark.parametrize("reference, kernel, inputs", PAIRS, ids=[p[1].__name__ for p in PAIRS])


def every_pair():
    """The pairs (twin, kernel) of this module and of the other files tests/kernels/test_kernels_*.py."""
    others = sorted(path.stem for path in Path(__file__).parent.glob("test_kernels_*.py"))
    return PAIRS + [pair for name in others for pair in importlib.import_module(f"tests.kernels.{name}").PAIRS]


def public_kernels():
    """Every public function defined in a module of nfa.kernels."""
    package = importlib.import_module("nfa.kernels")
    for entry in pkgutil.iter_modules(package.__path__, "nfa.kernels."):
        for name, thing in vars(importlib.import_module(entry.name)).items():
            function = getattr(thing, "py_func", thing)
            if inspect.isfunction(function) and function.__module__ == entry.name and not name.startswith("_"):
                yield thing


def test_every_kernel_has_its_pair():
    """Every kernel has a NumPy twin in a pair.

    Functions that divide work among the cores, or report the limits of a kernel, compute nothing and have no twin.
    Loops, functions and noise inside a kernel have no twin either (see test_kernels_ulr). Products have no twin (see
    test_kernels_rows and test_kernels_dense), and neither have the matrices of test_toom_cook.
    """
    paired = {id(kernel) for _, kernel, *_ in every_pair()}
    parts = {f"nfa.kernels.philox.{name}" for name in ("normals", "pair", "philox", "quarter_sine")}
    modules = ("cores", "dense", "functions", "lanes", "toom_cook")
    modules += ("ulr.fits", "rows.matmul", "conv.affine_by", "conv.outer_by", "conv.transpose_by")
    others = {f"nfa.kernels.{name}" for name in modules} | parts
    found = {id(k) for k in public_kernels() if not {k.__module__, f"{k.__module__}.{k.__name__}"} & others}
    assert found == paired


def test_a_kernel_names_its_twin_and_has_its_signature():
    for reference, kernel, *_ in every_pair():
        assert kernel.__doc__ == f"Twin of `{reference.__module__}.{reference.__name__}`."
        plain = getattr(kernel, "py_func", kernel)
        assert list(inspect.signature(plain).parameters) == list(inspect.signature(reference).parameters)


def arguments_of(reference, inputs):
    """The arguments of a function, made from its inputs.

    If the function changes an array, this array is a new first argument.
    """
    name = reference.__name__
    if name == "affine":
        return lambda f, _, h, W, b, *how: f(W, b, h, *how)
    if name == "transpose":
        return lambda f, _, dz, W, *how: f(W, dz, *how)
    if name in ("outer", "norms2", "weighed"):
        return lambda f, _, h, dz, *how: f(dz, h, *how)
    if name == "add_up":

        def summed(add_up, norms2, h, dz, k, stride, pad, weight):
            kept: list = []
            norms2(dz, h, k, stride, pad, kept)
            return add_up(kept, k, weight) if kept else convolution.weighed(dz, h, k, stride, pad, weight)

        return summed
    return lambda f, _, *how: f(*how)


def bound(reference, inputs, arguments):
    """The largest sum of absolute values in the entries of a result.

    We scale the tolerance with it, because terms may cancel.
    """
    whole = [abs(a) if isinstance(a, np.ndarray) else a for a in arguments]
    with np.errstate(over="ignore"):
        found = arguments_of(reference, inputs)(reference, convolution.norms2, *whole)
    return float(np.abs(found).max(initial=0))


@EVERY
@pytest.mark.parametrize("extreme", EXTREMES.values(), ids=list(EXTREMES))
@pytest.mark.parametrize("m", [0, 1, 3, 19])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_two_ways_agree(reference, kernel, inputs, extreme, m, dtype):
    """A kernel and its twin agree to 16 roundings of the largest sum of absolute values.

    They differ because they add in different orders.
    """
    take = arguments_of(reference, inputs)
    for arguments in inputs(dtype, m, extreme):
        kept = arguments[0].copy()
        with np.errstate(over="ignore", invalid="ignore"):
            want = take(reference, convolution.norms2, *arguments)
            got = take(kernel, kernels.norms2, *arguments)
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        assert want.dtype == dtype
        np.testing.assert_array_equal(arguments[0], kept)
        if np.isfinite(want).all():
            largest = bound(reference, inputs, arguments)
            np.testing.assert_allclose(got, want, rtol=0, atol=16 * np.finfo(dtype).eps * largest)
        else:  # no comparison, because the squares exceed the range of the dtype
            assert np.array_equal(np.isfinite(got), np.isfinite(want))


@EVERY
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_as_python_and_compiled(reference, kernel, inputs, dtype):
    """Kernels as Python and compiled agree to two roundings of the largest sum of absolute values.

    The compiler may fuse and reorder operations.
    """
    plain = in_python(sys.modules[kernel.__module__])
    take = arguments_of(reference, inputs)
    for arguments in inputs(dtype, 2, lambda a: a):
        ways = [
            take(getattr(module, kernel.__name__), getattr(module, "norms2", None), *arguments)
            for module in (plain, sys.modules[kernel.__module__])
        ]
        largest = bound(reference, inputs, arguments)
        np.testing.assert_allclose(*ways, rtol=0, atol=4 * np.finfo(dtype).eps * largest)


@pytest.mark.slow
@EVERY
def test_the_same_numbers_whatever_the_threads(reference, kernel, inputs):
    """The results do not depend on the number of threads.

    The inputs are so large that each of three threads computes a piece, in two blocks.
    """
    r = np.random.default_rng(5)
    k, one, pad = (5, 5), (1, 1), (2, 2, 2, 2)
    h, dz, W = (r.normal(size=size).astype(np.float32) for size in ((130, 8, 20, 20), (130, 6, 20, 20), (6, 8, 5, 5)))
    arguments = {
        affines: (h, W, W[:, 0, 0, 0], one, pad),
        transposes: (dz, W, h.shape[1:], one, pad),
        outers: (h, dz, k, one, pad),
        weighings: (h, dz, k, one, pad, h[:, 0, 0, 0]),
        sums: (h, dz, k, one, pad, h[:, 0, 0, 0]),
        positions: (dz,),
        pools: (h, (2, 2), (2, 2)),
        unpools: (h, h[:, :, :10, :10], (2, 2), (2, 2)),
    }[inputs]
    take = arguments_of(reference, inputs)
    try:
        cores.limit(1)
        alone = take(kernel, kernels.norms2, *arguments)
        largest = bound(reference, inputs, arguments)
        want = take(reference, convolution.norms2, *arguments)
        np.testing.assert_allclose(alone, want, rtol=0, atol=16 * np.finfo(np.float32).eps * largest)
        for threads in (2, 3):
            cores.limit(threads)
            assert np.array_equal(take(kernel, kernels.norms2, *arguments), alone)
    finally:
        cores.limit()


@pytest.mark.parametrize("geometry", GEOMETRIES.values(), ids=list(GEOMETRIES))
@pytest.mark.parametrize("door", [convolution, kernels], ids=["numpy", "numba"])
def test_the_convolution_is_its_definition(door, geometry):
    """The convolution equals its definition.

    We compare the kernel and its twin with the definition, to detect an error that they share.
    """
    shape, c_out, k, pad = geometry
    r = np.random.default_rng(2)
    h, W, b = r.normal(size=(2, *shape)), r.normal(size=(c_out, shape[0], *k)), r.normal(size=c_out)
    want = convolve(W, b, h, (1, 1), pad)
    np.testing.assert_allclose(door.affine(W, b, h, (1, 1), pad), want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("geometry", GEOMETRIES.values(), ids=list(GEOMETRIES))
@pytest.mark.parametrize("door", [convolution, kernels], ids=["numpy", "numba"])
def test_the_adjoints_of_the_convolution(door, geometry):
    """The adjoints of the convolution satisfy <W * h, dz> = <h, transpose(W, dz)> = <W, outer(dz, h)>."""
    shape, c_out, k, pad = geometry
    r = np.random.default_rng(3)
    h, W = r.normal(size=(21, *shape)), r.normal(size=(c_out, shape[0], *k))
    z = door.affine(W, np.zeros(c_out), h, (1, 1), pad)
    dz = r.normal(size=z.shape)
    want, size = np.vdot(z, dz), np.abs(z * dz).sum()
    assert abs(np.vdot(h, door.transpose(W, dz, shape, (1, 1), pad)) - want) <= 1e-13 * size
    assert abs(np.vdot(W, door.outer(dz, h, k, (1, 1), pad)) - want) <= 1e-13 * size


@pytest.mark.parametrize("shape, k, stride, pad", [((3, 7, 9), (3, 2), (2, 3), (1, 2, 0, 1))])
def test_col2im_is_the_adjoint_of_im2col(shape, k, stride, pad):
    r = np.random.default_rng(3)
    x = r.normal(size=(2, *shape))
    U = r.normal(size=im2col.im2col(x, k, stride, pad).shape)
    back = im2col.col2im(U, shape, k, stride, pad)
    assert np.vdot(im2col.im2col(x, k, stride, pad), U) == pytest.approx(np.vdot(x, back), rel=1e-12)


def test_kernels_that_move_by_more_are_refused():
    with pytest.raises(ValueError, match=r"the kernel of a convolution needs stride 1, got stride \(2, 1\)"):
        kernels.affine(np.zeros((1, 1, 1, 1)), np.zeros(1), np.zeros((1, 1, 3, 3)), (2, 1), (0, 0, 0, 0))


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("padding", ["same", "valid", (1, 2)])
def test_a_layer_takes_the_kernels_by_its_door(padding, stride):
    """A layer with the kernels agrees with a layer in NumPy, also for strides that the kernels do not support."""
    assert_layers_agree(kernels, padding, stride)


def assert_layers_agree(ops, padding, stride):
    """Assert that the results of a layer with these operations and with NumPy's operations agree to 1e-12."""
    r = np.random.default_rng(4)
    mine, fast = (
        Conv2d(3, (3, 2), stride=stride, padding=padding, ops=door).bind((2, 7, 6)) for door in (convolution, ops)
    )
    W, b, h = r.normal(size=mine.shape_W), r.normal(size=3), r.normal(size=(4, 2, 7, 6))
    dz, weight = r.normal(size=(4, *mine.out_shape)), np.array([0.5, 0, 1, 0.25])
    for one, other in zip(
        (mine.affine(W, b, h), mine.transpose(W, dz), *mine.outer(dz, h), *mine.norms2(dz, h)),
        (fast.affine(W, b, h), fast.transpose(W, dz), *fast.outer(dz, h), *fast.norms2(dz, h)),
        strict=True,
    ):
        np.testing.assert_allclose(other, one, rtol=1e-12, atol=1e-13)
    for one, other in zip(mine.terms(dz, h).outer(weight), fast.terms(dz, h).outer(weight), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-12, atol=1e-13)


def test_no_kernel_leaves_a_compiled_file():
    """No kernel leaves a compiled file, because numba's cache files would stay after nfa is uninstalled."""
    for entry in pkgutil.iter_modules(importlib.import_module("nfa.kernels").__path__, "nfa.kernels."):
        source = inspect.getsource(importlib.import_module(entry.name))
        assert not re.search(r"cache\s*=\s*True|fastmath\s*=\s*True", source)
