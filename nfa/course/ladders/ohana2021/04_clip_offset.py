"""Offset, then clip [ohana2021:offset] [ohana2021:clip] [ohana2021:eq9]

The rule bounds every entry of a layer's input. First add the offset nu = tau_min / sqrt(n) to every entry. Then bound
every entry by c = tau_max / sqrt(n). An entry above c becomes c, and an entry below -c becomes -c. Here n is the number
of entries of an example. So the norm of the input of the layer is at most tau_max.

Hint: np.clip bounds entries. n is h.shape[1].
"""

# %% task
import numpy as np


def clip_offset(h, tau_min, tau_max):
    """Return h with offset and clip.

    h : (k, n) array
    tau_min, tau_max : numbers, 0 <= tau_min <= tau_max
    returns a (k, n) array
    """
    ### BEGIN SOLUTION
    n = h.shape[1]
    nu, c = tau_min / np.sqrt(n), tau_max / np.sqrt(n)
    return np.clip(h + nu, -c, c)
    ### END SOLUTION


# %% cases
import math

from nfa.course.judging import TaskCase


def by_entry(h, tau_min, tau_max):
    """Each entry as the middle of three numbers: the entry with its offset, c and -c."""
    root = math.sqrt(h.shape[1])
    return np.array([[sorted((v + tau_min / root, tau_max / root, -tau_max / root))[1] for v in row] for row in h])


def cases():
    h = np.array([[0.1, -0.2, 0.3, 0.05], [0.9, -0.9, -0.45, 0.45], [0.0, 0.0, 2.0, -2.0]])
    for tau_min, tau_max in ((0.0, 1.0), (0.4, 1.0), (0.4, 0.6)):
        name = f"tau_min = {tau_min}, tau_max = {tau_max}"
        want = by_entry(h, tau_min, tau_max)
        yield TaskCase("", name, lambda f, given=(h, tau_min, tau_max): f(*given), want, "the input of the layer")


# %% slips
(
    "np.clip(h + nu, -c, c)",
    "np.clip(h, -c, c) + nu",
    "The order is wrong: add the offset before the clip, because otherwise some entries are above c.",
)
("np.clip(h + nu, -c, c)", "np.clip(h, -c, c)", "The offset is missing: add nu to every entry first.")
("np.clip(h + nu, -c, c)", "h + nu", "The clip is missing: bound every entry by c.")
("np.clip(h + nu, -c, c)", "np.minimum(h + nu, c)", "Entries below -c remain: the clip bounds the absolute value.")
(
    "nu, c = tau_min / np.sqrt(n), tau_max / np.sqrt(n)",
    "nu, c = tau_min, tau_max",
    "1/sqrt(n) is missing: without it, the norm can be sqrt(n) tau_max.",
)
(
    "nu, c = tau_min / np.sqrt(n), tau_max / np.sqrt(n)",
    "nu, c = tau_min / n, tau_max / n",
    "Divide by sqrt(n), not by n: n squares of tau_max / sqrt(n) add up to tau_max^2.",
)
("h.shape[1]", "len(h)", "n is the number of entries of an example, not the number of examples.")
(
    "np.clip(h + nu, -c, c)",
    "(h + nu) * np.minimum(1, tau_max / np.linalg.norm(h + nu, axis=1, keepdims=True))",
    "This clips the norm of each example: the paper bounds every entry by c.",
)
