"""Two projections [ohana2021:exp-twoproj]

The device takes only vectors of zeros and ones. A ternary error e has two binary parts. e_plus has a 1 for each 1 of e,
and e_minus has a 1 for each -1 of e. Compute B e from two projections of binary vectors.

Hint: B is linear, and e = e_plus - e_minus.
"""

# %% task
import numpy as np


def signed(e, device):
    """Return B e for every row of a ternary error.

    e : (k, n_L) array with the numbers -1, 0 and 1
    device : function that takes a (k, n_L) array of zeros and ones, and returns B times every row, a (k, n) array
    returns a (k, n) array
    """
    ### BEGIN SOLUTION
    return device((e > 0) * 1.0) - device((e < 0) * 1.0)
    ### END SOLUTION


# %% cases
from nfa.course.judging import TaskCase

B = np.random.default_rng(0).normal(size=(4, 3))


def device(binary):
    """Project the rows of an array of zeros and ones, and refuse other arrays."""
    if not np.isin(binary, (0, 1)).all():
        raise ValueError("the device takes only vectors of zeros and ones")
    return np.asarray(binary, dtype=float) @ B.T


def cases():
    e = np.array([[1.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
    want = np.array([[sum(float(B[j, c] * row[c]) for c in range(3)) for j in range(4)] for row in e])
    yield TaskCase("", "four errors", lambda f: f(e, device), want, "B e")
    yield TaskCase("", "probe", lambda f: f(e, lambda v: np.asarray(v, dtype=float) @ B.T))


# %% slips
(
    "device((e > 0) * 1.0) - device((e < 0) * 1.0)",
    "device(e)",
    "The device takes only vectors of zeros and ones: project e_plus and e_minus.",
)
(
    " - device((e < 0) * 1.0)",
    " + device((e < 0) * 1.0)",
    "The sign of the second projection is wrong: e = e_plus - e_minus.",
)
(" - device((e < 0) * 1.0)", "", "e_minus is missing: subtract its projection.")
(
    "device((e > 0) * 1.0) - device((e < 0) * 1.0)",
    "device((e < 0) * 1.0) - device((e > 0) * 1.0)",
    "The sign is wrong: subtract the projection of e_minus from the projection of e_plus.",
)
