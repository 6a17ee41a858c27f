"""Tests of the kernels of the clips, compared with NumPy, and of the guarantees that tests/test_clip.py checks."""

import math

import numpy as np
import pytest

from nfa import clip
from tests.kernels.python_source import in_python
from tests.test_clip import ROUNDINGS, exact_norms, hard_rows

kernels = pytest.importorskip("nfa.kernels.clip", reason="numba is not installed: pip install numba")
from nfa.kernels import cores  # noqa: E402

# (reference, kernel), for tests/kernels/test_twins.py. This file compares the reference, the kernel as Python and the
# compiled kernel.
PAIRS = [
    (clip.clip_l2, kernels.clip_l2),
    (clip.clip_offset, kernels.clip_offset),
]
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
BOUNDS = [1e-30, 1e-6, 0.1, 1.0, 7.5, 1e6, 1e30, math.inf]
PYTHON = in_python(kernels, cores=cores)
WAYS = pytest.mark.parametrize("door", [PYTHON, kernels], ids=["python", "compiled"])
EVERY_WAY = pytest.mark.parametrize(
    "door, dtype",
    [
        pytest.param(PYTHON, np.float32, id="python-float32"),
        pytest.param(PYTHON, np.float64, id="python-float64"),
        pytest.param(kernels, np.float32, id="compiled-float32"),
        pytest.param(kernels, np.float64, id="compiled-float64", marks=pytest.mark.slow),
    ],
)


@pytest.fixture(autouse=True)
def silence():
    """Suppress warnings, because a kernel that runs as Python warns of squares that overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        yield


def side_by_side(v):
    """The array v, stored with the examples as the last axis of its memory."""
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(v, 0, -1)), -1, 0)


LAYOUTS = {
    "rows": np.ascontiguousarray,
    "examples side by side": side_by_side,
    "every second example": lambda v: np.repeat(v, 2, axis=0)[::2],
    "read backwards": lambda v: np.ascontiguousarray(v[..., ::-1])[..., ::-1],
    "the last two axes swapped": lambda v: np.ascontiguousarray(v.swapaxes(-1, -2)).swapaxes(-1, -2),
    "one example, over and over": lambda v: np.broadcast_to(v[:1], v.shape),
}
EVERY_LAYOUT = pytest.mark.parametrize("lay", LAYOUTS.values(), ids=list(LAYOUTS))


def not_finite(dtype):
    """Rows with NaN, infinities, or a norm beyond the range of the dtype, and two finite rows."""
    largest = np.finfo(dtype).max
    return np.array(
        [
            [np.nan, 1, 2, 3],
            [0.1, 0, 0, 0.2],
            [np.inf, 1, -1, 0],
            [-np.inf, np.inf, 0, 0],
            [np.nan, np.inf, 0, 0],
            [largest, largest, largest, largest],
            [3, 4, 0, 0],
        ],
        dtype,
    )


def ordinary(dtype, *shape):
    return np.random.default_rng(0).normal(size=shape).astype(dtype)


def batches(dtype):
    """Batches with m = 1, m = 0, no entries, difficult rows, rows that are not finite, and images."""
    yield ordinary(dtype, 1, 3, 2)
    yield ordinary(dtype, 0, 4, 3)
    yield ordinary(dtype, 3, 2, 0)
    yield ordinary(dtype, 4)
    yield hard_rows(dtype)
    yield not_finite(dtype)
    yield ordinary(dtype, 5, 2, 3, 4)
    yield ordinary(dtype, 3, 4, 5, 7) * 10.0 ** np.arange(-2, 1).astype(dtype)[:, None, None, None]


@EVERY_WAY
@EVERY_LAYOUT
def test_clips_of_rows_agree(door, dtype, lay):
    """Clips of rows agree with NumPy to 4 roundings for short rows, and to more roundings for long rows.

    These are the roundings of the norm, of the weight and of the product. The kernel adds the squares of a norm in
    another order. If NumPy leaves a row unchanged or sets a row to 0, the results are bitwise identical.
    """
    for given in batches(dtype):
        v = lay(given) if given.ndim > 2 or lay in (LAYOUTS["rows"], LAYOUTS["every second example"]) else given
        kept = v.copy()
        for c in BOUNDS:
            told, shares = [], []
            want, got = clip.clip_l2(v, c, told), door.clip_l2(v, c, shares)
            assert (got.shape, got.dtype) == (v.shape, dtype)
            assert shares == told
            np.testing.assert_allclose(
                got, want, rtol=4 * np.finfo(dtype).eps * max(1, math.log2(1 + v[:1].size)), atol=0
            )
            for i in range(len(v)):
                if np.array_equal(want[i], v[i]) or not want[i].any():
                    assert np.array_equal(got[i], want[i])
            assert np.array_equal(v, kept, equal_nan=True)


@EVERY_WAY
def test_row_norms_are_at_most_the_bound(door, dtype):
    """Row norms are at most the bound, and rows within the bound are bitwise unchanged.

    A row that is not finite adds nothing and changes no other row.
    """
    for lay in (np.ascontiguousarray, side_by_side):
        for rows in (hard_rows(dtype), not_finite(dtype)):
            v = lay(rows)
            exact = exact_norms(v)
            for c in BOUNDS:
                got = door.clip_l2(v, c)
                assert np.isfinite(got).all()
                assert (exact_norms(got) <= c * (1 + ROUNDINGS * np.finfo(dtype).eps)).all()
                inside = np.isfinite(exact.astype(dtype)) & (exact <= c)
                assert np.array_equal(got[inside], v[inside])
                assert not got[~np.isfinite(exact.astype(dtype))].any()
        assert door.clip_l2(lay(hard_rows(dtype)), 1e-30)[5].tolist() == [0] * 4 or dtype is np.float64


@EVERY_WAY
def test_rows_whose_squares_leave_the_range_are_clipped(door, dtype):
    """Rows with squares beyond the range of the dtype are clipped correctly. Each row is tested alone.

    The row (3, -4, 12) has norm 13, and (0.3, 0.4, 0) has norm 0.5. If the kernel did not rescale, the first row would
    stay unchanged or become 0.
    """
    for scale in {np.float32: (1e-30, 1e-22, 1e37), np.float64: (1e-200, 1e-161, 1e300)}[dtype]:
        v = np.array([[3, -4, 12], [0.3, 0.4, 0]], dtype) * dtype(scale)
        for lay in (np.ascontiguousarray, side_by_side):
            got = door.clip_l2(lay(v), scale)
            np.testing.assert_allclose(got[0], v[0] / 13, rtol=ROUNDINGS * np.finfo(dtype).eps)
            assert np.array_equal(got[1], v[1])


@WAYS
def test_a_weight_too_small_for_full_precision_is_0(door):
    """A weight too small for full precision becomes 0. If it were rounded up, the norm could exceed c.

    In this test, the weight is 1e-38 / 3.
    """
    v = np.array([[3e30, 0.0], [0.0, 1e-9]], np.float32)
    for lay in (np.ascontiguousarray, side_by_side):
        assert door.clip_l2(lay(v), 1e-8).tolist() == [[0, 0], v[1].tolist()]
        assert door.clip_l2(lay(v), 1e-7)[0, 0] == pytest.approx(1e-7, rel=1e-6)


@pytest.mark.slow
@DTYPES
def test_the_same_numbers_whatever_the_batch_and_the_threads(dtype, monkeypatch):
    v = ordinary(dtype, 37, 3, 5, 9)
    try:
        for lay in (np.ascontiguousarray, side_by_side):
            cores.limit(1)
            want = kernels.clip_l2(lay(v), 2.0), kernels.clip_offset(lay(v), 0.1, 0.4, "signed")
            for i in range(37):
                assert np.array_equal(kernels.clip_l2(lay(v[i : i + 1]), 2.0)[0], want[0][i])
            monkeypatch.setattr(kernels, "SHARED", 500)
            for threads in (2, 3, 7):
                cores.limit(threads)
                shares = []
                assert np.array_equal(kernels.clip_l2(lay(v), 2.0, shares), want[0])
                assert np.array_equal(kernels.clip_offset(lay(v), 0.1, 0.4, "signed"), want[1])
                clip.clip_l2(v, 2.0, told := [])
                assert shares == told
            monkeypatch.undo()
    finally:
        cores.limit()


@EVERY_WAY
@EVERY_LAYOUT
def test_offset_clips_are_equal(door, dtype, lay):
    """Offset clips are bitwise identical, also for NaN and infinities, except for the sign of 0."""
    for given in batches(dtype):
        v = lay(given) if given.ndim > 2 or lay in (LAYOUTS["rows"], LAYOUTS["every second example"]) else given
        for floor in clip.FLOORS:
            for nu, c in ((0.0, 1.0), (0.1, 0.4), (0.5, 0.25), (1e-3, math.inf)):
                got, want = door.clip_offset(v, nu, c, floor), clip.clip_offset(v, nu, c, floor)
                assert (got.shape, got.dtype) == (v.shape, dtype)
                assert np.array_equal(got, want, equal_nan=True)
    assert np.array_equal(door.clip_offset(v, 0.1, 0.4), clip.clip_offset(v, 0.1, 0.4))


@WAYS
def test_memory_with_the_examples_side_by_side_is_kept_so(door):
    """If the examples are the last axis of an array's memory, the result has this layout too."""
    v = side_by_side(ordinary(np.float32, 6, 2, 3, 4))
    for got in (door.clip_l2(v, 1.0), door.clip_offset(v, 0.1, 0.4)):
        assert got.strides == v.strides
    assert np.shares_memory(kernels._in_memory(v)[0], v)
    assert np.shares_memory(kernels._in_memory(np.ascontiguousarray(v))[0], v) is False


@pytest.mark.parametrize("door", [clip, kernels], ids=["numpy", "numba"])
def test_bad_calls_get_a_sentence(door):
    v = np.ones((2, 3), np.float32)
    for bad in (0.0, -1.0, math.nan):
        for call in (lambda: door.clip_l2(v, bad), lambda: door.clip_offset(v, 0.1, bad)):  # noqa: B023
            with pytest.raises(ValueError, match=f"the clipping bound c must be positive, got {bad}"):
                call()
    with pytest.raises(
        ValueError, match=r"the clipping bound c must be at least 9\.86e-32 for float32 arrays, got 1e-45"
    ):
        door.clip_l2(v, 1e-45)
    for bad in (-0.5, math.nan):
        with pytest.raises(ValueError, match=f"the offset nu must not be negative, got {bad}"):
            door.clip_offset(v, bad, 1.0)
    with pytest.raises(ValueError, match="floor must be one of literal, signed, got 'none'"):
        door.clip_offset(v, 0.1, 1.0, "none")
