"""Numba twins of `nfa.feedback.never_stored`: tiles of a matrix that is never stored, and sums of selected columns."""

from functools import partial

import numpy as np
from numba import njit

from nfa.kernels import cores
from nfa.kernels.noise import LANES, add_keyed

GROUP = 16 * LANES
_OUTPUTS = 2048  # outputs of one example that stay in the nearest cache while columns are added


def _fill(T, key, columns, groups_per_column, first, start, stop):
    """Fill the groups start..stop-1 of the rows of T, laid end to end.

    Not compiled: a call is short beside a row's normals, and compiling it would compile `add_keyed` a second time.
    """
    groups = T.shape[1] // GROUP
    while start < stop:
        i, done = start // groups, start % groups
        end = min(groups, done + stop - start)
        add_keyed(T[i, done * GROUP : end * GROUP], 1.0, key, int(columns[i]) * groups_per_column + first + done)
        start += end - done


def tile(key, columns, groups_per_column, first, groups):
    """Twin of `nfa.feedback.never_stored.tile`."""
    T = np.zeros((len(columns), groups * GROUP), np.float32)
    work = partial(_fill, T, key, columns, groups_per_column, first)
    cores.share(work, len(columns) * groups, 16)
    return T


@njit(nogil=True)
def _add_columns(e, columns, p):
    """Add to every row of p the rows of columns (n_L, n_l) that e selects; False if e is not ternary."""
    m, n = p.shape
    for low in range(0, n, _OUTPUTS):
        high = min(n, low + _OUTPUTS)
        for i in range(m):
            total = p[i, low:high]
            for k in range(e.shape[1]):
                if e[i, k] == 0:
                    continue
                column = columns[k, low:high]
                if e[i, k] == 1:
                    for j in range(len(total)):
                        total[j] += column[j]
                elif e[i, k] == -1:
                    for j in range(len(total)):
                        total[j] -= column[j]
                else:
                    return False
    return True


def project_ternary(e, B, *, rng=None):
    """Twin of `nfa.feedback.never_stored.project_ternary`."""
    e, columns = np.ascontiguousarray(e), np.ascontiguousarray(B.T)
    p = np.zeros((len(e), len(B)), np.result_type(e, B))
    right = []
    least = 1 + 2**16 // max(1, len(B))
    cores.share(lambda i, j: right.append(_add_columns(e[i:j], columns, p[i:j])), len(e), least)
    if not all(right):
        raise ValueError("sums of columns take a ternary error, of -1, 0 and 1 (see feedback.ternarize)")
    return p
