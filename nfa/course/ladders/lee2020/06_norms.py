"""The norm of every example's gradient [ours:joint-clip] [lee2020:eq3]

DP-SGD and joint-clip DFA clip the gradient of each example over all layers and biases together. The gradient of example
i by W[l] is the outer product of dz[l][i] and h[l-1][i]. The gradient of example i by b[l] is dz[l][i]. For every
example, compute the l2 norm of all these values together. You need not build the outer products.

Hint: The norm of an outer product is the product of the norms. The squared norms of the layers add up. The square for
layer l is ||dz||^2 (||h||^2 + 1), and the 1 is for the bias.
"""

# %% task
import numpy as np


def norms(dz, h):
    """Return the norm of each example's whole gradient.

    dz : list, dz[l] of shape (k, n_l) for l = 1..L; slot 0 is None
    h : list, h[l] of shape (k, n_l) for l = 0..L
    returns a (k,) array
    """
    ### BEGIN SOLUTION
    total = 0
    for l in range(1, len(dz)):
        total = total + (dz[l] ** 2).sum(axis=1) * ((h[l - 1] ** 2).sum(axis=1) + 1)
    return np.sqrt(total)
    ### END SOLUTION


# %% cases
import math

from nfa.course.judging import TaskCase


def by_loops(dz, h):
    """The norms from all entries of every outer product."""
    found = []
    for i in range(len(h[0])):
        entries = []
        for l in range(1, len(dz)):
            for d in dz[l][i]:
                entries += [d, *(d * t for t in h[l - 1][i])]
        found.append(math.sqrt(math.fsum(t * t for t in entries)))
    return np.array(found)


def cases():
    rng = np.random.default_rng(0)
    for sizes in ([4, 3], [4, 5, 3], [3, 4, 6, 2]):
        h = [rng.normal(size=(4, n)) for n in sizes]
        dz = [None, *(rng.normal(size=(4, n)) for n in sizes[1:])]
        name = "network " + "-".join(map(str, sizes))
        yield TaskCase("", name, lambda f, given=(dz, h): f(*given), by_loops(dz, h), "the norms")


# %% slips
("np.sqrt(total)", "total", "The square root is missing: the norm is the square root of the sum of squares.")
(
    "((h[l - 1] ** 2).sum(axis=1) + 1)",
    "(h[l - 1] ** 2).sum(axis=1)",
    "The bias is forgotten: the gradient by b[l] is dz[l], which adds ||dz||^2.",
)
("h[l - 1]", "h[l]", "This is h of the wrong layer: the gradient by W[l] is dz[l] h[l-1]^T.")
(
    "(dz[l] ** 2).sum(axis=1) * ((h[l - 1] ** 2).sum(axis=1) + 1)",
    "np.sqrt((dz[l] ** 2).sum(axis=1) * ((h[l - 1] ** 2).sum(axis=1) + 1))",
    "Norms are added before the root: add the squares of the layers, and take one root.",
)
("total + (dz", "np.maximum(total, 0) * 0 + (dz", "Only the last layer counts: add up the squares of all layers.")
(
    "(dz[l] ** 2).sum(axis=1) *",
    "(dz[l] ** 2).sum() *",
    "The examples are mixed: sum over the entries of each row, axis=1.",
)
(
    "(dz[l] ** 2).sum(axis=1) * ((h[l - 1] ** 2).sum(axis=1) + 1)",
    "(dz[l] ** 2).sum(axis=1) + (h[l - 1] ** 2).sum(axis=1) + 1",
    "The squared norms are added: the norm of an outer product is the product of the norms.",
)
(
    "return np.sqrt(total)",
    "return [sum(math.sqrt((dz[l][i] ** 2).sum() * ((h[l - 1][i] ** 2).sum() + 1)) for l in range(1, len(dz))) for i in range(len(h[0]))]",
    "The norms of the layers are added: add their squares, and take one root.",
)
