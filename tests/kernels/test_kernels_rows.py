"""Tests of products with independent rows: a row is bitwise identical at any position and next to any other rows."""

import sys

import numpy as np
import pytest

from nfa.kernels import conv, cores, rows
from nfa.network import convolution, im2col
from tests.kernels import test_twins as twins
from tests.kernels.python_source import in_python

PAIRS = [
    (convolution.affine, rows.affine, twins.affines),
    (convolution.transpose, rows.transpose, twins.transposes),
    (convolution.outer, rows.outer, twins.outers),
    (convolution.norms2, rows.norms2, twins.outers),
    (convolution.weighed, rows.weighed, twins.weighings),
    (convolution.add_up, rows.add_up, twins.sums),
    (convolution.over_positions, rows.over_positions, twins.positions),
]
EVERY = pytest.mark.parametrize("reference, kernel, inputs", PAIRS, ids=[p[1].__name__ for p in PAIRS])
BOTH = pytest.mark.parametrize("dtype", [np.float32, np.float64])

LAYOUTS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "rows with gaps": lambda a: np.concatenate([a, np.full_like(a, np.nan)], axis=1)[:, : a.shape[1]],
    "columns with gaps": lambda a: np.concatenate([a.T, np.full_like(a.T, np.nan)], axis=1)[:, : a.shape[0]].T,
    "every second row": lambda a: np.repeat(a, 2, axis=0)[::2],
    "read backwards": lambda a: np.ascontiguousarray(a[:, ::-1])[:, ::-1],
}
# (m, k) times (k, n): sizes 0 and 1, and sizes near the numbers of terms, columns and rows that the kernel computes
# together
SIZES = [(1, 1, 1), (0, 4, 3), (3, 0, 2), (4, 3, 0), (1, 8, 16), (5, 9, 17), (31, 8, 1), (2, 23, 600), (130, 40, 257)]


@pytest.fixture(autouse=True)
def all_threads():
    yield
    cores.limit()


def in_order(a, b):
    """Oracle of a product: it adds the terms in order, and rounds each product and each sum.

    The oracle computes each entry in NumPy.
    """
    total = np.zeros((len(a), b.shape[1]), np.result_type(a, b))
    for k in range(a.shape[1]):
        total = total + a[:, k, None] * b[k]
    return total


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=list(LAYOUTS))
@BOTH
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_product_is_the_sum_in_order_bit_for_bit(size, dtype, layout):
    (m, k, n), rng = size, np.random.default_rng(0)
    a, b = rng.normal(size=(m, k)).astype(dtype), rng.normal(size=(k, n)).astype(dtype)
    want = in_order(a, b)
    found = rows.matmul(layout(a), layout(b))
    assert found.dtype == dtype
    assert np.array_equal(found, want)
    out = np.full((n, m), np.nan, dtype).T
    assert rows.matmul(a, layout(b), out=out) is out
    assert np.array_equal(out, want)


@BOTH
def test_stacks_of_matrices(dtype):
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(3, 1, 4, 9)).astype(dtype), rng.normal(size=(3, 2, 20, 9)).astype(dtype).swapaxes(2, 3)
    found = rows.matmul(a, b)
    assert found.shape == (3, 2, 4, 20)
    assert all(np.array_equal(found[i, j], in_order(a[i, 0], b[i, j])) for i in range(3) for j in range(2))


def test_a_complex_matrix_is_two_products():
    """The product of float64 errors and a complex medium is computed as two real products.

    So an infinite real part does not affect the imaginary part of the result, and vice versa.
    """
    rng = np.random.default_rng(2)
    e, R = rng.normal(size=(7, 5)), rng.normal(size=(5, 6)) + 1j * rng.normal(size=(5, 6))
    found = rows.matmul(e, R)
    assert found.dtype == np.complex128
    assert np.array_equal(found.real, in_order(e, R.real))
    assert np.array_equal(found.imag, in_order(e, R.imag))


@pytest.mark.slow
@BOTH
def test_the_sum_in_order_of_many_shapes(dtype):
    rng = np.random.default_rng(3)
    for _ in range(200):
        m, k, n = np.exp(rng.uniform(0, np.log(700), 3)).astype(int)
        a, b = rng.normal(size=(m, k)).astype(dtype), rng.normal(size=(n, k)).astype(dtype).T
        assert np.array_equal(rows.matmul(a, b), in_order(a, b)), (m, k, n)


@BOTH
def test_as_python_it_has_the_same_bits(dtype):
    plain, rng = in_python(rows), np.random.default_rng(4)
    a, b = rng.normal(size=(3, 19)).astype(dtype), rng.normal(size=(19, 18)).astype(dtype)
    for b_ in (b, np.asfortranarray(b)):
        assert np.array_equal(plain.matmul(a, b_), rows.matmul(a, b_))


def test_the_bits_do_not_depend_on_the_threads():
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(300, 100)).astype(np.float32), rng.normal(size=(100, 131)).astype(np.float32)
    cores.limit(1)
    alone = rows.matmul(a, b)
    for threads in (2, 3, 5):
        cores.limit(threads)
        assert np.array_equal(rows.matmul(a, b), alone)


def test_what_is_no_number_stays_in_its_row():
    rng = np.random.default_rng(6)
    a, b = rng.normal(size=(70, 40)), rng.normal(size=(40, 31))
    whole = rows.matmul(a, b)
    a[7, 3] = np.nan
    found = rows.matmul(a, b)
    assert np.isnan(found[7]).all()
    assert np.array_equal(np.delete(found, 7, axis=0), np.delete(whole, 7, axis=0))


# --- convolutions


@EVERY
@pytest.mark.parametrize("extreme", ["ordinary", "zeros", "columns in another order in memory", "read backwards"])
@pytest.mark.parametrize("m", [0, 1, 19])
@BOTH
def test_the_two_ways_agree(reference, kernel, inputs, extreme, m, dtype):
    """NumPy and the kernel agree to 16 roundings of the largest sum of absolute values, as in test_twins."""
    take = twins.arguments_of(reference, inputs)
    for arguments in inputs(dtype, m, twins.EXTREMES[extreme]):
        want, got = (take(f, g, *arguments) for f, g in ((reference, convolution.norms2), (kernel, rows.norms2)))
        assert (got.shape, got.dtype) == (want.shape, want.dtype)
        largest = twins.bound(reference, inputs, arguments)
        np.testing.assert_allclose(got, want, rtol=0, atol=16 * np.finfo(dtype).eps * largest)


@EVERY
@BOTH
def test_as_python_and_compiled(reference, kernel, inputs, dtype):
    """The kernels as Python and compiled are bitwise identical.

    A library computes their sums over examples, and Python and compiled kernels call the library with the same
    arguments.
    """
    plain, take = in_python(sys.modules[kernel.__module__]), twins.arguments_of(reference, inputs)
    for arguments in list(inputs(dtype, 2, lambda a: a))[:3]:
        ways = [take(getattr(m, kernel.__name__), getattr(m, "norms2", None), *arguments) for m in (plain, rows)]
        assert np.array_equal(*ways)


@pytest.mark.parametrize("stride", [(2, 1), (1, 3), (2, 2)])
@pytest.mark.parametrize("padding", ["same", "valid", (1, 2)])
def test_kernels_that_move_by_more(padding, stride):
    """The kernels support only stride 1.

    For strides above 1, the layer computes the result from several calls of the kernels.
    """
    twins.assert_layers_agree(rows, padding, stride)


@pytest.mark.parametrize("geometry", twins.GEOMETRIES.values(), ids=list(twins.GEOMETRIES))
@BOTH
def test_an_example_has_the_same_bits_in_any_batch(geometry, dtype):
    """Results for an example are bitwise identical in any batch: alone, with a few, with 140 in two blocks.

    We compare passes, sums over positions, norms and the stored terms.
    """
    shape, c_out, k, pad = geometry
    r = np.random.default_rng(7)
    W, b, h = (r.normal(size=size).astype(dtype) for size in ((c_out, shape[0], *k), c_out, (140, *shape)))
    out = im2col.positions(shape[1:], k, (1, 1), pad)
    dz = r.normal(size=(140, c_out, *out)).astype(dtype)
    # the memory layout that dz has after a pass
    laid = conv.lanes.examples_first(np.ascontiguousarray(dz.transpose(1, 2, 3, 0)))

    def values(i):
        kept = []
        norms = rows.norms2(laid[i], h[i], k, (1, 1), pad, kept)
        terms = np.concatenate([terms for _, terms in kept])
        back = rows.transpose(W, laid[i], shape, (1, 1), pad)
        return rows.affine(W, b, h[i], (1, 1), pad), back, norms, terms, rows.over_positions(laid[i])

    whole = values(slice(None))
    for i in (slice(3, 4), slice(138, 140), [139, 17, 3]):
        assert all(np.array_equal(one, every[i]) for one, every in zip(values(i), whole, strict=True))
