"""Tests of the kernels of the activations, as Python functions and compiled: compared with NumPy and many digits."""

import mpmath as mp
import numpy as np
import pytest
from scipy.special import expit

from nfa import ops
from tests.kernels.python_source import in_python

kernels = pytest.importorskip("nfa.kernels.activations", reason="numba is not installed: pip install numba")
from nfa.kernels import cores  # noqa: E402

# (reference, kernel), for tests/kernels/test_twins.py. This file compares the reference, the kernel as Python and the
# compiled kernel.
PAIRS = [
    (ops._tanh, kernels.tanh),
    (ops._dtanh, kernels.dtanh),
    (ops._sigmoid, kernels.sigmoid),
    (ops._dsigmoid, kernels.dsigmoid),
    (ops._relu, kernels.relu),
    (ops._positive, kernels.drelu),
]
NAMES = pytest.mark.parametrize("name", [kernel.__name__ for _, kernel in PAIRS])
SMOOTH = ("tanh", "dtanh", "sigmoid", "dsigmoid")
WAYS = pytest.mark.parametrize("door", [in_python(kernels, cores=cores), kernels], ids=["python", "compiled"])
REFERENCE = {kernel.__name__: reference for reference, kernel in PAIRS}
GAMMA_MAX = {f"d{phi.name}": phi.gamma_max for phi in (ops.tanh, ops.sigmoid, ops.relu)}
MANY_DIGITS = {
    "tanh": mp.tanh,
    "dtanh": lambda t: mp.sech(t) ** 2,
    "sigmoid": lambda t: 1 / (1 + mp.exp(-t)),
    "dsigmoid": lambda t: mp.sech(t / 2) ** 2 / 4,
}
FLOAT64 = {  # these float64 references have errors of a few roundings
    "tanh": np.tanh,
    "dtanh": lambda z: 1 / np.cosh(np.minimum(abs(z), 300)) ** 2,
    "sigmoid": expit,
    "dsigmoid": lambda z: 0.25 / np.cosh(np.minimum(abs(z), 600) / 2) ** 2,
}
# The kernels' module documents these error bounds: ERROR is relative, and LEAST is absolute, for tiny values.
ERROR, LEAST = 2.1e-7, 3e-45
ERRORS = {np.float32: (ERROR, LEAST), np.float64: (1e-15, 1e-323)}
BOTH = pytest.mark.parametrize("dtype", [np.float32, np.float64])
CHUNK = 1 << 23


@pytest.fixture(autouse=True)
def silence():
    """Suppress warnings, because a kernel that runs as Python warns of overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        yield


def hard():
    """Difficult values: zeros, the smallest and largest floats, values near powers of two, values of all sizes."""
    edges = [0.5 * np.log(2) * (k + 0.5) for k in range(6)] + [0.625, 9.01, 17.4, 43.5, 43.7, 44.4, 51.9, 52.4, 53]
    edges += [87.0, 87.3, 88.8, 103.2, 103.98, 104.0, 106.0, 110.0, 1e4, 3.4e38]
    tiny = [0.0, 1.4e-45, 2.8e-45, 1e-41, 1.1754942e-38, 1.1754944e-38, 1e-20, 2.0**-24, 2.0**-12, 3e-4]
    size = np.concatenate([tiny, edges, np.geomspace(1e-8, 120, 90)]).astype(np.float32)
    size = np.concatenate([size, np.nextafter(size, np.float32(0)), np.nextafter(size[:-1], np.float32(np.inf))])
    return np.concatenate([size, -size])


def hard_64():
    """Difficult values for float64, and the values of `hard`."""
    edges = [0.5 * np.log(2) * (k + 0.5) for k in range(6)] + [18.4, 36.7, 37.5, 354, 372.6, 708.4, 744.4, 745.2, 747]
    tiny = [5e-324, 1e-320, 2.2250738585072014e-308, 1e-200, 2.0**-53, 2.0**-27]
    size = np.concatenate([tiny, edges, [1e308, np.finfo(float).max], np.geomspace(1e-8, 750, 90)])
    size = np.concatenate([size, np.nextafter(size, 0), np.nextafter(size[:-1], np.inf)])
    return np.concatenate([size, -size, hard().astype(float)])


HARD = {np.float32: hard, np.float64: hard_64}


def bits(a):
    return a.view({4: np.uint32, 8: np.uint64}[a.itemsize])


@WAYS
@BOTH
@pytest.mark.parametrize("name", SMOOTH)
def test_as_exact_as_the_module_says(door, name, dtype):
    """The kernels have the precision that their module documents, compared with 40-digit arithmetic."""
    z, (error, least) = HARD[dtype](), ERRORS[dtype]
    got = getattr(door, name)(z)
    assert got.dtype == dtype
    with mp.workdps(40):
        for t, found in zip(z, got, strict=True):
            want = MANY_DIGITS[name](mp.mpf(float(t)))
            assert abs(mp.mpf(float(found)) - want) <= max(error * abs(want), least), t


@WAYS
@BOTH
@NAMES
def test_numpy_s_to_rounding(door, name, dtype):
    """The kernels agree with NumPy to eight roundings.

    For the derivative of tanh, the tolerance is absolute, because NumPy's 1 - tanh^2 cancels. Where NumPy gives 0, the
    test accepts tiny values. The results of ReLU are bitwise identical.
    """
    z = np.append(HARD[dtype](), np.array([np.inf, -np.inf, np.nan], dtype))
    kept = z.copy()
    got = getattr(door, name)(z)
    assert (got.shape, got.dtype) == (z.shape, dtype)
    assert np.array_equal(bits(z), bits(kept))
    want = REFERENCE[name](z)
    if "relu" in name:
        assert np.array_equal(got, want, equal_nan=True)
    else:
        close, limits = 4 * np.finfo(dtype).eps, np.finfo(dtype)
        np.testing.assert_allclose(got, want, rtol=close, atol=close if name == "dtanh" else float(limits.tiny))


@WAYS
@BOTH
def test_at_the_ends(door, dtype):
    z = np.array([-np.inf, np.inf, np.nan, 0.0, -0.0], dtype)
    assert bits(door.tanh(z)[[0, 1, 3, 4]]).tolist() == bits(np.array([-1, 1, 0.0, -0.0], dtype)).tolist()
    assert door.sigmoid(z)[[0, 1, 3, 4]].tolist() == [0, 1, 0.5, 0.5]
    assert door.dtanh(z)[[0, 1, 3, 4]].tolist() == [0, 0, 1, 1]
    assert door.dsigmoid(z)[[0, 1, 3, 4]].tolist() == [0, 0, 0.25, 0.25]
    assert all(np.isnan(getattr(door, name)(z)[2]) for name in (*SMOOTH, "relu"))
    assert door.drelu(z).tolist() == [0, 1, 0, 0, 0]


def hold_bounds(name, z, got, mirrored):
    """Assert that 0 <= phi' <= gamma_max, |tanh| <= 1 and 0 <= sigmoid <= 1, and that the symmetry of phi is exact."""
    low, high = {"tanh": (-1, 1), "sigmoid": (0, 1)}.get(name, (0, GAMMA_MAX.get(name)))
    assert ((got >= low) & (got <= high)).all()
    if name == "tanh":
        assert np.array_equal(bits(mirrored), bits(-got))
    elif name in ("dtanh", "dsigmoid"):
        assert np.array_equal(bits(mirrored), bits(got))


@WAYS
@BOTH
@pytest.mark.parametrize("name", [*SMOOTH, "drelu"])
def test_bounds_and_symmetry_are_exact(door, name, dtype):
    """Bounds and symmetry hold exactly. We test many points near 0, where the derivative attains its bound."""
    small = {np.float32: (2.0**-13, 2.0**-9), np.float64: (2.0**-28, 2.0**-24)}[dtype]
    z = np.append(HARD[dtype](), np.geomspace(*small, 300).astype(dtype))
    hold_bounds(name, z, getattr(door, name)(z), getattr(door, name)(-z))


def every_float(sign):
    """All float32 values of one sign from 0 to infinity, in several arrays."""
    for first in range(0, 0x7F800001, CHUNK):
        yield sign * np.arange(first, min(first + CHUNK, 0x7F800001), dtype=np.uint32).view(np.float32)


@pytest.mark.nightly
@pytest.mark.parametrize("name", [*SMOOTH, "drelu"])
def test_bounds_and_symmetry_of_every_float(name):
    for z in every_float(1):
        ways = [getattr(kernels, name)(z), getattr(kernels, name)(-z)]
        hold_bounds(name, z, *ways)
        hold_bounds(name, -z, *ways[::-1])
    nan = np.arange(0x7F800001, 0x80000000, 8191, dtype=np.uint32)
    for z in (nan, nan | np.uint32(1 << 31)):
        assert name == "drelu" or np.isnan(getattr(kernels, name)(z.view(np.float32))).all()


@pytest.mark.nightly
@pytest.mark.parametrize(
    "name, sign", [("tanh", 1), ("dtanh", 1), ("sigmoid", 1), ("sigmoid", -1), ("dsigmoid", 1)], ids=str
)
def test_errors_of_every_float(name, sign):
    """The error bounds hold for every float32 value. The oracle uses float64.

    Between neighbouring floats, the computed phi decreases by at most the sum of their error bounds. For the other
    sign, all follows from the symmetry.
    """
    before = None
    for z in every_float(sign):
        got, want = getattr(kernels, name)(z).astype(np.float64), FLOAT64[name](z.astype(np.float64))
        assert (np.abs(got - want) <= np.maximum(ERROR * np.abs(want), LEAST)).all()
        if not name.startswith("d"):
            steps = sign * np.diff(got, prepend=got[0] if before is None else before)
            assert (steps >= -2 * np.maximum(ERROR * np.abs(got), LEAST)).all()
            before = got[-1]


def side_by_side(z):
    """The array z, stored with the examples as the last axis of its memory."""
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(z, 0, -1)), -1, 0)


LAYOUTS = {
    "examples side by side": side_by_side,
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "every second example": lambda z: np.repeat(z, 2, axis=0)[::2],
    "read backwards": lambda z: np.ascontiguousarray(z[..., ::-1])[..., ::-1],
    "two axes swapped": lambda z: np.ascontiguousarray(z.swapaxes(-1, -2)).swapaxes(-1, -2),
    "one example, over and over": lambda z: np.broadcast_to(z[:1], z.shape),
}


@WAYS
@BOTH
@NAMES
@pytest.mark.parametrize("lay", LAYOUTS.values(), ids=list(LAYOUTS))
def test_every_layout_of_memory(door, name, lay, dtype):
    """For every memory layout, the result is bitwise identical to the result for an array that is stored row by row.

    If an array has no gaps in memory, the result has its memory layout.
    """
    for shape in ((7, 3, 5, 2), (1, 4, 1, 3), (0, 2, 3), (3, 0), (9, 11)):
        z = lay(np.random.default_rng(0).normal(size=shape).astype(dtype))
        got = getattr(door, name)(z)
        assert got.shape == z.shape
        assert np.array_equal(bits(got), bits(getattr(door, name)(np.ascontiguousarray(z))))
        if z.strides == np.empty_like(z).strides:
            assert got.strides == z.strides


@pytest.mark.parametrize("door", [kernels], ids=["compiled"])
@BOTH
@NAMES
def test_an_entry_s_bits_do_not_depend_on_its_place_nor_on_the_threads(door, name, dtype, monkeypatch):
    z = np.random.default_rng(1).normal(0, 3, 1037).astype(dtype)
    want = getattr(door, name)(z)
    alone = np.concatenate([getattr(door, name)(z[i : i + 1]) for i in range(len(z))])
    assert np.array_equal(bits(alone), bits(want))
    assert np.array_equal(bits(getattr(door, name)(z[5:])), bits(want[5:]))
    assert getattr(door, name)(z[3].reshape(())).tolist() == want[3]
    monkeypatch.setattr(door, "SHARED", 100)
    try:
        for threads in (1, 2, 3, 7):
            cores.limit(threads)
            assert np.array_equal(bits(getattr(door, name)(z)), bits(want))
    finally:
        cores.limit()


@NAMES
def test_other_numbers_are_refused(name):
    with pytest.raises(ValueError, match="needs a float32 or float64 array, got int64"):
        getattr(kernels, name)(np.zeros((2, 3), np.int64))
