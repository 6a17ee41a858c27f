"""Products of dense layers, arranged so that the linear algebra library copies the smaller factor as a whole."""

import numpy as np


def matmul(a, b):
    """Twin of `numpy.matmul` for two matrices.

    The library copies its second factor as a whole into its own memory, and the first factor block by block. If a few
    rows are multiplied by W.T, the second factor is the larger one. So the function multiplies W by the transposed
    rows, and transposes the result.
    """
    if b.flags.f_contiguous and len(a) < b.shape[1]:
        return np.ascontiguousarray(np.matmul(b.T, a.T).T)
    return np.matmul(a, b)
