"""Shuffled passes [berthier2019:alg1]

Algorithm 1 makes several passes. Each pass shuffles the n records again, and takes one step with each of the first
floor(tau n) records. Return the indices of the records, in the order of the steps.

Hint: rng.permutation(n) is one shuffle. A new pass needs a new shuffle.
"""

# %% task
import math

import numpy as np


def order(n, tau, passes, rng):
    """Return the records of all steps.

    n : integer >= 1, the number of records, which are 0..n-1
    tau : number in (0, 1], the part of the records that a pass takes
    passes : integer >= 1
    rng : numpy.random.Generator, the only source of randomness
    returns an array of passes times floor(tau n) integers
    """
    ### BEGIN SOLUTION
    return np.concatenate([rng.permutation(n)[: math.floor(tau * n)] for _ in range(passes)])
    ### END SOLUTION


# %% cases
from nfa.course.judging import TaskCase, at_once

RUNS = 2_500  # each share differs from its probability by more than 0.06 with probability 1e-9


def measured(f, n, tau, passes):
    """The shares over many orders: of each record at each step, and of the same record at two steps."""
    rng, steps = np.random.default_rng(7), passes * math.floor(tau * n)
    shares, repeats = np.zeros((steps, n)), np.zeros((steps, steps))
    for _ in range(RUNS):
        one = np.asarray(f(n, tau, passes, rng), dtype=int)
        if one.shape != (steps,):
            return one.astype(float)
        shares[np.arange(steps), one] += 1 / RUNS
        repeats += (one[:, None] == one[None]) / RUNS
    return np.concatenate([shares.ravel(), repeats.ravel()])


def exact(n, tau, passes):
    """The exact shares. Two steps of one pass never have the same record, and steps of two passes with share 1/n."""
    k = math.floor(tau * n)
    repeats = np.full((passes * k, passes * k), 1 / n)
    for first in range(0, passes * k, k):
        repeats[first : first + k, first : first + k] = np.eye(k)
    return np.concatenate([np.full(passes * k * n, 1 / n), repeats.ravel()])


def cases():
    what = "the shares of each record at each step, then of equal records at two steps"
    for n, tau, passes in ((3, 1.0, 2), (4, 0.7, 2)):
        name = f"n = {n}, tau = {tau}, {passes} passes, {RUNS:,} orders"
        run = lambda f, given=(n, tau, passes): at_once(f, lambda one: measured(one, *given))
        yield TaskCase("", name, run, exact(n, tau, passes), what, rtol=0.06)


# %% slips
(
    "rng.permutation(n)[: math.floor(tau * n)]",
    "rng.integers(0, n, math.floor(tau * n))",
    "Records repeat within a pass: a pass is a shuffle, without replacement.",
)
("rng.permutation(n)[: math.floor(tau * n)]", "np.arange(n)[: math.floor(tau * n)]", "The records are not shuffled.")
(
    "np.concatenate([rng.permutation(n)[: math.floor(tau * n)] for _ in range(passes)])",
    "np.tile(rng.permutation(n)[: math.floor(tau * n)], passes)",
    "All passes have the same order: shuffle again in every pass.",
)
("math.floor(tau * n)", "n", "tau is ignored: a pass takes the first floor(tau n) records.")
("math.floor(tau * n)", "math.ceil(tau * n)", "tau n is rounded up: a pass takes floor(tau n) records.")
(
    "for _ in range(passes)",
    "for _ in range(1)",
    "There is only one pass: the number of passes must be the argument passes.",
)
(
    "rng.permutation(n)[: math.floor(tau * n)]",
    "np.sort(rng.permutation(n)[: math.floor(tau * n)])",
    "The records of a pass are sorted: keep the order of the shuffle.",
)
