"""Tests of rows of a convolution with fewer products, compared with the definition of a convolution."""

from fractions import Fraction

import numpy as np
import pytest

toom_cook = pytest.importorskip("nfa.kernels.toom_cook", reason="numba is not installed: pip install numba")

WIDTHS = range(2, 8)


@pytest.mark.parametrize("k", WIDTHS)
def test_the_three_matrices_give_the_convolution(k):
    """The three matrices of Toom-Cook give the convolution exactly.

    We compute the coefficient of each product w_i x_j in each output z_s. It is 1 if the convolution contains the
    product, and 0 otherwise.
    """
    for o in range(2, 10 - k):
        A, B, G = ([[Fraction(float(v)) for v in row] for row in part] for part in toom_cook.matrices(k, o))
        for s in range(o):
            for i in range(k):
                for x in range(o + k - 1):
                    found = sum(A[s][t] * G[t][i] * B[t][x] for t in range(o + k - 1))
                    assert abs(found - (x == s + i)) < 1e-15


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("k", WIDTHS)
def test_a_whole_row_is_its_definition(k, dtype):
    """A whole row agrees with its definition to 8 roundings of the sums of absolute values, in the norm.

    Some rows end in a smaller tile.
    """
    r = np.random.default_rng(k)
    for columns in range(2, 40):
        if (found := toom_cook.whole_row(k, columns)) is None:
            continue
        A, B, G = (part.astype(dtype) for part in found)
        assert len(B) < columns * k
        w, x = r.normal(size=(50, k)).astype(dtype), r.normal(size=(50, columns + k - 1)).astype(dtype)
        got = (np.repeat(w @ G.T, len(B) // len(G), axis=1) * (x @ B.T)) @ A.T
        exact, size = (
            np.stack([np.correlate(a, b, "valid") for a, b in zip(f(x.astype(float)), f(w.astype(float)), strict=True)])
            for f in (np.asarray, np.abs)
        )
        assert np.linalg.norm(got - exact) < 8 * np.finfo(dtype).eps * np.linalg.norm(size)


def test_a_row_that_saves_nothing_is_left_alone():
    """If the method saves no products, it is not used.

    The cases are a kernel or a row with one column, and kernels wider than the number of points allows.
    """
    assert toom_cook.whole_row(1, 9) is None
    assert toom_cook.whole_row(3, 1) is None
    assert toom_cook.whole_row(8, 100) is None
    assert len(toom_cook.whole_row(5, 14)[1]) == 32  # the plain sums need 70 products
