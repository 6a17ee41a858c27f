"""Kernel for `nfa.feedback.never_stored.tile`: tiles of a matrix that is never stored, computed on all cores."""

from functools import partial

import numpy as np

from nfa.kernels import cores
from nfa.kernels.philox import LANES, add_keyed

GROUP = 4 * LANES


def _fill(T, key, columns, groups_per_column, first, start, stop):
    """Fill the groups start..stop-1 of the concatenated rows of T.

    We do not compile this function, because its own time is small compared with the time for the normals. If it were
    compiled, `add_keyed` would be compiled a second time.
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
    cores.share(work, len(columns) * groups, 64)
    return T
