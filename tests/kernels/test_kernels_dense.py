"""Products in pieces: numpy.matmul's to rounding, and the same numbers whatever the number of threads."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from nfa.kernels import cores
from nfa.kernels.dense import matmul

PAIRS: list = []  # nothing is compiled here

LAYOUTS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "every second row": lambda a: np.repeat(a, 2, axis=0)[::2],
    "read backwards": lambda a: np.ascontiguousarray(a[:, ::-1])[:, ::-1],
}
# (m, k) times (k, n); the last two have several pieces, of rows and of columns
SIZES = [(1, 5, 3), (0, 4, 3), (3, 0, 2), (4, 3, 0), (31, 8, 1), (700, 400, 131), (130, 401, 700)]


@pytest.fixture
def one_library_thread():
    with threadpool_limits(1):
        yield
    cores.limit()


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=list(LAYOUTS))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [*SIZES[:-2], *(pytest.param(s, marks=pytest.mark.slow) for s in SIZES[-2:])], ids=str)
def test_it_is_the_product(size, dtype, layout, one_library_thread):
    """To k roundings of the sum of sizes, the bound of any order of summation; the oracle sums with more digits."""
    (m, k, n), rng = size, np.random.default_rng(0)
    a, b = layout(rng.normal(size=(m, k)).astype(dtype)), layout(rng.normal(size=(k, n)).astype(dtype))
    found = matmul(a, b)
    assert (found.shape, found.dtype) == ((m, n), dtype)
    exact = a.astype(np.longdouble) @ b.astype(np.longdouble)
    bound = (k + 1) * np.finfo(dtype).eps * (np.abs(a).astype(np.longdouble) @ np.abs(b).astype(np.longdouble))
    assert (np.abs(found - exact) <= bound).all()


@pytest.mark.parametrize("size", SIZES[-2:], ids=str)
def test_the_numbers_do_not_depend_on_the_threads(size, one_library_thread):
    (m, k, n), rng = size, np.random.default_rng(1)
    a, b = rng.normal(size=(m, k)).astype(np.float32), rng.normal(size=(k, n)).astype(np.float32)
    cores.limit(1)
    alone = matmul(a, b)
    for threads in (2, 3, 5):
        cores.limit(threads)
        assert np.array_equal(matmul(a, b), alone)


def test_what_is_no_number_stays_in_its_row(one_library_thread):
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(700, 400)), rng.normal(size=(400, 131))
    whole = matmul(a, b)
    a[7, 3] = np.nan
    found = matmul(a, b)
    assert np.isnan(found[7]).all()
    assert np.array_equal(np.delete(found, 7, axis=0), np.delete(whole, 7, axis=0))
