"""The clip [lee2020:clip] [lee2020:A9]

A private algorithm bounds the effect of each example. The clip scales a vector with a larger l2 norm than c down to
norm c. A vector of norm at most c stays unchanged. Clip every row of an array separately.

Hint: The factor of a row is min(1, c / norm). A row of zeros has norm 0 and must stay zero, without a division by 0.
"""

# %% task
import numpy as np


def clip(v, c):
    """Return the rows of v, each clipped to l2 norm c.

    v : (k, n) array
    c : number > 0
    returns an array of the shape of v
    """
    ### BEGIN SOLUTION
    norms = np.linalg.norm(v, axis=1, keepdims=True)
    return v * np.minimum(1, c / np.maximum(norms, c))
    ### END SOLUTION


# %% cases
import math

from nfa.course.judging import TaskCase


def by_rows(v, c):
    """The clip of one row after the other, with norms from `math.hypot`."""
    return np.array([[t * c / math.hypot(*row) if math.hypot(*row) > c else t for t in row] for row in v.tolist()])


def cases():
    v = np.array([[3.0, 4.0, 0.0], [0.3, -0.4, 0.0], [-1.0, 2.0, -2.0], [6.0, 0.0, 0.0]])
    for name, rows, c in (
        ("rows of norms 5, 0.5, 3 and 6, c = 1", v, 1.0),
        ("the same rows, c = 4", v, 4.0),
        ("a row of zeros", np.vstack([v, np.zeros(3)]), 2.0),
    ):
        yield TaskCase("", name, lambda f, given=(rows, c): f(*given), by_rows(rows, c), "the rows")


# %% slips
("np.minimum(1, c / np.maximum(norms, c))", "c / norms", "Small rows are scaled up: the factor is at most 1.")
(
    "np.minimum(1, c / np.maximum(norms, c))",
    "np.minimum(1, c / norms**2)",
    "The norm is squared: the factor is min(1, c / norm).",
)
("np.minimum(1, c / np.maximum(norms, c))", "np.minimum(1, 1 / norms)", "c is missing: the factor is min(1, c / norm).")
(
    "v * np.minimum(1, c / np.maximum(norms, c))",
    "v / norms * np.minimum(norms, c)",
    "A row of zeros gives 0/0: it must stay zero.",
)
(
    "np.linalg.norm(v, axis=1, keepdims=True)",
    "np.linalg.norm(v)",
    "All rows are clipped together: every row has its own norm.",
)
(
    "np.linalg.norm(v, axis=1, keepdims=True)",
    "np.linalg.norm(v, axis=0, keepdims=True)",
    "The columns are clipped: an example is a row, axis=1.",
)
(
    "np.linalg.norm(v, axis=1, keepdims=True)",
    "np.abs(v).sum(axis=1, keepdims=True)",
    "This is the l1 norm: the clip takes the l2 norm.",
)
(
    "np.linalg.norm(v, axis=1, keepdims=True)",
    "np.abs(v).max(axis=1, keepdims=True)",
    "This is the largest entry: the clip takes the l2 norm.",
)
(
    "return v * np.minimum(1, c / np.maximum(norms, c))",
    "return np.clip(v, -c, c)",
    "Every entry is clipped separately: the clip scales the whole row and keeps its direction.",
)
