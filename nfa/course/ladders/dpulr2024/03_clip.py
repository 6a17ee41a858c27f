"""Clip each example's estimate [dpulr2024:alg1.L205]

Line 205 divides the estimate of each example by max(1, norm / C), so that its norm is at most C. An estimate has a
weight part and a bias part. Clip both together by one factor. The norm is taken over all values of both parts.

Hint: Sum the squares over all axes except the first. max(1, norm / C) is never 0.
"""

# %% task
import numpy as np


def clip(gW, gb, C):
    """Return the clipped estimates.

    gW, gb : arrays (k, n, n_in) and (k, n)
    C : number > 0
    returns two arrays of the same shapes
    """
    ### BEGIN SOLUTION
    norms = np.sqrt((gW**2).sum(axis=(1, 2)) + (gb**2).sum(axis=1))
    factor = 1 / np.maximum(1, norms / C)
    return gW * factor[:, None, None], gb * factor[:, None]
    ### END SOLUTION


# %% cases
import math

from nfa.course.judging import TaskCase


def wanted(gW, gb, C):
    """The clip of one example after the other, with norms from `math.hypot`."""
    norms = [math.hypot(*one.ravel(), *other) for one, other in zip(gW, gb, strict=True)]
    pairs = [(a * C / n, b * C / n) if n > C else (a, b) for a, b, n in zip(gW, gb, norms, strict=True)]
    return {"gW": np.array([a for a, _ in pairs]), "gb": np.array([b for _, b in pairs])}


def cases():
    rng = np.random.default_rng(0)
    sizes = np.array([0.1, 1.0, 3.0, 0.0])
    gW, gb = rng.normal(size=(4, 2, 3)) * sizes[:, None, None], rng.normal(size=(4, 2)) * sizes[:, None]
    for C in (0.5, 1.0, 5.0):
        yield TaskCase("", f"four estimates, C = {C}", lambda f, C=C: f(gW, gb, C), wanted(gW, gb, C))


# %% slips
("np.maximum(1, norms / C)", "np.maximum(1e-9, norms / C)", "Small estimates are scaled up: the factor is at most 1.")
("norms / C)", "norms)", "C is missing: divide by max(1, norm / C).")
("np.maximum(1, norms / C)", "np.maximum(1, norms**2 / C)", "The norm is squared: divide by max(1, norm / C).")
(" + (gb**2).sum(axis=1)", "", "The bias is missing in the norm: it belongs to the estimate.")
("gb * factor[:, None]", "gb", "The bias is not clipped: both parts get the factor.")
("norms / C)", "np.full(len(norms), norms.max()) / C)", "All examples get one factor: every example has its own norm.")
(
    "gb * factor[:, None]",
    "gb / np.maximum(1, np.sqrt((gb**2).sum(axis=1)) / C)[:, None]",
    "The bias has a factor of its own: clip both parts together.",
)
