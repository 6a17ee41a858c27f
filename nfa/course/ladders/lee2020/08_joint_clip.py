"""The joint clip [ours:joint-clip] [lee2020:A10-A11]

Each example i has a direction over all layers. Its part for W[l] is the outer product of dz[l][i] and h[l-1][i], and
its part for b[l] is dz[l][i]. Clip the whole direction of every example to norm C. To do this, multiply it by min(1, C
/ norm), with the norm of task 6. Then sum over the examples and divide by m. If noise is added to this mean, the rule
is DP-SGD for the dz of backpropagation, and joint-clip DFA for the dz of DFA.

Hint: An example has one factor for all its layers. It is enough to multiply row i of dz[l] by this factor, because the
directions of W[l] and b[l] are linear in dz[l].
"""

# %% task
import numpy as np


def joint_clip(dz, h, C, m):
    """Return the mean of the clipped directions.

    dz, h : lists as in task 6
    C : number > 0
    m : number that the sums over examples are divided by; not always k
    returns dW, db : lists for l = 1..L with arrays (n_l, n_{l-1}) and (n_l,); slot 0 is None
    """
    ### BEGIN SOLUTION
    squares = 0
    for l in range(1, len(dz)):
        squares = squares + (dz[l] ** 2).sum(axis=1) * ((h[l - 1] ** 2).sum(axis=1) + 1)
    factor = np.minimum(1, C / np.sqrt(squares))[:, None]
    dW = [None, *((factor * dz[l]).T @ h[l - 1] / m for l in range(1, len(dz)))]
    db = [None, *((factor * dz[l]).sum(axis=0) / m for l in range(1, len(dz)))]
    return dW, db
    ### END SOLUTION


# %% cases
import math

from nfa.course.judging import TaskCase


def by_loops(dz, h, C, m):
    """Build each example's direction entry by entry, and scale it with its norm from `math.hypot`."""
    dW = [None, *(np.zeros((dz[l].shape[1], h[l - 1].shape[1])) for l in range(1, len(dz)))]
    db = [None, *(np.zeros(dz[l].shape[1]) for l in range(1, len(dz)))]
    for i in range(len(h[0])):
        own = [[[d, *(d * t for t in h[l - 1][i])] for d in dz[l][i]] for l in range(1, len(dz))]
        norm = math.hypot(*(t for layer in own for row in layer for t in row))
        factor = C / norm if norm > C else 1.0
        for l, layer in enumerate(own, 1):
            for j, (bias, *row) in enumerate(layer):
                db[l][j] += factor * bias / m
                dW[l][j] += factor * np.array(row) / m
    return {"dW": dW, "db": db}


def cases():
    rng = np.random.default_rng(0)
    sizes = [3, 4, 2]
    h = [rng.normal(size=(4, n)) for n in sizes]
    dz = [None, *(np.array([[0.1], [1], [3], [0.5]]) * rng.normal(size=(4, n)) for n in sizes[1:])]
    for name, C, m in (("all clipped", 0.1, 4), ("some clipped", 3.0, 4), ("some clipped, m = 9", 3.0, 9)):
        yield TaskCase("", name, lambda f, given=(dz, h, C, m): f(*given), by_loops(dz, h, C, m))


# %% slips
(
    "np.minimum(1, C / np.sqrt(squares))[:, None]",
    "1",
    "The clip is missing: multiply every example by min(1, C / norm).",
)
(
    "np.minimum(1, C / np.sqrt(squares))",
    "(C / np.sqrt(squares))",
    "Small examples are scaled up: the factor is at most 1.",
)
(
    "np.sqrt(squares)",
    "squares",
    "The root is missing: the factor is min(1, C / norm), and squares holds the squared norm.",
)
(
    "((h[l - 1] ** 2).sum(axis=1) + 1)",
    "(h[l - 1] ** 2).sum(axis=1)",
    "The bias is missing in the norm: add 1 to ||h||^2.",
)
(
    "squares = squares + (dz",
    "squares = 0 * squares + (dz",
    "The norm has one layer only: add up the squares of all layers.",
)
(
    "np.sqrt(squares))[:, None]",
    "np.sqrt(squares.sum()))",
    "The batch is clipped as a whole: every example has its own norm and factor.",
)
(
    "factor * dz[l]).T @ h[l - 1] / m",
    "factor * dz[l]).T @ h[l - 1]",
    "1/m is missing in the weights: divide the sum over examples by m.",
)
(
    "    return dW, db",
    "    return [None, *(w * m / len(h[0]) for w in dW[1:])], [None, *(v * m / len(h[0]) for v in db[1:])]",
    "The given m is ignored: divide by m, not by the number of examples.",
)
(
    "    return dW, db",
    "    return [None, *(w * m for w in dW[1:])], [None, *(v * m for v in db[1:])]",
    "1/m is missing: divide the sums over examples by m.",
)
(
    "(factor * dz[l]).sum(axis=0)",
    "dz[l].sum(axis=0)",
    "The bias is not clipped: multiply dz by the factor for b[l] too.",
)
(
    "    return dW, db",
    "    own = [None] + [np.minimum(1, C / np.sqrt((dz[l] ** 2).sum(axis=1) * ((h[l - 1] ** 2).sum(axis=1) + 1)))[:, None] * dz[l] for l in range(1, len(dz))]\n    return [None, *(own[l].T @ h[l - 1] / m for l in range(1, len(dz)))], [None, *(v.sum(axis=0) / m for v in own[1:])]",
    "Every layer is clipped separately: an example has one norm over all layers, and one factor.",
)
