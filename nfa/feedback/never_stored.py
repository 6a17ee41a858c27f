"""Projections without a stored matrix, as an OPU's, and projections of ternary errors as sums of columns.

`nfa.kernels.projection` holds the numba twins of `tile` and `project_ternary`.
"""

from collections.abc import Callable

import numpy as np

from nfa import require
from nfa.cipher import LANES, add_keyed

GROUP = 16 * LANES  # outputs that are computed together: a group of the key's normals in float32
TILE = 1 << 20  # entries of the matrix held at a time


def tile(key: np.ndarray, columns: np.ndarray, groups_per_column: int, first: int, groups: int) -> np.ndarray:
    """Standard normals of some columns of a matrix that is a function of its key: outputs of ``groups`` groups.

    Parameters
    ----------
    key : (8,) uint32 array
    columns : (c,) int64 array, which columns
    groups_per_column : int >= 1; column k has the normals of `nfa.cipher.add_keyed` from group k groups_per_column on
    first, groups : int, the outputs from ``first * GROUP`` on, ``groups * GROUP`` of them

    Returns
    -------
    T : (c, groups GROUP) float32 array, a column of the matrix in each row
    """
    T = np.zeros((len(columns), groups * GROUP), np.float32)
    for row, k in zip(T, columns, strict=True):
        add_keyed(row, 1.0, key, int(k) * groups_per_column + first)
    return T


class Unstored:
    r"""A random matrix B of independent N(0, scale^2) that is computed where it is needed and never held as a whole.

    .. math:: p = B e, \qquad B_{jk} = \mathrm{scale} \cdot g_{\mathrm{key}}(k, j)

    Parameters
    ----------
    n_in, n_out : int >= 1, what comes in and what goes out
    rng : numpy.random.Generator, draws the key of 256 bits that the matrix is a function of
    scale : float > 0, std of the entries
    make : function as `tile`, which `nfa.kernels.projection` has fast

    Raises
    ------
    ValueError : for sizes below 1, or a scale that is not positive and finite

    Notes
    -----
    Takes the place of a feedback matrix: ``dfa(..., B=[None, Unstored(...), None], project=project_unstored)``. Entries
    have float32's precision; the answer has e's dtype. Beyond the answer no array has more than about ``TILE`` entries.
    Columns in which e is 0 for every example are not computed, so that ternary errors cost less. Its spectral norm is
    not known, and `nfa.sensitivity.dfa.layer_bounds` refuses it: no sensitivity without the matrix.
    """

    def __init__(
        self, n_in: int, n_out: int, *, rng: np.random.Generator, scale: float = 1.0, make: Callable = tile
    ) -> None:
        require.whole(1, **{"n_in of a projection": n_in, "n_out of a projection": n_out})
        require.positive(**{"the scale of a projection": scale})
        self.n_in, self.n_out, self.scale, self.make = n_in, n_out, float(scale), make
        self.key = rng.integers(2**32, size=8, dtype=np.uint32)

    def project(self, e: np.ndarray) -> np.ndarray:
        """B e for each example, (m, n_in) -> (m, n_out); ValueError for another shape of e."""
        if e.ndim != 2 or e.shape[1] != self.n_in:
            raise ValueError(f"a projection takes errors of shape (m, {self.n_in}), got {e.shape}")
        per_column = -(-self.n_out // GROUP)
        used = np.flatnonzero(e.any(axis=0))
        p = np.zeros((len(e), self.n_out), e.dtype)
        groups = max(1, min(per_column, TILE // (GROUP * max(1, min(len(used), TILE // GROUP)))))
        width = max(1, TILE // (groups * GROUP))
        for first in range(0, per_column, groups):
            outputs = slice(first * GROUP, min((first + groups) * GROUP, self.n_out))
            for start in range(0, len(used), width):
                columns = used[start : start + width]
                T = self.make(self.key, columns, per_column, first, min(groups, per_column - first))
                p[:, outputs] += (e[:, columns] @ T.astype(e.dtype, copy=False))[:, : outputs.stop - outputs.start]
        p *= p.dtype.type(self.scale)
        return p

    def stored(self) -> np.ndarray:
        """The whole matrix B, (n_out, n_in) in float32: what `project` multiplies by."""
        per_column = -(-self.n_out // GROUP)
        T = self.make(self.key, np.arange(self.n_in), per_column, 0, per_column)
        return np.float32(self.scale) * T[:, : self.n_out].T


def project_unstored(e: np.ndarray, B: Unstored, *, rng: np.random.Generator | None = None) -> np.ndarray:
    """B e for each example: what a rule takes for ``project``, with an `Unstored` a hidden layer in the list B."""
    return B.project(e)


def project_ternary(e: np.ndarray, B: np.ndarray, *, rng: np.random.Generator | None = None) -> np.ndarray:
    """B e for each ternary error: the columns of B where e is 1, added up, less those where e is -1.

    Parameters
    ----------
    e : (m, n_L) array of -1, 0 and 1, as from `nfa.feedback.ternarize`
    B : (n_l, n_L) array of e's dtype
    rng : not used; a rule hands it to every ``project``

    Returns
    -------
    p : (m, n_l) array

    Raises
    ------
    ValueError : if an entry of e is not -1, 0 or 1

    Examples
    --------
    >>> project_ternary(np.array([[1.0, 0.0, -1.0]]), np.array([[3.0, 5.0, 1.0], [0.5, 7.0, 2.0]])).tolist()
    [[2.0, -1.5]]
    """
    if not ((e == 0) | (np.abs(e) == 1)).all():
        raise ValueError("sums of columns take a ternary error, of -1, 0 and 1 (see feedback.ternarize)")
    return e @ B.T
