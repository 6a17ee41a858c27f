"""Total variation and the best guess [berthier2019:def-tv] [berthier2019:lecam]

An output has a few possible values, with probabilities p without the record and q with the record. The total variation
is the largest difference between the two probabilities of a set of outputs. An adversary sees the output and guesses
whether the record is in the data. Suppose both cases have the prior probability 1/2. Then the best guess is right with
probability (1 + total variation) / 2. Return the total variation.

Hint: The best set has all outputs for which p is above q. So the total variation is half the sum of |p - q|.
"""

# %% task
import numpy as np


def total_variation(p, q):
    """Return the total variation of two laws.

    p, q : (n,) arrays of probabilities, each with the sum 1
    returns a number in [0, 1]
    """
    ### BEGIN SOLUTION
    return np.abs(p - q).sum() / 2
    ### END SOLUTION


# %% cases
import itertools
import math

from nfa.course.judging import TaskCase


def by_sets(p, q):
    """The largest difference over all sets of outputs."""
    sets = itertools.product((0, 1), repeat=len(p))
    return max(abs(math.fsum((a - b) * s for a, b, s in zip(p, q, chosen, strict=True))) for chosen in sets)


def cases():
    rng = np.random.default_rng(0)
    pairs = [(rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(n))) for n in (4, 7)]
    for p, q in (*pairs, (np.array([1.0, 0.0]), np.array([0.0, 1.0])), (np.array([0.5, 0.5]), np.array([0.6, 0.4]))):
        name = f"{len(p)} outputs, the first with probabilities {p[0]:.3g} and {q[0]:.3g}"
        yield TaskCase("", name, lambda f, given=(p, q): f(*given), np.array(by_sets(p, q)), "the total variation")


# %% slips
(
    "np.abs(p - q).sum() / 2",
    "np.abs(p - q).sum()",
    "The factor 1/2 is missing: the sum adds the excess of p over q and the equally large excess of q over p.",
)
("np.abs(p - q).sum() / 2", "(p - q).sum() / 2", "The absolute value is missing: the sum of p - q is always 0.")
(
    "np.abs(p - q).sum() / 2",
    "np.abs(p - q).max()",
    "This compares single outputs only: the best set has all outputs with p above q.",
)
(
    "np.abs(p - q).sum() / 2",
    "np.sqrt(((p - q) ** 2).sum()) / 2",
    "This is the l2 norm: the total variation is half the l1 norm.",
)
(
    "np.abs(p - q).sum() / 2",
    "(1 + np.abs(p - q).sum() / 2) / 2",
    "This is the probability of the best guess: return the total variation itself.",
)
(
    "np.abs(p - q).sum() / 2",
    "(p * np.log(np.maximum(p, 1e-300) / np.maximum(q, 1e-300))).sum()",
    "This is the KL divergence: the total variation has no logarithm.",
)
