"""Every numba kernel against the NumPy function whose twin it is, three ways: reference, as Python, compiled."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest

from nfa.network import im2col
from nfa.network.dense import Conv2d
from tests.kernels.python_source import in_python
from tests.oracles.core import convolve

kernels = pytest.importorskip("nfa.kernels.conv", reason="numba is not installed: pip install numba")
cores = pytest.importorskip("nfa.kernels.cores")

GEOMETRIES = {  # image (c, H, W), kernel, stride, zeros (above, below, left, right)
    "3x3": ((2, 5, 6), (3, 3), (1, 1), (0, 0, 0, 0)),
    "stride and uneven zeros": ((3, 7, 9), (3, 2), (2, 3), (1, 2, 0, 1)),
    "1x1, skipping pixels": ((1, 5, 4), (1, 1), (3, 2), (0, 0, 0, 0)),
    "kernel as large as the image": ((2, 4, 3), (4, 3), (1, 1), (0, 0, 0, 0)),
    "side by side, a rest at the edge": ((2, 7, 5), (2, 2), (2, 2), (0, 0, 0, 0)),
    "more zeros than image": ((1, 2, 2), (5, 5), (1, 1), (2, 2, 2, 2)),
}
EXTREMES = {
    "ordinary": lambda a: a,
    "zeros": np.zeros_like,
    "huge": lambda a: (a * np.finfo(a.dtype).max / 100).astype(a.dtype),  # sums of 25 of them stay finite
    "tiny": lambda a: (a * np.finfo(a.dtype).tiny).astype(a.dtype),
    "columns in another order in memory": np.asfortranarray,
    "every second record": lambda a: np.repeat(a, 2, axis=0)[::2],
    "read backwards": lambda a: a[..., ::-1],
}


def images(dtype, m, extreme):
    """Arguments for im2col."""
    rng = np.random.default_rng(0)
    for (c, H, W), *geometry in GEOMETRIES.values():
        yield extreme(rng.uniform(-1, 1, (m, c, H, W)).astype(dtype)), *geometry


def columns(dtype, m, extreme):
    """Arguments for col2im."""
    for x, *geometry in images(dtype, m, lambda a: a):
        U = np.random.default_rng(1).uniform(-1, 1, im2col.im2col(x, *geometry).shape).astype(dtype)
        yield extreme(U), x.shape[1:], *geometry


def pooled(dtype, m, extreme):
    """Arguments for max_unpool; few values, so that windows have equal maxima."""
    for x, k, stride, _ in images(dtype, m, lambda a: np.round(4 * a) / 4):
        if all(size >= side for size, side in zip(x.shape[2:], k, strict=True)):
            windows = np.maximum.reduce(list(im2col.windows(x, k, stride)))
            yield extreme(x), np.random.default_rng(2).normal(size=windows.shape).astype(dtype), k, stride


PAIRS = [
    (im2col.im2col, kernels.im2col, images),
    (im2col.lower, kernels.lower, images),
    (im2col.col2im, kernels.col2im, columns),
    (im2col.max_unpool, kernels.max_unpool, pooled),
]
EVERY = pytest.mark.parametrize("reference, kernel, inputs", PAIRS, ids=[p[1].__name__ for p in PAIRS])


def every_pair():
    """The pairs of this module and those that tests/test_kernels_*.py list, which test them three ways themselves."""
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
    """What shares the work among cores, or says what a kernel can run, computes nothing and is no twin.

    Nor are the functions and the noise that a kernel is made of: test_kernels_ulr holds them by themselves.
    """
    paired = {id(kernel) for _, kernel, *_ in every_pair()}
    parts = {f"nfa.kernels.philox.{name}" for name in ("normals", "pair", "philox", "quarter_sine")}
    others = {"nfa.kernels.cores", "nfa.kernels.functions", "nfa.kernels.ulr.fits", *parts}
    found = {id(k) for k in public_kernels() if not {k.__module__, f"{k.__module__}.{k.__name__}"} & others}
    assert found == paired


def test_a_kernel_names_its_twin_and_has_its_signature():
    for reference, kernel, *_ in every_pair():
        assert kernel.__doc__ == f"Twin of `{reference.__module__}.{reference.__name__}`."
        plain = getattr(kernel, "py_func", kernel)
        assert list(inspect.signature(plain).parameters) == list(inspect.signature(reference).parameters)


@EVERY
@pytest.mark.parametrize("extreme", EXTREMES.values(), ids=list(EXTREMES))
@pytest.mark.parametrize("m", [0, 1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_three_ways_agree(reference, kernel, inputs, extreme, m, dtype):
    """To 16 roundings of the largest entry, for the reference sums in another order; Python and compiled to 1e-14, or
    one rounding in float32, for the compiler may fuse operations.
    """
    plain = getattr(in_python(kernels), kernel.__name__)
    for arguments in inputs(dtype, m, extreme):
        kept = arguments[0].copy()
        ways = [f(*arguments) for f in (reference, plain, kernel)]
        assert {(way.shape, way.dtype) for way in ways} == {(ways[0].shape, np.dtype(dtype))}
        assert np.isfinite(ways[0]).all()
        largest = float(np.abs(ways[0]).max(initial=0))
        for way in ways[1:]:
            np.testing.assert_allclose(way, ways[0], rtol=0, atol=16 * np.finfo(dtype).eps * largest)
        np.testing.assert_allclose(ways[2], ways[1], rtol=max(1e-14, np.finfo(dtype).eps), atol=0)
        assert np.array_equal(arguments[0], kept)


@pytest.mark.slow
@EVERY
def test_the_same_numbers_whatever_the_threads(reference, kernel, inputs):
    """Images large enough that each of three threads gets some."""
    rng = np.random.default_rng(5)
    how = {"images": ((5, 5), (1, 1), (2, 2, 2, 2)), "pooled": ((2, 2), (2, 2))}
    x = rng.normal(size=(7, 4, 40, 40)).astype(np.float32)
    arguments = {
        images: (x, *how["images"]),
        columns: (im2col.im2col(x, *how["images"]), x.shape[1:], *how["images"]),
        pooled: (x, rng.normal(size=(7, 4, 20, 20)).astype(np.float32), *how["pooled"]),
    }[inputs]
    try:
        cores.limit(1)
        alone = kernel(*arguments)
        np.testing.assert_allclose(alone, reference(*arguments), rtol=0, atol=1e-5)
        for threads in (2, 3):
            cores.limit(threads)
            assert np.array_equal(kernel(*arguments), alone)
    finally:
        cores.limit()


@pytest.mark.parametrize("geometry", GEOMETRIES.values(), ids=list(GEOMETRIES))
@pytest.mark.parametrize("door", [im2col, kernels], ids=["numpy", "numba"])
def test_columns_times_a_kernel_are_the_convolution(door, geometry):
    """Both against the definition, so that they are not wrong together."""
    shape, k, stride, pad = geometry
    rng = np.random.default_rng(2)
    x, W = rng.normal(size=(2, *shape)), rng.normal(size=(4, shape[0], *k))
    want = convolve(W, np.zeros(4), x, stride, pad)
    got = (W.reshape(4, -1) @ door.im2col(x, k, stride, pad)).reshape(want.shape)
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("geometry", GEOMETRIES.values(), ids=list(GEOMETRIES))
@pytest.mark.parametrize("door", [im2col, kernels], ids=["numpy", "numba"])
def test_col2im_is_the_adjoint_of_im2col(door, geometry):
    shape, *how = geometry
    rng = np.random.default_rng(3)
    x = rng.normal(size=(2, *shape))
    U = rng.normal(size=door.im2col(x, *how).shape)
    back = door.col2im(U, shape, *how)
    assert np.vdot(door.im2col(x, *how), U) == pytest.approx(np.vdot(x, back), rel=1e-12)


@pytest.mark.parametrize("padding", ["same", "valid", (1, 2)])
def test_a_layer_takes_the_kernels_by_its_door(padding):
    rng = np.random.default_rng(4)
    mine, fast = (Conv2d(3, (3, 2), stride=2, padding=padding, ops=door).bind((2, 7, 6)) for door in (im2col, kernels))
    W, b, h = rng.normal(size=mine.shape_W), rng.normal(size=3), rng.normal(size=(4, 2, 7, 6))
    dz = rng.normal(size=(4, *mine.out_shape))
    for one, other in zip(
        (mine.affine(W, b, h), mine.transpose(W, dz), *mine.outer(dz, h), *mine.norms2(dz, h)),
        (fast.affine(W, b, h), fast.transpose(W, dz), *fast.outer(dz, h), *fast.norms2(dz, h)),
        strict=True,
    ):
        np.testing.assert_allclose(other, one, rtol=1e-12, atol=1e-13)


def test_no_kernel_leaves_a_compiled_file():
    """numba's cache outlives an uninstall and then shadows the package."""
    for entry in pkgutil.iter_modules(importlib.import_module("nfa.kernels").__path__, "nfa.kernels."):
        source = inspect.getsource(importlib.import_module(entry.name))
        assert not re.search(r"cache\s*=\s*True|fastmath\s*=\s*True", source)
