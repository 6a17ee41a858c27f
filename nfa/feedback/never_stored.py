"""Projections without a stored matrix. The matrix is real for a rule's B[l], or complex for an OPU's medium.

Philox computes every entry from a key and the entry's place. A cipher is not needed, because the matrix may be known.
Entries are computed tile by tile when they are needed, and then discarded. `nfa.kernels.projection` has the numba
version of `tile`.
"""

import math
from collections.abc import Callable

import numpy as np

from nfa import require
from nfa.philox import LANES, add_keyed

GROUP = 4 * LANES  # number of outputs that are computed together, from one tile of the key's normals
TILE = 1 << 20  # number of entries of the matrix in memory at the same time


def tile(key: np.ndarray, columns: np.ndarray, groups_per_column: int, first: int, groups: int) -> np.ndarray:
    """Entries of a standard normal matrix that is a function of its key, for some columns and groups of outputs.

    Parameters
    ----------
    key : (4,) uint32 array
    columns : (c,) int64 array, indices of the columns
    groups_per_column : int >= 1; column k has the normals of `nfa.philox.add_keyed` from the tile ``k *
        groups_per_column`` on
    first, groups : int; the outputs start at ``first * GROUP``, and there are ``groups * GROUP`` of them

    Returns
    -------
    T : (c, groups GROUP) float32 array, one column of the matrix in each row
    """
    T = np.zeros((len(columns), groups * GROUP), np.float32)
    for row, k in zip(T, columns, strict=True):
        add_keyed(row, 1.0, key, int(k) * groups_per_column + first)
    return T


class Unstored:
    r"""A random matrix B of independent N(0, scale^2) that is computed when needed and never stored as a whole.

    .. math:: p = B e, \qquad B_{jk} = \mathrm{scale} \cdot g_{\mathrm{key}}(k, j)

    Parameters
    ----------
    n_in, n_out : int >= 1, number of inputs and of outputs
    rng : numpy.random.Generator that draws the 128-bit key; the matrix is a function of this key
    scale : float > 0, std of the entries
    make : function like `tile`; `nfa.kernels.projection` has a fast version
    product : function like `numpy.matmul`; with `nfa.kernels.rows.matmul`, an example's result depends only on the
        example

    Raises
    ------
    ValueError : for sizes below 1, for more entries than one key can generate (some 4e12), or for a scale that is not
        positive and finite

    Notes
    -----
    An instance takes the place of a feedback matrix, for example in ``dfa(..., B=[None, Unstored(...), None],
    project=project_unstored)``. Entries have the precision of float32, and the result has e's dtype. Except for the
    result, no array has more than about ``TILE`` entries. Columns in which e is 0 for every example are not computed,
    so ternary errors take less time. The spectral norm is not known. So the sensitivities of `nfa.sensitivity.dfa`
    cannot be computed for this matrix.
    """

    def __init__(
        self,
        n_in: int,
        n_out: int,
        *,
        rng: np.random.Generator,
        scale: float = 1.0,
        make: Callable = tile,
        product: Callable = np.matmul,
    ) -> None:
        require.whole(1, **{"n_in of a projection": n_in, "n_out of a projection": n_out})
        require.positive(**{"the scale of a projection": scale})
        self.n_in, self.n_out, self.scale = n_in, n_out, float(scale)
        self.make, self.product = make, product
        if n_in * -(-n_out // GROUP) > 2**32:
            raise ValueError(
                f"a projection of {n_in} inputs onto {n_out} outputs is too large, because one Philox key cannot"
                " generate all entries"
            )
        self.key = rng.integers(2**32, size=4, dtype=np.uint32)

    def project(self, e: np.ndarray) -> np.ndarray:
        """B e for each example, (m, n_in) -> (m, n_out). Raises ValueError for another shape of e."""
        if e.ndim != 2 or e.shape[1] != self.n_in:
            raise ValueError(f"a projection needs errors of shape (m, {self.n_in}), got {e.shape}")
        per_column = -(-self.n_out // GROUP)
        p = np.zeros((len(e), self.n_out), e.dtype)
        width = TILE // GROUP  # number of columns in each partial sum, which does not depend on e
        for start in range(0, self.n_in, width):
            columns = start + np.flatnonzero(e[:, start : start + width].any(axis=0))  # all other columns add 0
            groups = max(1, min(per_column, TILE // (GROUP * max(1, len(columns)))))
            for first in range(0, per_column if len(columns) else 0, groups):
                outputs = slice(first * GROUP, min((first + groups) * GROUP, self.n_out))
                T = self.make(self.key, columns, per_column, first, min(groups, per_column - first))
                p_T = self.product(e[:, columns], T.astype(e.dtype, copy=False))
                p[:, outputs] += p_T[:, : outputs.stop - outputs.start]
        p *= p.dtype.type(self.scale)
        return p

    def stored(self) -> np.ndarray:
        """The whole matrix B of `project`, (n_out, n_in) in float32."""
        per_column = -(-self.n_out // GROUP)
        T = self.make(self.key, np.arange(self.n_in), per_column, 0, per_column)
        return np.float32(self.scale) * T[:, : self.n_out].T


class UnstoredMedium:
    r"""A complex Gaussian medium R with E|R_jk|^2 = 1 that is never stored. Each of Re R and Im R is an `Unstored`.

    Parameters
    ----------
    n_in, n_out, rng, make, product : as for `Unstored`; the key of the real part is drawn first
    """

    def __init__(
        self, n_in: int, n_out: int, *, rng: np.random.Generator, make: Callable = tile, product: Callable = np.matmul
    ) -> None:
        how: dict[str, Callable] = {"make": make, "product": product}
        self.real, self.imag = (Unstored(n_in, n_out, rng=rng, scale=math.sqrt(0.5), **how) for _ in range(2))

    def field(self, x: np.ndarray) -> np.ndarray:
        """R x for each row of x, (m, n_in) -> (m, n_out), complex."""
        E = np.empty((len(x), self.real.n_out), np.result_type(x.dtype, np.complex64))
        E.real, E.imag = self.real.project(x), self.imag.project(x)
        return E

    def stored(self) -> np.ndarray:
        """The whole medium R of `field`, (n_out, n_in) complex64."""
        return self.real.stored() + 1j * self.imag.stored()


def project_unstored(e: np.ndarray, B: Unstored, *, rng: np.random.Generator | None = None) -> np.ndarray:
    """B e for each example. Use it as a rule's ``project`` if the list B has an `Unstored` for each hidden layer."""
    return B.project(e)
