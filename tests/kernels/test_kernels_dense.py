"""Tests of products of dense layers: they agree with numpy.matmul up to rounding, for any memory layout."""

import numpy as np
import pytest

from nfa.kernels.dense import matmul

PAIRS: list = []  # the tested module compiles no function, so it has no pairs for test_twins

LAYOUTS = {
    "rows": np.ascontiguousarray,
    "columns": np.asfortranarray,
    "every second row": lambda a: np.repeat(a, 2, axis=0)[::2],
    "read backwards": lambda a: np.ascontiguousarray(a[:, ::-1])[:, ::-1],
}
SIZES = [(1, 5, 3), (0, 4, 3), (3, 0, 2), (4, 3, 0), (31, 8, 1), (1, 1, 1), (40, 70, 131), (131, 70, 40)]  # m, k, n


@pytest.mark.parametrize("layout_b", LAYOUTS.values(), ids=list(LAYOUTS))
@pytest.mark.parametrize("layout_a", LAYOUTS.values(), ids=list(LAYOUTS))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_it_is_the_product(size, dtype, layout_a, layout_b):
    """The error of each entry is at most k + 1 roundings of the sum of the absolute values of its terms, in any order.

    The oracle computes the product with more digits.
    """
    (m, k, n), rng = size, np.random.default_rng(0)
    a, b = layout_a(rng.normal(size=(m, k)).astype(dtype)), layout_b(rng.normal(size=(k, n)).astype(dtype))
    found = matmul(a, b)
    assert (found.shape, found.dtype, found.flags.c_contiguous) == ((m, n), dtype, True)
    exact = a.astype(np.longdouble) @ b.astype(np.longdouble)
    bound = (k + 1) * np.finfo(dtype).eps * (np.abs(a).astype(np.longdouble) @ np.abs(b).astype(np.longdouble))
    assert (np.abs(found - exact) <= bound).all()


def test_what_is_no_number_stays_in_its_row():
    rng = np.random.default_rng(2)
    for m, n in ((40, 131), (131, 40)):
        a, b = rng.normal(size=(m, 70)), np.asfortranarray(rng.normal(size=(70, n)))
        whole = matmul(a, b)
        a[7, 3] = np.nan
        found = matmul(a, b)
        assert np.isnan(found[7]).all()
        np.testing.assert_allclose(np.delete(found, 7, axis=0), np.delete(whole, 7, axis=0), rtol=0, atol=1e-12)
